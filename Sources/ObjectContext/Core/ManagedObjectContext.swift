// ManagedObjectContext: a scratch pad of living objects over the stores of a coordinator.
public import Foundation
public import ObjectModel
public import ObjectStore
import Synchronization

/// A scratch pad of living objects over the stores of a coordinator: it finds, makes and deletes them, keeps one object for each row, and saves what
/// was changed, all of it or nothing.
///
/// ```swift
/// let context = container.viewContext
/// let books = try context.fetch(Book.all.where { $0.pages > 500 })
/// books.first?.title = "Ulysses"
/// try context.save()
/// ```
///
/// A context is not `Sendable`: it and its objects stay in one isolation. ``PersistentContainer/viewContext`` belongs to the main actor;
/// ``PersistentContainer/performBackgroundTask(_:)``, ``PersistentContainer/newBackgroundContext()`` and ``ContextActor`` give contexts elsewhere.
///
/// Reading a property cannot throw. What goes wrong there is kept in ``pendingError``, and the next `fetch(_:)` or ``save()`` throws it. The cost of a save
/// grows with what was changed, not with what is registered. Objects that nobody holds and nobody changed leave the context by themselves; the last
/// 8,192 that relationships have led to do so when the event ends, so that a walk through a graph does not make them again and again.
public final class ManagedObjectContext {
  /// The coordinator whose stores are read and written.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The classes of the objects.
  public let classes: ManagedObjectClasses
  /// A name for the context, for the history and for messages.
  public var name: String? {
    get { rowSource.contextName }
    set { rowSource.contextName = newValue }
  }
  /// Who makes the changes, for the history.
  public var transactionAuthor: String? {
    get { rowSource.transactionAuthor }
    set { rowSource.transactionAuthor = newValue }
  }
  /// How saves deal with rows that others have changed, and with unique values that are taken.
  ///
  /// With rules that do not fit the model, every save throws ``MergePolicyError``, and ``pendingError`` tells it at once.
  public var mergePolicy = MergePolicy.error {
    didSet { checkMergePolicy() }
  }
  /// Notes of the application.
  public var userInfo: [String: Any] = [:]
  /// How many seconds old rows of the row cache may be when a fault is fired: any age when negative, which is the default; 0 always reads the store.
  public var stalenessInterval: TimeInterval {
    get { rowSource.stalenessInterval }
    set { rowSource.stalenessInterval = newValue }
  }
  /// Whether a fault whose row is gone counts as deleted (the default); otherwise the next save throws.
  public var shouldDeleteInaccessibleFaults = true
  /// Asked about a fault whose row is gone; return true when the matter is dealt with. The parameters are the object, its ID and the property asked for.
  public var inaccessibleFaultHandler: ((ManagedObject, ManagedObjectID, String?) -> Bool)?
  /// Whether delete rules run at the end of an event, that is in ``processPendingChanges()``, or only at the save.
  public var propagatesDeletesAtEndOfEvent = true
  /// Whether the context holds all its objects; by default it holds only changed ones.
  public var retainsRegisteredObjects: Bool {
    get { registry.holdsObjects }
    set {
      let held = newValue ? registeredObjects : nil
      _ = registry.exchangeHeld(held)
    }
  }

  /// Where rows come from and go to.
  let rowSource: RowSource
  let model: CompiledModel
  /// The model's entities and inverses, by their numbers.
  let tables: NumberedModel
  /// The context's number in the process: tells its own changes from others'.
  var number: UInt64 { rowSource.origin }
  private static let lastNumber = Atomic<UInt64>(0)
  /// Where changes of others come in, and who is told of them in turn.
  var intake = ChangeIntake()
  /// The observers that hear of each event, and who hears of each write.
  // Asked by the first write of an object; exclusivity is unchecked for the reason below.
  @exclusivity(unchecked) var eventObservers = EventObservers()
  /// The classes of the entities.
  // Asked for each object that is made; unchecked for the reason below.
  @exclusivity(unchecked) var entityClasses: EntityClasses
  /// The living objects, and the IDs and stores of new ones.
  // Exclusivity of what every look-up of an object touches is not checked at run time: a context's isolation admits one access at a time, and no
  // call under an access comes back here. The checks cost more than the look-up.
  @exclusivity(unchecked) var registry: ObjectRegistry
  /// What is to be saved.
  // Every write asks it; unchecked for the same reason.
  @exclusivity(unchecked) var unitOfWork = UnitOfWork()
  /// The groups of objects that fault together.
  // Asked at each step to an object that is not in memory; unchecked for the same reason.
  @exclusivity(unchecked) var faultGroups = FaultGroups()
  /// The objects that relationships have led to last.
  // Asked where an object is made; unchecked for the same reason.
  @exclusivity(unchecked) var recentObjects = RecentObjects()
  /// What is known of the members of to-many relationships.
  // Asked for each member of a relationship; unchecked for the same reason.
  @exclusivity(unchecked) var memberStates: MemberStates
  /// What fetched properties have found.
  // Asked when an object dies; unchecked for the same reason.
  @exclusivity(unchecked) var fetchedProperties = FetchedPropertyLists()
  /// Values of reference types that objects have given out, which may be changed in place.
  // Asked by each read of a transformable attribute; unchecked for the same reason.
  @exclusivity(unchecked) var handedOut = HandedOutValues()
  /// Whoever observes single objects; nil as long as nobody does.
  // Asked for each object that is made; unchecked for the same reason.
  @exclusivity(unchecked) var observation: (any ObjectObserving)?
  /// What went wrong where nothing could be thrown.
  var notedErrors = NotedErrors()
  /// Tells observers what happens.
  let notifications = ContextNotifications()

