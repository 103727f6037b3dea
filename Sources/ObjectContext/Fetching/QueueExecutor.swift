// QueueExecutor: runs actors and tasks on a dispatch queue, so that blocking input and output never holds one of Swift's cooperative threads.
import Dispatch

/// A serial executor over a dispatch queue of its own. An actor that does blocking work, as with a context, returns it as its `unownedExecutor`.
package final class QueueExecutor: SerialExecutor, TaskExecutor {
  private let queue: DispatchQueue

  /// Makes an executor with a queue of its own.
  package init(label: String) {
    queue = DispatchQueue(label: label)
  }

  /// Runs a job on the queue.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor()) }
  }

  /// The executor as Swift's runtime takes it.
  package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  /// Traps when the caller is not on the queue.
  package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

  /// Runs work on the queue.
  func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result(catching: work)) }
    }
  }
}
