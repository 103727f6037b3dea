// NSManagedObjectContext: a context on a queue.
import Dispatch
public import Foundation
package import ObjectContext
import ObjectModel
import ObjectStore
import Synchronization

/// On which queue a context's work is done.
public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
  /// On whatever thread it was made; here it has a queue of its own.
  @available(*, deprecated, message: "use privateQueueConcurrencyType or mainQueueConcurrencyType")
  case confinementConcurrencyType = 0
  /// On a queue of its own.
  case privateQueueConcurrencyType = 1
  /// On the main thread.
  case mainQueueConcurrencyType = 2
}

/// A scratch pad of objects over the stores of a coordinator, or over another context. What is done with it and its objects is done on its queue: by ``perform(_:)``, ``performAndWait(_:)``,
/// or on the main thread where that is its queue.
///
/// Contexts that are nested in one another share one queue: the main one, where it is that of one of them.
open class NSManagedObjectContext: NSObject, @unchecked Sendable {  // used on its queue alone
  /// On which queue its work is done.
  public let concurrencyType: NSManagedObjectContextConcurrencyType
  // What follows is used on the queue alone, but for the coordinator and the parent, which are set before anything else is done.
  let work: ContextQueue
  private var made: ManagedObjectContext?
  /// The one before it, which had another coordinator or parent.
  private var former: ManagedObjectContext?
  private var setCoordinator: NSPersistentStoreCoordinator?
  private var setParent: NSManagedObjectContext?
  private var wantedPolicy = NSMergePolicy.error
  private var shownUndoManager: UndoManager?
  private var endsEvent = false
  /// Whether it is lent to somebody who uses it on a thread of his own, as a migration does, or a store.
  final var isLent = false
  /// The class of the object that was handed out last: that of the next one is seldom another.
  final var lastClass: ObjectIdentifier?
  /// That it was used off its queue.
  let misuse = Mutex<QueueError?>(nil)

  /// Makes a context, which gets its coordinator or its parent next.
  public init(concurrencyType: NSManagedObjectContextConcurrencyType) {
    self.concurrencyType = concurrencyType
    work = ContextQueue(isMain: concurrencyType == .mainQueueConcurrencyType)
  }

  /// Makes a context, which gets its coordinator or its parent next.
  public convenience init(_ type: ConcurrencyType) { self.init(concurrencyType: type.type) }

  /// A context as a migration has it, used on the migration's thread.
  package convenience init(adopting context: ManagedObjectContext, model: NSManagedObjectModel) {
    self.init(concurrencyType: .privateQueueConcurrencyType)
    setCoordinator = NSPersistentStoreCoordinator(adopting: context.persistentStoreCoordinator, model: model)
    context.facade = self
    context.fallbackClass = NSManagedObject.self
    (made, isLent) = (context, true)
  }

  deinit {
    // It leaves its parent where that lives.
    guard setParent != nil, let made, !work.isHere else { return }
    let lent = Lent(value: made)
    work.queue.async { withExtendedLifetime(lent) {} }
  }

  /// Whether code runs where the context's work is done.
  var isHere: Bool { work.isHere }

  // MARK: The context behind it

  package static func of(_ context: ManagedObjectContext?) -> NSManagedObjectContext? { context?.facade as? NSManagedObjectContext }

  /// The context behind it. Without a coordinator it is one over a model without entities, of whose stores none is open, and everything asked of it says so.
  package var context: ManagedObjectContext {
    if let made { return made }
    let context: ManagedObjectContext
    if let setParent {
      context = ManagedObjectContext(parent: setParent.context)
    } else {
      let coordinator = setCoordinator ?? NSPersistentStoreCoordinator.withoutStores
      context = ManagedObjectContext(coordinator: coordinator.coordinator, classes: coordinator.classes)
    }
    context.facade = self
    context.fallbackClass = NSManagedObject.self
    context.setMergeScheduler { [weak self] in self?.mergePendingChanges() }
    if work.isMainQueue { context.setEventEndScheduler { [weak self] in self?.endEventSoon() } }
    context.inaccessibleFaultHandler = { [weak self] object, objectID, key in
      guard let self, let object = object as? NSManagedObject else { return false }
      return shouldHandleInaccessibleFault(object, for: objectID, triggeredByProperty: key.flatMap { object.entity.propertiesByName[$0] })
    }
    context.mergePolicy = wantedPolicy.policy(in: self)
    if let former { context.takeSettings(of: former) }
    (made, former) = (context, nil)
    return context
  }

  /// What is done on the main thread outside of ``perform(_:)`` is an event that ends with what the thread does.
  private func endEventSoon() {
    if endsEvent { return }
    endsEvent = true
    DispatchQueue.main.async { [weak self] in
      self?.endsEvent = false
      self?.made?.processPendingChanges()
    }
  }

