// ManagedObject: a living object: an ID, a shared row, and once changed an overlay of pending values.
public import ObjectModel
import ObjectStore

/// An object of a context: one for each row, with the values of its entity's properties.
///
/// ```swift
/// let book = Book(context: context)            // inserted; it is in the store after the next save
/// book.title = "The Dispossessed"
/// book.author = author                         // author.books has it now
/// let shelf = try book.value(forKey: "shelf")  // any property by its name
/// ```
///
/// Objects belong to their context's isolation and are not `Sendable`; pass ``objectID`` instead. Typed classes, made by the generator, inherit from
/// this class; entities without a class have objects of this class itself. An object whose values were not asked for yet is a *fault*: it gets
/// them when a property is read, together with those that came in the same fetch. A value that is at hand is read in about a nanosecond.
///
/// A property's accessor does not throw: where the row is gone or cannot be read it gives the empty value, and ``ManagedObjectContext/pendingError`` has the
/// error. Access by key throws ``KeyValueError`` for a name that is no property's.
///
/// A subclass is `nonisolated` as this class is, whatever the default isolation of its target.
nonisolated open class ManagedObject {
  // The hot path of every property read: the row when the object is no fault and has no changes, or the overlay's when that has all values.
  // Exclusivity is not checked at run time because a context's isolation admits one access at a time; the check costs 17 ns a read.
  // Where that row begins, as a number: the own one's has the highest bit as long as nobody may read it; 0 or the overlay's when there is an overlay.
  @exclusivity(unchecked) @usableFromInline final var storedReadWord = Int.min
  /// The values set since. They are the object's own, and freed by it: see ``setOverlay(_:)``. They also keep the row as long as they are there.
  // Exclusivity is unchecked for the reason above.
  @exclusivity(unchecked) private(set) final var overlay: Overlay?
  /// The states of the to-many relationships that were touched.
  // Exclusivity is unchecked for the reason above.
  @exclusivity(unchecked) final var toManyStates = ToManyStates()
  /// The context. `Unmanaged`: nothing is retained, and the context takes it back before it goes.
  @exclusivity(unchecked) @usableFromInline final var contextReference: Unmanaged<ManagedObjectContext>?
  /// The parts of the ID, which takes four bytes less so: an object has as many bytes as memory is given out in one piece.
  @exclusivity(unchecked) @usableFromInline final var ownReference: ObjectReference
  @exclusivity(unchecked) @usableFromInline final var ownSpace: UInt32
  @exclusivity(unchecked) @usableFromInline final var storedFlags: ObjectFlags
  /// The fetch group whose objects fault together with this one, and the object's place in it.
  @exclusivity(unchecked) final var group: UInt32 = 0
  @exclusivity(unchecked) final var groupPosition: UInt32 = 0

  /// Makes an object for a context. Contexts call this; use ``init(context:)`` or ``ManagedObjectContext/insertObject(entityName:)``.
  public required init(_ seed: ManagedObjectSeed) {
    ownReference = seed.objectID.reference
    ownSpace = seed.objectID.space
    storedFlags = seed.flags
    contextReference = seed.context
    if let image = seed.image { storedReadWord |= Int(bitPattern: image.hold()) }
  }

  /// Inserts a new object of the class's entity into a context, with its default values, and calls ``awakeFromInsert()``.
  ///
  /// The class must be in the context's class table (see ``ManagedObjectClasses``), as it is where the generated `makeContainer` made the container;
  /// otherwise the program is stopped. ``ManagedObjectContext/insertObject(_:)`` throws instead.
  public convenience init(context: ManagedObjectContext) {
    self.init(ManagedObjectSeed(newObjectOf: context.entity(ofClass: Self.self), in: context))
    context.registerInserted(self)
  }

  deinit {
    if let row { RowImage.letGo(row) }
    overlay?.free()
    contextReference?._withUnsafeGuaranteedRef { context in
      if storedFlags.contains(.isObserved) { context.observation?.noteDeath(of: ObjectIdentifier(self)) }
      context.forget(self)
    }
  }

  // MARK: Identity

  @inlinable final var currentID: ManagedObjectID {
    get { ManagedObjectID(space: ownSpace, entityNumber: UInt32(truncatingIfNeeded: ownReference.entity), key: ownReference.key) }
    set { (ownReference, ownSpace) = (newValue.reference, newValue.space) }
  }

  /// The number of the object's entity.
  @inline(__always) final var entityNumber: UInt32 { UInt32(truncatingIfNeeded: ownReference.entity) }

  /// The object's ID: temporary until it is saved for the first time.
  public final var objectID: ManagedObjectID { currentID }

  // Applications see this, and what else Core Data has with other types, by way of `ManagedObjectMembers`.
  final var managedObjectContext: ManagedObjectContext? { contextReference?.takeUnretainedValue() }

  final var entity: EntityDescription { compiledEntity.entityDescription }

  /// The object's entity with its numbers.
  @inline(__always) package final var compiledEntity: CompiledEntity {
    if let contextReference { return contextReference._withUnsafeGuaranteedRef { $0.tables.entity(numbered: Int(entityNumber)) } }
    return entityWithoutContext
  }

  /// Asks the entity, without a reference to it where there is a context.
  @inline(__always) final func askEntity<Answer>(_ question: (CompiledEntity) -> Answer) -> Answer {
    if let contextReference { return contextReference._withUnsafeGuaranteedRef { $0.tables.ask(entity: Int(entityNumber), question) } }
    return question(entityWithoutContext)
  }

  @inline(never) private final var entityWithoutContext: CompiledEntity {
    // Nothing can make an ID of a space that is not there, and nothing takes a space away.
    guard let space = ObjectIDSpace.space(currentID.space) else { preconditionFailure("IDs are made in registered spaces only") }
    return space.model.entities[Int(currentID.entityNumber)]
  }

  // MARK: Changed values

  /// Gives the object an overlay, which is its own from now on, or none. The one that it had is freed.
  final func setOverlay(_ new: Overlay?) { takeOverlay(leaving: new)?.free() }

  /// Takes the overlay out, and leaves another one or none in its place. Whoever takes it out frees it.
  @inline(__always) final func takeOverlay(leaving new: Overlay? = nil) -> Overlay? {
    let former = overlay
    // The row moves into the overlay, or back. What reads went to may be the former one's.
    let row = row
    if let former { former.below = nil }
    overlay = new
    if let new {
      new.below = row
      readWord = 0
    } else {
      readWord = Int(bitPattern: row) | .min
    }
    flags.remove(.writesInPlace)
    return former
  }

  // MARK: Words that are stored whole

  /// Where values are read from: see the stored word.
  @usableFromInline final var readWord: Int {
    @inlinable get { storedReadWord }
    @inline(__always) set { storedReadWord = WholeWord.of(newValue) }
  }

  /// What the object is.
  @usableFromInline final var flags: ObjectFlags {
    @inlinable get { storedFlags }
    @inline(__always) set { storedFlags = ObjectFlags(rawValue: WholeWord.of(newValue.rawValue)) }
  }

  // MARK: State

  /// Whether the object was inserted and not saved yet.
  public final var isInserted: Bool { flags.contains(.isInserted) && !flags.contains(.isDeleted) }
  /// Whether the object was changed since it was read or saved. New objects are inserted, not updated.
  public final var isUpdated: Bool { flags.contains(.isUpdated) && !flags.contains(.isInserted) && !flags.contains(.isDeleted) }
  /// Whether the next save deletes the object. It is false again after that save.
  public final var isDeleted: Bool { flags.contains(.isDeleted) }
  /// Whether the object is inserted, updated or deleted.
  public final var hasChanges: Bool { !flags.isDisjoint(with: [.isInserted, .isUpdated, .isDeleted]) }
  /// Whether the object's values have not been asked for yet.
  public final var isFault: Bool { flags.contains(.isFault) }

  /// Whether the object is still of use: it belongs to a context, is not to be deleted, and its row is not known to be gone. Asking fires no fault.
  ///
  /// Reading an object that is of no use never traps: it gives the last known values, or empty ones.
  public final var isUsable: Bool { contextReference != nil && flags.isDisjoint(with: [.isDeleted, .isInaccessible, .isGone]) }

  /// Whether a save would write something: the object is new or deleted, or a persistent value differs from its row. Fires no fault.
  public final var hasPersistentChangedValues: Bool {
    if flags.contains(.isInserted) || flags.contains(.isDeleted) { return true }
    guard flags.contains(.isUpdated) else { return false }
    if toManyStates.contains(where: \.isChanged) { return true }
    guard let overlay else { return false }
    let entity = compiledEntity
    return entity.slots.indices.contains { slot in
      if !overlay.isDirty(slot) { return false }
      let kind = entity.slots[slot].kind
      if overlay.external(slot) != nil { return true }
      // What cannot be read differs from every value.
      return kind != .none && (try? image?.slot(slot, kind: kind)) != overlay[slot]
    }
  }

  // MARK: Life

  /// Called once when the object was inserted, after its default values were set. Changes made here are part of the insertion.
  open func awakeFromInsert() {}
  /// Called when a fault has got its values. Changes made here do not make the object changed.
  open func awakeFromFetch() {}
  /// Called when values came back by other ways than a fetch.
  open func awake(fromSnapshotEvents events: SnapshotEvents) {}
  /// Called before each save of a changed object; values set here are saved too.
  open func willSave() {}
  /// Called after each save. Values set here make the object changed again.
  open func didSave() {}
  /// Called when the object is about to be deleted, while its relationships still stand.
  open func prepareForDeletion() {}
  /// Called before the object becomes a fault.
  open func willTurnIntoFault() {}
  /// Called after the object became a fault.
  open func didTurnIntoFault() {}

  // MARK: Description

  /// The entity, the ID and, unless the object is a fault, its values. Fires no fault.
  open var description: String { printedForm }

  // MARK: Validation

  /// The keys whose ``validateValue(_:forKey:)`` is called by each save, beside the model's rules. Override it together with that function.
  open class var keysWithCustomValidation: [String] { [] }

  /// Checks a value for a key by the model's rules; override it for rules of your own, and call `super`.
  ///
  /// An override may put another value in its place, such as one without spaces at its ends. A save takes such values for the keys in
  /// ``keysWithCustomValidation``, and asks again until nothing is replaced any more.
  /// - Parameters:
  ///   - value: The value, as ``ManagedObjectMembers/value(forKey:)`` gives it.
  ///   - key: The property.
  /// - Throws: ``ValidationError``.
  open func validateValue(_ value: inout Any?, forKey key: String) throws {
    try validateByModel(value, forKey: key)
  }

  /// Checks a value for a key as ``validateValue(_:forKey:)`` does, and drops what a rule would put in its place.
  ///
  /// - Throws: ``ValidationError``.
  public final func checkValue(_ value: Any?, forKey key: String) throws {
    var value = value
    try validateValue(&value, forKey: key)
  }

  /// Checks a new object before a save. Override it for rules over several properties, and call `super`. A save lists what it throws, of whatever type, with
  /// the errors of other objects.
  ///
  /// - Throws: ``ValidationError``; with ``ValidationError/Code/multipleErrors`` when there are several.
  open func validateForInsert() throws { try validateProperties() }
  /// Checks a changed object before a save. See ``validateForInsert()``.
  ///
  /// - Throws: ``ValidationError``; with ``ValidationError/Code/multipleErrors`` when there are several.
  open func validateForUpdate() throws { try validateProperties() }
  /// Checks an object that is to be deleted before a save: relationships with the rule `deny` must be empty.
  ///
  /// - Throws: ``ValidationError`` with ``ValidationError/Code/deletionDenied``.
  open func validateForDelete() throws { try validateDenyRules() }
}

