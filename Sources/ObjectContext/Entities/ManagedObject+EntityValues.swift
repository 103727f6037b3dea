// ManagedObject+EntityValues: properties of any type that attributes can have: what the source that @Entity writes calls.
import ObjectModel

extension ManagedObject {
  /// The value of a required attribute.
  @inlinable public final func _entityValue<Value: _StoredAttributeValue>(_ slot: Int) -> Value { _value(slot) }

  /// The value of a required attribute.
  @inlinable public final func _entityValue<Value: _StoredAttributeValue>(_ slot: Int, initial: @autoclosure () -> Value) -> Value {
    _value(slot)
  }

  /// The value of a required attribute of a type with raw values; the initial value where there is none, or where the raw value is none of the type's.
  @inlinable public final func _entityValue<Value: RawRepresentable>(
    _ slot: Int, initial: @autoclosure () -> Value
  ) -> Value where Value.RawValue: _StoredAttributeValue { _optionalEntityValue(slot) ?? initial() }

  /// The value of a required attribute of a `Codable` type; the initial value where there is none.
  @_disfavoredOverload
  public final func _entityValue<Value: Codable & Sendable>(_ slot: Int, initial: @autoclosure () -> Value) -> Value {
    _transformed(slot, as: Value.self) ?? initial()
  }

  /// Of a type with raw values no value stands for a missing one.
  @available(*, unavailable, message: "give the property an initial value, or make it an optional with the option .required")
  public final func _entityValue<Value: RawRepresentable>(_ slot: Int) -> Value where Value.RawValue: _StoredAttributeValue {
    // The compiler refuses every call.
    preconditionFailure("unavailable")
  }

  /// Of a `Codable` type no value stands for a missing one.
  @available(*, unavailable, message: "give the property an initial value, or make it an optional with the option .required")
  @_disfavoredOverload
  public final func _entityValue<Value: Codable & Sendable>(_ slot: Int) -> Value {
    // The compiler refuses every call.
    preconditionFailure("unavailable")
  }

  /// The value of an optional attribute.
  @inlinable public final func _optionalEntityValue<Value: _StoredAttributeValue>(_ slot: Int) -> Value? { _optionalValue(slot) }

  /// The value of an optional attribute of a type with raw values; nil where the raw value is none of the type's.
  @inlinable public final func _optionalEntityValue<Value: RawRepresentable>(_ slot: Int) -> Value?
  where Value.RawValue: _StoredAttributeValue {
    let raw: Value.RawValue? = _optionalValue(slot)
    return raw.flatMap(Value.init(rawValue:))
  }

  /// The value of an optional attribute of a `Codable` type.
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

  /// Sets or clears a part of a composite, if it differs.
  public final func _setEntityPart<Value: _StoredAttributeValue>(_ value: Value?, at slot: Int) { _setPart(value, at: slot) }

  /// Sets or clears a part of a composite of a type with raw values, if it differs.
  public final func _setEntityPart<Value: RawRepresentable>(_ value: Value?, at slot: Int) where Value.RawValue: _StoredAttributeValue {
    _setPart(value?.rawValue, at: slot)
  }

  /// Sets or clears a part of a composite of a `Codable` type, if its bytes differ.
  @_disfavoredOverload
  public final func _setEntityPart<Value: Codable & Sendable>(_ value: Value?, at slot: Int) { _setTransformedPart(value, at: slot) }
}
