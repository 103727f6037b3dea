public import ObjectModel
import ObjectStore

/// The members of managed objects whose types differ from Core Data's. Every ``ManagedObject`` conforms.
///
/// They are declared on a protocol, not on the class, so that the subclass in the `CoreData` module can declare Core Data's members.
public protocol ManagedObjectMembers: ManagedObject {}

extension ManagedObject: ManagedObjectMembers {}

extension ManagedObjectMembers {
  /// The context of the object; nil after its deletion was saved, after the context was reset, or if the context no longer exists.
  public var managedObjectContext: ManagedObjectContext? { (self as ManagedObject).managedObjectContext }

  /// The entity of the object.
  public var entity: EntityDescription { (self as ManagedObject).entity }

  // MARK: Key-value coding

  /// Returns the value of a property; nil if there is none. Fires a fault.
  ///
  /// The result is an attribute's Swift value, a ``ManagedObject``, or, for a to-many relationship, a `Set` or an ordered `Array` of
  /// objects. A fetched property returns an `Array` (see `fetchedProperty(_:as:)`).
  ///
  /// An integer or a `Float` is returned as an `NSNumber`, so `as? Int`, `as? Int64`, `as? Int16`, and `as? Double` succeed if the type can
  /// represent the value, regardless of the attribute's width. Such a cast takes a microsecond or more. ``ManagedObject/value(forKey:as:)``
  /// and typed properties avoid it.
  ///
  /// A composite attribute returns a dictionary of the elements that have a value, or nil if none has. A key such as `home.city` returns
  /// one element. A `transformable` attribute without a transformer returns its `Data`; see ``ManagedObject/value(forKey:as:)``.
  ///
  /// - Throws: ``KeyValueError``; ``StoreError`` if the stored value is not a value of the attribute's type.
  public func value(forKey key: String) throws -> Any? { try (self as ManagedObject).value(forKey: key) }

  /// Sets a property and, for a relationship, its inverse. Integers can be of any integer type that can represent them.
  ///
  /// If the method throws, nothing has changed.
  ///
  /// - Throws: ``KeyValueError``, also for an object of the wrong entity and for a derived attribute; ``StoreError`` for an object of
  ///   another context or store, or if this object's row or context no longer exists.
  public func setValue(_ value: Any?, forKey key: String) throws { try (self as ManagedObject).setValue(value, forKey: key) }

  /// Returns the value of a dotted path of relationships and composite attributes.
  ///
  /// A path through a to-many relationship, such as `books.title`, returns an array of the members' values without missing ones, in the
  /// order of an ordered relationship. Nested collections are flattened.
  ///
  /// Collection operators follow the rules of predicates: `books.@count`, `books.@sum.pages`, `@avg`, `@min`, and `@max`. Counts, and sums
  /// of integers, are integers. The minimum and maximum of no values are nil. `@unionOfObjects`, `@distinctUnionOfObjects`, and their
  /// `…OfArrays` and `…OfSets` variants return arrays.
  ///
  /// - Throws: ``KeyValueError``; ``StoreError`` if the stored value is not a value of the attribute's type.
  public func value(forKeyPath keyPath: String) throws -> Any? { try valueAlong(keyPath) }

  /// Sets the property at the end of a dotted path of to-one relationships and composite attributes. Does nothing if a relationship on the
  /// path is empty.
  ///
  /// - Throws: ``KeyValueError``; the other errors of `setValue(_:forKey:)`.
  public func setValue(_ value: Any?, forKeyPath keyPath: String) throws {
    try (self as ManagedObject).setValue(value, forKeyPath: keyPath)
  }

  /// Returns the current value of an attribute without firing a fault.
  ///
  /// - Throws: ``KeyValueError``.
  public func primitiveValue(forKey key: String) throws -> Any? { try (self as ManagedObject).primitiveValue(forKey: key) }

  /// Sets an attribute without marking the object as changed. The value is saved only together with another change of the object.
  ///
  /// - Throws: ``KeyValueError``; ``StoreError`` if the object's row or context is known to no longer exist.
  public func setPrimitiveValue(_ value: Any?, forKey key: String) throws {
    try (self as ManagedObject).setPrimitiveValue(value, forKey: key)
  }

  /// Returns the IDs of a relationship's objects without firing their faults.
  ///
  /// - Throws: ``KeyValueError`` if there is no such relationship.
  public func objectIDs(forRelationshipNamed name: String) throws -> [ManagedObjectID] {
    try (self as ManagedObject).objectIDs(forRelationshipNamed: name)
  }

  // MARK: Changes

  /// Returns the values that changed since the object was last read or saved, by property name. Does not fire a fault.
  ///
  /// A removed value is nil. A value that cannot be read is nil too, and ``ManagedObjectContext/pendingError`` contains the error. Values
  /// set by ``setPrimitiveValue(_:forKey:)`` are included only if another property has changed, as they are then saved with it.
  public func changedValues() -> [String: Any?] { (self as ManagedObject).changedValues() }

