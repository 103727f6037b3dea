// RemoteChangeLine: what of others' commits somebody has not taken yet, and all who take.
import Synchronization

/// The changes that wait for one who takes them: one for each store, however slow he is.
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

  /// Nothing more comes.
  func finish() { continuation.finish() }

  /// Waits for the next; nil at the end, and when the task is cancelled.
  func next() async -> RemoteStoreChange? {
    while true {
      if let change = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return change }
      // One at a time waits here.
      var iterator = signal.makeAsyncIterator()
      guard await iterator.next() != nil else { return nil }
    }
  }
}

/// Those who take what others have committed to the stores of one coordinator.
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
    // Goes with the stream.
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
