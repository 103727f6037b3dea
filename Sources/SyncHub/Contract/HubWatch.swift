import Synchronization

/// A hint that a zone may have changed.
package struct HubHint: Hashable, Sendable {
  /// The number of commits in the zone; nil if it could not be determined.
  package let sequence: Int64?

  package init(sequence: Int64?) { self.sequence = sequence }
}

/// A watch of a zone. It ends with ``end()``, with the loop over its hints, or when it is released.
package final class HubWatch: Sendable {
  /// The hints, the first one immediately. Only the last one is kept while none is consumed: each stands for all commits before it.
  ///
  /// The sequence ends when the watch ends or the connection to the hub is closed.
  package let hints: AsyncStream<HubHint>
  private let continuation: AsyncStream<HubHint>.Continuation
  private let onEnd: Mutex<(@Sendable () -> Void)?>

  /// Creates a watch that another object provides with hints.
  ///
  /// - Parameter onEnd: Called once, when the watch ends.
  package init(onEnd: @escaping @Sendable () -> Void) {
    (hints, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.onEnd = Mutex(onEnd)
    continuation.onTermination = { [weak self] _ in self?.end() }
  }

  deinit { end() }

  package func send(_ hint: HubHint) { continuation.yield(hint) }

  package func end() {
    let onEnd = onEnd.withLock { onEnd in
      defer { onEnd = nil }
      return onEnd
    }
    guard let onEnd else { return }
    onEnd()
    continuation.finish()
  }
}
