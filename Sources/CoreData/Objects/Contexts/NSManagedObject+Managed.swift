// NSManagedObject+Managed: what the accessors of managed properties call, which the plugin writes.
import Foundation
public import ObjectContext
public import ObjectModel

extension NSManagedObject {
  // MARK: Attributes

  /// The value of an attribute; the type's empty value where there is none.
  @inlinable public final func _managedValue<Value: _StoredAttributeValue>(_ key: borrowing _ManagedKey) -> Value {
    // One call where no value is at hand, so that a loop need not keep each object alive for the reads that find one.
    if let slot = key.slot(at: _place), slot >= 0, let value: Value = _valueAtHand(slot) { return value }
    return missedManagedValue(key)
  }

  /// The value of an attribute; nil where there is none.
  @inlinable public final func _managedValue<Value: _StoredAttributeValue>(_ key: borrowing _ManagedKey) -> Value? {
    let slot = slot(key, of: Value._attributeType)
    return slot >= 0 ? _optionalValue(slot) : converted(key)
  }

  /// Sets an attribute.
  @inlinable public final func _setManagedValue<Value: _StoredAttributeValue>(_ value: Value, _ key: borrowing _ManagedKey) {
    if let slot = key.slot(at: _place), slot >= 0 { _setValue(value, at: slot) } else { setMissedManagedValue(value, key) }
  }

  /// Sets or clears an attribute.
  @inlinable public final func _setManagedValue<Value: _StoredAttributeValue>(_ value: Value?, _ key: borrowing _ManagedKey) {
    let slot = slot(key, of: Value._attributeType)
    if slot >= 0 { _setOptionalValue(value, at: slot) } else { set(value, key) }
  }

  /// The value of an attribute of a type with raw values. Where the stored one is none of the type's, of which the context is told, it is the model's default
  /// value, or that of the raw value 0 or "".
  public final func _managedValue<Value: RawRepresentable>(_ key: borrowing _ManagedKey) -> Value
  where Value.RawValue: _StoredAttributeValue {
    let raw: Value.RawValue? = _managedValue(key)
    if let value = Value(rawValue: raw ?? Value.RawValue._emptyValue) { return value }
    if raw != nil { noteFailure(ManagedValueError(entity: compiledEntity.name, property: key.name, hasValue: true, type: "\(Value.self)")) }
    if let value = Value(rawValue: defaultValue(key) ?? Value.RawValue._emptyValue) { return value }
    // A property cannot throw, and neither the model's default value nor the raw value 0 is one of the type's: a mistake of the program, as on Apple's systems.
    preconditionFailure(
      "“\(key.name)” has no value, and \(Value.self) has none for the model's default value or for 0; make the property optional")
  }

  /// The value of an attribute of a type with raw values; nil where there is none, or one that is no value of the type.
  public final func _managedValue<Value: RawRepresentable>(_ key: borrowing _ManagedKey) -> Value?
  where Value.RawValue: _StoredAttributeValue {
    let raw: Value.RawValue? = _managedValue(key)
    return raw.flatMap(Value.init(rawValue:))
  }

  /// Sets an attribute of a type with raw values.
  public final func _setManagedValue<Value: RawRepresentable>(_ value: Value, _ key: borrowing _ManagedKey)
  where Value.RawValue: _StoredAttributeValue { _setManagedValue(value.rawValue, key) }

  /// Sets or clears an attribute of a type with raw values.
  public final func _setManagedValue<Value: RawRepresentable>(_ value: Value?, _ key: borrowing _ManagedKey)
  where Value.RawValue: _StoredAttributeValue { _setManagedValue(value?.rawValue, key) }

  // MARK: Anything else

