import Foundation
import Synchronization

/// The changes of the running transactions of a store.
struct UncommittedChanges {
  /// The nesting depth of running transactions.
  private(set) var depth = 0
  private var changeSets: [ChangeSet] = []
  /// The number of objects in the change sets.
  private var listedCount = 0
  /// Whether something was written while there were no observers, so that its change set was not created.
  private var isIncomplete = false
  /// Whether the change sets were discarded because they listed too many objects. Further ones need not be created.
  private(set) var isTooLarge = false
  /// Whether the change sets are published as one.
  var areCombined = false
  /// The observation of the outermost transaction, if the coordinator reports the store's changes.
  var observation: TransactionObservation?

  struct Mark {
    fileprivate let count: Int
    let listedCount: Int
    fileprivate let isIncomplete: Bool
  }

  mutating func begin() -> Mark {
    depth += 1
    return Mark(count: changeSets.count, listedCount: listedCount, isIncomplete: isIncomplete)
  }

  mutating func add(_ changes: ChangeSet) {
    if isTooLarge { return }
    changeSets.append(changes)
    listedCount += changes.listedCount
    if listedCount > PublishedChanges.maximumListedCount { (changeSets, isTooLarge) = ([], true) }
  }

  mutating func markIncomplete() { isIncomplete = true }

  /// Discards the changes of the innermost transaction, which was rolled back.
  mutating func rollBack(to mark: Mark) {
    depth -= 1
    if depth == 0 { return reset() }
    // What is discarded may be from before the mark.
    if isTooLarge { return }
    changeSets.removeSubrange(mark.count...)
    (listedCount, isIncomplete) = (mark.listedCount, mark.isIncomplete)
  }

  /// Ends the innermost transaction, which has succeeded.
  ///
  /// - Returns: The committed changes. Empty if there is an outer transaction; nil if change sets are missing.
  mutating func commit() -> [ChangeSet]? {
    depth -= 1
    guard depth == 0 else { return [] }
    defer { reset() }
    return isIncomplete || isTooLarge ? nil : changeSets
  }

  private mutating func reset() {
    (changeSets, listedCount, isIncomplete, isTooLarge) = ([], 0, false, false)
    areCombined = false
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
      let isCommitted = uncommitted.withLock { uncommitted in
        if uncommitted.depth > 0 { uncommitted.markIncomplete() }
        return uncommitted.depth == 0
      }
      if isCommitted { observers.notifyListeners() }
      return
    }
    if uncommitted.withLock(\.isTooLarge) { return }
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
    let (areCombined, committed) = uncommitted.withLock { ($0.areCombined, $0.commit()) }
    guard let changeSets = committed else {
      // There were no observers when the transaction began, or there are too many changes.
      if observers.isEmpty { observers.notifyListeners() } else { observers.notify(ChangeSet(wholeOf: self)) }
      return
    }
    if areCombined, let combined = ChangeSet(combining: changeSets, of: self) { return observers.notify(combined) }
    for changes in changeSets { observers.notify(changes) }
  }

  /// Publishes the changes of the running transaction as one change set, which lists each object once: observers do not see the states
  /// between its requests.
  package func combineChanges() { uncommitted.withLock { $0.areCombined = true } }
}

/// The observers of the commits to a coordinator's stores. Safe to use from any thread.
final class ChangeObservers: Sendable {
  private struct State {
    var observers: [UInt64: @Sendable (ChangeSet) -> Void] = [:]
    var listeners: [UInt64: @Sendable () -> Void] = [:]
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

  /// Adds a function that is called in the same way, without the changes, which then need not be collected.
  ///
  /// - Returns: The number to pass to ``remove(_:)``.
  func add(listener: @escaping @Sendable () -> Void) -> UInt64 {
    state.withLock { state in
      state.lastNumber += 1
      state.listeners[state.lastNumber] = listener
      return state.lastNumber
    }
  }

  func remove(_ number: UInt64) {
    state.withLock { state in
      state.observers[number] = nil
      state.listeners[number] = nil
    }
  }

  func notify(_ changes: ChangeSet) {
    // Called without the lock, because observers may add or remove observers.
    let observers = state.withLock { Array($0.observers.values) }
    for observer in observers { observer(changes) }
    notifyListeners()
  }

  /// Notifies the listeners of a commit for which there is no change set, because there are no observers.
  func notifyListeners() {
    let listeners = state.withLock { Array($0.listeners.values) }
    for listener in listeners { listener() }
  }
}
