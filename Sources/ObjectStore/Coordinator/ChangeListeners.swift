import Synchronization

/// The observers of the commits to a coordinator's stores. Safe to use from any thread.
final class ChangeListeners: Sendable {
  private struct State {
    var listeners: [UInt64: @Sendable (ChangeSet) -> Void] = [:]
    var lastNumber: UInt64 = 0
  }
  private let state = Mutex(State())

  /// Whether there are no observers, so that no change sets need to be created.
  var isEmpty: Bool { state.withLock { $0.listeners.isEmpty } }

  /// Adds an observer. It is called synchronously on the committing thread while the store's lock is held, so it must return quickly.
  ///
  /// - Returns: The number to pass to ``remove(_:)``.
  func add(_ listener: @escaping @Sendable (ChangeSet) -> Void) -> UInt64 {
    state.withLock { state in
      state.lastNumber += 1
      state.listeners[state.lastNumber] = listener
      return state.lastNumber
    }
  }

  func remove(_ number: UInt64) { _ = state.withLock { $0.listeners.removeValue(forKey: number) } }

  func tell(_ changes: ChangeSet) {
    // Called without the lock, because observers may add or remove observers.
    let listeners = state.withLock { Array($0.listeners.values) }
    for listener in listeners { listener(changes) }
  }
}
