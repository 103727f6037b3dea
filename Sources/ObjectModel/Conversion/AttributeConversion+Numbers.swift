// AttributeConversion+Numbers: numbers as applications get and give them where their type is `Any`.
package import Foundation

extension AttributeConversion {
  /// A slot's value as applications get it where its type is `Any`: see ``untyped(_:)``; nil when there is none. What a transformer has made is itself.
  ///
  /// - Throws: ``AttributeTransformError``.
  package static func untypedValue(of slot: Slot, _ attribute: AttributeDescription) throws(AttributeTransformError) -> (any Sendable)? {
    try value(of: slot, attribute).map { untyped($0, of: attribute.type) }
  }

  /// A value of an attribute's type as applications get it where its type is `Any`. What a transformer has made is itself.
  package static func untyped(_ value: any Sendable, of type: AttributeType) -> any Sendable {
    type.castsByNumber ? untyped(value) : value
  }

  /// Whether a type is that of any value, so that what is read as it is cast by whoever gets it.
  package static func isAny<Value>(_ type: Value.Type) -> Bool { type == Any.self || type == (any Sendable).self }

  /// An integer or a `Float` as an `NSNumber`, which `as?` casts to every type of number that holds it, where an `Int16` would be an `Int16` only. Any other
  /// value is itself.
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

  /// What is inside an `NSNumber` that came as `Any`: a `Bool`, an `Int64`, a `Double` or a `Decimal`; nil for any other value.
  package static func number(in value: Any) -> (any AttributeValue)? {
    // A number of Swift's would be cast, too.
    guard type(of: value) is NSNumber.Type, let number = value as? NSNumber else { return nil }
    return content(of: number)
  }

  /// What is inside an `NSNumber`: a `Bool`, an `Int64`, a `Double` or a `Decimal`.
  package static func content(of number: NSNumber) -> any AttributeValue {
    // There is one object for each of the two.
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

extension AttributeType {
  /// Whether values of the type may be integers or `Float`s.
  fileprivate var castsByNumber: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .float, .undefined, .composite: true
    case .boolean, .double, .decimal, .date, .string, .uri, .uuid, .binary, .transformable: false
    }
  }
}
