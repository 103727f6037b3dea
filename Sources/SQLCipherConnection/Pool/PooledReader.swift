import StoreFiles
import Synchronization

/// A reader of a pool, owned by one caller at a time and taken without a lock.
///
/// `@unchecked Sendable`: the connection and the snapshot are used only by the caller that has taken the reader, and ``take()`` acquires
/// what ``release()`` released.
package final class PooledReader: @unchecked Sendable {
  private enum State {
    static let idle: UInt8 = 0
    static let taken: UInt8 = 1
  }

  package let connection: Connection
  /// The pool's commit count at the beginning of the open snapshot; nil if none is open.
  var snapshot: UInt64?
  /// Whether the pool's timer runs, and continues until it has found the reader idle without a snapshot.
  var isTimed = false
  private var startTime: UInt64 = 0
  private let state: Atomic<UInt8>

  /// Creates a reader that its creator has taken.
  init(_ connection: Connection) {
    self.connection = connection
    state = Atomic(State.taken)
  }

  /// Takes the reader. Returns false if it is in use or closed.
  @inline(__always) func take() -> Bool {
    state.compareExchange(expected: State.idle, desired: State.taken, ordering: .sequentiallyConsistent).exchanged
  }

  /// Makes the reader available.
  @inline(__always) func release() { state.store(State.idle, ordering: .sequentiallyConsistent) }

  func close() { connection.close() }

  /// Records the beginning of a snapshot at a commit count.
  func begin(_ commits: UInt64) {
    snapshot = commits
    startTime = CoarseClock.now()
  }

  func endSnapshot() {
    connection.abandonTransaction()
    snapshot = nil
    isTimed = false
  }

  /// Returns whether the open snapshot can still be used: nothing was committed since it began, and it is not too old.
  @inline(__always) func isCurrent(_ commits: UInt64) -> Bool { snapshot == commits && !isOld }

  @inline(__always) var isOld: Bool { CoarseClock.now() &- startTime > ConnectionPool.snapshotLifetime }
}
