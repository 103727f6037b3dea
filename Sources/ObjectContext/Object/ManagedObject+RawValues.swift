import ObjectModel

extension ManagedObject {
  /// Returns the value of an integer attribute as a type with integer raw values. Fires a fault. Never traps.
  ///
  /// Generated properties call it.
  ///
  /// - Parameters:
  ///   - slot: The attribute's slot number in the compiled model.
  ///   - type: The type of the value.
  /// - Returns: The value; nil if there is none, or if the type has no case for the raw value.
  @inlinable public final func _rawValue<Value: RawRepresentable>(
    _ slot: Int, integer type: Value.Type = Value.self
  ) -> Value? where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    // A number outside the raw type's range is not a raw value of the type.
    let number: Int64? = _optionalValue(slot)
    return number.flatMap { Value.RawValue(exactly: $0) }.flatMap(Value.init(rawValue:))
  }

  /// Returns the value of an attribute as a type whose raw values have the attribute's type. Fires a fault. Never traps.
  ///
  /// Generated properties call it.
  ///
  /// - Parameters:
  ///   - slot: The attribute's slot number in the compiled model.
  ///   - stored: The Swift type of the attribute's values.
  ///   - type: The type of the value.
  /// - Returns: The value; nil if there is none, or if the type has no case for the raw value.
  @inlinable public final func _rawValue<Value: RawRepresentable, Stored: _StoredAttributeValue>(
    _ slot: Int, of stored: Stored.Type, as type: Value.Type = Value.self
  ) -> Value? where Value.RawValue == Stored {
    let value: Stored? = _optionalValue(slot)
    return value.flatMap(Value.init(rawValue:))
  }

  /// Sets or clears an integer attribute to the raw value of a value. An integer outside the attribute's range fails validation.
  @inlinable public final func _setRawValue<Value: RawRepresentable>(
    _ value: Value?, integer slot: Int
  ) where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    _setOptionalValue(value?.rawValue, at: slot)
  }

  /// Sets or clears an attribute to the raw value of a value.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The attribute's slot.
  ///   - stored: The stored type of the raw value.
  @inlinable public final func _setRawValue<Value: RawRepresentable, Stored: _StoredAttributeValue>(
    _ value: Value?, at slot: Int, of stored: Stored.Type
  ) where Value.RawValue == Stored {
    _setOptionalValue(value?.rawValue, at: slot)
  }

  /// Sets an integer element of a composite attribute to the raw value of a value, if it differs.
  public final func _setRawPart<Value: RawRepresentable>(
    _ value: Value?, integer slot: Int
  ) where Value.RawValue: _StoredAttributeValue & BinaryInteger {
    _setPart(value?.rawValue, at: slot)
  }

  /// Sets an element of a composite attribute to the raw value of a value, if it differs.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The element's slot.
  ///   - stored: The stored type of the raw value.
  public final func _setRawPart<Value: RawRepresentable, Stored: _StoredAttributeValue>(
    _ value: Value?, at slot: Int, of stored: Stored.Type
  ) where Value.RawValue == Stored {
    _setPart(value?.rawValue, at: slot)
  }
}
