// WaitFor: asynchronous work in synchronous tests and programs.
import Dispatch
import Synchronization

/// Waits for asynchronous work from synchronous code, and returns what it returns. The work must not need the main actor.
public func waitFor<Success: Sendable>(_ work: @escaping @Sendable () async throws -> Success) throws -> Success {
  // What stands there first is replaced before anybody looks.
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
