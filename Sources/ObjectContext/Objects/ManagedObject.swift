public import ObjectModel
public import ObjectStore

/// An object in a context that represents one row of a store.
///
/// ```swift
/// let book = Book(context: context)            // stored by the next save
/// book.title = "The Dispossessed"
/// book.author = author                         // also adds the book to author.books
/// let shelf = try book.value(forKey: "shelf")  // any property by its name
/// ```
///
/// A managed object belongs to the isolation of its context and is not `Sendable`; pass its ``objectID`` instead. Generated typed classes
/// inherit from this class. An entity without a class of its own uses `ManagedObject` itself.
///
/// An object whose values have not been loaded is a *fault*. Reading one of its properties loads its values, together with those of the
/// other objects from the same fetch. Reading a loaded value takes about 1 ns.
///
/// Property accessors do not throw. If the row was deleted or cannot be read, they return the empty value, and
/// ``ManagedObjectContext/pendingError`` reports the error. Access by key throws ``KeyValueError`` if the key is not the name of a
/// property.
///
/// Subclasses are `nonisolated`, as this class is, whatever the default isolation of their module.
nonisolated open class ManagedObject {
  // Exclusivity of these properties is not checked at run time because a context's isolation admits one access at a time; a check costs 17
  // ns per read.
  /// The address that property reads start from.
  ///
  /// A positive value is a row that holds every value: the object's own, or that of an overlay that has all values. If the highest bit is
  /// set, the other bits are the object's own row, if any, which must not be read directly, for example because the object is a fault. 0
  /// means that reads take the slow path, for example through a partial overlay.
  @exclusivity(unchecked) @usableFromInline final var storedReadWord = Int.min
  /// The values set since the row was read. The object owns the overlay and frees it; see ``setOverlay(_:)``. While there is an overlay, it
  /// also stores the address of the object's row.
  @exclusivity(unchecked) private(set) final var overlay: Overlay?
  /// The states of the to-many relationships that were read or changed.
  @exclusivity(unchecked) final var toManyStates = ToManyStates()
  /// The context. `Unmanaged`: the object does not retain its context, and the context clears the reference when it is deallocated.
  @exclusivity(unchecked) @usableFromInline final var contextReference: Unmanaged<ManagedObjectContext>?
  /// The parts of the ID, stored separately to save four bytes, so that an object fills its allocation size class exactly.
  @exclusivity(unchecked) @usableFromInline final var ownReference: ObjectReference
  @exclusivity(unchecked) @usableFromInline final var ownSpace: UInt32
  @exclusivity(unchecked) @usableFromInline final var storedFlags: ObjectFlags
  /// The number of the fetch group whose objects fault together with this one, and the object's position in the group.
  @exclusivity(unchecked) final var group: UInt32 = 0
  @exclusivity(unchecked) final var groupPosition: UInt32 = 0

  /// Creates an object for a context. Only contexts call this initializer; use ``init(context:)`` or
  /// ``ManagedObjectContext/insertObject(entityName:)``.
  public required init(_ seed: ManagedObjectSeed) {
    ownReference = seed.objectID.reference
    ownSpace = seed.objectID.space
    storedFlags = seed.flags
    contextReference = seed.context
    if let image = seed.image { storedReadWord |= Int(bitPattern: image.retain()) }
  }

  /// Inserts a new object of this class's entity into a context, sets its default values, and calls ``awakeFromInsert()``.
  ///
  /// This initializer traps if the class is not in the context's class table (see ``ManagedObjectClasses``). The generated `makeContainer`
  /// registers all generated classes. ``ManagedObjectContext/insertObject(_:)`` throws instead of trapping.
  public convenience init(context: ManagedObjectContext) {
    self.init(ManagedObjectSeed(newObjectOf: context.entity(ofClass: Self.self), in: context))
    context.registerInserted(self)
  }

  deinit {
    if let row { RowImage.release(row) }
    overlay?.free()
    contextReference?._withUnsafeGuaranteedRef { context in
      if storedFlags.contains(.isObserved) { context.observation?.objectWasDeallocated(of: ObjectIdentifier(self)) }
      context.forget(self)
    }
  }

  // MARK: Identity

  @inlinable final var currentID: ManagedObjectID {
    get { ManagedObjectID(space: ownSpace, entityNumber: UInt32(truncatingIfNeeded: ownReference.entity), key: ownReference.key) }
    set { (ownReference, ownSpace) = (newValue.reference, newValue.space) }
  }

  @inline(__always) final var entityNumber: UInt32 { UInt32(truncatingIfNeeded: ownReference.entity) }

  /// The object's ID. It is temporary until the object is saved for the first time.
  public final var objectID: ManagedObjectID { currentID }

  // Not public: applications use `ManagedObjectMembers`, which also declares other members whose types differ from Core Data's.
  final var managedObjectContext: ManagedObjectContext? { contextReference?.takeUnretainedValue() }

  final var entity: EntityDescription { compiledEntity.entityDescription }

  /// The compiled form of the object's entity.
  @inline(__always) package final var compiledEntity: CompiledEntity {
    if let contextReference { return contextReference._withUnsafeGuaranteedRef { $0.tables.entity(numbered: Int(entityNumber)) } }
    return entityWithoutContext
  }

  /// Calls a closure with the entity, without retaining the entity if the object has a context.
  @inline(__always) final func withEntity<Answer>(_ body: (CompiledEntity) -> Answer) -> Answer {
    if let contextReference { return contextReference._withUnsafeGuaranteedRef { $0.tables.with(entity: Int(entityNumber), body) } }
    return body(entityWithoutContext)
  }

  @inline(never) private final var entityWithoutContext: CompiledEntity {
    // IDs exist only in registered spaces, and spaces are never unregistered.
    guard let space = ObjectIDSpace.space(currentID.space) else { preconditionFailure("IDs are made in registered spaces only") }
    return space.model.entities[Int(currentID.entityNumber)]
  }

  // MARK: Changed values

  /// Replaces the overlay, takes ownership of the new one, and frees the previous one.
  final func setOverlay(_ new: Overlay?) { takeOverlay(leaving: new)?.free() }

  /// Replaces the overlay and returns the previous one, which the caller must free.
  @inline(__always) final func takeOverlay(leaving new: Overlay? = nil) -> Overlay? {
    let former = overlay
    // The address of the row moves into the overlay, or back. `readWord` is set in both cases, since it may refer to the previous overlay.
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

  // MARK: Whole-word stores

  /// The address that property reads start from; see `storedReadWord`.
  @usableFromInline final var readWord: Int {
    @inlinable get { storedReadWord }
    @inline(__always) set { storedReadWord = FullWordStore.of(newValue) }
  }

  @usableFromInline final var flags: ObjectFlags {
    @inlinable get { storedFlags }
    @inline(__always) set { storedFlags = ObjectFlags(rawValue: FullWordStore.of(newValue.rawValue)) }
  }

  // MARK: State

  /// Whether the object was inserted and has not been saved yet.
  public final var isInserted: Bool { flags.contains(.isInserted) && !flags.contains(.isDeleted) }
  /// Whether the object was changed since it was read or saved. A new object is inserted, not updated.
  public final var isUpdated: Bool { flags.contains(.isUpdated) && !flags.contains(.isInserted) && !flags.contains(.isDeleted) }
  /// Whether the next save deletes the object. The value is `false` again after that save.
  public final var isDeleted: Bool { flags.contains(.isDeleted) }
  /// Whether the object is inserted, updated or deleted.
  public final var hasChanges: Bool { !flags.isDisjoint(with: [.isInserted, .isUpdated, .isDeleted]) }
  /// Whether the object's values have not been loaded yet.
  public final var isFault: Bool { flags.contains(.isFault) }

  /// Whether the object is valid: it belongs to a context, is not marked for deletion, and its row is not known to be deleted. Does not
  /// fire the fault.
  ///
  /// Reading an object that is not valid never traps. Its properties return the last known values, or empty ones.
  public final var isUsable: Bool { contextReference != nil && flags.isDisjoint(with: [.isDeleted, .isInaccessible, .isRemoved]) }

  /// Whether a save would write the object: it is new or deleted, or a persistent value differs from its row. Does not fire the fault.
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
      // A value that cannot be read counts as changed.
      return kind != .none && (try? image?.slot(slot, kind: kind)) != overlay[slot]
    }
  }

  // MARK: Life cycle

  /// Called once after the object is inserted and its default values are set. Changes made here are part of the insertion.
  open func awakeFromInsert() {}
  /// Called after a fault has loaded its values. Changes made here do not mark the object as updated.
  open func awakeFromFetch() {}
  /// Called after values were restored other than by a fetch, for example by undo or rollback.
  open func awake(fromSnapshotEvents events: SnapshotEvents) {}
  /// Called before each save of a changed object. The save includes values set here.
  open func willSave() {}
  /// Called after each save. Setting values here marks the object as updated again.
  open func didSave() {}
  /// Called before the object is deleted, while its relationships are still intact.
  open func prepareForDeletion() {}
  /// Called before the object becomes a fault.
  open func willTurnIntoFault() {}
  /// Called after the object became a fault.
  open func didTurnIntoFault() {}

  // MARK: Description

  /// The entity, the ID and, unless the object is a fault, its values. Does not fire the fault.
  open var description: String { printedForm }

  // MARK: Validation

  /// The keys for which each save calls ``validateValue(_:forKey:)``, in addition to the model's rules. Override this property together
  /// with that method.
  open class var keysWithCustomValidation: [String] { [] }

  /// Validates a value against the model's rules for a property. Override it to add rules, and call `super`.
  ///
  /// An override may replace the value, for example to trim whitespace. For the keys in ``keysWithCustomValidation``, a save sets the
  /// replaced values, and repeats validation until nothing is replaced.
  /// - Parameters:
  ///   - value: The value, in the form that ``ManagedObjectMembers/value(forKey:)`` returns.
  ///   - key: The name of the property.
  /// - Throws: ``ValidationError``.
  open func validateValue(_ value: inout Any?, forKey key: String) throws {
    try validateByModel(value, forKey: key)
  }

  /// Validates a value as ``validateValue(_:forKey:)`` does, but discards replacements.
  ///
  /// - Throws: ``ValidationError``.
  public final func checkValue(_ value: Any?, forKey key: String) throws {
    var value = value
    try validateValue(&value, forKey: key)
  }

  /// Validates a new object before a save. Override it to check several properties together, and call `super`.
  ///
  /// A save reports errors of any type that an override throws, together with the errors of other objects.
  ///
  /// - Throws: ``ValidationError``, with the code ``ValidationError/Code/multipleErrors`` if there are several errors.
  open func validateForInsert() throws { try validateProperties() }
  /// Validates a changed object before a save. See ``validateForInsert()``.
  ///
  /// - Throws: ``ValidationError``, with the code ``ValidationError/Code/multipleErrors`` if there are several errors.
  open func validateForUpdate() throws { try validateProperties() }
  /// Validates a deleted object before a save: relationships with the delete rule `deny` must be empty.
  ///
  /// - Throws: ``ValidationError`` with the code ``ValidationError/Code/deletionDenied``.
  open func validateForDelete() throws { try validateDenyRules() }
}

