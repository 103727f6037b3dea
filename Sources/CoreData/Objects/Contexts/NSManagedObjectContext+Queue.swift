import Dispatch
import Foundation
import ObjectContext
import Synchronization

extension NSManagedObjectContext {
  /// The queue of a context.
  public struct ConcurrencyType: Sendable, Hashable {
    let type: NSManagedObjectContextConcurrencyType

    /// A private queue.
    public static let privateQueue = ConcurrencyType(type: .privateQueueConcurrencyType)
    /// The main queue.
    public static let mainQueue = ConcurrencyType(type: .mainQueueConcurrencyType)
  }

  /// The scheduling of a block that the caller waits for.
  public enum ScheduledTaskType: Sendable {
    /// Runs immediately if the caller is already on the queue.
    case immediate
    /// Runs after the blocks already enqueued.
    case enqueued
  }

  /// Runs a block on the context's queue and waits for it.
  ///
  /// - Throws: The block's error.
  public func performAndWait<Result>(_ block: () throws -> Result) rethrows -> Result {
    if isOnQueue { return try Self.$executing.withValue(self, operation: block) }
    return try work.wait { [self] in try executing(block) }
  }

  /// Runs a block on the context's queue and returns its result.
  ///
  /// - Parameters:
  ///   - schedule: Whether the block may run immediately if the caller is already on the queue.
  ///   - block: The block.
  /// - Throws: The block's error.
  @preconcurrency
  public func perform<Result: Sendable>(
    schedule: ScheduledTaskType = .immediate, _ block: @escaping @Sendable () throws -> Result
  ) async rethrows -> Result {
    try await done(schedule, block) { throw $0 }
  }

  /// Runs a block whose errors are converted. The signature lets the compiler see that only the block throws.
  private func done<Result: Sendable>(
    _ schedule: ScheduledTaskType, _ block: @escaping @Sendable () throws -> Result, rethrowing: (any Error) throws -> Result
  ) async rethrows -> Result {
    let result: Swift.Result<Result, any Error>
    if schedule == .immediate, isOnQueue {
      result = executing { Swift.Result(catching: block) }
    } else {
      result = await withCheckedContinuation { continuation in
        work.queue.async { [self] in
          continuation.resume(returning: executing { Swift.Result(catching: block) })
        }
      }
    }
    switch result {
    case .success(let value): return value
    case .failure(let error): return try rethrowing(error)
    }
  }

  /// The context whose block the current task runs; nil if there is none.
  @TaskLocal static var executing: NSManagedObjectContext?

  final func executing<Result>(_ block: () throws -> Result) rethrows -> Result {
    try Self.$executing.withValue(self) { try context.perform(block) }
  }
}

/// Detects contexts and objects that are used off their contexts' queues.
package enum ConcurrencyDebug {
  private static let state = Atomic<Bool>(isRequested)

  /// Whether the launch argument `-com.apple.CoreData.ConcurrencyDebug 1` or the user defaults enable the check.
  private static var isRequested: Bool {
    let name = "com.apple.CoreData.ConcurrencyDebug"
    let arguments = ProcessInfo.processInfo.arguments
    if let place = arguments.firstIndex(of: "-\(name)"), place + 1 < arguments.count { return (Int(arguments[place + 1]) ?? 0) > 0 }
    return UserDefaults.standard.integer(forKey: name) > 0
  }

  /// Whether the check is enabled.
  package static var isOn: Bool {
    get { state.load(ordering: .relaxed) }
    set { state.store(newValue, ordering: .relaxed) }
  }
}

extension NSManagedObjectContext {
  /// Records and prints a use of the context off its queue, if the check is enabled.
  final func checkQueue(_ use: StaticString) {
    guard ConcurrencyDebug.isOn, !isOnQueue, !isBorrowed else { return }
    let error = QueueError(use: "\(use)", context: concurrencyType == .mainQueueConcurrencyType ? "main queue" : "private queue")
    // The context's own errors may be accessed only on its queue.
    guard
      misuse.withLock({ known in
        defer { known = known ?? error }
        return known == nil
      })
    else { return }
    FileHandle.standardError.write(Data("CoreData: \(error.errorDescription ?? "")\n".utf8))
  }

  /// Throws the recorded use off the queue, once.
  final func throwMisuse() throws {
    if let error = misuse.withLock({ $0.take() }) { throw error }
  }

  /// Returns whether an object belongs to the context. If it belongs to another one, an error is recorded in the context.
  final func owns(_ object: NSManagedObject, _ use: StaticString) -> Bool {
    if let other = object.managedObjectContext, other !== self {
      context.recordError(OtherContextError(use: "\(use)", entity: object.entity.name ?? ""))
      return false
    }
    return true
  }
}

extension NSManagedObject {
  /// Records a use of the object off its context's queue, if the check is enabled.
  final func checkQueue(_ use: StaticString) {
    if ConcurrencyDebug.isOn { managedObjectContext?.checkQueue(use) }
  }
}

/// The error that a context was used off its queue.
struct QueueError: LocalizedError {
  let use: String
  let context: String

  var errorDescription: String? {
    "\(use) of a context with a \(context), or of one of its objects, was used off that queue; do so in a block of the context's perform or performAndWait, and hand IDs, not objects, to other contexts"
  }
}

/// The error that an object of another context was passed to a context.
struct OtherContextError: LocalizedError {
  let use: String
  let entity: String

  var errorDescription: String? {
    "\(use) was given an object of “\(entity)” that is another context's; look it up in this one by its ID, with object(with:)"
  }
}