  /// Makes a context over a coordinator's stores.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator.
  ///   - classes: The classes of the objects, generated for this model; entities without one have plain ``ManagedObject``s.
  ///   - mergePolicy: How saves deal with conflicts.
  public convenience init(
    coordinator: PersistentStoreCoordinator, classes: ManagedObjectClasses = ManagedObjectClasses(), mergePolicy: MergePolicy = .error
  ) {
    self.init(coordinator, parent: nil, classes: classes, mergePolicy: mergePolicy)
  }

  /// Makes a context over a coordinator's stores or over another context.
  init(
    _ coordinator: PersistentStoreCoordinator, parent: (any ParentSource)?, classes: ManagedObjectClasses, mergePolicy: MergePolicy
  ) {
    self.mergePolicy = mergePolicy
    persistentStoreCoordinator = coordinator
    rowSource = RowSource(coordinator, origin: Self.lastNumber.wrappingAdd(1, ordering: .relaxed).newValue, parent: parent)
    self.classes = classes
    model = coordinator.compiledModel
    tables = NumberedModel(model)
    // Literal slot numbers of another model would read memory as what it is not.
    precondition(classes.issues(with: model).isEmpty, "the classes were generated for another model than the coordinator's")
    entityClasses = EntityClasses(classes, of: model)
    registry = ObjectRegistry(rowSource, model: model)
    memberStates = MemberStates(model: model)
    LivingContexts.add(self)
    parent?.noteNested(number, isThere: true)
    checkMergePolicy()
  }

  deinit {
    LivingContexts.remove(number)
    rowSource.parent?.noteNested(number, isThere: false)
    var forgotten: [UInt32: (store: PersistentStore, ids: [ManagedObjectID])] = [:]
    registry.forEach { object in
      object.contextReference = nil
      guard let store = registry.listener(for: object.currentID) else { return }
      forgotten[object.currentID.space, default: (store, [])].ids.append(object.currentID)
    }
    for (store, ids) in forgotten.values { rowSource.noteUnregistered(ids, in: store) }
  }

  // MARK: Classes and policy

  /// The entity of a class; a class that is not in the table is a mistake of the program. ``insertObject(_:)`` throws instead.
  func entity(ofClass type: ManagedObject.Type) -> CompiledEntity {
    // Generated initializers cannot throw, and an object of no entity is none.
    guard let entity = entityClasses.entity(of: type) else { preconditionFailure(StoreError(whyUnknown(type)).message) }
    return entity
  }

  /// Looks whether the merge policy fits the model.
  private func checkMergePolicy() {
    let issues = mergePolicy.issues(with: model)
    notedErrors.setPolicyIssues(issues.isEmpty ? nil : MergePolicyError(issues: issues))
  }

  // MARK: Identity

  /// The space that an object's relationships lead to: its store's, or for a new object that of the store it will be saved to.
  func space(of object: ManagedObject) -> UInt32 {
    let objectID = object.currentID
    return objectID.isTemporaryID ? registry.space(ofNew: objectID) : objectID.space
  }

  /// The living object of a row; nil when nobody holds one.
  func registeredObject(_ reference: ObjectReference, space: UInt32) -> ManagedObject? { registry.object(reference, space: space) }

  func registeredObject(_ reference: ObjectReference, near object: ManagedObject) -> ManagedObject? {
    reference.key < 0 ? temporaryObject(reference) : registeredObject(reference, space: space(of: object))
  }

