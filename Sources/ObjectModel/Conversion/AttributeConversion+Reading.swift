import Foundation

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
