import Dispatch
import Synchronization

/// Runs blocking operations on a dispatch queue, so that they block neither the caller's actor nor a thread of Swift's pool.
struct HubQueue: Sendable {
  private let queue: DispatchQueue

  /// - Parameter isSerial: Whether operations wait for each other.
  init(_ label: String, isSerial: Bool) {
    queue = DispatchQueue(label: label, qos: .userInitiated, attributes: isSerial ? [] : .concurrent)
  }

  /// Runs an operation. If the task is canceled, an operation that has not begun never begins.
  ///
  /// - Parameter body: Must end soon after the cancellation that it receives.
  func run<Result: Sendable>(_ body: @escaping @Sendable (HubCancellation) throws -> Result) async throws -> Result {
    let cancellation = HubCancellation()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let operation = QueuedOperation(continuation)
        cancellation.onCancel { operation.takeContinuation()?.resume(throwing: HubError.canceled) }
        queue.async {
          guard let continuation = operation.takeContinuation() else { return }
          continuation.resume(with: Swift.Result { try body(cancellation) })
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }
}

/// The cancellation of an operation.
final class HubCancellation: Sendable {
  private let canceled = Atomic<Bool>(false)
  private let observer = Mutex<(@Sendable () -> Void)?>(nil)

  var isCanceled: Bool { canceled.load(ordering: .acquiring) }

  func cancel() {
    let observer = observer.withLock { observer in
      canceled.store(true, ordering: .releasing)
      return observer
    }
    observer?()
  }

  /// Registers the function that is called at the cancellation, at once if that was before.
  fileprivate func onCancel(_ body: @escaping @Sendable () -> Void) {
    let isCanceled = observer.withLock { observer in
      observer = body
      return self.isCanceled
    }
    if isCanceled { body() }
  }

  func check() throws { if isCanceled { throw HubError.canceled } }
}

/// The continuation of an operation, which either its beginning or its cancellation takes.
private final class QueuedOperation<Result: Sendable>: Sendable {
  private let continuation: Mutex<CheckedContinuation<Result, any Error>?>

  init(_ continuation: CheckedContinuation<Result, any Error>) { self.continuation = Mutex(continuation) }

  func takeContinuation() -> CheckedContinuation<Result, any Error>? {
    continuation.withLock { continuation in
      defer { continuation = nil }
      return continuation
    }
  }
}
