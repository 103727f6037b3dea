public import ObjectModel

/// Values of an object that a history or a change of a schema contains, by property name.
public struct RecordedValues: Sendable, Hashable {
  /// A value.
  package enum Value: Sendable, Hashable {
    /// The stored value of an attribute.
    case attribute(Slot)
    /// The destination of a to-one relationship, or nil if the relationship is nil.
    case object(ManagedObjectID?)
    /// An external value, of which only the size in bytes and the SHA-256 digest are recorded.
    case large(size: Int64, digest: [UInt8])

    /// Returns the value in the type of its attribute, or an object ID. Nil if it is null or large.
    func untyped(_ attribute: AttributeDescription?) throws -> (any Sendable)? {
      switch self {
      case .attribute(let slot):
        guard let attribute else { return slot.untypedValue.map(AttributeConversion.untyped) }
        return try AttributeConversion.untypedValue(of: slot, attribute)
      case .object(let id): return id
      case .large: return nil
      }
    }

    /// Returns the value as the given type. Nil if it is null or large.
    func typed<Value>(_ attribute: AttributeDescription?, as type: Value.Type) throws(AttributeTransformError) -> Value? {
      let untyped: (any Sendable)?
      switch self {
      case .attribute(let slot):
        if let attribute { return try AttributeConversion.value(of: slot, attribute, as: type) }
        untyped = slot.untypedValue
      case .object(let id): untyped = id
      case .large: return nil
      }
      guard let untyped else { return nil }
      guard let value = untyped as? Value else { throw .wrongType("\(Value.self)") }
      return value
    }
  }

  /// The values by name. Null values are null ``Slot`` values in updates, and omitted for inserted and deleted objects.
  package internal(set) var values: [String: Value]
  private let entity: CompiledEntity

  package init(_ values: [String: Value], of entity: CompiledEntity) {
    self.values = values
    self.entity = entity
  }

  /// The names of the properties, sorted.
  public var names: [String] { values.keys.sorted() }

  /// The value of a property or the ID of a destination. Nil if it is null or not recorded. Integers and `Float` values are `NSNumber`s,
  /// which `as?` casts to every numeric type that can hold them; ``value(_:as:)`` returns the attribute's type.
  public subscript(name: String) -> (any Sendable)? {
    guard let value = values[name] else { return nil }
    // The value is in another type if the attribute was changed later.
    return (try? value.untyped(attribute(named: name))) ?? (try? value.untyped(nil))
  }

  /// Returns the value of a property as the given type, or nil if it is null or not recorded.
  ///
  /// - Throws: ``AttributeTransformError`` if the value is of another type.
  public func value<Value>(_ name: String, as type: Value.Type = Value.self) throws(AttributeTransformError) -> Value? {
    try values[name]?.typed(attribute(named: name), as: type)
  }

  private func attribute(named name: String) -> AttributeDescription? {
    if case .attribute(let slot)? = entity.property(named: name) { slot.attribute } else { nil }
  }

  /// Returns the size in bytes and the SHA-256 digest of an external value, or nil for other values.
  public func largeValue(_ name: String) -> (size: Int64, digest: [UInt8])? {
    guard case .large(let size, let digest) = values[name] else { return nil }
    return (size, digest)
  }

  /// Returns whether two instances have the same values for the same names.
  public static func == (one: RecordedValues, other: RecordedValues) -> Bool { one.values == other.values }

  /// Hashes the values.
  public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
