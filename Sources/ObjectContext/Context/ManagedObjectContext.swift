public import Foundation
public import ObjectModel
public import ObjectStore
import Synchronization

/// An environment in which you fetch, create, change and delete managed objects, and save the changes.
///
/// ```swift
/// let context = container.viewContext
/// let books = try context.fetch(Book.all.where { $0.pages > 500 })
/// books.first?.title = "Ulysses"
/// try context.save()
/// ```
///
/// A context has at most one object for each row. A save is atomic: it writes all changes or none. Its cost depends on the number of
/// changes, not on the number of registered objects.
///
/// A context is not `Sendable`: the context and its objects stay in one isolation. ``PersistentContainer/viewContext`` belongs to the main
/// actor; ``PersistentContainer/performBackgroundTask(_:)``, ``PersistentContainer/newBackgroundContext()`` and ``ContextActor`` provide
/// contexts in other isolations.
///
/// Reading a property does not throw. An error that occurs there is stored in ``pendingError``, and the next `fetch(_:)` or ``save()``
/// throws it.
///
/// The context does not retain unchanged objects, except the last 8,192 objects that were reached through relationships, until the end of
/// the event. Traversing a graph therefore does not create the same objects repeatedly.
public final class ManagedObjectContext {
  /// The coordinator whose stores the context reads and writes.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The classes of the context's objects, by entity.
  public let classes: ManagedObjectClasses
  /// The name of the context, for persistent history and messages.
  public var name: String? {
    get { rowSource.contextName }
    set { rowSource.contextName = newValue }
  }
  /// The author of the changes, for persistent history.
  public var transactionAuthor: String? {
    get { rowSource.transactionAuthor }
    set { rowSource.transactionAuthor = newValue }
  }
  /// The source of the changes, for persistent history.
  package var changeSource: ChangeSource {
    get { rowSource.changeSource }
    set { rowSource.changeSource = newValue }
  }
  /// The policy for rows that were also changed elsewhere, and for unique values that are already taken.
  ///
  /// If the policy's rules do not fit the model, ``pendingError`` reports it at once, and every save throws ``MergePolicyError``.
  public var mergePolicy = MergePolicy.error {
    didSet { checkMergePolicy() }
  }
  /// Values that the application associates with the context.
  public var userInfo: [String: Any] = [:]
  /// The maximum age, in seconds, of a cached row that can fulfill a fault. A negative value, which is the default, accepts rows of any
  /// age. With 0, faults always read from the store.
  public var stalenessInterval: TimeInterval {
    get { rowSource.stalenessInterval }
    set { rowSource.stalenessInterval = newValue }
  }
  /// Whether a fault whose row was deleted is treated as a deleted object. If `false`, the next save throws instead. The default is `true`.
  public var shouldDeleteInaccessibleFaults = true
  /// A handler for faults whose row was deleted. If it returns `true`, the context takes no further action. Its parameters are the object,
  /// the object's ID and the name of the property that was read, if any.
  public var inaccessibleFaultHandler: ((ManagedObject, ManagedObjectID, String?) -> Bool)?
  /// Whether delete rules are applied at the end of an event, in ``processPendingChanges()``, and not only by a save. The default is
  /// `true`.
  public var propagatesDeletesAtEndOfEvent = true
  /// Whether the context retains all its objects. By default it retains only changed objects.
  public var retainsRegisteredObjects: Bool {
    get { registry.holdsObjects }
    set {
      let held = newValue ? registeredObjects : nil
      _ = registry.exchangeHeld(held)
    }
  }

  /// The source of rows: the coordinator's stores, a query generation, or a parent context.
  let rowSource: RowSource
  let model: CompiledModel
  /// The model's entities and inverse relationships, by number.
  let tables: CompiledModelTables
  /// The context's number, unique in the process. It identifies the changes that this context makes.
  var number: UInt64 { rowSource.origin }
  private static let lastNumber = Atomic<UInt64>(0)
  /// The changes of other contexts and processes that wait to be merged, and the nested contexts.
  var changeReceiver = ChangeReceiver()
  // Finding, creating, reading or changing an object accesses the following properties. Exclusivity is not checked at run time: a context's
  // isolation admits one access at a time, and no call made during an access reenters the context. The checks would cost more than a
  // lookup.
  /// The internal observers of events, and the recorder of writes.
  @exclusivity(unchecked) var eventObservers = EventObservers()
  @exclusivity(unchecked) var entityClasses: EntityClasses
  /// The registered objects, and the permanent IDs and stores of new ones.
  @exclusivity(unchecked) var registry: ObjectRegistry
  /// The unsaved changes.
  @exclusivity(unchecked) var unitOfWork = UnitOfWork()
  /// The groups of objects that fault together.
  @exclusivity(unchecked) var faultGroups = FaultGroups()
  /// The objects that were reached most recently through relationships.
  @exclusivity(unchecked) var recentObjects = RecentObjects()
  /// Tracking data about the members of to-many relationships.
  @exclusivity(unchecked) var membershipTracker: MembershipTracker
  /// The results of fetched properties.
  @exclusivity(unchecked) var fetchedProperties = FetchedPropertyCache()
  /// Values of reference types that objects have returned, which callers may mutate in place.
  @exclusivity(unchecked) var mutableValues = MutableValueTracker()
  /// The observer of individual objects, if there is one.
  @exclusivity(unchecked) var observation: (any ObjectObserving)?
  /// Errors that occurred where nothing can be thrown.
  var deferredErrors = DeferredErrors()
  let notifications = ContextNotifications()

