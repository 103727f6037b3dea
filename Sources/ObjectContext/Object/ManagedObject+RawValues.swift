// ManagedObject+RawValues: attributes whose Swift type has raw values, such as enumerations: what generated properties call.
import ObjectModel

extension ManagedObject {
  /// The value of an integer attribute as a type with integer raw values; nil when there is none, or when its raw value is none of the type's.
  ///
  /// - Parameter slot: The attribute's slot number in the compiled model. Fires a fault; never traps.
  @inlinable public final func _rawValue<Value: RawRepresentable>(
    _ slot: Int, integer type: Value.Type = Value.self
  ) -> Value? where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    // A number that the raw type cannot hold is none of its values.
    let number: Int64? = _optionalValue(slot)
    return number.flatMap { Value.RawValue(exactly: $0) }.flatMap(Value.init(rawValue:))
  }

  /// The value of an attribute as a type whose raw values are of the attribute's type; nil when there is none, or when its raw value is none of the type's.
  ///
  /// - Parameters:
  ///   - slot: The attribute's slot number in the compiled model. Fires a fault; never traps.
  ///   - stored: The Swift type of the attribute's values.
  ///   - type: The type of the value.
  @inlinable public final func _rawValue<Value: RawRepresentable, Stored: _StoredAttributeValue>(
    _ slot: Int, of stored: Stored.Type, as type: Value.Type = Value.self
  ) -> Value? where Value.RawValue == Stored {
    let value: Stored? = _optionalValue(slot)
    return value.flatMap(Value.init(rawValue:))
  }

  /// Sets or clears an attribute by a value's raw value. An integer that the attribute's type cannot hold fails its validation.
  @inlinable public final func _setRawValue<Value: RawRepresentable>(
    _ value: Value?, integer slot: Int
  ) where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    _setOptionalValue(value?.rawValue, at: slot)
  }

  /// Sets or clears an attribute by a value's raw value.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The attribute's slot.
  ///   - stored: The type that the raw value is stored as.
  @inlinable public final func _setRawValue<Value: RawRepresentable, Stored: _StoredAttributeValue>(
    _ value: Value?, at slot: Int, of stored: Stored.Type
  ) where Value.RawValue == Stored {
    _setOptionalValue(value?.rawValue, at: slot)
  }

  /// Sets an integer part of a composite attribute by a value's raw value, if it differs.
  public final func _setRawPart<Value: RawRepresentable>(
    _ value: Value?, integer slot: Int
  ) where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    _setPart(value?.rawValue, at: slot)
  }

  /// Sets a part of a composite attribute by a value's raw value, if it differs.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The part's slot.
  ///   - stored: The type that the raw value is stored as.
  public final func _setRawPart<Value: RawRepresentable, Stored: _StoredAttributeValue>(
    _ value: Value?, at slot: Int, of stored: Stored.Type
  ) where Value.RawValue == Stored {
    _setPart(value?.rawValue, at: slot)
  }
}
