public import Foundation
public import ObjectContext
public import ObjectModel
import ObjectStore

/// An object of a context: one for each row, with the values of its entity's properties.
///
/// Subclasses declare properties and methods with `@NSManaged`; the plugin `CoreDataSources` generates their implementations. The class
/// inherits from ``ManagedObject``, not from `NSObject`, but has the members of `NSObject`.
///
/// Where Core Data raises an exception, such as for an unknown property name, methods return nil and record an error in
/// ``NSManagedObjectContext/pendingError``. The next fetch or save throws it.
open class NSManagedObject: ManagedObject, NSObjectProtocol, NSFetchRequestResult {
  /// Creates an object for a context. Only contexts call this initializer.
  public required init(_ seed: ManagedObjectSeed) { super.init(seed) }

  /// Creates an object of an entity with its default values, and inserts it into the context, if any.
  public required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    context?.checkQueue("init(entity:insertInto:)")
    let place = NewObjectTarget(entity, context)
    super.init(place.seed)
    become(newOf: place.entity, in: context?.context)
  }

  /// Creates an object of the class's entity with its default values in a context.
  public required convenience init(context: NSManagedObjectContext) {
    self.init(entity: context.entity(ofClass: Self.self), insertInto: context)
  }

  // MARK: Identity

  /// The context of the object; nil after its deletion was saved, or the context was reset or deallocated.
  public final var managedObjectContext: NSManagedObjectContext? { NSManagedObjectContext.of((self as ManagedObject).managedObjectContext) }

  /// The object's entity.
  public final var entity: NSEntityDescription {
    managedObjectContext?.model?.entitiesByName[compiledEntity.name] ?? NSEntityDescription((self as ManagedObject).entity, of: nil)
  }

  /// Returns the entity of the class in the most recently loaded model that contains it.
  open class func entity() -> NSEntityDescription {
    EntityOfClass.find(self) ?? NSEntityDescription(EntityDescription(name: "\(self)"), of: nil)
  }

  /// Returns a request for all objects of the class's entity.
  open class func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> { NSFetchRequest(entityName: entity().name ?? "\(self)") }

  /// Whether contexts ignore changes of properties that are not in the model. They always do: overrides have no effect.
  open class var contextShouldIgnoreUnmodeledPropertyChanges: Bool { true }

  // MARK: Members of NSObject

  /// Returns whether the other object is the same instance. A context has one object for each row.
  open func isEqual(_ object: Any?) -> Bool { (object as? NSManagedObject) === self }
  /// A hash of the object's identity.
  open var hash: Int { ObjectIdentifier(self).hashValue }
  /// Returns the object.
  public final func `self`() -> Self { self }
  /// Returns false: there are no proxies.
  public final func isProxy() -> Bool { false }
  /// The entity, the ID and, unless the object is a fault, its values. Does not fire a fault.
  open var debugDescription: String { description }

  // MARK: Faults

  /// The faulting state: 0 if the values are loaded, 1 for a fault.
  open var faultingState: Int { isFault ? 1 : 0 }
  /// Fires the object's fault. The key may be nil.
  open func willAccessValue(forKey key: String?) { fireIfFault() }
  /// Ends an access that ``willAccessValue(forKey:)`` began.
  open func didAccessValue(forKey key: String?) {}
  /// Prepares for a change of a primitive value. ``didChangeValue(forKey:)`` records the change.
  open func willChangeValue(forKey key: String) { fireIfFault() }
  /// Records the change of a primitive value: the object has changes from then on.
  open func didChangeValue(forKey key: String) {
    guard isAttribute(key), let value = primitiveValue(forKey: key) else { return }
    (self as ManagedObject)[key] = value
  }
  /// Returns the IDs of a relationship's objects without firing their faults.
  open func objectIDs(forRelationshipNamed key: String) -> [NSManagedObjectID] {
    reportingErrors([], "objectIDs(forRelationshipNamed:)") { try ($0 as ManagedObject).objectIDs(forRelationshipNamed: key) }
  }

  // MARK: Key-value coding

  /// Returns the value of a property; nil if it has no value.
  ///
  /// A to-many relationship returns an `NSSet`; use ``mutableSetValue(forKey:)`` to modify it. An ordered relationship returns an
  /// `NSMutableOrderedSet` that modifies the relationship.
  open func value(forKey key: String) -> Any? {
    reportingErrors(nil, "value(forKey:)") { $0.applicationValue(try ($0 as ManagedObject).value(forKey: key), of: key) }
  }
  /// Sets a property, and the inverse of a relationship.
  open func setValue(_ value: Any?, forKey key: String) {
    reportingErrors((), "setValue(_:forKey:)") { try ($0 as ManagedObject).setValue(taken(value, key), forKey: key) }
  }
  private final func taken(_ value: Any?, _ key: String) -> Any? {
    if let number = AttributeConversion.unwrapped(value) as? NSDecimalNumber,
      case .attribute(let slot) = compiledEntity.property(named: key),
      let number = ManagedValue.number(number, for: slot.attributeType)
    {
      return number
    }
    let taken = ManagedValue.taken(value)
    guard let taken, SecureArchive.archives(taken), case .attribute(let slot) = compiledEntity.property(named: key),
      slot.attributeType == .transformable, AttributeTransformers.transformer(forName: slot.attribute?.valueTransformerName ?? "") == nil
    else { return taken }
    return ManagedValue.archived(taken)
  }
  /// Returns the value at a dotted key path.
  open func value(forKeyPath keyPath: String) -> Any? {
    reportingErrors(nil, "value(forKeyPath:)") { object in
      let value = try (object as ManagedObject).value(forKeyPath: keyPath)
      guard value is [ManagedObject] else { return ManagedValue.shown(value) }
      let (owner, key) = try object.owner(of: keyPath)
      return owner?.applicationValue(value, of: key) ?? ManagedValue.shown(value)
    }
  }
  /// Sets the property at a dotted key path of to-one relationships.
  open func setValue(_ value: Any?, forKeyPath keyPath: String) {
    reportingErrors((), "setValue(_:forKeyPath:)") { object in
      let (owner, key) = try object.owner(of: keyPath)
      if let owner { return owner.setValue(value, forKey: key) }
      try (object as ManagedObject).setValue(ManagedValue.taken(value), forKeyPath: keyPath)
    }
  }
  /// Sets properties by name.
  open func setValuesForKeys(_ values: [String: Any]) {
    for (key, value) in values { setValue(value is NSNull ? nil : value, forKey: key) }
  }
  /// Returns the values of properties by name.
  open func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
    Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }) { first, _ in first }
  }
  /// Returns the current value of an attribute without firing a fault.
  open func primitiveValue(forKey key: String) -> Any? {
    reportingErrors(nil, "primitiveValue(forKey:)") { object in
      // The members of a relationship have no primitive form.
      let value =
        object.isAttribute(key)
        ? try (object as ManagedObject).primitiveValue(forKey: key) : try (object as ManagedObject).value(forKey: key)
      return object.applicationValue(value, of: key)
    }
  }
  /// Sets an attribute without marking the object as changed.
  open func setPrimitiveValue(_ value: Any?, forKey key: String) {
    reportingErrors((), "setPrimitiveValue(_:forKey:)") { object in
      if object.isAttribute(key) {
        try (object as ManagedObject).setPrimitiveValue(taken(value, key), forKey: key)
      } else {
        try (object as ManagedObject).setValue(taken(value, key), forKey: key)
      }
    }
  }

  /// Returns a mutable set that modifies a to-many relationship. For other properties, the set stays empty and an error is recorded as the
  /// context's pending error.
  open func mutableSetValue(forKey key: String) -> NSMutableSet { RelationshipSet(self, key) }

  /// Returns a mutable set that modifies the to-many relationship at a dotted key path of to-one relationships.
  open func mutableSetValue(forKeyPath keyPath: String) -> NSMutableSet {
    let (owner, key) = reportingErrors((nil, keyPath), "mutableSetValue(forKeyPath:)") { try $0.owner(of: keyPath) }
    return owner?.mutableSetValue(forKey: key) ?? NSMutableSet()
  }

  /// Returns a mutable ordered set that modifies the ordered relationship at a dotted key path of to-one relationships.
  open func mutableOrderedSetValue(forKeyPath keyPath: String) -> NSMutableOrderedSet {
    let (owner, key) = reportingErrors((nil, keyPath), "mutableOrderedSetValue(forKeyPath:)") { try $0.owner(of: keyPath) }
    return owner?.mutableOrderedSetValue(forKey: key) ?? NSMutableOrderedSet()
  }

  /// Returns the object and the property at the end of a key path; the object is nil if the path leads to none or to several.
  private func owner(of keyPath: String) throws -> (NSManagedObject?, key: String) {
    guard let dot = keyPath.lastIndex(of: ".") else { return (self, keyPath) }
    let owner = try (self as ManagedObject).value(forKeyPath: String(keyPath[..<dot])) as? NSManagedObject
    return (owner, String(keyPath[keyPath.index(after: dot)...]))
  }

  /// Returns a mutable ordered set that modifies an ordered relationship. For other properties, the set stays empty and an error is
  /// recorded as the context's pending error.
  open func mutableOrderedSetValue(forKey key: String) -> NSMutableOrderedSet {
    let members = value(forKey: key) as? NSOrderedSet
    return members as? RelationshipOrderedSet
      ?? RelationshipOrderedSet(self, key, (members?.array ?? []).compactMap { $0 as? ManagedObject })
  }

  // MARK: Changes

  /// Returns the new values of the properties changed since the object was fetched or saved; `NSNull` for a cleared one.
  open func changedValues() -> [String: Any] {
    reportingErrors([:], "changedValues()") { ManagedValue.shown(($0 as ManagedObject).changedValues()) }
  }
  /// Returns the new values of the properties changed since changes were last processed.
  open func changedValuesForCurrentEvent() -> [String: Any] {
    reportingErrors([:], "changedValuesForCurrentEvent()") { ManagedValue.shown(($0 as ManagedObject).changedValuesForCurrentEvent()) }
  }
  /// Returns the values last fetched or saved. Without keys, all attributes and to-one relationships are returned.
  open func committedValues(forKeys keys: [String]?) -> [String: Any] {
    reportingErrors([:], "committedValues(forKeys:)") { ManagedValue.shown(try ($0 as ManagedObject).committedValues(forKeys: keys)) }
  }

  // MARK: Validation

  /// Validates a value for a property.
  ///
  /// - Throws: `NSError` with the object and the property in its user info.
  open override func validateValue(_ value: inout Any?, forKey key: String) throws {
    var taken = taken(value, key)
    do { try super.validateValue(&taken, forKey: key) } catch { throw validationError(error) }
  }
  /// Validates a new object before a save. Overrides can check rules for several properties, and must call `super`.
  ///
  /// - Throws: `NSError`, with ``NSDetailedErrorsKey`` if several values are invalid.
  open override func validateForInsert() throws {
    do { try super.validateForInsert() } catch { throw validationError(error) }
  }
  /// Validates a changed object before a save. See ``validateForInsert()``.
  ///
  /// - Throws: `NSError`, with ``NSDetailedErrorsKey`` if several values are invalid.
  open override func validateForUpdate() throws {
    do { try super.validateForUpdate() } catch { throw validationError(error) }
  }
  /// Validates the deletion of an object before a save.
  ///
  /// - Throws: `NSError` with ``NSValidationRelationshipDeniedDeleteError`` if a relationship with the delete rule `deny` has objects.
  open override func validateForDelete() throws {
    do { try super.validateForDelete() } catch { throw validationError(error) }
  }

  private func validationError(_ error: any Error) -> NSError {
    CoreDataError.make(error) { id in
      id == objectID ? self : (self as ManagedObject).managedObjectContext?.registeredObject(for: id) as? NSManagedObject
    }
  }

  /// Checks the queue, calls a throwing closure and records its error in the context.
  private func reportingErrors<Result>(_ empty: Result, _ use: StaticString, _ work: (NSManagedObject) throws -> Result) -> Result {
    checkQueue(use)
    do { return try work(self) } catch {
      recordError(error)
      return empty
    }
  }
}

/// The events that set an object's values other than by its setters.
public typealias NSSnapshotEventType = SnapshotEvents
