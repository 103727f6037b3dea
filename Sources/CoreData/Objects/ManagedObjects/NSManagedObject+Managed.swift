// The functions that generated accessors of managed properties call.
import Foundation
@_spi(Generated) public import ObjectContext
@_spi(Generated) public import ObjectModel

extension NSManagedObject {
  // MARK: Attributes

  /// Returns the value of an attribute, or the type's empty value if it has no value.
  @_spi(Generated) @inlinable public final func managedValue<Value: StoredAttributeValue>(_ key: borrowing ManagedKey) -> Value {
    // The call happens only if the value is not cached, so loops of cached reads need not retain each object.
    if let slot = key.slot(at: entityKey), slot >= 0, let value: Value = loadedValue(slot) { return value }
    return uncachedManagedValue(key)
  }

  /// Returns the value of an attribute; nil if it has no value.
  @_spi(Generated) @inlinable public final func managedValue<Value: StoredAttributeValue>(_ key: borrowing ManagedKey) -> Value? {
    let slot = slot(key, of: Value.attributeType)
    return slot >= 0 ? optionalValue(slot) : converted(key)
  }

  /// Sets an attribute.
  @_spi(Generated) @inlinable public final func setManagedValue<Value: StoredAttributeValue>(_ value: Value, _ key: borrowing ManagedKey) {
    if let slot = key.slot(at: entityKey), slot >= 0 { setValue(value, at: slot) } else { setUncachedManagedValue(value, key) }
  }

  /// Sets or clears an attribute.
  @_spi(Generated) @inlinable public final func setManagedValue<Value: StoredAttributeValue>(_ value: Value?, _ key: borrowing ManagedKey) {
    let slot = slot(key, of: Value.attributeType)
    if slot >= 0 { setOptionalValue(value, at: slot) } else { set(value, key) }
  }

  /// Returns the value of an attribute with a raw-representable type.
  ///
  /// If the type has no case for the stored raw value, an error is recorded in the context. The method then returns the model's default
  /// value, or the case for the raw value 0 or "".
  @_spi(Generated) public final func managedValue<Value: RawRepresentable>(_ key: borrowing ManagedKey) -> Value
  where Value.RawValue: StoredAttributeValue {
    let raw: Value.RawValue? = managedValue(key)
    if let value = Value(rawValue: raw ?? Value.RawValue.emptyValue) { return value }
    if raw != nil { recordError(ManagedValueError(entity: compiledEntity.name, property: key.name, hasValue: true, type: "\(Value.self)")) }
    if let value = Value(rawValue: defaultValue(key) ?? Value.RawValue.emptyValue) { return value }
    // A property cannot throw, and neither the model's default value nor the raw value 0 is valid for the type: a programming error, as on
    // Apple's systems.
    preconditionFailure(
      "“\(key.name)” has no value, and \(Value.self) has none for the model's default value or for 0; make the property optional")
  }

  /// Returns the value of an attribute with a raw-representable type; nil if it has no value or an invalid one.
  @_spi(Generated) public final func managedValue<Value: RawRepresentable>(_ key: borrowing ManagedKey) -> Value?
  where Value.RawValue: StoredAttributeValue {
    let raw: Value.RawValue? = managedValue(key)
    return raw.flatMap(Value.init(rawValue:))
  }

  /// Sets an attribute with a raw-representable type.
  @_spi(Generated) public final func setManagedValue<Value: RawRepresentable>(_ value: Value, _ key: borrowing ManagedKey)
  where Value.RawValue: StoredAttributeValue { setManagedValue(value.rawValue, key) }

  /// Sets or clears an attribute with a raw-representable type.
  @_spi(Generated) public final func setManagedValue<Value: RawRepresentable>(_ value: Value?, _ key: borrowing ManagedKey)
  where Value.RawValue: StoredAttributeValue { setManagedValue(value?.rawValue, key) }

  // MARK: Anything else

