import Dispatch
public import Foundation
package import ObjectContext
import ObjectModel
import ObjectStore
import Synchronization

/// The queue of a context.
public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
  /// The thread that created the context; in this library, a private queue.
  @available(*, deprecated, message: "use privateQueueConcurrencyType or mainQueueConcurrencyType")
  case confinementConcurrencyType = 0
  /// A private queue.
  case privateQueueConcurrencyType = 1
  /// The main queue.
  case mainQueueConcurrencyType = 2
}

/// A set of managed objects in memory, backed by a coordinator's stores or by a parent context.
///
/// The context and its objects are confined to its queue: use ``perform(_:)`` and ``performAndWait(_:)``, or the main thread if its queue
/// is the main queue. Nested contexts share one queue: the main queue if one of them uses it.
open class NSManagedObjectContext: NSObject, @unchecked Sendable {  // confined to its queue
  /// The type of the context's queue.
  public let concurrencyType: NSManagedObjectContextConcurrencyType
  // The following state is confined to the queue, except for the coordinator and the parent, which are set before any other use.
  let work: ContextQueue
  private var made: ManagedObjectContext?
  /// The previous context, which had another coordinator or parent.
  private var former: ManagedObjectContext?
  private var setCoordinator: NSPersistentStoreCoordinator?
  private var setParent: NSManagedObjectContext?
  private var assignedPolicy = NSMergePolicy.error
  private var shownUndoManager: UndoManager?
  private var isEventEndScheduled = false
  /// Whether the context is used on a thread of a migration or a store.
  final var isBorrowed = false
  /// The class of the last returned object. The next object usually has the same class.
  final var lastClass: ObjectIdentifier?
  /// The recorded use off the queue.
  let misuse = Mutex<QueueError?>(nil)

  /// Creates a context. Set its coordinator or parent next.
  public init(concurrencyType: NSManagedObjectContextConcurrencyType) {
    self.concurrencyType = concurrencyType
    work = ContextQueue(isMain: concurrencyType == .mainQueueConcurrencyType)
  }

  /// Creates a context. Set its coordinator or parent next.
  public convenience init(_ type: ConcurrencyType) { self.init(concurrencyType: type.type) }

  /// Creates a context that is used on a migration's thread.
  package convenience init(adopting context: ManagedObjectContext, model: NSManagedObjectModel) {
    self.init(concurrencyType: .privateQueueConcurrencyType)
    setCoordinator = NSPersistentStoreCoordinator(adopting: context.persistentStoreCoordinator, model: model)
    context.facade = self
    context.fallbackClass = NSManagedObject.self
    (made, isBorrowed) = (context, true)
  }

  deinit {
    // The context leaves its parent on the queue.
    guard setParent != nil, let made, !work.isOnQueue else { return }
    let boxed = SendableBox(value: made)
    work.queue.async { withExtendedLifetime(boxed) {} }
  }

  /// Whether the caller runs on the context's queue.
  var isOnQueue: Bool { work.isOnQueue }

  // MARK: Underlying context

  package static func of(_ context: ManagedObjectContext?) -> NSManagedObjectContext? { context?.facade as? NSManagedObjectContext }