  /// The value of a property of any other type: a relationship, an `NSNumber`, what a transformer makes. Where there is none and the type is no optional one,
  /// it is an empty one: no members, 0, an object without values that is in no context.
  @_disfavoredOverload
  public final func _managedValue<Value>(_ key: borrowing _ManagedKey) -> Value {
    if let value: Value = converted(key) { return value }
    // Where `Value` is an optional, this is its nil.
    if let none = Any?.none as? Value { return none }
    if let empty: Value = ManagedValue.empty() { return empty }
    if case .toOne(let relationship) = key.property(in: compiledEntity),
      let empty = managedObjectContext?.context.makeEmptyObject(ofEntity: relationship.destinationEntity) as? Value
    {
      noteFailure(ManagedValueError(entity: compiledEntity.name, property: key.name, hasValue: false, type: "\(Value.self)"))
      return empty
    }
    // A property cannot throw, and of a type of the application nothing is known: a mistake of the program, as on Apple's systems.
    preconditionFailure("“\(key.name)” has no value, and its type \(Value.self) has no empty one; make the property optional")
  }

  /// Sets a property of any other type.
  @_disfavoredOverload
  public final func _setManagedValue<Value>(_ value: Value, _ key: borrowing _ManagedKey) { set(value, key) }

  // MARK: Members of to-many relationships

  // The name begins with a capital, as it stands in the method's name.

  /// Adds an object, or the objects of a collection, to a to-many relationship.
  public final func _managedAdd(_ value: Any, to name: String) {
    guard let index = toMany(name) else { return }
    for member in Self.members(value) { _addToToMany(member, at: index) }
  }

  /// Takes an object, or the objects of a collection, out of a to-many relationship.
  public final func _managedRemove(_ value: Any, from name: String) {
    guard let index = toMany(name) else { return }
    for member in Self.members(value) { _removeFromToMany(member, at: index) }
  }

  /// Puts an object, or objects, at places of an ordered relationship.
  ///
  /// - Parameters:
  ///   - value: The object, or a collection of objects.
  ///   - name: The relationship.
  ///   - places: The place, or an `NSIndexSet` of places.
  public final func _managedInsert(_ value: Any, into name: String, at places: Any) {
    guard let index = toMany(name) else { return }
    for (member, place) in zip(Self.members(value), Self.places(places)) { _insertIntoToMany(member, position: place, at: index) }
  }

  /// Takes the objects at places out of an ordered relationship.
  public final func _managedRemove(at places: Any, from name: String) {
    guard let index = toMany(name) else { return }
    _removeFromToMany(positions: Self.places(places), at: index)
  }

  /// Puts objects in the place of others in an ordered relationship.
  ///
  /// - Parameters:
  ///   - places: The place, or an `NSIndexSet` of places.
  ///   - name: The relationship.
  ///   - value: The object, or a collection of objects.
  public final func _managedReplace(at places: Any, in name: String, with value: Any) {
    guard let index = toMany(name) else { return }
    for (member, place) in zip(Self.members(value), Self.places(places)) { _replaceInToMany(position: place, with: member, at: index) }
  }

  // MARK: Steps

  @inlinable @inline(never) final func missedManagedValue<Value: _StoredAttributeValue>(_ key: borrowing _ManagedKey) -> Value {
    let slot = slot(key, of: Value._attributeType)
    return slot >= 0 ? _value(slot) : converted(key) ?? Value._emptyValue
  }

  @inlinable @inline(never) final func setMissedManagedValue<Value: _StoredAttributeValue>(
    _ value: Value, _ key: borrowing _ManagedKey
  ) {
    let slot = slot(key, of: Value._attributeType)
    if slot >= 0 { _setValue(value, at: slot) } else { set(value, key) }
  }

  /// The slot of an attribute whose values are of a type; -1 where they have to be converted.
  @inlinable @inline(__always) final func slot(_ key: borrowing _ManagedKey, of type: AttributeType) -> Int {
    key.slot(at: _place) ?? findSlot(key, of: type)
  }

  @usableFromInline @inline(never) final func findSlot(_ key: borrowing _ManagedKey, of type: AttributeType) -> Int {
    let entity = compiledEntity
    let slot = key.findSlot(in: entity, fingerprint: entity.layoutFingerprint, of: type)
    // Where is looked for use off the queue, each read and write comes here.
    if ConcurrencyDebug.isOn { checkQueue("a property") } else { key.keep(slot, at: _place) }
    return slot
  }