// MARK: - Objects without a context

extension ManagedObject {
  /// Creates an object with its default values, and inserts it into a context if one is given. ``ManagedObjectContext/insert(_:)`` inserts
  /// it later.
  ///
  /// ```swift
  /// let draft = try Book(entity: bookEntity, of: container.persistentStoreCoordinator)
  /// draft.title = "Emma"
  /// context.insert(draft)
  /// ```
  ///
  /// Without a context, only attributes can be set, not relationships.
  ///
  /// The object is an instance of the class on which the initializer is called, as in Core Data: `ManagedObject(entity:of:)` creates a plain
  /// `ManagedObject`, even if the entity has a class of its own. ``ManagedObjectContext/insertObject(entityName:)`` creates an instance of
  /// the entity's class, as `NSEntityDescription.insertNewObject` does.
  ///
  /// - Parameters:
  ///   - entity: An entity of the coordinator's model.
  ///   - coordinator: The coordinator of the contexts into which the object can be inserted.
  ///   - context: The context to insert the object into; nil for none.
  /// - Throws: ``StoreError`` if the coordinator's model has no such entity, if the entity is abstract, or if the class belongs to another
  ///   entity.
  public convenience init(
    entity: EntityDescription, of coordinator: PersistentStoreCoordinator, insertInto context: ManagedObjectContext? = nil
  ) throws {
    let entity = try Self.instantiableEntity(named: entity.name, of: coordinator.compiledModel)
    self.init(ManagedObjectSeed(newObjectOf: entity, of: coordinator))
    become(newOf: entity, in: context)
  }
}

