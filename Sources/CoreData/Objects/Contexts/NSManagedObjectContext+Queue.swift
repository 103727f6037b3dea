// NSManagedObjectContext+Queue: work on a context's queue.
import Dispatch
import Foundation
import ObjectContext

extension NSManagedObjectContext {
  /// On which queue a context's work is done.
  public struct ConcurrencyType: Sendable, Hashable {
    let type: NSManagedObjectContextConcurrencyType

    /// On a queue of its own.
    public static let privateQueue = ConcurrencyType(type: .privateQueueConcurrencyType)
    /// On the main thread.
    public static let mainQueue = ConcurrencyType(type: .mainQueueConcurrencyType)
  }

  /// When work is done that its caller waits for.
  public enum ScheduledTaskType: Sendable {
    /// At once, if that may be: where the caller is on the queue already.
    case immediate
    /// After what waits already.
    case enqueued
  }

  /// Does work on the context's queue, and waits for it.
  ///
  /// - Throws: What the work throws.
  public func performAndWait<Result>(_ block: () throws -> Result) rethrows -> Result {
    if isHere { return try Self.$atWork.withValue(self, operation: block) }
    return try work.wait { [self] in try atWork(block) }
  }

  /// Does work on the context's queue, and gives what it gives.
  ///
  /// - Parameters:
  ///   - schedule: Whether the work may be done at once where the caller is on the queue already.
  ///   - block: The work.
  /// - Throws: What the work throws.
  @preconcurrency
  public func perform<Result: Sendable>(
    schedule: ScheduledTaskType = .immediate, _ block: @escaping @Sendable () throws -> Result
  ) async rethrows -> Result {
    try await done(schedule, block) { throw $0 }
  }

  /// Work that throws what its error is turned into: so the compiler sees that nothing is thrown but what the work throws.
  private func done<Result: Sendable>(
    _ schedule: ScheduledTaskType, _ block: @escaping @Sendable () throws -> Result, rethrowing: (any Error) throws -> Result
  ) async rethrows -> Result {
    let result: Swift.Result<Result, any Error>
    if schedule == .immediate, isHere {
      result = atWork { Swift.Result(catching: block) }
    } else {
      result = await withCheckedContinuation { continuation in
        work.queue.async { [self] in
          continuation.resume(returning: atWork { Swift.Result(catching: block) })
        }
      }
    }
    switch result {
    case .success(let value): return value
    case .failure(let error): return try rethrowing(error)
    }
  }

  /// The context that does its work where the caller is; nil where none does.
  @TaskLocal static var atWork: NSManagedObjectContext?

  final func atWork<Result>(_ block: () throws -> Result) rethrows -> Result {
    try Self.$atWork.withValue(self) { try context.perform(block) }
  }
}