  /// The coordinator whose stores are read and written: of a context with a parent, that of the parent.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { setCoordinator ?? setParent?.persistentStoreCoordinator }
    set { begin(over: newValue, nil) }
  }

  /// The context whose objects are read and changed instead of a store's; nil for a context over a coordinator. To be set before anything else is done.
  ///
  /// Both contexts do their work on one queue from then on: the main one, where it is that of one of them, else the parent's.
  open var parent: NSManagedObjectContext? {
    get { setParent }
    set {
      if let newValue { work.join(newValue.work) }
      begin(over: nil, newValue)
    }
  }

  private func begin(over coordinator: NSPersistentStoreCoordinator?, _ parent: NSManagedObjectContext?) {
    // What was set before is that of the context that comes.
    (setCoordinator, setParent, former, made) = (coordinator, parent, made ?? former, nil)
  }

  package var model: NSManagedObjectModel? { persistentStoreCoordinator?.managedObjectModel }

  func entity(ofClass type: NSManagedObject.Type) -> NSEntityDescription {
    guard let found = context.knownEntity(ofClass: type) else {
      // An initializer of an object cannot fail, and an object of no entity is none; Core Data raises here too.
      preconditionFailure(
        "the class \(type) is that of no entity of the context's model; name it in the model, and give its target the plugin")
    }
    return model?.entitiesByName[found.name] ?? NSEntityDescription(found.entityDescription, of: model)
  }

  // MARK: Settings

  /// A name for messages and the history.
  open var name: String? {
    get { context.name }
    set { context.name = newValue }
  }
  /// Who makes the changes, for the history.
  open var transactionAuthor: String? {
    get { context.transactionAuthor }
    set { context.transactionAuthor = newValue }
  }
  /// What saves do with rows that others have changed.
  open var mergePolicy: NSMergePolicy {
    get { wantedPolicy }
    set {
      wantedPolicy = newValue
      made?.mergePolicy = newValue.policy(in: self)
    }
  }
  /// Whether the context takes over what others save.
  open var automaticallyMergesChangesFromParent: Bool {
    get { context.automaticallyMergesChangesFromParent }
    set { context.automaticallyMergesChangesFromParent = newValue }
  }
  /// Whether a fault whose row is gone counts as deleted.
  open var shouldDeleteInaccessibleFaults: Bool {
    get { context.shouldDeleteInaccessibleFaults }
    set { context.shouldDeleteInaccessibleFaults = newValue }
  }
  /// Whether the context holds all its objects.
  open var retainsRegisteredObjects: Bool {
    get { context.retainsRegisteredObjects }
    set { context.retainsRegisteredObjects = newValue }
  }
  /// How old, in seconds, rows may be that others have read; any age where it is negative.
  open var stalenessInterval: TimeInterval {
    get { context.stalenessInterval }
    set { context.stalenessInterval = newValue }
  }
  /// Whether delete rules run at the end of an event, or only at the save.
  open var propagatesDeletesAtEndOfEvent: Bool {
    get { context.propagatesDeletesAtEndOfEvent }
    set { context.propagatesDeletesAtEndOfEvent = newValue }
  }
  /// What can be undone and redone; nil unless it is set, and then nothing is recorded.
  open var undoManager: UndoManager? {
    get { shownUndoManager }
    set {
      context.undoManager = newValue?.manager
      // One that is another context's is refused, of which the pending error tells.
      shownUndoManager = context.undoManager == nil ? nil : context.undoManager === newValue?.manager ? newValue : shownUndoManager
    }
  }
  /// Notes of the application.
  open var userInfo: NSMutableDictionary = [:]
  /// What went wrong where nothing could be thrown: the next fetch or save throws it.
  open var pendingError: (any Error)? { (misuse.withLock { $0 } ?? context.pendingError).map({ CoreDataError.make($0) }) }

  /// Asked about a fault whose row is gone, in classes that override it; true says that the matter is dealt with.
  ///
  /// - Parameters:
  ///   - fault: The object.
  ///   - oid: Its ID.
  ///   - property: The property that was asked for.
  /// - Returns: False, unless it is overridden: ``shouldDeleteInaccessibleFaults`` decides then.
  open func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ) -> Bool { false }

  /// Others have saved what the context is to take over.
  private func mergePendingChanges() {
    work.queue.async { [weak self] in self?.made?.mergePendingChanges() }
  }

  // MARK: Queue

  /// Does work on the context's queue, some time.
  @preconcurrency
  open func perform(_ block: @escaping @Sendable () -> Void) {
    work.queue.async { [self] in atWork(block) }
  }

  /// Does work on the context's queue, and waits for it.
  ///
  /// In addition to the function below, since sources pass this one as a function that takes `() -> Void`.
  open func performAndWait(_ block: () -> Void) {
    if isHere { return Self.$atWork.withValue(self, operation: block) }
    work.wait { [self] in atWork(block) }
  }

  // MARK: Fetching

  /// Returns what a request asks for: objects, IDs, dictionaries or one number, as its result type says.
  ///
  /// Fetches of requests for other types of results call it in subclasses, so that an override handles every fetch. Calls prefer the function for requests of a
  /// type, which gives results of the type.
  ///
  /// - Throws: `NSError`.
  @_disfavoredOverload
  open func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] { try found(request) as? [Any] ?? [] }

  /// Returns the number of objects that a request asks for. Requests for other types of results call it in subclasses.
  ///
  /// - Throws: `NSError`.
  @_disfavoredOverload
  open func count(for request: NSFetchRequest<any NSFetchRequestResult>) throws -> Int { try number(of: request) }

  /// Does what a request asks for: inserts, changes or deletes rows without objects, or begins an asynchronous fetch.
  ///
  /// The context's own objects are brought in step with a batch request before the call returns, and so are other contexts with ``automaticallyMergesChangesFromParent``.
  ///
  /// - Returns: An ``NSBatchInsertResult``, ``NSBatchUpdateResult``, ``NSBatchDeleteResult`` or ``NSAsynchronousFetchResult``.
  /// - Throws: `NSError`.
  @discardableResult open func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult { try result(of: request) }

  // MARK: Finding

  /// The object of an ID, a fault where it is not there yet.
  open func object(with objectID: NSManagedObjectID) -> NSManagedObject {
    checkQueue("object(with:)")
    return typed(context.object(with: objectID))
  }
  /// The object of an ID, if the context has it already.
  open func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
    checkQueue("registeredObject(for:)")
    return context.registeredObject(for: objectID).map(typed)
  }
  /// The object of an ID, which is looked for in the store where it is not there.
  ///
  /// - Throws: `NSError` if the object does not exist.
  open func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
    checkQueue("existingObject(with:)")
    return try CoreDataError.translating { typed(try context.existingObject(with: objectID)) }
  }

  private func typed(_ object: ManagedObject) -> NSManagedObject {
    let type = ObjectIdentifier(Swift.type(of: object))
    // unsafeDowncast: an object of this class was found to be one below.
    if type == lastClass { return unsafeDowncast(object, to: NSManagedObject.self) }
    guard let typed = object as? NSManagedObject else {
      // Every entity's class is entered as one below NSManagedObject.
      preconditionFailure("an object of the class \(Swift.type(of: object)) is in a context of the module CoreData")
    }
    lastClass = type
    return typed
  }

  /// The objects that the next save inserts.
  open var insertedObjects: Set<NSManagedObject> { all(context.insertedObjects, "insertedObjects") }
  /// The objects that the next save updates.
  open var updatedObjects: Set<NSManagedObject> { all(context.updatedObjects, "updatedObjects") }
  /// The objects that the next save deletes.
  open var deletedObjects: Set<NSManagedObject> { all(context.deletedObjects, "deletedObjects") }
  /// All living objects of the context.
  open var registeredObjects: Set<NSManagedObject> { all(context.registeredObjects, "registeredObjects") }

  private func all(_ objects: @autoclosure () -> Set<ManagedObject>, _ use: StaticString) -> Set<NSManagedObject> {
    checkQueue(use)
    return Set(objects().map(typed))
  }

  // MARK: Changing

  /// Whether objects were inserted, changed or deleted since the last save.
  open var hasChanges: Bool {
    checkQueue("hasChanges")
    return context.hasChanges
  }
  /// Inserts an object that was made without a context.
  open func insert(_ object: NSManagedObject) {
    checkQueue("insert(_:)")
    context.insert(object)
  }
  /// Marks an object for deletion by the next save.
  open func delete(_ object: NSManagedObject) {
    checkQueue("delete(_:)")
    context.delete(object)
  }
  /// Has the next save check an unchanged object's version.
  open func detectConflicts(for object: NSManagedObject) {
    checkQueue("detectConflicts(for:)")
    if owns(object, "detectConflicts(for:)") { context.detectConflicts(for: object) }
  }
  /// Makes an object a fault, or brings it in step with its row below its changes.
  open func refresh(_ object: NSManagedObject, mergeChanges: Bool) {
    checkQueue("refresh(_:mergeChanges:)")
    if owns(object, "refresh(_:mergeChanges:)") { context.refresh(object, mergeChanges: mergeChanges) }
  }
  /// Brings all objects in step with their rows.
  open func refreshAllObjects() {
    checkQueue("refreshAllObjects()")
    context.refreshAllObjects()
  }
  /// Ends an event: runs delete rules and tells observers what changed.
  open func processPendingChanges() {
    checkQueue("processPendingChanges()")
    context.processPendingChanges()
  }
  /// Takes back the last group of changes of the ``undoManager``. Errors are recorded as the ``pendingError``.
  open func undo() {
    checkQueue("undo()")
    undoManager?.undo()
  }
  /// Makes again what was taken back last.
  open func redo() {
    checkQueue("redo()")
    undoManager?.redo()
  }
  /// Has a new object saved to a store. Errors, such as a store that does not hold the entity, are recorded as the ``pendingError``.
  ///
  /// - Parameters:
  ///   - object: A new object.
  ///   - store: An open store of the coordinator.
  open func assign(_ object: Any, to store: NSPersistentStore) {
    guard let object = object as? NSManagedObject else { return }
    guard owns(object, "assign(_:to:)"), let open = store.store else { return }
    do { try context.assign(object, to: open) } catch { context.recordError(error) }
  }
  /// Drops all changes.
  open func rollback() {
    checkQueue("rollback()")
    context.rollback()
  }
  /// Forgets all objects.
  open func reset() {
    checkQueue("reset()")
    context.reset()
  }
  /// Gives new objects the IDs that they will have.
  ///
  /// - Throws: `NSError`.
  open func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    checkQueue("obtainPermanentIDs(for:)")
    try CoreDataError.translating {
      for object in objects where !owns(object, "obtainPermanentIDs(for:)") { try context.throwAndClearDeferredError() }
      try context.obtainPermanentIDs(for: objects)
    }
  }

  /// Saves all changes, or none.
  ///
  /// - Throws: `NSError`.
  open func save() throws {
    checkQueue("save()")
    do {
      try throwMisuse()
      try context.save()
    } catch { throw savingError(error) }
  }

  // MARK: Changes of other contexts

  /// Brings the context in step with what another one has saved, as a notification tells it: ``Foundation/NSNotification/Name/NSManagedObjectContextDidSave``.
  ///
  /// Where the caller is not on the context's queue it is done there, some time.
  open func mergeChanges(fromContextDidSave notification: Notification) {
    let changes = SavedChanges(notification.userInfo ?? [:], in: self)
    if isHere { merge(changes) } else { perform { [self] in merge(changes) } }
  }

  private func merge(_ changes: SavedChanges) {
    for set in changes.changeSets(in: self) { context.mergeChanges(from: set) }
  }

  /// Brings contexts in step with changes that were made elsewhere: by another process, or by a batch request.
  ///
  /// - Parameters:
  ///   - changeNotificationData: Objects, their IDs or the URIs of these under ``NSInsertedObjectsKey``, ``NSUpdatedObjectsKey``, ``NSDeletedObjectsKey`` and their like.
  ///   - contexts: The contexts. Each does it on its queue before the call returns.
  open class func mergeChanges(fromRemoteContextSave changeNotificationData: [AnyHashable: Any], into contexts: [NSManagedObjectContext]) {
    for context in contexts {
      context.performAndWait {
        for changes in SavedChanges(changeNotificationData, in: context).changeSets(in: context) {
          context.context.mergeChanges(from: changes)
        }
      }
    }
  }

  // MARK: States of stores

  /// The state that the context is pinned to; nil where it reads the newest one.
  open var queryGenerationToken: NSQueryGenerationToken? { context.queryGenerationToken.map(NSQueryGenerationToken.init) }

  /// Pins the context to a state of its stores, or to the newest one where it is nil.
  ///
  /// - Throws: `NSError`.
  open func setQueryGenerationFrom(_ generation: NSQueryGenerationToken?) throws {
    try CoreDataError.translating { try context.setQueryGeneration(from: generation?.token) }
  }
}

extension ManagedObjectContext {
  /// Takes over what applications set before a context gets its coordinator or parent.
  fileprivate func takeSettings(of former: ManagedObjectContext) {
    (name, transactionAuthor) = (former.name, former.transactionAuthor)
    automaticallyMergesChangesFromParent = former.automaticallyMergesChangesFromParent
    shouldDeleteInaccessibleFaults = former.shouldDeleteInaccessibleFaults
    retainsRegisteredObjects = former.retainsRegisteredObjects
    stalenessInterval = former.stalenessInterval
    propagatesDeletesAtEndOfEvent = former.propagatesDeletesAtEndOfEvent
    // A manager is that of one context at a time.
    let manager = former.undoManager
    former.undoManager = nil
    undoManager = manager
  }
}