  /// Returns the value of a property of any other type: a relationship, an `NSNumber`, or a transformer's result.
  ///
  /// If there is no value and the type is not optional, the result is empty: no members, 0, or an object without values and context.
  @_disfavoredOverload
  @_spi(Generated) public final func managedValue<Value>(_ key: borrowing ManagedKey) -> Value {
    if let value: Value = converted(key) { return value }
    // If `Value` is optional, this is nil.
    if let none = Any?.none as? Value { return none }
    if let empty: Value = ManagedValue.empty() { return empty }
    if case .toOne(let relationship) = key.property(in: compiledEntity),
      let empty = managedObjectContext?.context.makeEmptyObject(ofEntity: relationship.destinationEntity) as? Value
    {
      recordError(ManagedValueError(entity: compiledEntity.name, property: key.name, hasValue: false, type: "\(Value.self)"))
      return empty
    }
    // A property cannot throw, and there is no empty value of an arbitrary type: a programming error, as on Apple's systems.
    preconditionFailure("“\(key.name)” has no value, and its type \(Value.self) has no empty one; make the property optional")
  }

  /// Sets a property of any other type.
  @_disfavoredOverload
  @_spi(Generated) public final func setManagedValue<Value>(_ value: Value, _ key: borrowing ManagedKey) { set(value, key) }

  // MARK: Members of to-many relationships

  // The name is capitalized, as in the method's name.

  /// Adds an object, or the objects of a collection, to a to-many relationship.
  @_spi(Generated) public final func managedAdd(_ value: Any, to name: String) {
    guard let index = toMany(name) else { return }
    for member in Self.members(value) { addToToMany(member, at: index) }
  }

  /// Removes an object, or the objects of a collection, from a to-many relationship.
  @_spi(Generated) public final func managedRemove(_ value: Any, from name: String) {
    guard let index = toMany(name) else { return }
    for member in Self.members(value) { removeFromToMany(member, at: index) }
  }

  /// Inserts objects into an ordered relationship.
  ///
  /// - Parameters:
  ///   - value: The object, or a collection of objects.
  ///   - name: The relationship.
  ///   - places: The index, or an `NSIndexSet` of indexes.
  @_spi(Generated) public final func managedInsert(_ value: Any, into name: String, at places: Any) {
    guard let index = toMany(name) else { return }
    for (member, place) in zip(Self.members(value), Self.places(places)) { insertIntoToMany(member, position: place, at: index) }
  }

  /// Removes the objects at indexes from an ordered relationship.
  @_spi(Generated) public final func managedRemove(at places: Any, from name: String) {
    guard let index = toMany(name) else { return }
    removeFromToMany(positions: Self.places(places), at: index)
  }

  /// Replaces objects in an ordered relationship.
  ///
  /// - Parameters:
  ///   - places: The index, or an `NSIndexSet` of indexes.
  ///   - name: The relationship.
  ///   - value: The object, or a collection of objects.
  @_spi(Generated) public final func managedReplace(at places: Any, in name: String, with value: Any) {
    guard let index = toMany(name) else { return }
    for (member, place) in zip(Self.members(value), Self.places(places)) { replaceInToMany(position: place, with: member, at: index) }
  }

  // MARK: Helpers

  /// Returns the value of an attribute that is not in memory, or whose slot is not cached.
  @_spi(Generated) @inlinable @inline(never) public final func uncachedManagedValue<Value: StoredAttributeValue>(
    _ key: borrowing ManagedKey
  )
    -> Value
  {
    let slot = slot(key, of: Value.attributeType)
    return slot >= 0 ? value(slot) : converted(key) ?? Value.emptyValue
  }

  /// Sets an attribute whose slot is not cached.
  @_spi(Generated) @inlinable @inline(never) public final func setUncachedManagedValue<Value: StoredAttributeValue>(
    _ value: Value, _ key: borrowing ManagedKey
  ) {
    let slot = slot(key, of: Value.attributeType)
    if slot >= 0 { setValue(value, at: slot) } else { set(value, key) }
  }

