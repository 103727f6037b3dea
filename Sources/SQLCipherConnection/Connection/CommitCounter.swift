// CommitCounter: how often connections have committed.

import Synchronization

/// Counts commits. An object of its own, so that a connection need not know its pool.
final class CommitCounter: Sendable {
  private let number = Atomic<UInt64>(0)

  /// The commits so far.
  var value: UInt64 { number.load(ordering: .acquiring) }

  /// Counts one, after it was done.
  func add() { number.add(1, ordering: .releasing) }
}
