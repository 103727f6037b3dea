import Dispatch
import Foundation
import ObjectContext

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
