// Reads and writes of attributes. The functions are not inlinable, because the members that they call are not visible to inlinable code.
// They stay small, so that cross-module optimization makes them, and the functions that they call, available to applications anyway.

@_spi(Generated) public import ObjectModel
public import ObjectStore

/// The functions that generated classes and the expansions of `@Entity` and `@Composite` call. Applications use the properties instead.
///
/// Slots and indexes are the numbers of the compiled model. Reading a property fires a fault and never traps: if a stored value cannot be
/// read, ``ManagedObjectContext/pendingError`` contains the error. The functions are static, so that no member of a managed object can have
/// the name of a property in a model.
public enum GeneratedCode {
  // MARK: Reading

  /// Returns the value of a required attribute: its value, its default value, or the type's empty value.
  public static func value<Value: StoredAttributeValue>(at slot: Int, of object: ManagedObject) -> Value { object.value(slot) }

  /// Returns the value of a required attribute. The model contains the initial value as the default value.
  ///
  /// - Parameters:
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  ///   - initial: The value if there is none.
  public static func value<Value: StoredAttributeValue>(
    at slot: Int, of object: ManagedObject, initial: @autoclosure () -> Value
  ) -> Value { object.value(slot) }

  /// Returns the value of a required attribute of a type with raw values, or the initial value if the value is missing or the type has no
  /// such raw value.
  ///
  /// - Parameters:
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  ///   - initial: The value if there is none.
  public static func value<Value: RawRepresentable>(
    at slot: Int, of object: ManagedObject, initial: @autoclosure () -> Value
  ) -> Value where Value.RawValue: StoredAttributeValue { optionalValue(at: slot, of: object) ?? initial() }

  /// Returns the value of a required attribute of a `Codable` type, or the initial value if it is missing.
  ///
  /// - Parameters:
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  ///   - initial: The value if there is none.
  @_disfavoredOverload
  public static func value<Value: Codable & Sendable>(
    at slot: Int, of object: ManagedObject, initial: @autoclosure () -> Value
  ) -> Value { transformed(at: slot, of: object, as: Value.self) ?? initial() }

  /// Unavailable: a type with raw values has no value to return for a missing one.
  @available(*, unavailable, message: "give the property an initial value, or make it an optional with the option .required")
  public static func value<Value: RawRepresentable>(at slot: Int, of object: ManagedObject) -> Value
  where Value.RawValue: StoredAttributeValue {
    // The compiler rejects every call.
    preconditionFailure("unavailable")
  }

  /// Unavailable: a `Codable` type has no value to return for a missing one.
  @available(*, unavailable, message: "give the property an initial value, or make it an optional with the option .required")
  @_disfavoredOverload
  public static func value<Value: Codable & Sendable>(at slot: Int, of object: ManagedObject) -> Value {
    // The compiler rejects every call.
    preconditionFailure("unavailable")
  }

  /// Returns the value of an optional attribute.
  public static func optionalValue<Value: StoredAttributeValue>(at slot: Int, of object: ManagedObject) -> Value? {
    object.optionalValue(slot)
  }

  /// Returns the value of an optional attribute of a type with raw values, or `nil` if the type has no such raw value.
  public static func optionalValue<Value: RawRepresentable>(at slot: Int, of object: ManagedObject) -> Value?
  where Value.RawValue: StoredAttributeValue {
    let raw: Value.RawValue? = object.optionalValue(slot)
    return raw.flatMap(Value.init(rawValue:))
  }

  /// Returns the value of an optional attribute of a `Codable` type.
  @_disfavoredOverload
  public static func optionalValue<Value: Codable & Sendable>(at slot: Int, of object: ManagedObject) -> Value? {
    transformed(at: slot, of: object, as: Value.self)
  }

  /// Returns the value of an integer attribute as a type with integer raw values; nil if there is none, or if the type has no such raw
  /// value.
  public static func rawValue<Value: RawRepresentable>(at slot: Int, of object: ManagedObject) -> Value?
  where Value.RawValue: StoredAttributeValue & BinaryInteger {
    // A number outside the raw type's range is not a raw value of the type.
    let number: Int64? = object.optionalValue(slot)
    return number.flatMap { Value.RawValue(exactly: $0) }.flatMap(Value.init(rawValue:))
  }

