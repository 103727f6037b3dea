// One reader of a pool: taken by one caller at a time, without a lock.

import StoreFiles
import Synchronization

/// A reader of a pool. Whoever takes it has it alone until he releases it.
///
/// `@unchecked Sendable`: the connection and the snapshot are touched only by who has taken the reader, and ``take()`` acquires what ``release()`` released.
package final class PooledReader: @unchecked Sendable {
  private enum State {
    static let idle: UInt8 = 0
    static let taken: UInt8 = 1
  }

  package let connection: Connection
  /// The pool's commit count when the open snapshot was begun; nil where none is open.
  var snapshot: UInt64?
  /// Whether the pool's timer runs, and runs on until it has found the reader idle without a snapshot.
  var isTimed = false
  /// When it was begun.
  private var begun: UInt64 = 0
  private let state: Atomic<UInt8>

  /// A reader that its maker has taken.
  init(_ connection: Connection) {
    self.connection = connection
    state = Atomic(State.taken)
  }

  /// Takes the reader; false where somebody else has it, or it is closed.
  @inline(__always) func take() -> Bool {
    state.compareExchange(expected: State.idle, desired: State.taken, ordering: .sequentiallyConsistent).exchanged
  }

  /// Lets anybody take it.
  @inline(__always) func release() { state.store(State.idle, ordering: .sequentiallyConsistent) }

  /// Closes the connection of a reader that is taken: nobody can take it any more.
  func close() { connection.close() }

  /// A snapshot is begun, after so many commits.
  func begin(_ commits: UInt64) {
    snapshot = commits
    begun = CoarseClock.now()
  }

  /// Ends the open snapshot, of a reader that is taken.
  func endSnapshot() {
    connection.abandonTransaction()
    snapshot = nil
    isTimed = false
  }

  /// Whether the open snapshot may still be used: nothing was committed since it was begun, and it is not old.
  @inline(__always) func isCurrent(_ commits: UInt64) -> Bool { snapshot == commits && !isOld }

  /// Whether the open snapshot is older than it may become.
  @inline(__always) var isOld: Bool { CoarseClock.now() &- begun > ConnectionPool.snapshotLifetime }
}