  /// Returns the attribute and to-one relationship values set since pending changes were last processed, by property name. Does not fire a
  /// fault.
  ///
  /// If a value cannot be read, ``ManagedObjectContext/pendingError`` contains the error.
  public func changedValuesForCurrentEvent() -> [String: Any?] { (self as ManagedObject).changedValuesForCurrentEvent() }

  /// Returns the values last read or saved, by property name. Empty for an inserted object. Fires a fault.
  ///
  /// To-one relationships are returned as IDs.
  ///
  /// - Parameter keys: The properties to return; nil for all attributes and to-one relationships.
  /// - Throws: ``KeyValueError`` for an unknown key.
  public func committedValues(forKeys keys: [String]?) throws -> [String: Any?] {
    try (self as ManagedObject).committedValues(forKeys: keys)
  }
}

// MARK: - Implementation of change inspection

extension ManagedObject {
  final func changedValues() -> [String: Any?] {
    guard hasChanges else { return [:] }
    let entity = compiledEntity
    var values: [String: Any?] = [:]
    if let overlay {
      for slot in entity.slots where overlay.isDirty(slot.index) {
        values.updateValue(self[slot.name], forKey: slot.name)
      }
    }
    for state in toManyStates where state.isChanged {
      values.updateValue(self[state.relationship.name], forKey: state.relationship.name)
    }
    return values
  }

  final func changedValuesForCurrentEvent() -> [String: Any?] {
    guard let overlay else { return [:] }
    var values: [String: Any?] = [:]
    for slot in compiledEntity.slots where overlay.isChangedInEvent(slot.index) {
      values.updateValue(self[slot.name], forKey: slot.name)
    }
    return values
  }

  final func committedValues(forKeys keys: [String]?) throws -> [String: Any?] {
    if flags.contains(.isInserted) { return [:] }
    willAccess()
    let entity = compiledEntity
    var values: [String: Any?] = [:]
    for key in keys ?? entity.slots.map(\.name) {
      switch entity.property(named: key) {
      case .attribute(let slot):
        guard let attribute = slot.attribute else { continue }
        let stored = try image.map { try storedValue(slot.index, of: $0) } ?? .null
        values.updateValue(try Self.untypedValue(stored, attribute, entityName: entity.name, objectID), forKey: key)
      case .toOne(let relationship):
        let reference = image?.reference(relationship.index) ?? ObjectReference(rawValue: 0)
        values.updateValue(reference.isNull ? nil : managedObjectContext?.objectID(reference, near: self), forKey: key)
      case .composite(let composite):
        let parts = composite.partNames.map { "\(composite.name).\($0)" }
        var whole: [String: Any] = [:]
        for (name, value) in try committedValues(forKeys: parts) {
          if let value { whole[String(name.dropFirst(composite.name.count + 1))] = value }
        }
        values.updateValue(whole.isEmpty ? nil : whole, forKey: key)
      case .toMany, .fetched: continue
      case nil: throw KeyValueError(unknown: key, of: entity)
      }
    }
    return values
  }
}

extension ManagedObject: CustomStringConvertible {
  /// The entity, the ID, and, unless the object is a fault, its values. Does not fire a fault.
  final var printedForm: String {
    let entity = compiledEntity
    let head = "<\(Swift.type(of: self))> (entity: \(entity.name); id: \(objectID.uriString); data: "
    if isFault { return head + "<fault>)" }
    var lines: [String] = []
    for slot in entity.slots {
      if slot.relationship != nil {
        let reference = loadedReference(slot.index) ?? ObjectReference(rawValue: 0)
        let id = reference.isNull ? nil : managedObjectContext?.objectID(reference, near: self)
        lines.append("\(slot.name) = \(id?.uriString ?? "nil")")
      } else {
        lines.append("\(slot.name) = \(printed(slot))")
      }
    }
    for relationship in entity.toManyRelationships {
      if let state = toManyStates[relationship.index], state.isLoaded {
        let ids = state.members.compactMap { managedObjectContext?.objectID($0, near: self)?.uriString }
        lines.append("\(relationship.name) = [\(ids.joined(separator: ", "))]")
      } else {
        lines.append("\(relationship.name) = <relationship fault: '\(relationship.name)'>")
      }
    }
    return head + "{ " + lines.joined(separator: "; ") + " })"
  }

  private func printed(_ slot: CompiledSlot) -> String {
    // Do not read large values for a description.
    let external = overlay?.has(slot.index) ?? false ? overlay?.external(slot.index) : nil
    if slot.kind == .bytes, external != nil || overlay?.has(slot.index) != true && image?.external(slot.index) != nil {
      return "<large value>"
    }
    guard let attribute = slot.attribute else { return "nil" }
    let value: Any?
    do {
      value = try Self.swiftValue(loadedSlotValue(slot.index) ?? .null, attribute, entityName: compiledEntity.name)
    } catch {
      return "<unreadable>"
    }
    guard let value else { return "nil" }
    return value is String ? "\"\(value)\"" : "\(value)"
  }
}
