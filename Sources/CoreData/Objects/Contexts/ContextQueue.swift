// ContextQueue: the queue of a context and of those nested in one another, and whether code runs on it.
import Dispatch
import Foundation
import Synchronization

/// The queue of a context. Contexts that are nested in one another have one queue together: the main one, where it is that of one of them.
final class ContextQueue: Sendable {
  private let ownQueue: DispatchQueue
  private let isMain: Bool
  /// The queue that this one has become.
  private let joined = AtomicLazyReference<ContextQueue>()
  private static let here = DispatchSpecificKey<ObjectIdentifier>()
  /// The main queue is not always served by the main thread.
  private static let main: Bool = {
    DispatchQueue.main.setSpecific(key: mainHere, value: true)
    return true
  }()
  private static let mainHere = DispatchSpecificKey<Bool>()

  init(isMain: Bool) {
    self.isMain = isMain
    ownQueue = isMain ? .main : DispatchQueue(label: "CipherData.NSManagedObjectContext")
    if isMain { _ = Self.main } else { ownQueue.setSpecific(key: Self.here, value: ObjectIdentifier(self)) }
  }

  /// What the queue has become.
  private var current: ContextQueue {
    var queue = self
    while let next = queue.joined.load() { queue = next }
    return queue
  }

  /// The queue.
  var queue: DispatchQueue { current.ownQueue }

  /// Whether it is the main queue.
  var isMainQueue: Bool { current.isMain }

  /// Whether code runs on the queue.
  var isHere: Bool {
    let current = current
    if current.isMain { return Thread.isMainThread || DispatchQueue.getSpecific(key: Self.mainHere) == true }
    return DispatchQueue.getSpecific(key: Self.here) == ObjectIdentifier(current)
  }

  /// Becomes one queue with that of a parent: the parent's, unless this is the main one. What waits on the queue that is given up is done first.
  func join(_ parent: ContextQueue) {
    let (own, other) = (current, parent.current)
    if own === other || own.isMain && other.isMain { return }
    let (given, kept) = own.isMain ? (other, own) : (own, other)
    if !given.isHere { given.ownQueue.sync {} }
    _ = given.joined.storeIfNil(kept)
  }

  /// Does work on the queue and waits for it.
  func wait<Result>(_ work: () throws -> Result) rethrows -> Result { try queue.sync(execute: work) }

  /// Runs tasks on the queue.
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