  /// Creates a context for the stores of a coordinator.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator.
  ///   - classes: The classes of the objects, generated for the coordinator's model. Objects of other entities are plain ``ManagedObject``
  ///     instances.
  ///   - mergePolicy: The policy for conflicts during saves.
  public convenience init(
    coordinator: PersistentStoreCoordinator, classes: ManagedObjectClasses = ManagedObjectClasses(), mergePolicy: MergePolicy = .error
  ) {
    self.init(coordinator, parent: nil, classes: classes, mergePolicy: mergePolicy)
  }

  /// Creates a context for the stores of a coordinator, or for a parent context.
  init(
    _ coordinator: PersistentStoreCoordinator, parent: (any ParentSource)?, classes: ManagedObjectClasses, mergePolicy: MergePolicy
  ) {
    self.mergePolicy = mergePolicy
    persistentStoreCoordinator = coordinator
    rowSource = RowSource(coordinator, origin: Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue, parent: parent)
    self.classes = classes
    model = coordinator.compiledModel
    tables = CompiledModelTables(model)
    // Slot numbers generated for another model would misinterpret memory.
    precondition(classes.issues(with: model).isEmpty, "the classes were generated for another model than the coordinator's")
    entityClasses = EntityClasses(classes, of: model)
    registry = ObjectRegistry(rowSource, model: model)
    membershipTracker = MembershipTracker(model: model)
    ContextRegistry.add(self)
    parent?.registerNested(number, isOpen: true)
    checkMergePolicy()
  }

  deinit {
    ContextRegistry.remove(number)
    rowSource.parent?.registerNested(number, isOpen: false)
    var forgotten: [UInt32: (store: PersistentStore, ids: [ManagedObjectID])] = [:]
    registry.forEach { object in
      object.contextReference = nil
      guard let store = registry.listener(for: object.currentID) else { return }
      forgotten[object.currentID.space, default: (store, [])].ids.append(object.currentID)
    }
    for (store, ids) in forgotten.values { rowSource.didUnregister(ids, in: store) }
  }

  // MARK: Classes and policy

  /// Returns the entity of a class. Traps if the class is not in the class table; ``insertObject(_:)`` throws instead.
  func entity(ofClass type: ManagedObject.Type) -> CompiledEntity {
    // Generated initializers cannot throw, and an object cannot exist without an entity.
    guard let entity = entityClasses.entity(of: type) else { preconditionFailure(StoreError(unknownEntityReason(type)).message) }
    return entity
  }

  private func checkMergePolicy() {
    let issues = mergePolicy.issues(with: model)
    deferredErrors.setPolicyIssues(issues.isEmpty ? nil : MergePolicyError(issues: issues))
  }

  // MARK: Identity

  /// Returns the space that an object's relationships refer to: that of its store or, for a new object, of the store that it will be saved
  /// to.
  func space(of object: ManagedObject) -> UInt32 {
    let objectID = object.currentID
    return objectID.isTemporaryID ? registry.space(ofNew: objectID) : objectID.space
  }

  /// Returns the registered object of a row, or `nil` if there is none in memory.
  func registeredObject(_ reference: ObjectReference, space: UInt32) -> ManagedObject? { registry.object(reference, space: space) }

  func registeredObject(_ reference: ObjectReference, near object: ManagedObject) -> ManagedObject? {
    reference.key < 0 ? temporaryObject(reference) : registeredObject(reference, space: space(of: object))
  }

  /// Returns the object that a temporary reference identifies: one that was never saved, or one that has received a permanent ID since.
  func temporaryObject(_ reference: ObjectReference) -> ManagedObject? {
    if let object = registry.newObject(reference) { return object }
    guard let permanent = registry.permanentID(reference) else { return nil }
    return object(with: permanent)
  }

  /// Returns the object of a reference: the registered one or a new fault.
  func object(_ reference: ObjectReference, near object: ManagedObject) -> ManagedObject? {
    if reference.isNull { return nil }
    if reference.key < 0 { return temporaryObject(reference) }
    let space = space(of: object)
    return registeredObject(reference, space: space) ?? makeFault(reference, space: space)
  }

  func objectID(_ reference: ObjectReference, near object: ManagedObject) -> ManagedObjectID? {
    if reference.key < 0 { return temporaryObject(reference)?.currentID }
    return ManagedObjectID(space: space(of: object), entityNumber: UInt32(reference.entity), key: reference.key)
  }

