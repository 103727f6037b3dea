// PersistentStore+Publishing: what was committed is told, in the order of the commits, whoever has written it.
import Foundation
import Synchronization

/// What the transactions under way in a store have written so far.
struct UncommittedChanges {
  /// How many transactions are under way, one inside the other.
  private(set) var depth = 0
  private var changeSets: [ChangeSet] = []
  /// Whether something was written while nobody listened, of which no change set was made.
  private var isIncomplete = false

  /// Where a transaction began.
  struct Mark {
    fileprivate let count: Int
    fileprivate let isIncomplete: Bool
  }

  mutating func begin() -> Mark {
    depth += 1
    return Mark(count: changeSets.count, isIncomplete: isIncomplete)
  }

  mutating func add(_ changes: ChangeSet) { changeSets.append(changes) }
  mutating func addUnheard() { isIncomplete = true }

  /// The innermost transaction is undone, and with it all that was written since a mark.
  mutating func rollBack(to mark: Mark) {
    depth -= 1
    changeSets.removeSubrange(mark.count...)
    isIncomplete = mark.isIncomplete
  }

  /// The innermost transaction has succeeded.
  ///
  /// - Returns: What is committed now: nothing as long as there is an outer one. Nil for what nobody has kept.
  mutating func commit() -> [ChangeSet]? {
    depth -= 1
    guard depth == 0 else { return [] }
    defer { (changeSets, isIncomplete) = ([], false) }
    return isIncomplete ? nil : changeSets
  }
}

extension PersistentStore {
  /// Tells whoever listens of what was written: at once, or within a transaction as soon as that is committed, and never when it is undone.
  ///
  /// Whoever writes to the store calls it, once the row cache knows, and holding ``saving``: so the change sets of a store come in the order of its commits.
  /// - Parameter makeChangeSet: Called only where somebody listens.
  package func publish(_ makeChangeSet: () -> ChangeSet) {
    guard !listeners.isEmpty else {
      uncommitted.withLock { if $0.depth > 0 { $0.addUnheard() } }
      return
    }
    let changes = makeChangeSet()
    if changes.isEmpty { return }
    let isCommitted = uncommitted.withLock { uncommitted in
      if uncommitted.depth > 0 { uncommitted.add(changes) }
      return uncommitted.depth == 0
    }
    if isCommitted { listeners.tell(changes) }
  }

  /// Runs requests to the store as one transaction, during which its row cache keeps nothing new and nobody is told what they write.
  package func performTransaction(_ body: () throws -> Void) throws {
    saving.lock()
    defer { saving.unlock() }
    let mark = uncommitted.withLock { $0.begin() }
    // Rows that are not committed must not reach other contexts through the row cache.
    cache.suspend()
    do {
      try incrementalStore.performTransaction(body)
    } catch {
      cache.resume()
      uncommitted.withLock { $0.rollBack(to: mark) }
      throw error
    }
    cache.resume()
    guard let changeSets = uncommitted.withLock({ $0.commit() }) else {
      // Somebody listens now who did not when the transaction began.
      if !listeners.isEmpty { listeners.tell(ChangeSet(wholeOf: self)) }
      return
    }
    for changes in changeSets { listeners.tell(changes) }
  }
}
