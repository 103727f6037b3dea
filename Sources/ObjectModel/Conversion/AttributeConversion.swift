package import Foundation

/// Converts values of type `Any` to slots.
package enum AttributeConversion {
  /// The reason why a value cannot be converted.
  package enum Failure: Error, Sendable, Hashable {
    /// The value has another type.
    case wrongType
    /// The number is out of the range of the attribute's type.
    case outOfRange
    /// The attribute's transformer failed.
    case transformFailed(String)
  }

  /// Returns the content of an optional in an `Any`.
  package static func unwrapped(_ value: Any?) -> Any? {
    guard let value else { return nil }
    if let optional = value as? any AnyOptional { return optional.wrapped }
    return value
  }

  /// Converts a value to the slot of an attribute. Integers can have any integer type.
  package static func slot(from value: Any?, for slot: CompiledSlot) throws(Failure) -> Slot {
    guard let value = unwrapped(value) else { return .null }
    guard let attribute = slot.attribute else { throw .wrongType }
    if attribute.type == .transformable { return try transformed(value, attribute) }
    let traits = attribute.type.traits
    if let number = traits.number, let result = try self.number(value, number, traits) { return result }
    // A value of any type can be a number that only its content gives a type.
    if let result = traits.slot(of: traits.swiftType == nil ? number(in: value) ?? value : value) { return result }
    guard traits.resolvedType == .binary, let bytes = value as? [UInt8] else { throw .wrongType }
    return .bytes(Data(bytes))
  }

  /// Converts a number to the slot of a numeric attribute; nil if the value is not a number that the attribute accepts.
  private static func number(_ value: Any, _ form: NumberForm, _ traits: AttributeTypeTraits) throws(Failure) -> Slot? {
    switch form {
    case .integer(let range):
      if traits.resolvedType == .boolean, let value = value as? Bool { return value.slot }
      guard let number = integer(value) else { return nil }
      guard let number, range.contains(number) else {
        if traits.resolvedType == .boolean { return nil }
        throw .outOfRange
      }
      return .int(number)
    case .double, .single:
      if let value = value as? Double { return form == .single ? try float(value).slot : value.slot }
      if let value = value as? Float { return value.slot }
      guard case .some(.some(let number)) = integer(value) else { return nil }
      return .real(Double(number))
    case .decimal:
      if let value = value as? Decimal { return value.slot }
      if case .some(.some(let number)) = integer(value) { return Decimal(number).slot }
      guard let value = value as? Double ?? (value as? Float).map(Double.init) else { return nil }
      if value.isNaN { return Decimal.nan.slot }
      // The conversion is that of predicates, so that they find the value.
      guard let coding = DecimalCoding.encode(representable: value) else { throw .outOfRange }
      return .bytes(coding)
    }
  }

  /// Returns the Swift type that an attribute accepts, as part of a message.
  package static func expectation(of slot: CompiledSlot) -> String {
    guard let type = slot.attributeType else { return "an object" }
    return "\(type.traits.expectation) (\(type.rawValue))"
  }

  private static func transformed(_ value: Any, _ attribute: AttributeDescription) throws(Failure) -> Slot {
    let hasTransformer = attribute.valueTransformerName.map { AttributeTransformers.transformer(forName: $0) != nil } ?? false
    if !hasTransformer, let data = value as? Data { return .bytes(data) }
    do { return .bytes(try AttributeTransformers.data(from: value, transformerName: attribute.valueTransformerName)) } catch {
      throw .transformFailed(error.description)
    }
  }

  /// Converts a number to `Float`, unless it is out of range.
  private static func float(_ value: Double) throws(Failure) -> Float {
    let float = Float(value)
    if float.isInfinite, value.isFinite { throw .outOfRange }
    return float
  }

  /// Returns the integer in a value: nil if it is not an integer, an inner nil if it does not fit into 64 bits.
  private static func integer(_ value: Any) -> Int64?? {
    switch value {
    case let value as Int: .some(Int64(value))
    case let value as Int64: .some(value)
    case let value as Int32: .some(Int64(value))
    case let value as Int16: .some(Int64(value))
    case is Bool: nil
    case let value as any BinaryInteger: .some(Int64(exactly: value))
    default: nil
    }
  }
}

private protocol AnyOptional {
  var wrapped: Any? { get }
}
extension Optional: AnyOptional {
  fileprivate var wrapped: Any? { map { $0 as Any } }
}

