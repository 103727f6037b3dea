package import Foundation
import StoreKeys
import Synchronization

/// A connection whose read transaction stays open, so that all reads see the state at its beginning.
///
/// It ends when it is released, or when the pool ends it: to limit the log's size, or for exclusive access to the file. An error in a read
/// does not end it, unless a page failed its check or SQLite rolled back the transaction.
///
/// `@unchecked Sendable`: the connection is used only under `lock`, by one reader at a time.
package final class HeldSnapshot: @unchecked Sendable {
  /// The committed state at the beginning of a snapshot, as far as it can be determined.
  struct State {
    /// A data version and the connection that reported it. Versions of different connections cannot be compared.
    struct Version: Equatable {
      let connection: Int
      let number: Int64
    }

    /// The number of commits of the pool's writer.
    let commits: UInt64
    /// The version that the writer reports, if it was idle.
    let writer: Version?
    /// The version that the probe connection reports, if the writer was in use.
    let probe: Version?

    /// Returns whether nothing was committed between two states; false if that is unknown.
    func isSame(as other: State) -> Bool {
      if commits != other.commits { return false }
      if let writer, let known = other.writer { return writer == known }
      return probe != nil && probe == other.probe
    }
  }

  /// The reason why a snapshot can no longer be read.
  package enum EndReason: Error, Sendable {
    /// It was ended by the pool.
    case expired
    /// The connection failed; the error says why.
    case lost(any Error)
  }

  /// The time at which it began.
  package let startTime = Date()
  let state: State
  private let owner: HeldSnapshots
  private let lock = NSLock()
  // Guarded by `lock`.
  private var connection: Connection?
  private var companion: AnyObject?
  private var endReason: EndReason?
  /// Set to request the end of the snapshot. A running read ends it when it finishes.
  private let isExpirationRequested = Atomic<Bool>(false)
  private let hasEnded = Atomic<Bool>(false)

  init(_ connection: Connection, companion: AnyObject?, state: State, of owner: HeldSnapshots) {
    self.connection = connection
    self.companion = companion
    self.state = state
    self.owner = owner
  }

  deinit { end(.expired) }

  /// Whether the snapshot can no longer be read.
  package var isOver: Bool { hasEnded.load(ordering: .acquiring) || isExpirationRequested.load(ordering: .acquiring) }

  /// Runs `body` in the snapshot. Calls are serialized.
  ///
  /// - Parameter checks: Whether to check the sentinel at the end. If false, the body must check it if necessary.
  /// - Throws: ``EndReason`` if the snapshot has ended, or the error of the body.
  package func read<Result>(checks: Bool = true, _ body: (Connection) throws -> Result) throws -> Result {
    owner.checkLogSizeIfDue()
    lock.lock()
    defer {
      lock.unlock()
      // A request to end the snapshot in the meantime did not wait.
      if isExpirationRequested.load(ordering: .sequentiallyConsistent) { endIfIdle() }
    }
    if isExpirationRequested.load(ordering: .sequentiallyConsistent) { end(.expired) }
    guard let connection else { throw endReason ?? EndReason.expired }
    do {
      let result = try body(connection)
      if checks { try connection.checkSentinel() }
      return result
    } catch {
      if connection.isDamaged || connection.isInAutocommit { end(.lost(error)) }
      throw error
    }
  }

  /// Ends the snapshot, immediately or as soon as the running read finishes.
  ///
  /// - Parameter waits: Whether to wait for the running read.
  func expire(waits: Bool) {
    isExpirationRequested.store(true, ordering: .sequentiallyConsistent)
    guard waits else { return endIfIdle() }
    lock.lock()
    end(.expired)
    lock.unlock()
  }

  private func endIfIdle() {
    guard lock.try() else { return }
    end(.expired)
    lock.unlock()
  }

  /// Ends the snapshot, under the lock or as the only owner.
  private func end(_ endReason: EndReason) {
    guard let connection else { return }
    self.connection = nil
    self.endReason = endReason
    hasEnded.store(true, ordering: .releasing)
    // Objects kept for the snapshot are no longer needed.
    companion = nil
    owner.reclaim(connection)
  }
}