/// Why values of an object came back.
public struct SnapshotEvents: OptionSet, Sendable {
  /// The raw value.
  public let rawValue: UInt
  /// Events of raw bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// An insertion was undone.
  public static let undoInsertion = SnapshotEvents(rawValue: 2)
  /// A deletion was undone.
  public static let undoDeletion = SnapshotEvents(rawValue: 4)
  /// A change was undone.
  public static let undoUpdate = SnapshotEvents(rawValue: 8)
  /// The context was rolled back.
  public static let rollback = SnapshotEvents(rawValue: 16)
  /// The object was refreshed.
  public static let refresh = SnapshotEvents(rawValue: 32)
  /// A merge policy changed values.
  public static let mergePolicy = SnapshotEvents(rawValue: 64)
}

extension ManagedObject: Hashable {
  /// Objects are equal when they are the same object: a context has one object for each row.
  @inlinable public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }
  /// Hashes the identity.
  @inlinable public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// Hashes the identity for a set or dictionary of objects, with one multiplication: nobody from outside chooses where objects lie.
  @inlinable public final func _rawHashValue(seed: Int) -> Int {
    let address = UInt64(UInt(bitPattern: ObjectIdentifier(self)) ^ UInt(bitPattern: seed))
    // 2⁶⁴ divided by the golden ratio. Sets take the lower bits, and the upper half of the product is where all bits of the address have come together.
    let product = address.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    return Int(truncatingIfNeeded: product.high ^ product.low)
  }
}