  /// The living object that was never saved, or that was saved under another ID since the reference was made.
  func temporaryObject(_ reference: ObjectReference) -> ManagedObject? {
    if let object = registry.newObject(reference) { return object }
    guard let permanent = registry.permanentID(reference) else { return nil }
    return object(with: permanent)
  }

  /// The object of a reference: the living one or a new fault.
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

  /// A new fault for a row.
  func makeFault(_ reference: ObjectReference, space: UInt32) -> ManagedObject {
    makeObject(ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key))
  }

  /// A new object for a row that no living object stands for.
  ///
  /// - Parameter row: Where its row begins, which the caller holds; nil when it is not at hand.
  func makeObject(_ objectID: ManagedObjectID, row: UnsafeRawPointer? = nil) -> ManagedObject {
    let object = entityClasses.type(ofEntity: Int(objectID.entityNumber)).init(
      // `deinit` takes the context back.
      ManagedObjectSeed(objectID: objectID, context: Unmanaged.passUnretained(self), image: nil, flags: [.isFault]))
    if let row { object.takeFirstRow(row) }
    register(object)
    registry.hold(object)
    return object
  }

  /// Enters an object.
  func register(_ object: ManagedObject) {
    tellOfRegistration(of: object, registry.insert(object))
    if let observation { observation.noteRegistered(object) }
  }

  private func tellOfRegistration(of object: ManagedObject, _ listener: PersistentStore?) {
    if let listener { rowSource.noteRegistered([object.currentID], in: listener) }
  }

  /// An object that nobody holds any more has died.
  func forget(_ object: ManagedObject) {
    fetchedProperties.forget(object)
    if let listener = registry.remove(object) { rowSource.noteUnregistered([object.currentID], in: listener) }
  }

  /// An ID that no other object of the process has.
  func makeTemporaryID(_ entity: CompiledEntity) -> ManagedObjectID {
    ObjectRegistry.makeTemporaryID(entity, space: rowSource.temporarySpace)
  }

  /// A new object has got its permanent ID.
  func adopt(_ permanent: ManagedObjectID, for object: ManagedObject) {
    tellOfRegistration(of: object, registry.adopt(permanent, for: object))
  }

  /// A new object takes the place of a stored one that no living object stands for.
  func rekey(_ object: ManagedObject, to objectID: ManagedObjectID) {
    forget(object)
    object.currentID = objectID
    register(object)
  }

  /// The deletion of an object was saved, or its insertion was given up: it leaves the context.
  func detach(_ object: ManagedObject) {
    if object.flags.contains(.isObserved) { observation?.noteLeaving(object) }
    forget(object)
    handedOut.remove(object)
    object.contextReference = nil
    object.formerContextNumber = number
    registry.release(object)
  }

  /// Takes deleted rows out of members read earlier, once there are many.
  func forgetGoneMembers() {
    if let gone = memberStates.takeGoneBeyondLimit() { forgetMembers(gone) }
  }

  /// Rows that were known to be gone are there again, brought back by others: whose members they are now is read anew.
  func noteBack(_ objects: [ManagedObjectID]) {
    let back = memberStates.takeBack(objects)
    if !back.isEmpty { forgetMembers(back) }
  }

  /// Objects outlive their rows, which others have deleted: what stood in join tables went with these, and will not be written again.
  func forgetLinks(of objects: Set<ManagedObject>) {
    if objects.isEmpty { return }
    let references = Set(objects.map(\.currentID.reference))
    registry.forEach { object in
      for state in object.toManyStates where model.inverse(of: state.relationship)?.isToMany ?? true {
        if objects.contains(object) { state.unload() } else { state.forget(references) }
      }
    }
  }

  private func forgetMembers(_ gone: Set<ObjectReference>) {
    registry.forEach { object in
      for state in object.toManyStates { state.forget(gone) }
    }
  }

  // MARK: Errors

  /// Keeps the first error of those that could not be thrown where they happened.
  func note(_ error: any Error) { notedErrors.note(error) }

  /// What went wrong where nothing could be thrown: a property that could not be read, such as one on a damaged page, or a change that cannot be kept; nil when
  /// nothing went wrong.
  ///
  /// The next fetch throws it. So does the next ``save()``, which then writes nothing, whether somebody has fetched meanwhile or not. After that it is gone, as
  /// after ``rollback()`` and ``reset()``.
  public var pendingError: (any Error)? { notedErrors.pending }
}
