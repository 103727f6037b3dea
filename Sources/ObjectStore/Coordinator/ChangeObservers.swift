import Synchronization

/// The observers of the commits to a coordinator's stores. Safe to use from any thread.
final class ChangeObservers: Sendable {
  private struct State {
    var observers: [UInt64: @Sendable (ChangeSet) -> Void] = [:]
    var lastNumber: UInt64 = 0
  }
  private let state = Mutex(State())

  /// Whether there are no observers, so that no change sets need to be created.
  var isEmpty: Bool { state.withLock { $0.observers.isEmpty } }

  /// Adds an observer. It is called synchronously on the committing thread while the store's lock is held, so it must return quickly.
  ///
  /// - Returns: The number to pass to ``remove(_:)``.
  func add(_ observer: @escaping @Sendable (ChangeSet) -> Void) -> UInt64 {
    state.withLock { state in
      state.lastNumber += 1
      state.observers[state.lastNumber] = observer
      return state.lastNumber
    }
  }

  func remove(_ number: UInt64) { _ = state.withLock { $0.observers.removeValue(forKey: number) } }

  func notify(_ changes: ChangeSet) {
    // Called without the lock, because observers may add or remove observers.
    let observers = state.withLock { Array($0.observers.values) }
    for observer in observers { observer(changes) }
  }
}