  /// Returns the slot of an attribute whose values have a type; -1 if they must be converted.
  @_spi(Generated) @inlinable @inline(__always) public final func slot(_ key: borrowing ManagedKey, of type: AttributeType) -> Int {
    key.slot(at: entityKey) ?? findSlot(key, of: type)
  }

  /// Returns the slot of an attribute of a type, and caches it; -1 if values must be converted.
  @_spi(Generated) @inline(never) public final func findSlot(_ key: borrowing ManagedKey, of type: AttributeType) -> Int {
    let entity = compiledEntity
    let slot = key.findSlot(in: entity, fingerprint: entity.layoutFingerprint, of: type)
    // With the concurrency check enabled, the slot is not cached, so each access is checked here.
    if ConcurrencyDebug.isOn { checkQueue("a property") } else { key.keep(slot, at: entityKey) }
    return slot
  }

  private func defaultValue<Value: StoredAttributeValue>(_ key: borrowing ManagedKey) -> Value? {
    guard case .attribute(let slot) = key.property(in: compiledEntity) else { return nil }
    return Value(slot: slot.defaultValue)
  }

  /// Returns the value converted through `Any`; nil if there is no value, or one of another type.
  @_spi(Generated) public final func converted<Value>(_ key: borrowing ManagedKey) -> Value? {
    guard let property = key.property(in: compiledEntity) else { return primitive(key.name) as? Value }
    if case .attribute(let slot) = property, slot.attributeType == .transformable { return transformed(key.name) }
    if Value.self == NSMutableSet.self || Value.self == NSMutableSet?.self { return mutableSetValue(forKey: key.name) as? Value }
    guard let value = value(forKey: key.name) else { return nil }
    if let value = value as? Value { return value }
    if let date = value as? Date { return date.timeIntervalSinceReferenceDate as? Value }
    if let number = ManagedValue.number(value) { return number as? Value ?? NSDecimalNumber(decimal: number.decimalValue) as? Value }
    return nil
  }

  /// Returns the value of a transformable attribute: its transformer's result, or, without a transformer, a decoded `Codable` value or an
  /// unarchived object.
  private func transformed<Value>(_ name: String) -> Value? {
    do {
      let stored = try (self as ManagedObject).value(forKey: name)
      if let value = stored as? Value { return value }
      guard let data = stored as? Data else { return nil }
      if let object = ManagedValue.unarchived(data, as: Value.self) { return object }
      return try (self as ManagedObject).value(forKey: name, as: Value.self)
    } catch {
      recordError(error)
      return nil
    }
  }

  /// Sets a property to a value of any type, converting it.
  @_spi(Generated) public final func set<Value>(_ value: Value, _ key: borrowing ManagedKey) {
    guard case .attribute(let slot) = key.property(in: compiledEntity), slot.attributeType == .date, let seconds = value as? Double else {
      if key.property(in: compiledEntity) == nil, let name = Self.primitiveName(key.name) { return setPrimitiveValue(value, forKey: name) }
      return setValue(value, forKey: key.name)
    }
    setValue(Date(timeIntervalSinceReferenceDate: seconds), forKey: key.name)
  }

  private func primitive(_ name: String) -> Any? { Self.primitiveName(name).map { primitiveValue(forKey: $0) } ?? value(forKey: name) }

  /// Returns the attribute whose primitive value a property name denotes: `primitiveTitle` denotes `title`.
  private static func primitiveName(_ name: String) -> String? {
    guard name.hasPrefix("primitive"), let first = name.dropFirst(9).first else { return nil }
    return first.lowercased() + name.dropFirst(10)
  }

  /// Returns the number of the to-many relationship in a method's name. If there is no such relationship, an error is recorded in the
  /// context.
  private func toMany(_ name: String) -> Int? {
    checkQueue("a relationship")
    let found = compiledEntity.toManyRelationships.first {
      $0.name == name || $0.name.prefix(1).uppercased() + $0.name.dropFirst() == name
    }
    if let found { return found.index }
    recordError(KeyValueError(unknown: name.prefix(1).lowercased() + name.dropFirst(), of: compiledEntity, isRelationship: true))
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