/// The reasons why values of an object were restored.
public struct SnapshotEvents: OptionSet, Sendable {
  /// The raw value.
  public let rawValue: UInt
  /// Creates a set of events from raw bits.
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
  /// Returns whether two references are to the same object. A context has only one object for each row.
  @inlinable public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }
  /// Hashes the object's identity.
  @inlinable public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// Hashes the object's identity with one multiplication. Collision attacks are not a concern: input data cannot choose object addresses.
  @inlinable public final func _rawHashValue(seed: Int) -> Int {
    let address = UInt64(UInt(bitPattern: ObjectIdentifier(self)) ^ UInt(bitPattern: seed))
    // 2⁶⁴ divided by the golden ratio. Sets use the low bits of the hash, and the upper half of the product depends on all bits of the
    // address.
    let product = address.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    return Int(truncatingIfNeeded: product.high ^ product.low)
  }
}

// MARK: - The object's row

extension ManagedObject {
  /// The row from which every property can be read directly: the object's own, or that of an overlay that has all values. `nil` if a read
  /// takes the slow path.
  @inlinable final var directRow: UnsafeRawPointer? {
    @inline(__always) get { readWord > 0 ? UnsafeRawPointer(bitPattern: readWord) : nil }
  }

  /// Makes property reads take the slow path.
  final func hideRow() { readWord = overlay == nil ? readWord | .min : 0 }

