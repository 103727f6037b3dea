import Dispatch
import Foundation
import ObjectContext
import Synchronization

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
