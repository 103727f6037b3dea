// ManagedObject+Members: what applications see of an object by names that Core Data has with other types.
public import ObjectModel

/// The members of objects that Core Data has under the same names with other types. Every ``ManagedObject`` has them.
///
/// They are not the class's own, so that the class of the module `CoreData`, which inherits from it, can have Core Data's.
public protocol ManagedObjectMembers: ManagedObject {}

extension ManagedObject: ManagedObjectMembers {}

extension ManagedObjectMembers {
  /// The context that the object lives in; nil when its deletion was saved, or the context was reset or is gone.
  public var managedObjectContext: ManagedObjectContext? { (self as ManagedObject).managedObjectContext }

  /// The object's entity.
  public var entity: EntityDescription { (self as ManagedObject).entity }

  // MARK: Properties by their names

  /// The value of a property: an attribute's Swift value, a ``ManagedObject``, or a `Set` or (ordered) `Array` of them; nil when there is none. A fetched property
  /// gives an `Array` (see `_fetchedProperty(_:as:)`).
  ///
  /// An integer or a `Float` is an `NSNumber`: `as? Int`, `as? Int64`, `as? Int16` and `as? Double` all give it where they hold it, whatever the attribute's width.
  /// A cast takes a microsecond or more; ``ManagedObject/value(forKey:as:)`` and typed properties have none.
  ///
  /// A composite attribute gives a dictionary of the parts that have a value, nil when none has; `home.city` gives a part of it.
  /// A `transformable` attribute without a transformer gives its `Data`; see ``ManagedObject/value(forKey:as:)``. Fires a fault.
  /// - Throws: ``KeyValueError``; ``StoreError`` where what is stored is no value of the attribute's type.
  public func value(forKey key: String) throws -> Any? { try (self as ManagedObject).value(forKey: key) }

  /// Sets a property, and the inverse of a relationship. Integers are taken by any integer type that holds them.
  ///
  /// - Throws: ``KeyValueError``, also for an object of another entity and for a derived attribute; ``StoreError`` for an object of another context or
  ///   store, and when this object's row or context is gone. Nothing is changed then.
  public func setValue(_ value: Any?, forKey key: String) throws { try (self as ManagedObject).setValue(value, forKey: key) }

  /// The value at the end of a dotted path of relationships and composite attributes.
  ///
  /// Behind a to-many relationship it is an array of what its members have, those without a value left out: `books.title`, in the order of an ordered
  /// relationship; members of members are one array. Collection operators compute one value, by the rules of predicates: `books.@count`, `books.@sum.pages`,
  /// `@avg`, `@min` and `@max`; counts and sums of integers are integers, the least of none is nil. `@unionOfObjects` and `@distinctUnionOfObjects` (and `…OfArrays`,
  /// `…OfSets`) give arrays.
  ///
  /// - Throws: ``KeyValueError``; ``StoreError`` where what is stored is no value of the attribute's type.
  public func value(forKeyPath keyPath: String) throws -> Any? { try valueAlong(keyPath) }

  /// Sets the property at the end of a dotted path of to-one relationships and composite attributes; nothing happens where a relationship on the way is
  /// empty.
  ///
  /// - Throws: ``KeyValueError``.
  public func setValue(_ value: Any?, forKeyPath keyPath: String) throws {
    try (self as ManagedObject).setValue(value, forKeyPath: keyPath)
  }

  /// The value of an attribute as it stands, without firing a fault.
  ///
  /// - Throws: ``KeyValueError``.
  public func primitiveValue(forKey key: String) throws -> Any? { try (self as ManagedObject).primitiveValue(forKey: key) }

  /// Sets an attribute without making the object changed: it is saved only if something else is set too, and is no change until then.
  ///
  /// - Throws: ``KeyValueError``; ``StoreError`` when the object's row or context is known to be gone.
  public func setPrimitiveValue(_ value: Any?, forKey key: String) throws {
    try (self as ManagedObject).setPrimitiveValue(value, forKey: key)
  }

  /// The IDs of a relationship's objects, without firing their faults.
  ///
  /// - Throws: ``KeyValueError`` when there is no such relationship.
  public func objectIDs(forRelationshipNamed name: String) throws -> [ManagedObjectID] {
    try (self as ManagedObject).objectIDs(forRelationshipNamed: name)
  }

  // MARK: Changes

  /// The new values of the properties changed since the object was read or saved, by name; a cleared one has the value nil, and one that cannot be read, which
  /// ``ManagedObjectContext/pendingError`` tells. Fires no fault.
  ///
  /// What ``setPrimitiveValue(_:forKey:)`` has set is among them once something else was changed, with which it is saved.
  public func changedValues() -> [String: Any?] { (self as ManagedObject).changedValues() }

  /// The new values of the attributes and to-one relationships set since changes were last processed, by name. Fires no fault. Of one that cannot be read,
  /// ``ManagedObjectContext/pendingError`` tells.
  public func changedValuesForCurrentEvent() -> [String: Any?] { (self as ManagedObject).changedValuesForCurrentEvent() }

  /// The values that were last read or saved, by name; nil keys ask for all attributes and to-one relationships. Empty for new objects. Fires a fault.
  ///
  /// To-one relationships are given as IDs.
  /// - Throws: ``KeyValueError`` for any other key.
  public func committedValues(forKeys keys: [String]?) throws -> [String: Any?] {
    try (self as ManagedObject).committedValues(forKeys: keys)
  }
}