  /// Lets property reads access the object's own row directly. The object must not have an overlay.
  @inline(__always) final func showRow() { readWord &= .max }

  /// Lets property reads access the overlay's row directly.
  @inline(__always) final func showRow(of overlay: Overlay) { readWord = Int(bitPattern: overlay.row) }

  /// The address of the row as last read or saved, which the object retains; `nil` if it is not in memory.
  final var row: UnsafeRawPointer? {
    @inline(__always) get { overlay == nil ? UnsafeRawPointer(bitPattern: readWord & .max) : overlay?.below }
  }

  /// The row as last read or saved; `nil` if it is not in memory.
  final var image: RowImage? {
    get { row.map { RowImage(heldRow: $0) } }
    set { withExtendedLifetime(newValue) { setRow(newValue?.base) } }
  }

  /// Replaces the object's row. The caller retains the new row during the call.
  final func setRow(_ new: UnsafeRawPointer?) {
    let former = row
    if let new { RowImage.retain(new) }
    if let overlay {
      overlay.below = new
      rowWasReplaced()
    } else {
      readWord = Int(bitPattern: new) | readWord & .min
    }
    if let former { RowImage.release(former) }
  }

  /// Sets the row that a new object was created for, unless the object has loaded a row in the meantime.
  @inline(__always) final func setInitialRow(_ first: UnsafeRawPointer) {
    guard row == nil else { return }
    RowImage.retain(first)
    if let overlay { overlay.below = first } else { readWord |= Int(bitPattern: first) }
  }
}

// MARK: - Row with current values

extension ManagedObject {
  /// Returns a row with the object's current values: set values over those of its own row. Does not fire a fault.
  ///
  /// - Parameter known: Converts the reference in a changed relationship to the one to store; null for none.
  final func presentRow(key: Int64, version: Int64, known: (ObjectReference) -> ObjectReference) -> RowImage {
    let (entity, overlay, image) = (compiledEntity, overlay, image)
    let writer = RowWriter(rowCapacity: 1)
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: key, version: version)
    for slot in entity.slots where slot.kind != .none {
      guard let overlay, overlay.has(slot.index) else {
        if let image { writer.copy(slot.index, kind: slot.kind, from: image) }
        continue
      }
      if let external = overlay.external(slot.index) {
        writer.setExternal(external, at: slot.index)
      } else if slot.kind == .reference, case .int(let word) = overlay[slot.index] {
        let reference = known(ObjectReference(rawValue: word))
        if !reference.isNull { writer.setReference(reference, at: slot.index) }
      } else {
        writer.set(overlay[slot.index], at: slot.index)
      }
    }
    return writer.endRow()
  }
}
