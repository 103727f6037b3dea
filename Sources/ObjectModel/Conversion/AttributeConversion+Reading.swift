import Foundation

extension AttributeConversion {
  /// Returns a slot's value as the Swift type of its attribute; nil if it is null. To return it as `Any`, use ``untypedValue(of:_:)``.
  ///
  /// A `transformable` attribute without a registered transformer returns its bytes.
  ///
  /// - Throws: ``AttributeTransformError``.
  package static func value(of slot: Slot, _ attribute: AttributeDescription) throws(AttributeTransformError) -> (any Sendable)? {
    switch attribute.type {
    case .integer16: return Int16(_slot: slot)
    case .integer32: return Int32(_slot: slot)
    case .integer64: return Int64(_slot: slot)
    case .boolean: return Bool(_slot: slot)
    case .double: return Double(_slot: slot)
    case .float: return Float(_slot: slot)
    case .date: return Date(_slot: slot)
    case .string: return String(_slot: slot)
    case .uri: return URL(_slot: slot)
    case .uuid: return UUID(_slot: slot)
    case .decimal: return Decimal(_slot: slot)
    case .binary: return Data(_slot: slot)
    case .transformable:
      guard case .bytes(let data) = slot else { return nil }
      guard let name = attribute.valueTransformerName, AttributeTransformers.transformer(forName: name) != nil else { return data }
      return try AttributeTransformers.value(from: data, transformerName: name)
    case .undefined, .composite:
      switch slot {
      case .null: return nil
      case .int(let value): return value
      case .real(let value): return value
      case .text(let value): return value
      case .bytes(let value): return value
      }
    }
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
    let integers: [Any.Type] = [Int.self, Int64.self, Int32.self, Int16.self]
    switch attribute.type {
    case .integer16, .integer32, .integer64: return integers.contains { $0 == type }
    case .boolean: return type == Bool.self
    case .double, .float: return type == Double.self || type == Float.self
    case .date: return type == Date.self
    case .string: return type == String.self
    case .uri: return type == URL.self
    case .uuid: return type == UUID.self
    case .decimal: return type == Decimal.self
    case .binary: return type == Data.self
    case .undefined, .composite, .transformable: return type is any AttributeValue.Type
    }
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
    if let type = type as? any AttributeValue.Type { return type.init(_slot: slot) }
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
