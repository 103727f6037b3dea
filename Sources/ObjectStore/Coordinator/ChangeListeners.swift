// ChangeListeners: who hears of what the stores of a coordinator have committed.
import Synchronization

/// Those who want to hear of what the stores of one coordinator have committed. Safe to use from any thread.
final class ChangeListeners: Sendable {
  private struct State {
    var listeners: [UInt64: @Sendable (ChangeSet) -> Void] = [:]
    var lastNumber: UInt64 = 0
  }
  private let state = Mutex(State())

  /// Whether there is anybody: for nobody no change set is made.
  var isEmpty: Bool { state.withLock { $0.listeners.isEmpty } }

  /// Adds a listener. It is called on the thread that has committed, while the store waits: it takes a note and returns.
  ///
  /// - Returns: The number that ``remove(_:)`` takes.
  func add(_ listener: @escaping @Sendable (ChangeSet) -> Void) -> UInt64 {
    state.withLock { state in
      state.lastNumber += 1
      state.listeners[state.lastNumber] = listener
      return state.lastNumber
    }
  }

  func remove(_ number: UInt64) { _ = state.withLock { $0.listeners.removeValue(forKey: number) } }

  /// Tells everybody.
  func tell(_ changes: ChangeSet) {
    // A listener may come or go meanwhile.
    let listeners = state.withLock { Array($0.listeners.values) }
    for listener in listeners { listener(changes) }
  }
}