  private func defaultValue<Value: _StoredAttributeValue>(_ key: borrowing _ManagedKey) -> Value? {
    guard case .attribute(let slot) = key.property(in: compiledEntity) else { return nil }
    return Value(_slot: slot.defaultValue)
  }

  /// The value by way of `Any`; nil where there is none, or one of another type.
  @usableFromInline final func converted<Value>(_ key: borrowing _ManagedKey) -> Value? {
    guard let property = key.property(in: compiledEntity) else { return primitive(key.name) as? Value }
    if case .attribute(let slot) = property, slot.attributeType == .transformable { return transformed(key.name) }
    if Value.self == NSMutableSet.self || Value.self == NSMutableSet?.self { return mutableSetValue(forKey: key.name) as? Value }
    guard let value = value(forKey: key.name) else { return nil }
    if let value = value as? Value { return value }
    if let date = value as? Date { return date.timeIntervalSinceReferenceDate as? Value }
    if let number = ManagedValue.number(value) { return number as? Value ?? NSDecimalNumber(decimal: number.decimalValue) as? Value }
    return nil
  }

  /// The value of a transformable attribute: what its transformer makes, or, where it has none, a `Codable` value, or an object that was archived.
  private func transformed<Value>(_ name: String) -> Value? {
    do {
      let stored = try (self as ManagedObject).value(forKey: name)
      if let value = stored as? Value { return value }
      guard let data = stored as? Data else { return nil }
      if let object = ManagedValue.unarchived(data, as: Value.self) { return object }
      return try (self as ManagedObject).value(forKey: name, as: Value.self)
    } catch {
      noteFailure(error)
      return nil
    }
  }

  @usableFromInline final func set<Value>(_ value: Value, _ key: borrowing _ManagedKey) {
    guard case .attribute(let slot) = key.property(in: compiledEntity), slot.attributeType == .date, let seconds = value as? Double else {
      if key.property(in: compiledEntity) == nil, let name = Self.primitiveName(key.name) { return setPrimitiveValue(value, forKey: name) }
      return setValue(value, forKey: key.name)
    }
    setValue(Date(timeIntervalSinceReferenceDate: seconds), forKey: key.name)
  }

  private func primitive(_ name: String) -> Any? { Self.primitiveName(name).map { primitiveValue(forKey: $0) } ?? value(forKey: name) }

  /// The attribute whose primitive value a property of a name stands for: `primitiveTitle` is that of `title`.
  private static func primitiveName(_ name: String) -> String? {
    guard name.hasPrefix("primitive"), let first = name.dropFirst(9).first else { return nil }
    return first.lowercased() + name.dropFirst(10)
  }

  /// The number of the to-many relationship that a method's name names. Where there is none the context is told.
  private func toMany(_ name: String) -> Int? {
    checkQueue("a relationship")
    let found = compiledEntity.toManyRelationships.first {
      $0.name == name || $0.name.prefix(1).uppercased() + $0.name.dropFirst() == name
    }
    if let found { return found.index }
    noteFailure(KeyValueError(unknown: name.prefix(1).lowercased() + name.dropFirst(), of: compiledEntity, isRelationship: true))
    return nil
  }

  private static func members(_ value: Any) -> [ManagedObject] {
    switch value {
    case let object as ManagedObject: [object]
    case let set as NSSet: set.allObjects.compactMap { $0 as? ManagedObject }
    case let set as NSOrderedSet: set.array.compactMap { $0 as? ManagedObject }
    case let objects as [ManagedObject]: objects
    case let objects as Set<ManagedObject>: Array(objects)
    default: []
    }
  }

  private static func places(_ value: Any) -> [Int] {
    switch value {
    case let place as Int: [place]
    case let places as NSIndexSet: Array(places as IndexSet)
    default: []
    }
  }
}
