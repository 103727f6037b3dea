import Synchronization

/// What a watching service has to do next. Requests that arrive while it works are combined.
final class SyncSignal: Sendable {
  /// Whether the hub may have something new; nil if there is no request.
  private let pulls = Mutex<Bool?>(nil)
  /// Yields when there is a request. Only one task may use it.
  let wakes: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() { (wakes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

  /// Requests a round.
  ///
  /// - Parameter pulls: Whether the hub may have something new; false if something was saved.
  func send(pulls: Bool) {
    self.pulls.withLock { $0 = ($0 ?? false) || pulls }
    continuation.yield()
  }

  func end() { continuation.finish() }

  /// Returns the combined requests, and clears them; nil without a request.
  func take() -> Bool? {
    pulls.withLock { pulls in
      defer { pulls = nil }
      return pulls
    }
  }
}
