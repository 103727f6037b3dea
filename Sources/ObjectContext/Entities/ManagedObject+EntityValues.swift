// ManagedObject+EntityValues: properties of any type that attributes can have: what the source that @Entity writes calls.
import ObjectModel

extension ManagedObject {
  /// The value of a required attribute.
  public final func entityValue<Value: StoredAttributeValue>(_ slot: Int) -> Value { value(slot) }

  /// The value of a required attribute.
  public final func entityValue<Value: StoredAttributeValue>(_ slot: Int, initial: @autoclosure () -> Value) -> Value { value(slot) }

  /// The value of a required attribute of a type with raw values; the initial value where there is none, or where the raw value is none of the type's.
  public final func entityValue<Value: RawRepresentable>(
    _ slot: Int, initial: @autoclosure () -> Value
  ) -> Value where Value.RawValue: StoredAttributeValue { optionalEntityValue(slot) ?? initial() }

  /// The value of a required attribute of a `Codable` type; the initial value where there is none.
  @_disfavoredOverload
  public final func entityValue<Value: Codable & Sendable>(_ slot: Int, initial: @autoclosure () -> Value) -> Value {
    transformed(slot, as: Value.self) ?? initial()
  }

  /// Of a type with raw values no value stands for a missing one.
  @available(*, unavailable, message: "give the property an initial value, or make it an optional with the option .required")
  public final func entityValue<Value: RawRepresentable>(_ slot: Int) -> Value where Value.RawValue: StoredAttributeValue {
    // The compiler refuses every call.
    preconditionFailure("unavailable")
  }

  /// Of a `Codable` type no value stands for a missing one.
  @available(*, unavailable, message: "give the property an initial value, or make it an optional with the option .required")
  @_disfavoredOverload
  public final func entityValue<Value: Codable & Sendable>(_ slot: Int) -> Value {
    // The compiler refuses every call.
    preconditionFailure("unavailable")
  }

  /// The value of an optional attribute.
  public final func optionalEntityValue<Value: StoredAttributeValue>(_ slot: Int) -> Value? { optionalValue(slot) }

  /// The value of an optional attribute of a type with raw values; nil where the raw value is none of the type's.
  public final func optionalEntityValue<Value: RawRepresentable>(_ slot: Int) -> Value? where Value.RawValue: StoredAttributeValue {
    let raw: Value.RawValue? = optionalValue(slot)
    return raw.flatMap(Value.init(rawValue:))
  }

  /// The value of an optional attribute of a `Codable` type.
  @_disfavoredOverload
  public final func optionalEntityValue<Value: Codable & Sendable>(_ slot: Int) -> Value? { transformed(slot, as: Value.self) }

  /// Sets or clears an attribute.
  public final func setEntityValue<Value: StoredAttributeValue>(_ value: Value?, at slot: Int) { setOptionalValue(value, at: slot) }

  /// Sets or clears an attribute of a type with raw values.
  public final func setEntityValue<Value: RawRepresentable>(_ value: Value?, at slot: Int) where Value.RawValue: StoredAttributeValue {
    setOptionalValue(value?.rawValue, at: slot)
  }

  /// Sets or clears an attribute of a `Codable` type.
  @_disfavoredOverload
  public final func setEntityValue<Value: Codable & Sendable>(_ value: Value?, at slot: Int) { setTransformed(value, at: slot) }

  // MARK: Parts of composites

  /// Sets or clears a part of a composite, if it differs.
  public final func setEntityPart<Value: StoredAttributeValue>(_ value: Value?, at slot: Int) { setPart(value, at: slot) }

  /// Sets or clears a part of a composite of a type with raw values, if it differs.
  public final func setEntityPart<Value: RawRepresentable>(_ value: Value?, at slot: Int) where Value.RawValue: StoredAttributeValue {
    setPart(value?.rawValue, at: slot)
  }

  /// Sets or clears a part of a composite of a `Codable` type, if its bytes differ.
  @_disfavoredOverload
  public final func setEntityPart<Value: Codable & Sendable>(_ value: Value?, at slot: Int) { setTransformedPart(value, at: slot) }
}