  /// The underlying context. Without a coordinator, its model has no entities and no store is open, so every operation reports an error.
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
    if work.isMainQueue { context.setEventEndScheduler { [weak self] in self?.scheduleEventEnd() } }
    context.inaccessibleFaultHandler = { [weak self] object, objectID, key in
      guard let self, let object = object as? NSManagedObject else { return false }
      return shouldHandleInaccessibleFault(object, for: objectID, triggeredByProperty: key.flatMap { object.entity.propertiesByName[$0] })
    }
    context.mergePolicy = assignedPolicy.policy(in: self)
    if let former { context.copySettings(of: former) }
    (made, former) = (context, nil)
    return context
  }

  /// Schedules the end of an event. Changes on the main thread outside of ``perform(_:)`` form an event that ends with the thread's current
  /// run.
  private func scheduleEventEnd() {
    if isEventEndScheduled { return }
    isEventEndScheduled = true
    DispatchQueue.main.async { [weak self] in
      self?.isEventEndScheduled = false
      self?.made?.processPendingChanges()
    }
  }

  /// The coordinator whose stores are read and written. A context with a parent returns the parent's coordinator.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { setCoordinator ?? setParent?.persistentStoreCoordinator }
    set { begin(over: newValue, nil) }
  }

  /// The context whose objects are fetched and saved instead of a store's; nil for a context of a coordinator. Set it before any other use.
  ///
  /// Both contexts then share one queue: the main queue if one of them uses it, otherwise the parent's.
  open var parent: NSManagedObjectContext? {
    get { setParent }
    set {
      if let newValue { work.join(newValue.work) }
      begin(over: nil, newValue)
    }
  }

  private func begin(over coordinator: NSPersistentStoreCoordinator?, _ parent: NSManagedObjectContext?) {
    // The settings made so far are transferred to the next context.
    (setCoordinator, setParent, former, made) = (coordinator, parent, made ?? former, nil)
  }

  package var model: NSManagedObjectModel? { persistentStoreCoordinator?.managedObjectModel }

  func entity(ofClass type: NSManagedObject.Type) -> NSEntityDescription {
    guard let found = context.knownEntity(ofClass: type) else {
      // The initializer of an object cannot throw, and an object requires an entity. Core Data raises an exception too.
      preconditionFailure(
        "the class \(type) is that of no entity of the context's model; name it in the model, and give its target the plugin")
    }
    return model?.entitiesByName[found.name] ?? NSEntityDescription(found.entityDescription, of: model)
  }

  // MARK: Settings

  /// The name of the context in messages and in the history.
  open var name: String? {
    get { context.name }
    set { context.name = newValue }
  }
  /// The author of the changes, recorded in the history.
  open var transactionAuthor: String? {
    get { context.transactionAuthor }
    set { context.transactionAuthor = newValue }
  }
  /// The policy that resolves conflicts of a save.
  open var mergePolicy: NSMergePolicy {
    get { assignedPolicy }
    set {
      assignedPolicy = newValue
      made?.mergePolicy = newValue.policy(in: self)
    }
  }
  /// Whether the context merges changes saved by other contexts.
  open var automaticallyMergesChangesFromParent: Bool {
    get { context.automaticallyMergesChangesFromParent }
    set { context.automaticallyMergesChangesFromParent = newValue }
  }
  /// Whether a fault whose row was deleted is treated as a deleted object.
  open var shouldDeleteInaccessibleFaults: Bool {
    get { context.shouldDeleteInaccessibleFaults }
    set { context.shouldDeleteInaccessibleFaults = newValue }
  }
  /// Whether the context retains all registered objects.
  open var retainsRegisteredObjects: Bool {
    get { context.retainsRegisteredObjects }
    set { context.retainsRegisteredObjects = newValue }
  }
  /// The maximum age in seconds of cached rows; a negative value means no limit.
  open var stalenessInterval: TimeInterval {
    get { context.stalenessInterval }
    set { context.stalenessInterval = newValue }
  }
  /// Whether delete rules are applied at the end of an event instead of at the save.
  open var propagatesDeletesAtEndOfEvent: Bool {
    get { context.propagatesDeletesAtEndOfEvent }
    set { context.propagatesDeletesAtEndOfEvent = newValue }
  }
  /// The undo manager; nil by default, in which case no changes are recorded.
  open var undoManager: UndoManager? {
    get { shownUndoManager }
    set {
      context.undoManager = newValue?.manager
      // A manager of another context is rejected; the pending error reports it.
      shownUndoManager = context.undoManager == nil ? nil : context.undoManager === newValue?.manager ? newValue : shownUndoManager
    }
  }
  /// The application's own information.
  open var userInfo: NSMutableDictionary = [:]
  /// The last error that could not be thrown. The next fetch or save throws it.
  open var pendingError: (any Error)? { (misuse.withLock { $0 } ?? context.pendingError).map({ CoreDataError.make($0) }) }

  /// Handles a fault whose row was deleted; to be overridden.
  ///
  /// - Parameters:
  ///   - fault: The object.
  ///   - oid: Its ID.
  ///   - property: The accessed property.
  /// - Returns: Whether the fault was handled. If false, the default, ``shouldDeleteInaccessibleFaults`` applies.
  open func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ) -> Bool { false }

  /// Merges pending changes that other contexts saved.
  private func mergePendingChanges() {
    work.queue.async { [weak self] in self?.made?.mergePendingChanges() }
  }

  // MARK: Queue

  /// Runs a block on the context's queue asynchronously.
  @preconcurrency
  open func perform(_ block: @escaping @Sendable () -> Void) {
    work.queue.async { [self] in executing(block) }
  }

  /// Runs a block on the context's queue and waits for it.
  ///
  /// This method exists in addition to the generic one, for sources that pass it as a function of type `() -> Void`.
  open func performAndWait(_ block: () -> Void) {
    if isOnQueue { return Self.$executing.withValue(self, operation: block) }
    work.wait { [self] in executing(block) }
  }

  // MARK: Fetching

  /// Returns the results of a request: objects, IDs, dictionaries or a count, depending on its result type.
  ///
  /// In subclasses, fetches of requests with other result types call this method, so that one override handles every fetch. Calls prefer
  /// the generic method, whose results have the request's type.
  ///
  /// - Throws: `NSError`.
  @_disfavoredOverload
  open func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] { try found(request) as? [Any] ?? [] }

  /// Returns the number of objects that match a request. In subclasses, requests with other result types call this method.
  ///
  /// - Throws: `NSError`.
  @_disfavoredOverload
  open func count(for request: NSFetchRequest<any NSFetchRequestResult>) throws -> Int { try number(of: request) }

  /// Executes a request: inserts, updates or deletes rows without objects, or begins an asynchronous fetch.
  ///
  /// The call merges the changes of a batch request into this context before it returns, and into other contexts with
  /// ``automaticallyMergesChangesFromParent``.
  ///
  /// - Returns: An ``NSBatchInsertResult``, ``NSBatchUpdateResult``, ``NSBatchDeleteResult`` or ``NSAsynchronousFetchResult``.
  /// - Throws: `NSError`.
  @discardableResult open func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult { try result(of: request) }

  // MARK: Finding

  /// Returns the object with an ID; a fault if the object is not registered.
  open func object(with objectID: NSManagedObjectID) -> NSManagedObject {
    checkQueue("object(with:)")
    return typed(context.object(with: objectID))
  }
  /// Returns the object with an ID if the context has registered it.
  open func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
    checkQueue("registeredObject(for:)")
    return context.registeredObject(for: objectID).map(typed)
  }
  /// Returns the object with an ID, and fetches it from the store if it is not in memory.
  ///
  /// - Throws: `NSError` if the object does not exist.
  open func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
    checkQueue("existingObject(with:)")
    return try CoreDataError.translating { typed(try context.existingObject(with: objectID)) }
  }

  private func typed(_ object: ManagedObject) -> NSManagedObject {
    let type = ObjectIdentifier(Swift.type(of: object))
    // unsafeDowncast: an object of the same class was successfully cast before.
    if type == lastClass { return unsafeDowncast(object, to: NSManagedObject.self) }
    guard let typed = object as? NSManagedObject else {
      // Every registered class of an entity inherits from NSManagedObject.
      preconditionFailure("an object of the class \(Swift.type(of: object)) is in a context of the module CoreData")
    }
    lastClass = type
    return typed
  }

  /// The objects to be inserted by the next save.
  open var insertedObjects: Set<NSManagedObject> { all(context.insertedObjects, "insertedObjects") }
  /// The objects to be updated by the next save.
  open var updatedObjects: Set<NSManagedObject> { all(context.updatedObjects, "updatedObjects") }
  /// The objects to be deleted by the next save.
  open var deletedObjects: Set<NSManagedObject> { all(context.deletedObjects, "deletedObjects") }
  /// The objects registered with the context.
  open var registeredObjects: Set<NSManagedObject> { all(context.registeredObjects, "registeredObjects") }

  private func all(_ objects: @autoclosure () -> Set<ManagedObject>, _ use: StaticString) -> Set<NSManagedObject> {
    checkQueue(use)
    return Set(objects().map(typed))
  }

  // MARK: Changing

  /// Whether there are unsaved changes.
  open var hasChanges: Bool {
    checkQueue("hasChanges")
    return context.hasChanges
  }
  /// Inserts an object that was created without a context.
  open func insert(_ object: NSManagedObject) {
    checkQueue("insert(_:)")
    context.insert(object)
  }
  /// Marks an object for deletion at the next save.
  open func delete(_ object: NSManagedObject) {
    checkQueue("delete(_:)")
    context.delete(object)
  }
  /// Checks the version of an unchanged object at the next save.
  open func detectConflicts(for object: NSManagedObject) {
    checkQueue("detectConflicts(for:)")
    if owns(object, "detectConflicts(for:)") { context.detectConflicts(for: object) }
  }
  /// Turns an object into a fault, or updates it from its row and keeps its changes.
  open func refresh(_ object: NSManagedObject, mergeChanges: Bool) {
    checkQueue("refresh(_:mergeChanges:)")
    if owns(object, "refresh(_:mergeChanges:)") { context.refresh(object, mergeChanges: mergeChanges) }
  }
  /// Updates all objects from their rows.
  open func refreshAllObjects() {
    checkQueue("refreshAllObjects()")
    context.refreshAllObjects()
  }
  /// Ends an event: applies delete rules and notifies observers of changes.
  open func processPendingChanges() {
    checkQueue("processPendingChanges()")
    context.processPendingChanges()
  }
  /// Undoes the last group of changes of the ``undoManager``. Errors are recorded as the ``pendingError``.
  open func undo() {
    checkQueue("undo()")
    undoManager?.undo()
  }
  /// Redoes the group that was undone last.
  open func redo() {
    checkQueue("redo()")
    undoManager?.redo()
  }
  /// Assigns a new object to the store to be saved in. Errors, such as a store that does not contain the entity, are recorded as the
  /// ``pendingError``.
  ///
  /// - Parameters:
  ///   - object: A new object.
  ///   - store: An open store of the coordinator.
  open func assign(_ object: Any, to store: NSPersistentStore) {
    guard let object = object as? NSManagedObject else { return }
    guard owns(object, "assign(_:to:)"), let open = store.store else { return }
    do { try context.assign(object, to: open) } catch { context.recordError(error) }
  }
  /// Discards all changes.
  open func rollback() {
    checkQueue("rollback()")
    context.rollback()
  }
  /// Removes all objects from the context.
  open func reset() {
    checkQueue("reset()")
    context.reset()
  }
  /// Assigns permanent IDs to new objects.
  ///
  /// - Throws: `NSError`.
  open func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    checkQueue("obtainPermanentIDs(for:)")
    try CoreDataError.translating {
      for object in objects where !owns(object, "obtainPermanentIDs(for:)") { try context.throwAndClearDeferredError() }
      try context.obtainPermanentIDs(for: objects)
    }
  }

  /// Saves all changes atomically.
  ///
  /// - Throws: `NSError`.
  open func save() throws {
    checkQueue("save()")
    do {
      try throwMisuse()
      try context.save()
    } catch { throw savingError(error) }
  }

  // MARK: Merging

  /// Merges changes that another context saved, given its ``Foundation/NSNotification/Name/NSManagedObjectContextDidSave`` notification.
  ///
  /// If the caller is not on the context's queue, the merge runs there asynchronously.
  open func mergeChanges(fromContextDidSave notification: Notification) {
    let changes = SavedChanges(notification.userInfo ?? [:], in: self)
    if isOnQueue { merge(changes) } else { perform { [self] in merge(changes) } }
  }

  private func merge(_ changes: SavedChanges) {
    for set in changes.changeSets(in: self) { context.mergeChanges(from: set) }
  }

  /// Merges changes made by another process or by a batch request into contexts.
  ///
  /// - Parameters:
  ///   - changeNotificationData: Objects, their IDs or the URIs of the IDs under ``NSInsertedObjectsKey``, ``NSUpdatedObjectsKey``,
  ///     ``NSDeletedObjectsKey`` and similar keys.
  ///   - contexts: The contexts. Each merges on its queue before the call returns.
  open class func mergeChanges(fromRemoteContextSave changeNotificationData: [AnyHashable: Any], into contexts: [NSManagedObjectContext]) {
    for context in contexts {
      context.performAndWait {
        for changes in SavedChanges(changeNotificationData, in: context).changeSets(in: context) {
          context.context.mergeChanges(from: changes)
        }
      }
    }
  }

  // MARK: Query generations

  /// The query generation that the context is pinned to; nil if it reads the latest one.
  open var queryGenerationToken: NSQueryGenerationToken? { context.queryGenerationToken.map(NSQueryGenerationToken.init) }

  /// Pins the context to a query generation of its stores; nil unpins it.
  ///
  /// - Throws: `NSError`.
  open func setQueryGenerationFrom(_ generation: NSQueryGenerationToken?) throws {
    try CoreDataError.translating { try context.setQueryGeneration(from: generation?.token) }
  }
}

extension ManagedObjectContext {
  /// Transfers the settings made before the context got its coordinator or parent.
  fileprivate func copySettings(of former: ManagedObjectContext) {
    (name, transactionAuthor) = (former.name, former.transactionAuthor)
    automaticallyMergesChangesFromParent = former.automaticallyMergesChangesFromParent
    shouldDeleteInaccessibleFaults = former.shouldDeleteInaccessibleFaults
    retainsRegisteredObjects = former.retainsRegisteredObjects
    stalenessInterval = former.stalenessInterval
    propagatesDeletesAtEndOfEvent = former.propagatesDeletesAtEndOfEvent
    // A manager belongs to one context at a time.
    let manager = former.undoManager
    former.undoManager = nil
    undoManager = manager
  }
}
