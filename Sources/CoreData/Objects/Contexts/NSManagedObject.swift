// NSManagedObject: the class of managed objects, with Core Data's members.
public import Foundation
public import ObjectContext
public import ObjectModel
import ObjectStore

/// An object of a context: one for each row, with the values of its entity's properties.
///
/// Its subclasses declare properties and methods with `@NSManaged`; the plugin `CoreDataSources` writes what answers them. It is of the class
/// ``ManagedObject``, and so no `NSObject`, whose members it has all the same.
///
/// What raises on Apple's systems, such as a name that is no property's, gives nil here and is told by ``NSManagedObjectContext/pendingError``; the next
/// fetch or save throws it.
open class NSManagedObject: ManagedObject, NSObjectProtocol, NSFetchRequestResult {
  /// Makes an object for a context. Contexts call this.
  public required init(_ seed: ManagedObjectSeed) { super.init(seed) }

  /// Makes a new object of an entity, with its default values, and inserts it into a context, if there is one.
  public required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    context?.checkQueue("init(entity:insertInto:)")
    let place = NewObjectPlace(entity, context)
    super.init(place.seed)
    become(newOf: place.entity, in: context?.context)
  }

  /// Makes a new object of the class's entity, with its default values, in a context.
  public required convenience init(context: NSManagedObjectContext) {
    self.init(entity: context.entity(ofClass: Self.self), insertInto: context)
  }

  // MARK: Identity

  /// The context that the object lives in; nil when its deletion was saved, or the context was reset or is gone.
  public final var managedObjectContext: NSManagedObjectContext? { NSManagedObjectContext.of((self as ManagedObject).managedObjectContext) }

  /// The object's entity.
  public final var entity: NSEntityDescription {
    managedObjectContext?.model?.entitiesByName[compiledEntity.name] ?? NSEntityDescription((self as ManagedObject).entity, of: nil)
  }

  /// The entity of the class, in the model that was loaded last and has it.
  open class func entity() -> NSEntityDescription {
    EntityOfClass.find(self) ?? NSEntityDescription(EntityDescription(name: "\(self)"), of: nil)
  }

  /// A question for all objects of the class's entity.
  open class func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> { NSFetchRequest(entityName: entity().name ?? "\(self)") }

  /// Whether contexts pass over changes of properties that the model does not have. They always do: an override has no effect.
  open class var contextShouldIgnoreUnmodeledPropertyChanges: Bool { true }

  // MARK: What NSObject has

  /// Whether it is the same object: a context has one for each row.
  open func isEqual(_ object: Any?) -> Bool { (object as? NSManagedObject) === self }
  /// The hash of the identity.
  open var hash: Int { ObjectIdentifier(self).hashValue }
  /// The object.
  public final func `self`() -> Self { self }
  /// No object stands for another one.
  public final func isProxy() -> Bool { false }
  /// The entity, the ID and, unless the object is a fault, its values. Fires no fault.
  open var debugDescription: String { description }

  // MARK: Faults

  /// What the object is short of, when it is a fault: 0 when it has its values.
  open var faultingState: Int { isFault ? 1 : 0 }
  /// Gets the values of a fault; nil for no property in particular.
  open func willAccessValue(forKey key: String?) { fireIfFault() }
  /// Ends what ``willAccessValue(forKey:)`` has begun.
  open func didAccessValue(forKey key: String?) {}
  /// Before a primitive value is set. The change is noted by ``didChangeValue(forKey:)``.
  open func willChangeValue(forKey key: String) { fireIfFault() }
  /// After a primitive value was set: the object is changed from now on.
  open func didChangeValue(forKey key: String) {
    guard isAttribute(key), let value = primitiveValue(forKey: key) else { return }
    (self as ManagedObject)[key] = value
  }
  /// The IDs of a relationship's objects, without firing their faults.
  open func objectIDs(forRelationshipNamed key: String) -> [NSManagedObjectID] {
    telling([], "objectIDs(forRelationshipNamed:)") { try ($0 as ManagedObject).objectIDs(forRelationshipNamed: key) }
  }

  // MARK: Properties by their names

  /// The value of a property; nil when there is none. A to-many relationship gives an `NSSet`, which ``mutableSetValue(forKey:)`` makes changeable, an ordered one an
  /// `NSMutableOrderedSet` that changes the relationship.
  open func value(forKey key: String) -> Any? {
    telling(nil, "value(forKey:)") { $0.applicationValue(try ($0 as ManagedObject).value(forKey: key), of: key) }
  }
  /// Sets a property, and the inverse of a relationship.
  open func setValue(_ value: Any?, forKey key: String) {
    telling((), "setValue(_:forKey:)") { try ($0 as ManagedObject).setValue(taken(value, key), forKey: key) }
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
  /// The value at the end of a dotted path.
  open func value(forKeyPath keyPath: String) -> Any? {
    telling(nil, "value(forKeyPath:)") { object in
      let value = try (object as ManagedObject).value(forKeyPath: keyPath)
      guard value is [ManagedObject] else { return ManagedValue.shown(value) }
      guard let dot = keyPath.lastIndex(of: ".") else { return object.applicationValue(value, of: keyPath) }
      // The members are those of one object, or of several.
      let owner = try (object as ManagedObject).value(forKeyPath: String(keyPath[..<dot])) as? NSManagedObject
      return owner?.applicationValue(value, of: String(keyPath[keyPath.index(after: dot)...])) ?? ManagedValue.shown(value)
    }
  }
  /// Sets the property at the end of a dotted path of to-one relationships.
  open func setValue(_ value: Any?, forKeyPath keyPath: String) {
    telling((), "setValue(_:forKeyPath:)") { object in
      guard let dot = keyPath.lastIndex(of: ".") else { return object.setValue(value, forKey: keyPath) }
      if let owner = try (object as ManagedObject).value(forKeyPath: String(keyPath[..<dot])) as? NSManagedObject {
        return owner.setValue(value, forKey: String(keyPath[keyPath.index(after: dot)...]))
      }
      try (object as ManagedObject).setValue(ManagedValue.taken(value), forKeyPath: keyPath)
    }
  }
  /// Sets properties by their names.
  open func setValuesForKeys(_ values: [String: Any]) {
    for (key, value) in values { setValue(value is NSNull ? nil : value, forKey: key) }
  }
  /// The values of properties by their names.
  open func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
    Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }) { first, _ in first }
  }
  /// The value of an attribute as it stands, without firing a fault.
  open func primitiveValue(forKey key: String) -> Any? {
    telling(nil, "primitiveValue(forKey:)") { object in
      // The members of a relationship have no other form.
      let value =
        object.isAttribute(key)
        ? try (object as ManagedObject).primitiveValue(forKey: key) : try (object as ManagedObject).value(forKey: key)
      return object.applicationValue(value, of: key)
    }
  }
  /// Sets an attribute without making the object changed.
  open func setPrimitiveValue(_ value: Any?, forKey key: String) {
    telling((), "setPrimitiveValue(_:forKey:)") { object in
      if object.isAttribute(key) {
        try (object as ManagedObject).setPrimitiveValue(taken(value, key), forKey: key)
      } else {
        try (object as ManagedObject).setValue(taken(value, key), forKey: key)
      }
    }
  }

  /// The members of a to-many relationship as a set that changes it. A name of another property makes the set stay empty and is recorded as the context's pending error.
  open func mutableSetValue(forKey key: String) -> NSMutableSet { RelationshipSet(self, key) }

  /// The members of the to-many relationship at the end of a dotted path of to-one relationships as a set that changes it.
  open func mutableSetValue(forKeyPath keyPath: String) -> NSMutableSet {
    let (owner, key) = owner(of: keyPath)
    return owner?.mutableSetValue(forKey: key) ?? NSMutableSet()
  }

  /// The members of the ordered relationship at the end of a dotted path of to-one relationships as a set that changes it.
  open func mutableOrderedSetValue(forKeyPath keyPath: String) -> NSMutableOrderedSet {
    let (owner, key) = owner(of: keyPath)
    return owner?.mutableOrderedSetValue(forKey: key) ?? NSMutableOrderedSet()
  }

  /// The object whose property a path ends with, and the property; no object if the path does not lead to one.
  private func owner(of keyPath: String) -> (NSManagedObject?, key: String) {
    guard let dot = keyPath.lastIndex(of: ".") else { return (self, keyPath) }
    return (value(forKeyPath: String(keyPath[..<dot])) as? NSManagedObject, String(keyPath[keyPath.index(after: dot)...]))
  }

  /// The members of an ordered relationship as a set that changes it. A name of another property makes the set stay empty and is recorded as the context's pending error.
  open func mutableOrderedSetValue(forKey key: String) -> NSMutableOrderedSet {
    let members = value(forKey: key) as? NSOrderedSet
    return members as? RelationshipOrderedSet
      ?? RelationshipOrderedSet(self, key, (members?.array ?? []).compactMap { $0 as? ManagedObject })
  }

  // MARK: Changes

  /// The new values of the properties changed since the object was read or saved; `NSNull` for a cleared one.
  open func changedValues() -> [String: Any] {
    telling([:], "changedValues()") { ManagedValue.shown(($0 as ManagedObject).changedValues()) }
  }
  /// The new values of what was changed since changes were last processed.
  open func changedValuesForCurrentEvent() -> [String: Any] {
    telling([:], "changedValuesForCurrentEvent()") { ManagedValue.shown(($0 as ManagedObject).changedValuesForCurrentEvent()) }
  }
  /// The values that were last read or saved; nil keys ask for all attributes and to-one relationships.
  open func committedValues(forKeys keys: [String]?) -> [String: Any] {
    telling([:], "committedValues(forKeys:)") { ManagedValue.shown(try ($0 as ManagedObject).committedValues(forKeys: keys)) }
  }

  // MARK: Validation

  /// Checks a value for a property.
  ///
  /// - Throws: `NSError` with the object and the property in its user info.
  open override func validateValue(_ value: inout Any?, forKey key: String) throws {
    var taken = taken(value, key)
    do { try super.validateValue(&taken, forKey: key) } catch { throw validationError(error) }
  }
  /// Checks a new object before a save. Override it for rules over several properties, and call `super`.
  ///
  /// - Throws: `NSError`, with ``NSDetailedErrorsKey`` where several values are invalid.
  open override func validateForInsert() throws {
    do { try super.validateForInsert() } catch { throw validationError(error) }
  }
  /// Checks a changed object before a save. See ``validateForInsert()``.
  ///
  /// - Throws: `NSError`, with ``NSDetailedErrorsKey`` where several values are invalid.
  open override func validateForUpdate() throws {
    do { try super.validateForUpdate() } catch { throw validationError(error) }
  }
  /// Checks an object that is to be deleted before a save.
  ///
  /// - Throws: `NSError` with ``NSValidationRelationshipDeniedDeleteError`` where a relationship with the rule `deny` has objects.
  open override func validateForDelete() throws {
    do { try super.validateForDelete() } catch { throw validationError(error) }
  }

  private func validationError(_ error: any Error) -> NSError {
    CoreDataError.make(error) { id in
      id == objectID ? self : (self as ManagedObject).managedObjectContext?.registeredObject(for: id) as? NSManagedObject
    }
  }

  /// Does, where the context's queue is, what may throw; of what it throws the context is told.
  private func telling<Result>(_ empty: Result, _ use: StaticString, _ work: (NSManagedObject) throws -> Result) -> Result {
    checkQueue(use)
    do { return try work(self) } catch {
      noteFailure(error)
      return empty
    }
  }
}

/// What has changed an object otherwise than by its setters.
public typealias NSSnapshotEventType = SnapshotEvents