// MARK: - Reading typed values

extension AttributeConversion {
  /// Returns a slot's value as the Swift type of its attribute; nil if it is null. To return it as `Any`, use ``untypedValue(of:_:)``.
  ///
  /// A `transformable` attribute without a registered transformer returns its bytes.
  ///
  /// - Throws: ``AttributeTransformError``.
  package static func value(of slot: Slot, _ attribute: AttributeDescription) throws(AttributeTransformError) -> (any Sendable)? {
    guard attribute.type == .transformable else { return attribute.type.traits.value(of: slot) }
    guard case .bytes(let data) = slot else { return nil }
    guard let name = attribute.valueTransformerName, AttributeTransformers.transformer(forName: name) != nil else { return data }
    return try AttributeTransformers.value(from: data, transformerName: name)
  }

  /// Returns a slot's value as a type: the attribute's, another that can hold it, an enumeration with raw values, or the type of a
  /// `transformable` attribute.
  ///
  /// - Throws: ``AttributeTransformError``, also if the value has another type.
  package static func value<Value>(
    of slot: Slot, _ attribute: AttributeDescription, as type: Value.Type
  ) throws(AttributeTransformError) -> Value? {
    if slot.isNull { return nil }
    if attribute.type == .transformable, case .bytes(let data) = slot {
      if type == Data.self, AttributeTransformers.transformer(forName: attribute.valueTransformerName ?? "") == nil {
        return data as? Value
      }
      return try AttributeTransformers.value(from: data, as: type, transformerName: attribute.valueTransformerName)
    }
    if let value = typed(slot, as: type) as? Value { return value }
    let value = isAny(type) ? try untypedValue(of: slot, attribute) : try value(of: slot, attribute)
    guard let value = value as? Value else { throw .wrongType("\(type)") }
    return value
  }

  /// Returns whether values of an attribute can be read and written as a type. True for any type if the attribute is `transformable` and
  /// its transformer is not registered.
  package static func holds<Value>(_ attribute: AttributeDescription, _ type: Value.Type) -> Bool {
    if let optional = type as? any AnyOptionalType.Type { return holds(attribute, optional.wrappedType) }
    if isAny(type) { return true }
    if attribute.type == .transformable {
      guard let name = attribute.valueTransformerName, !AttributeTransformers.isForCodableValues(name) else {
        return type is any Decodable.Type && type is any Encodable.Type
      }
      guard let transformer = AttributeTransformers.transformer(forName: name) else { return true }
      return valueType(of: transformer) is Value.Type
    }
    if !(type is any AttributeValue.Type), let raw = type as? any RawRepresentable.Type { return holds(attribute, rawType(of: raw)) }
    let types = attribute.type.traits.acceptedTypes
    return types.isEmpty ? type is any AttributeValue.Type : types.contains { $0 == type }
  }

  /// Replaces an enumeration value with its raw value, which attributes store. Other values are returned unchanged.
  package static func withoutEnumeration<Value: Sendable>(_ value: Value) -> any Sendable {
    if value is any AttributeValue { return value }
    if let value = value as? any RawRepresentable, let raw = value.rawValue as? any AttributeValue { return raw }
    return value
  }

  private static func rawType<Value: RawRepresentable>(of type: Value.Type) -> Any.Type { Value.RawValue.self }
  private static func valueType<Transformer: AttributeTransformer>(of transformer: Transformer) -> Any.Type { Transformer.Value.self }

  /// Returns a stored value as an attribute type, or as an enumeration with raw values of such a type.
  private static func typed(_ slot: Slot, as type: Any.Type) -> Any? {
    if let type = type as? any AttributeValue.Type { return type.init(slot: slot) }
    if let type = type as? any RawRepresentable.Type { return raw(slot, as: type) }
    return nil
  }

  private static func raw<Value: RawRepresentable>(_ slot: Slot, as type: Value.Type) -> Any? {
    (typed(slot, as: Value.RawValue.self) as? Value.RawValue).flatMap(Value.init(rawValue:))
  }
}

private protocol AnyOptionalType {
  static var wrappedType: Any.Type { get }
}
extension Optional: AnyOptionalType {
  fileprivate static var wrappedType: Any.Type { Wrapped.self }
}

// MARK: - Untyped values

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
