import Dispatch
import Foundation
import ObjectContext
import Synchronization

/// The queue of a context. Nested contexts share one queue: the main queue if one of them uses it.
final class ContextQueue: Sendable {
  private let ownQueue: DispatchQueue
  private let isMain: Bool
  /// The queue that replaced this one when the context was nested.
  private let joined = AtomicLazyReference<ContextQueue>()
  private static let here = DispatchSpecificKey<ObjectIdentifier>()
  private static let mainQueueKey = DispatchSpecificKey<Bool>()

  init(isMain: Bool) {
    self.isMain = isMain
    ownQueue = isMain ? .main : DispatchQueue(label: "CipherData.NSManagedObjectContext")
    if isMain {
      // The main thread does not always serve the main queue.
      ownQueue.setSpecific(key: Self.mainQueueKey, value: true)
    } else {
      ownQueue.setSpecific(key: Self.here, value: ObjectIdentifier(self))
    }
  }

  /// The queue in effect after joining.
  private var current: ContextQueue {
    var queue = self
    while let next = queue.joined.load() { queue = next }
    return queue
  }

  /// The dispatch queue.
  var queue: DispatchQueue { current.ownQueue }

  /// Whether this is the main queue.
  var isMainQueue: Bool { current.isMain }

  /// Whether the caller runs on the queue.
  var isOnQueue: Bool {
    let current = current
    if current.isMain { return Thread.isMainThread || DispatchQueue.getSpecific(key: Self.mainQueueKey) == true }
    return DispatchQueue.getSpecific(key: Self.here) == ObjectIdentifier(current)
  }

  /// Merges the queue with a parent's. The parent's queue is used, unless this one is the main queue. Tasks pending on the replaced queue
  /// run first.
  func join(_ parent: ContextQueue) {
    let (own, other) = (current, parent.current)
    if own === other || own.isMain && other.isMain { return }
    let (given, kept) = own.isMain ? (other, own) : (own, other)
    if !given.isOnQueue { given.ownQueue.sync {} }
    _ = given.joined.storeIfNil(kept)
  }

  /// Runs a closure on the queue and waits for it.
  func wait<Result>(_ work: () throws -> Result) rethrows -> Result { try queue.sync(execute: work) }

  /// The executor for tasks that run on the queue.
  var executor: any TaskExecutor { Executor(queue: queue) }

  private final class Executor: TaskExecutor {
    private let queue: DispatchQueue

    init(queue: DispatchQueue) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }
}

/// Blocks the calling thread until asynchronous tasks, which run on other threads, finish.
enum BlockingTask {
  static func run<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) throws -> Result {
    let outcome = Outcome<Result>()
    let done = DispatchSemaphore(value: 0)
    Task.detached(executorPreference: QueueExecutor(label: "CipherData.CoreData.Waiting")) {
      do { outcome.set(.success(try await work())) } catch { outcome.set(.failure(error)) }
      done.signal()
    }
    done.wait()
    return try outcome.get()
  }

  private final class Outcome<Result: Sendable>: Sendable {
    private let value = Mutex<Swift.Result<Result, any Error>>(.failure(CancellationError()))
    func set(_ new: Swift.Result<Result, any Error>) { value.withLock { $0 = new } }
    func get() throws -> Result { try value.withLock { $0 }.get() }
  }
}

/// A wrapper that transfers a value that is not `Sendable` to the queue on which it is used.
struct SendableBox<Value>: @unchecked Sendable {  // used only on that queue
  let value: Value
}
