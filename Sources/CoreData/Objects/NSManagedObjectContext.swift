// NSManagedObjectContext: a context on a queue.
import Dispatch
public import Foundation
package import ObjectContext
import ObjectModel
import ObjectStore

/// On which queue a context's work is done.
public enum NSManagedObjectContextConcurrencyType: UInt, Sendable {
  /// On a queue of its own.
  case privateQueueConcurrencyType = 1
  /// On the main thread.
  case mainQueueConcurrencyType = 2
}

/// A scratch pad of objects over the stores of a coordinator. What is done with it and its objects is done on its queue: by ``perform(_:)``, ``performAndWait(_:)``,
/// or on the main thread where that is its queue.
open class NSManagedObjectContext: NSObject, @unchecked Sendable {  // used on its queue alone
  /// On which queue its work is done.
  public let concurrencyType: NSManagedObjectContextConcurrencyType
  // What follows is used on the queue alone, but for the coordinator, which is set before anything else is done.
  private let work: ContextQueue
  private var made: ManagedObjectContext?
  private var setCoordinator: NSPersistentStoreCoordinator?
  private var wantedPolicy = NSMergePolicy.error

  /// Makes a context, which gets its coordinator or its parent next.
  public init(concurrencyType: NSManagedObjectContextConcurrencyType) {
    self.concurrencyType = concurrencyType
    work = ContextQueue(isMain: concurrencyType == .mainQueueConcurrencyType)
  }

  /// Whether code runs where the context's work is done.
  private var isHere: Bool { work.isHere }

  // MARK: The context behind it

  package static func of(_ context: ManagedObjectContext?) -> NSManagedObjectContext? { context?.face as? NSManagedObjectContext }

  /// The context behind it. Without a coordinator it is one over a model without entities, of whose stores none is open, and everything asked of it says so.
  package var context: ManagedObjectContext {
    if let made { return made }
    let coordinator = setCoordinator ?? NSPersistentStoreCoordinator.withoutStores
    let context = ManagedObjectContext(coordinator: coordinator.coordinator, classes: coordinator.classes)
    context.face = self
    context.isWoken { [weak self] in self?.takeOverWhatWaits() }
    context.mergePolicy = wantedPolicy.policy
    made = context
    return context
  }

  /// The coordinator whose stores are read and written.
  public var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    get { setCoordinator }
    set {
      setCoordinator = newValue
      made = nil
    }
  }

  package var model: NSManagedObjectModel? { setCoordinator?.managedObjectModel }

  func entity(ofClass type: NSManagedObject.Type) -> NSEntityDescription {
    guard let found = context.knownEntity(ofClass: type) else {
      // An initializer of an object cannot fail, and an object of no entity is none; Core Data raises here too.
      preconditionFailure(
        "the class \(type) is that of no entity of the context's model; name it in the model, and give its target the plugin")
    }
    return NSEntityDescription(found.entityDescription, of: model)
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
      made?.mergePolicy = newValue.policy
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
  /// Notes of the application.
  public var userInfo: NSMutableDictionary = [:]
  /// What went wrong where nothing could be thrown: the next fetch or save throws it.
  public var pendingError: (any Error)? { context.pendingError.map(CoreDataError.make) }

  // MARK: Work on its queue

  /// Does work on the context's queue, some time.
  public func perform(_ block: @escaping @Sendable () -> Void) {
    work.queue.async { [self] in context.perform(block) }
  }

  /// Others have saved what the context is to take over.
  private func takeOverWhatWaits() {
    work.queue.async { [weak self] in self?.made?.takeOverWhatWaits() }
  }

  /// Does work on the context's queue, and waits for it.
  public func performAndWait<Result>(_ block: () throws -> Result) rethrows -> Result {
    if isHere { return try block() }
    return try work.wait { [self] in try context.perform(block) }
  }

  /// Does work on the context's queue, and gives what it gives.
  ///
  /// - Parameters:
  ///   - schedule: Whether the work may be done at once where the caller is on the queue already.
  ///   - block: The work.
  /// - Throws: What the work throws.
  public func perform<Result: Sendable>(
    schedule: ScheduledTaskType = .immediate, _ block: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      work.queue.async { [self] in
        continuation.resume(with: Swift.Result { try context.perform(block) })
      }
    }
  }

  /// When work is done that its caller waits for.
  public enum ScheduledTaskType: Sendable {
    /// At once, if that may be.
    case immediate
    /// After what waits already.
    case enqueued
  }
}
