import Dispatch

/// A serial executor with its own dispatch queue, which keeps blocking I/O off Swift's cooperative thread pool.
///
/// An actor that performs blocking work, such as one that owns a context, returns it as its `unownedExecutor`.
package final class QueueExecutor: SerialExecutor, TaskExecutor {
  private let queue: DispatchQueue

  /// Creates an executor with its own queue.
  package init(label: String) {
    queue = DispatchQueue(label: label)
  }

  /// Runs a job on the queue.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor()) }
  }

  /// Returns the executor reference that the Swift runtime uses.
  package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  /// Traps if the caller is not running on the queue.
  package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

  func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result(catching: work)) }
    }
  }
}
