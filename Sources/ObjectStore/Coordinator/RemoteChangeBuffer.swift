import Synchronization

/// The pending remote changes for one consumer. Changes of the same store are combined, so a slow consumer has at most one pending change a
/// store.
final class RemoteChangeBuffer: Sendable {
  private let waiting = Mutex<[RemoteStoreChange]>([])
  private let signal: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() { (signal, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

  func add(_ change: RemoteStoreChange) {
    waiting.withLock { waiting in
      if let index = waiting.firstIndex(where: { $0.storeIdentifier == change.storeIdentifier }) {
        waiting[index] = waiting[index].joined(with: change)
      } else {
        waiting.append(change)
      }
    }
    continuation.yield()
  }

  func finish() { continuation.finish() }

  /// Waits for the next change. Returns nil at the end of the stream and if the task is canceled.
  func next() async -> RemoteStoreChange? {
    while true {
      if let change = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return change }
      // There is only one consumer.
      var iterator = signal.makeAsyncIterator()
      guard await iterator.next() != nil else { return nil }
    }
  }
}

/// The consumers of remote changes of one coordinator.
final class RemoteChangeObservers: Sendable {
  private struct State {
    var buffers: [UInt64: RemoteChangeBuffer] = [:]
    var lastNumber: UInt64 = 0
  }
  private let state = Mutex(State())

  deinit { for buffer in state.withLock({ Array($0.buffers.values) }) { buffer.finish() } }

  func stream() -> AsyncStream<RemoteStoreChange> {
    let buffer = RemoteChangeBuffer()
    let number = state.withLock { state in
      state.lastNumber += 1
      state.buffers[state.lastNumber] = buffer
      return state.lastNumber
    }
    // Unregisters the consumer when the stream is deallocated.
    let registration = DeinitAction { [weak self] in self?.state.withLock { $0.buffers[number] = nil } }
    return AsyncStream {
      defer { withExtendedLifetime(registration) {} }
      return await buffer.next()
    }
  }

  func notify(_ change: RemoteStoreChange) {
    for buffer in state.withLock({ Array($0.buffers.values) }) { buffer.add(change) }
  }
}