  /// Returns the value of an attribute as a type whose raw values have the attribute's type; nil if there is none, or if the type has no
  /// such raw value.
  ///
  /// - Parameters:
  ///   - slot: The attribute's slot.
  ///   - object: The object.
  ///   - stored: The Swift type of the attribute's values.
  public static func rawValue<Value: RawRepresentable, Stored: StoredAttributeValue>(
    at slot: Int, of object: ManagedObject, storedAs stored: Stored.Type
  ) -> Value? where Value.RawValue == Stored {
    let value: Stored? = object.optionalValue(slot)
    return value.flatMap(Value.init(rawValue:))
  }

  /// Returns the value of a `transformable` attribute; nil if there is none.
  ///
  /// If the transformer fails, the result is nil, and the context's next fetch or save throws the error. The stored bytes stay until
  /// another value is set. ``ManagedObject/value(forKey:as:)`` throws immediately.
  ///
  /// - Parameters:
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  ///   - type: The type of the value.
  public static func transformed<Value>(at slot: Int, of object: ManagedObject, as type: Value.Type) -> Value? {
    object.transformed(slot, as: type)
  }

  /// Returns the value of a binary attribute. See ``ManagedObject/externalData(forKey:)``.
  public static func externalData(at slot: Int, of object: ManagedObject) -> ExternalData? { object.externalData(at: slot) }

  /// Returns the Swift value of a default value in the model. Initializers of generated structs call it.
  public static func defaultValue<Value: AttributeValue>(_ slot: Slot) -> Value { slot.value() ?? Value.emptyValue }

  // MARK: Writing

  /// Sets a required attribute. Setting an equal value also counts as a change.
  ///
  /// - Parameters:
  ///   - value: The new value.
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  public static func setValue<Value: StoredAttributeValue>(_ value: Value, at slot: Int, of object: ManagedObject) {
    object.setValue(value, at: slot)
  }

  /// Sets or clears an attribute.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  public static func setOptionalValue<Value: StoredAttributeValue>(_ value: Value?, at slot: Int, of object: ManagedObject) {
    object.setOptionalValue(value, at: slot)
  }

  /// Sets or clears an attribute of a type with raw values.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  public static func setOptionalValue<Value: RawRepresentable>(_ value: Value?, at slot: Int, of object: ManagedObject)
  where Value.RawValue: StoredAttributeValue { object.setOptionalValue(value?.rawValue, at: slot) }

  /// Sets or clears an attribute of a `Codable` type.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  @_disfavoredOverload
  public static func setOptionalValue<Value: Codable & Sendable>(_ value: Value?, at slot: Int, of object: ManagedObject) {
    setTransformed(value, at: slot, of: object)
  }

  /// Sets or clears an integer attribute to the raw value of a value. An integer outside the attribute's range fails validation.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  public static func setRawValue<Value: RawRepresentable>(_ value: Value?, at slot: Int, of object: ManagedObject)
  where Value.RawValue: StoredAttributeValue & BinaryInteger { object.setOptionalValue(value?.rawValue, at: slot) }

  /// Sets or clears an attribute to the raw value of a value.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The attribute's slot.
  ///   - object: The object.
  ///   - stored: The Swift type of the attribute's values.
  public static func setRawValue<Value: RawRepresentable, Stored: StoredAttributeValue>(
    _ value: Value?, at slot: Int, of object: ManagedObject, storedAs stored: Stored.Type
  ) where Value.RawValue == Stored { object.setOptionalValue(value?.rawValue, at: slot) }

  /// Sets a `transformable` attribute. If the transformer fails, nothing changes, and the next save throws the error.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  public static func setTransformed(_ value: (any Sendable)?, at slot: Int, of object: ManagedObject) {
    object.setTransformed(value, at: slot)
  }

  /// Sets a binary attribute. See ``ManagedObject/setExternalData(_:forKey:)``.
  ///
  /// - Parameters:
  ///   - value: The new value; nil for none.
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  public static func setExternalData(_ value: ExternalData?, at slot: Int, of object: ManagedObject) {
    object.setExternalData(value, at: slot)
  }
}

// MARK: - Relationship accessors

