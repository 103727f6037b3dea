package import Foundation

extension AttributeConversion {
  /// Returns a slot's value in the form for a static type of `Any`: see ``untyped(_:)``. Nil if it is null. Transformed values are returned
  /// unchanged.
  ///
  /// - Throws: ``AttributeTransformError``.
  package static func untypedValue(of slot: Slot, _ attribute: AttributeDescription) throws(AttributeTransformError) -> (any Sendable)? {
    try value(of: slot, attribute).map { untyped($0, of: attribute.type) }
  }

  /// Returns an attribute value in the form for a static type of `Any`. Transformed values are returned unchanged.
  package static func untyped(_ value: any Sendable, of type: AttributeType) -> any Sendable {
    type.traits.castsByNumber ? untyped(value) : value
  }

  /// Returns whether a type is `Any` or `any Sendable`, so that the receiver casts the value.
  package static func isAny<Value>(_ type: Value.Type) -> Bool { type == Any.self || type == (any Sendable).self }

  /// Returns an integer or `Float` as an `NSNumber`, which `as?` casts to every numeric type that can hold it; an `Int16` could be cast to
  /// `Int16` only. Other values are returned unchanged.
  package static func untyped(_ value: any Sendable) -> any Sendable {
    switch value {
    case let number as Int64: NSNumber(value: number)
    case let number as Int32: NSNumber(value: number)
    case let number as Int16: NSNumber(value: number)
    case let number as Int: NSNumber(value: number)
    case let number as Float: NSNumber(value: number)
    default: value
    }
  }

  /// Returns the content of an `NSNumber` in an `Any`: a `Bool`, an `Int64`, a `Double` or a `Decimal`; nil for other values.
  package static func number(in value: Any) -> (any AttributeValue)? {
    // The type check excludes Swift numbers, which `as?` would convert.
    guard type(of: value) is NSNumber.Type, let number = value as? NSNumber else { return nil }
    return content(of: number)
  }

  /// Returns the content of an `NSNumber`: a `Bool`, an `Int64`, a `Double` or a `Decimal`.
  package static func content(of number: NSNumber) -> any AttributeValue {
    // The boolean numbers are singletons.
    if number === NSNumber(value: true) { return true }
    if number === NSNumber(value: false) { return false }
    if number is NSDecimalNumber { return number.decimalValue }
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): return number.doubleValue
    case UInt8(ascii: "Q") where number.uint64Value > Int64.max: return Decimal(number.uint64Value)
    default: return number.int64Value
    }
  }
}