  func makeFault(_ reference: ObjectReference, space: UInt32) -> ManagedObject {
    makeObject(ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key))
  }

  /// Creates and registers an object for a row that has no registered object.
  ///
  /// - Parameter row: The address of the row, which the caller retains; `nil` if the row is not in memory.
  func makeObject(_ objectID: ManagedObjectID, row: UnsafeRawPointer? = nil) -> ManagedObject {
    let object = entityClasses.type(ofEntity: Int(objectID.entityNumber)).init(
      // The context clears the reference in `deinit`.
      ManagedObjectSeed(objectID: objectID, context: Unmanaged.passUnretained(self), image: nil, flags: [.isFault]))
    if let row { object.setInitialRow(row) }
    register(object)
    registry.hold(object)
    return object
  }

  func register(_ object: ManagedObject) {
    notifyRegistration(of: object, registry.insert(object))
    if let observation { observation.didRegister(object) }
  }

  private func notifyRegistration(of object: ManagedObject, _ listener: PersistentStore?) {
    if let listener { rowSource.didRegister([object.currentID], in: listener) }
  }

  /// Unregisters an object that is being deallocated or leaves the context.
  func forget(_ object: ManagedObject) {
    fetchedProperties.forget(object)
    if let listener = registry.remove(object) { rowSource.didUnregister([object.currentID], in: listener) }
  }

  func makeTemporaryID(_ entity: CompiledEntity) -> ManagedObjectID {
    ObjectRegistry.makeTemporaryID(entity, space: rowSource.temporarySpace)
  }

  /// Assigns a new object its permanent ID.
  func adopt(_ permanent: ManagedObjectID, for object: ManagedObject) {
    notifyRegistration(of: object, registry.adopt(permanent, for: object))
  }

  /// Gives a new object the ID of a stored one that has no registered object.
  func rekey(_ object: ManagedObject, to objectID: ManagedObjectID) {
    forget(object)
    object.currentID = objectID
    register(object)
  }

  /// Removes an object from the context, after its deletion was saved or its insertion was discarded.
  func detach(_ object: ManagedObject) {
    if object.flags.contains(.isObserved) { observation?.objectWillLeave(object) }
    forget(object)
    mutableValues.remove(object)
    object.contextReference = nil
    object.previousContextNumber = number
    registry.release(object)
  }

  /// Removes deleted rows from loaded members once there are many of them.
  func discardRemovedMembers() {
    if let removed = membershipTracker.takeRemovedBeyondLimit() { forgetMembers(removed) }
  }

  /// Handles rows that were deleted and then inserted again elsewhere: relationships that had them as members read their members again.
  func markRestored(_ objects: [ManagedObjectID]) {
    let back = membershipTracker.takeRestored(objects)
    if !back.isEmpty { forgetMembers(back) }
  }

  /// Removes the join-table links of objects that remain in the context although their rows were deleted elsewhere. Their links were
  /// deleted with the rows and are not written again.
  func forgetLinks(of objects: Set<ManagedObject>) {
    if objects.isEmpty { return }
    let references = Set(objects.map(\.currentID.reference))
    registry.forEach { object in
      for state in object.toManyStates where model.inverse(of: state.relationship)?.isToMany ?? true {
        if objects.contains(object) { state.unload() } else { state.forget(references) }
      }
    }
  }

  private func forgetMembers(_ removed: Set<ObjectReference>) {
    registry.forEach { object in
      for state in object.toManyStates { state.forget(removed) }
    }
  }

  // MARK: Errors

  /// Stores an error that cannot be thrown where it occurs. The first such error is kept.
  func record(_ error: any Error) { deferredErrors.record(error) }

  /// An error that occurred where nothing could be thrown, if there is one: for example a property on a damaged page, or a change that
  /// cannot be stored.
  ///
  /// The next fetch throws the error. The next ``save()`` throws it too, even if a fetch has already thrown it, and writes nothing. The
  /// error is cleared by that save, by ``rollback()`` and by ``reset()``.
  public var pendingError: (any Error)? { deferredErrors.pending }
}

/// The existing contexts, by number. Objects that have left their context find it here, so that they need neither a strong nor a weak
/// reference to it.
enum ContextRegistry {
  private static let addresses = Mutex<[UInt64: UInt]>([:])

  static func add(_ context: ManagedObjectContext) {
    // The address is stored as a number, not as a reference. A context removes it in `deinit`.
    let (number, address) = (context.number, UInt(bitPattern: Unmanaged.passUnretained(context).toOpaque()))
    addresses.withLock { $0[number] = address }
  }

  static func remove(_ number: UInt64) { addresses.withLock { _ = $0.removeValue(forKey: number) } }

  /// Returns the context with a number. It cannot be deallocated during the call, because objects, valid or not, are used only in the
  /// isolation of their context.
  static func context(_ number: UInt64) -> ManagedObjectContext? {
    addresses.withLock { $0[number] }.flatMap { UnsafeRawPointer(bitPattern: $0) }.map {
      // Contexts in the table exist; see above.
      Unmanaged<ManagedObjectContext>.fromOpaque($0).takeUnretainedValue()
    }
  }
}
