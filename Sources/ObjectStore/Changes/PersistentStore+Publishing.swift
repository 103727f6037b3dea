import Foundation
import Synchronization

/// The changes of the running transactions of a store.
struct UncommittedChanges {
  /// The nesting depth of running transactions.
  private(set) var depth = 0
  private var changeSets: [ChangeSet] = []
  /// Whether something was written while there were no observers, so that its change set was not created.
  private var isIncomplete = false
  /// The observation of the outermost transaction, if the coordinator reports the store's changes.
  var observation: TransactionObservation?

  struct Mark {
    fileprivate let count: Int
    fileprivate let isIncomplete: Bool
  }

  mutating func begin() -> Mark {
    depth += 1
    return Mark(count: changeSets.count, isIncomplete: isIncomplete)
  }

  mutating func add(_ changes: ChangeSet) { changeSets.append(changes) }
  mutating func markIncomplete() { isIncomplete = true }

  /// Discards the changes of the innermost transaction, which was rolled back.
  mutating func rollBack(to mark: Mark) {
    depth -= 1
    changeSets.removeSubrange(mark.count...)
    isIncomplete = mark.isIncomplete
  }

  /// Ends the innermost transaction, which has succeeded.
  ///
  /// - Returns: The committed changes. Empty if there is an outer transaction; nil if change sets are missing.
  mutating func commit() -> [ChangeSet]? {
    depth -= 1
    guard depth == 0 else { return [] }
    defer { (changeSets, isIncomplete) = ([], false) }
    return isIncomplete ? nil : changeSets
  }
}

extension PersistentStore {
  /// Notifies observers of a write: immediately, or within a transaction when it is committed. If it is rolled back, observers are not
  /// notified.
  ///
  /// Must be called after each write, when the row cache has been updated, and with ``saving`` held. Change sets of a store are therefore
  /// published in the order of its commits.
  /// - Parameter makeChangeSet: Called only if there are observers.
  package func publish(_ makeChangeSet: () -> ChangeSet) {
    guard !observers.isEmpty else {
      uncommitted.withLock { if $0.depth > 0 { $0.markIncomplete() } }
      return
    }
    let changes = makeChangeSet()
    if changes.isEmpty { return }
    let isCommitted = uncommitted.withLock { uncommitted in
      if uncommitted.depth > 0 { uncommitted.add(changes) }
      return uncommitted.depth == 0
    }
    if isCommitted { observers.notify(changes) }
  }

  /// Runs requests to the store as one transaction. Until it ends, the row cache keeps no new rows and observers are not notified.
  package func performTransaction(_ body: () throws -> Void) throws {
    saving.lock()
    defer { saving.unlock() }
    let mark = uncommitted.withLock { $0.begin() }
    // Uncommitted rows must not reach other contexts through the row cache.
    cache.suspend()
    do {
      try observingTransaction(body)
    } catch {
      cache.resume()
      uncommitted.withLock { $0.rollBack(to: mark) }
      throw error
    }
    cache.resume()
    guard let changeSets = uncommitted.withLock({ $0.commit() }) else {
      // An observer was added after the transaction began.
      if !observers.isEmpty { observers.notify(ChangeSet(wholeOf: self)) }
      return
    }
    for changes in changeSets { observers.notify(changes) }
  }
}

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
