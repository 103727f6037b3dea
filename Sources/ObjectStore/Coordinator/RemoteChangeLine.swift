import Synchronization

/// The pending remote changes for one consumer. Changes of the same store are combined, so a slow consumer has at most one pending change a
/// store.
final class RemoteChangeLine: Sendable {
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
final class RemoteChangeListeners: Sendable {
  private struct State {
    var lines: [UInt64: RemoteChangeLine] = [:]
    var lastNumber: UInt64 = 0
  }
  private let state = Mutex(State())

  deinit { for line in state.withLock({ Array($0.lines.values) }) { line.finish() } }

  func stream() -> AsyncStream<RemoteStoreChange> {
    let line = RemoteChangeLine()
    let number = state.withLock { state in
      state.lastNumber += 1
      state.lines[state.lastNumber] = line
      return state.lastNumber
    }
    // Unregisters the consumer when the stream is deallocated.
    let place = EndAction { [weak self] in self?.state.withLock { $0.lines[number] = nil } }
    return AsyncStream {
      defer { withExtendedLifetime(place) {} }
      return await line.next()
    }
  }

  func tell(_ change: RemoteStoreChange) {
    for line in state.withLock({ Array($0.lines.values) }) { line.add(change) }
  }
}
