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
    context.face = self
    context.plainClass = NSManagedObject.self
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

  package static func of(_ context: ManagedObjectContext?) -> NSManagedObjectContext? { context?.face as? NSManagedObjectContext }

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
    context.face = self
    context.plainClass = NSManagedObject.self
    context.isWoken { [weak self] in self?.takeOverWhatWaits() }
    if work.isMainQueue { context.endsEvents { [weak self] in self?.endEventSoon() } }
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
  public var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { setCoordinator ?? setParent?.persistentStoreCoordinator }
    set { begin(over: newValue, nil) }
  }

  /// The context whose objects are read and changed instead of a store's; nil for a context over a coordinator. To be set before anything else is done.
  ///
  /// Both contexts do their work on one queue from then on: the main one, where it is that of one of them, else the parent's.
  public var parent: NSManagedObjectContext? {
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
  public var name: String? {
    get { context.name }
    set { context.name = newValue }
  }
  /// Who makes the changes, for the history.
  public var transactionAuthor: String? {
    get { context.transactionAuthor }
    set { context.transactionAuthor = newValue }
  }
  /// What saves do with rows that others have changed.
  public var mergePolicy: NSMergePolicy {
    get { wantedPolicy }
    set {
      wantedPolicy = newValue
      made?.mergePolicy = newValue.policy(in: self)
    }
  }
  /// Whether the context takes over what others save.
  public var automaticallyMergesChangesFromParent: Bool {
    get { context.automaticallyMergesChangesFromParent }
    set { context.automaticallyMergesChangesFromParent = newValue }
  }
  /// Whether a fault whose row is gone counts as deleted.
  public var shouldDeleteInaccessibleFaults: Bool {
    get { context.shouldDeleteInaccessibleFaults }
    set { context.shouldDeleteInaccessibleFaults = newValue }
  }
  /// Whether the context holds all its objects.
  public var retainsRegisteredObjects: Bool {
    get { context.retainsRegisteredObjects }
    set { context.retainsRegisteredObjects = newValue }
  }
  /// How old, in seconds, rows may be that others have read; any age where it is negative.
  public var stalenessInterval: TimeInterval {
    get { context.stalenessInterval }
    set { context.stalenessInterval = newValue }
  }
  /// Whether delete rules run at the end of an event, or only at the save.
  public var propagatesDeletesAtEndOfEvent: Bool {
    get { context.propagatesDeletesAtEndOfEvent }
    set { context.propagatesDeletesAtEndOfEvent = newValue }
  }
  /// What can be undone and redone; nil unless it is set, and then nothing is recorded.
  public var undoManager: UndoManager? {
    get { shownUndoManager }
    set {
      context.undoManager = newValue?.manager
      // One that is another context's is refused, of which the pending error tells.
      shownUndoManager = context.undoManager == nil ? nil : context.undoManager === newValue?.manager ? newValue : shownUndoManager
    }
  }
  /// Notes of the application.
  public var userInfo: NSMutableDictionary = [:]
  /// What went wrong where nothing could be thrown: the next fetch or save throws it.
  public var pendingError: (any Error)? { (misuse.withLock { $0 } ?? context.pendingError).map({ CoreDataError.make($0) }) }

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
  private func takeOverWhatWaits() {
    work.queue.async { [weak self] in self?.made?.takeOverWhatWaits() }
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