extension GeneratedCode {
  // MARK: To-one relationships

  /// Returns the destination of a to-one relationship; nil if there is none.
  @inlinable public static func toOne<Destination: ManagedObject>(at slot: Int, of object: ManagedObject) -> Destination? {
    object.toOne(slot)
  }

  /// Sets or clears a to-one relationship and its inverse.
  ///
  /// - Parameters:
  ///   - destination: The destination; nil for none.
  ///   - slot: The slot of the attribute.
  ///   - object: The object.
  public static func setToOne(_ destination: ManagedObject?, at slot: Int, of object: ManagedObject) {
    object.setToOne(destination, at: slot)
  }

  // MARK: To-many relationships

  /// Returns the members of an ordered to-many relationship.
  @inlinable public static func toManyArray<Member: ManagedObject>(at index: Int, of object: ManagedObject) -> [Member] {
    object.toManyArray(index)
  }

  /// Returns the members of a to-many relationship.
  @inlinable public static func toManySet<Member: ManagedObject>(at index: Int, of object: ManagedObject) -> Set<Member> {
    object.toManySet(index)
  }

  /// Replaces the members of a to-many relationship, and updates their inverses.
  ///
  /// - Parameters:
  ///   - members: The new members.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func setToMany(_ members: some Collection<ManagedObject>, at index: Int, of object: ManagedObject) {
    object.setToMany(members, at: index)
  }

  /// Adds a member to a to-many relationship.
  ///
  /// - Parameters:
  ///   - member: The member.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func addToToMany(_ member: ManagedObject, at index: Int, of object: ManagedObject) {
    object.addToToMany(member, at: index)
  }

  /// Removes a member from a to-many relationship.
  ///
  /// - Parameters:
  ///   - member: The member.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func removeFromToMany(_ member: ManagedObject, at index: Int, of object: ManagedObject) {
    object.removeFromToMany(member, at: index)
  }

  /// Inserts members into an ordered to-many relationship, and moves those that are members already.
  ///
  /// - Parameters:
  ///   - members: The members to insert, in order.
  ///   - position: The position of the first one.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func insertIntoToMany(_ members: [ManagedObject], position: Int, at index: Int, of object: ManagedObject) {
    object.insertIntoToMany(members, position: position, at: index)
  }

  /// Inserts a member into an ordered to-many relationship, or moves it if it is a member already.
  ///
  /// - Parameters:
  ///   - member: The member.
  ///   - position: Its position.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func insertIntoToMany(_ member: ManagedObject, position: Int, at index: Int, of object: ManagedObject) {
    object.insertIntoToMany(member, position: position, at: index)
  }

  /// Removes the member at a position of an ordered to-many relationship.
  ///
  /// - Parameters:
  ///   - position: The position.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func removeFromToMany(position: Int, at index: Int, of object: ManagedObject) {
    object.removeFromToMany(position: position, at: index)
  }

  /// Removes the members at positions of an ordered to-many relationship.
  ///
  /// - Parameters:
  ///   - positions: The positions.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func removeFromToMany(positions: some Sequence<Int>, at index: Int, of object: ManagedObject) {
    object.removeFromToMany(positions: positions, at: index)
  }

  /// Replaces the member at a position of an ordered to-many relationship.
  ///
  /// - Parameters:
  ///   - position: The position.
  ///   - member: The new member.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func replaceInToMany(position: Int, with member: ManagedObject, at index: Int, of object: ManagedObject) {
    object.replaceInToMany(position: position, with: member, at: index)
  }

  /// Replaces the members at a range of positions of an ordered to-many relationship.
  ///
  /// - Parameters:
  ///   - positions: The positions.
  ///   - members: The new members, in order.
  ///   - index: The relationship's index.
  ///   - object: The object.
  public static func replaceInToMany(_ positions: Range<Int>, with members: [ManagedObject], at index: Int, of object: ManagedObject) {
    object.replaceInToMany(positions, with: members, at: index)
  }

  // MARK: Fetched properties

  /// Returns the objects of a fetched property, in the order of the store.
  public static func fetchedProperty<Object: ManagedObject>(_ name: String, of object: ManagedObject) -> [Object] {
    object.fetchedProperty(name)
  }
}

// MARK: - Composite accessors

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
