import ObjectModel

extension GeneratedCode {
  /// Returns the value of a required composite attribute. A required part without a value reads as its default or empty value.
  public static func composite<Value: CompositeValue>(at slot: Int, of object: ManagedObject) -> Value { Value(of: object, at: slot) }

  /// Returns the value of a composite attribute; nil if no part has a value.
  public static func optionalComposite<Value: CompositeValue>(at slot: Int, of object: ManagedObject) -> Value? {
    object.optionalComposite(slot)
  }

  /// Sets a composite attribute. Nil removes the values of all parts.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the first part.
  ///   - object: The object.
  public static func setComposite<Value: CompositeValue>(_ value: Value?, at slot: Int, of object: ManagedObject) {
    object.setComposite(value, at: slot)
  }

  /// Sets or clears a part of a composite attribute if the value differs.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the part.
  ///   - object: The object.
  public static func setPart<Value: StoredAttributeValue>(_ value: Value?, at slot: Int, of object: ManagedObject) {
    object.setPart(value, at: slot)
  }

  /// Sets or clears a part of a type with raw values if the value differs.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the part.
  ///   - object: The object.
  public static func setPart<Value: RawRepresentable>(_ value: Value?, at slot: Int, of object: ManagedObject)
  where Value.RawValue: StoredAttributeValue { object.setPart(value?.rawValue, at: slot) }

  /// Sets or clears a part of a `Codable` type if the encoded value differs.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the part.
  ///   - object: The object.
  @_disfavoredOverload
  public static func setPart<Value: Codable & Sendable>(_ value: Value?, at slot: Int, of object: ManagedObject) {
    setTransformedPart(value, at: slot, of: object)
  }

  /// Sets or clears an integer part to the raw value of a value, if it differs.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the part.
  ///   - object: The object.
  public static func setRawPart<Value: RawRepresentable>(_ value: Value?, at slot: Int, of object: ManagedObject)
  where Value.RawValue: StoredAttributeValue & BinaryInteger { object.setPart(value?.rawValue, at: slot) }

  /// Sets or clears a part to the raw value of a value, if it differs.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The part's slot.
  ///   - object: The object.
  ///   - stored: The Swift type of the part's values.
  public static func setRawPart<Value: RawRepresentable, Stored: StoredAttributeValue>(
    _ value: Value?, at slot: Int, of object: ManagedObject, storedAs stored: Stored.Type
  ) where Value.RawValue == Stored { object.setPart(value?.rawValue, at: slot) }

  /// Sets a `transformable` part if its bytes differ. If the transformer fails, the part stays unchanged, and the next save throws the
  /// error.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the part.
  ///   - object: The object.
  public static func setTransformedPart(_ value: (any Sendable)?, at slot: Int, of object: ManagedObject) {
    object.setTransformedPart(value, at: slot)
  }
}
