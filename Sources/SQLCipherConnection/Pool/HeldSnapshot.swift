// HeldSnapshot: a connection whose read transaction stays open, so that what it reads holds still.

package import Foundation
import StoreKeys
import Synchronization

/// A snapshot that somebody holds: what is read in it is what it was when it was begun, as often and as late as one likes.
///
/// It ends with its last holder, or when the pool ends it: so that the log does not grow for ever, or because nobody may have the file open. An error in a
/// read does not end it, unless a page has failed its check or SQLite has given the transaction up.
///
/// `@unchecked Sendable`: the connection is touched only under `lock`, by one reader at a time.
package final class HeldSnapshot: @unchecked Sendable {
  /// What was committed when a snapshot was begun, as far as one can tell it.
  struct State {
    /// What a connection says of all other connections' commits, and which one: the numbers of two mean nothing to each other.
    struct Version: Equatable {
      let connection: Int
      let number: Int64
    }

    /// The commits of the pool's writer.
    let commits: UInt64
    /// What the writer says, where nobody had it.
    let writer: Version?
    /// What a connection for this purpose says, where the writer could not be asked.
    let probe: Version?

    /// Whether nothing was committed between two states; false where that cannot be told.
    func isSame(as other: State) -> Bool {
      if commits != other.commits { return false }
      if let writer, let known = other.writer { return writer == known }
      return probe != nil && probe == other.probe
    }
  }

  /// Why a snapshot can no longer be read.
  package enum Ending: Error, Sendable {
    /// It was ended from elsewhere.
    case expired
    /// What it was read from gave up; the error says why.
    case lost(any Error)
  }

  /// When it was begun.
  package let begun = Date()
  let state: State
  private let owner: HeldSnapshots
  private let lock = NSLock()
  // Guarded by `lock`.
  private var connection: Connection?
  private var companion: AnyObject?
  private var ending: Ending?
  /// Set by who wants it ended; whoever reads ends it then.
  private let isUnwanted = Atomic<Bool>(false)
  /// Whether it can be read no more.
  private let hasEnded = Atomic<Bool>(false)

  init(_ connection: Connection, companion: AnyObject?, state: State, of owner: HeldSnapshots) {
    self.connection = connection
    self.companion = companion
    self.state = state
    self.owner = owner
  }

  deinit { end(.expired) }

  /// Whether it can be read no more.
  package var isOver: Bool { hasEnded.load(ordering: .acquiring) || isUnwanted.load(ordering: .acquiring) }

  /// Runs `body` in the snapshot; one at a time does.
  ///
  /// - Parameter checks: Whether the sentinel is asked at the end; otherwise the body does, if it has to.
  /// - Throws: ``Ending`` where it is over, or what the body throws.
  package func read<Result>(checks: Bool = true, _ body: (Connection) throws -> Result) throws -> Result {
    owner.lookAtLogSometimes()
    lock.lock()
    defer {
      lock.unlock()
      // Who wanted it ended meanwhile has not waited.
      if isUnwanted.load(ordering: .sequentiallyConsistent) { tryEnding() }
    }
    if isUnwanted.load(ordering: .sequentiallyConsistent) { end(.expired) }
    guard let connection else { throw ending ?? Ending.expired }
    do {
      let result = try body(connection)
      if checks { try connection.checkSentinel() }
      return result
    } catch {
      if connection.isDamaged || connection.isInAutocommit { end(.lost(error)) }
      throw error
    }
  }

  /// Ends it, at once or as soon as whoever reads in it is done.
  ///
  /// - Parameter waits: Whether to wait for him.
  func expire(waits: Bool) {
    isUnwanted.store(true, ordering: .sequentiallyConsistent)
    guard waits else { return tryEnding() }
    lock.lock()
    end(.expired)
    lock.unlock()
  }

  private func tryEnding() {
    guard lock.try() else { return }
    end(.expired)
    lock.unlock()
  }

  /// Under the lock, or where nobody else has it.
  private func end(_ ending: Ending) {
    guard let connection else { return }
    self.connection = nil
    self.ending = ending
    hasEnded.store(true, ordering: .releasing)
    // What is held with it is of use to nobody any more.
    companion = nil
    owner.takeBack(connection)
  }
}
