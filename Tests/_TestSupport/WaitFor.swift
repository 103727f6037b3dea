import Dispatch
import Synchronization

/// Runs an asynchronous operation from synchronous code, and returns its result. The operation must not need the main actor.
public func waitFor<Success: Sendable>(_ work: @escaping @Sendable () async throws -> Success) throws -> Success {
  // The initial value is replaced before it is read.
  let outcome = Mutex(Result<Success, any Error>.failure(CancellationError()))
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    let result: Result<Success, any Error>
    do { result = .success(try await work()) } catch { result = .failure(error) }
    outcome.withLock { $0 = result }
    done.signal()
  }
  done.wait()
  return try outcome.withLock { $0 }.get()
}
