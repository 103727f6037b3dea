// Accessors for properties of any attribute type, used by the source that `@Entity` generates.
import ObjectModel

extension ManagedObject {
  /// Returns the value of a required attribute.
  @inlinable public final func _entityValue<Value: _StoredAttributeValue>(_ slot: Int) -> Value { _value(slot) }

  /// Returns the value of a required attribute.
  @inlinable public final func _entityValue<Value: _StoredAttributeValue>(_ slot: Int, initial: @autoclosure () -> Value) -> Value {
    _value(slot)
  }

  /// Returns the value of a required attribute of a type with raw values, or the initial value if the value is missing or the type has no
  /// such raw value.
  @inlinable public final func _entityValue<Value: RawRepresentable>(
    _ slot: Int, initial: @autoclosure () -> Value
  ) -> Value where Value.RawValue: _StoredAttributeValue { _optionalEntityValue(slot) ?? initial() }

  /// Returns the value of a required attribute of a `Codable` type, or the initial value if it is missing.
  @_disfavoredOverload
  public final func _entityValue<Value: Codable & Sendable>(_ slot: Int, initial: @autoclosure () -> Value) -> Value {
    _transformed(slot, as: Value.self) ?? initial()
  }

  /// Unavailable: a type with raw values has no value to return for a missing one.
  @available(*, unavailable, message: "give the property an initial value, or make it an optional with the option .required")
  public final func _entityValue<Value: RawRepresentable>(_ slot: Int) -> Value where Value.RawValue: _StoredAttributeValue {
    // The compiler rejects every call.
    preconditionFailure("unavailable")
  }

  /// Unavailable: a `Codable` type has no value to return for a missing one.
  @available(*, unavailable, message: "give the property an initial value, or make it an optional with the option .required")
  @_disfavoredOverload
  public final func _entityValue<Value: Codable & Sendable>(_ slot: Int) -> Value {
    // The compiler rejects every call.
    preconditionFailure("unavailable")
  }

  /// Returns the value of an optional attribute.
  @inlinable public final func _optionalEntityValue<Value: _StoredAttributeValue>(_ slot: Int) -> Value? { _optionalValue(slot) }

  /// Returns the value of an optional attribute of a type with raw values, or `nil` if the type has no such raw value.
  @inlinable public final func _optionalEntityValue<Value: RawRepresentable>(_ slot: Int) -> Value?
  where Value.RawValue: _StoredAttributeValue {
    let raw: Value.RawValue? = _optionalValue(slot)
    return raw.flatMap(Value.init(rawValue:))
  }

  /// Returns the value of an optional attribute of a `Codable` type.
  @_disfavoredOverload
  public final func _optionalEntityValue<Value: Codable & Sendable>(_ slot: Int) -> Value? { _transformed(slot, as: Value.self) }

  /// Sets or clears an attribute.
  @inlinable public final func _setEntityValue<Value: _StoredAttributeValue>(_ value: Value?, at slot: Int) {
    _setOptionalValue(value, at: slot)
  }

  /// Sets or clears an attribute of a type with raw values.
  @inlinable public final func _setEntityValue<Value: RawRepresentable>(_ value: Value?, at slot: Int)
  where Value.RawValue: _StoredAttributeValue {
    _setOptionalValue(value?.rawValue, at: slot)
  }

  /// Sets or clears an attribute of a `Codable` type.
  @_disfavoredOverload
  public final func _setEntityValue<Value: Codable & Sendable>(_ value: Value?, at slot: Int) { _setTransformed(value, at: slot) }

  // MARK: Parts of composites

  /// Sets or clears a part of a composite if the value differs.
  public final func _setEntityPart<Value: _StoredAttributeValue>(_ value: Value?, at slot: Int) { _setPart(value, at: slot) }

  /// Sets or clears a part of a composite of a type with raw values if the value differs.
  public final func _setEntityPart<Value: RawRepresentable>(_ value: Value?, at slot: Int) where Value.RawValue: _StoredAttributeValue {
    _setPart(value?.rawValue, at: slot)
  }

  /// Sets or clears a part of a composite of a `Codable` type if the encoded value differs.
  @_disfavoredOverload
  public final func _setEntityPart<Value: Codable & Sendable>(_ value: Value?, at slot: Int) { _setTransformedPart(value, at: slot) }
}
