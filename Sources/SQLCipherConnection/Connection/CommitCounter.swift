import Synchronization

/// A commit count that a pool shares with its connections, so that a connection needs no reference to its pool.
final class CommitCounter: Sendable {
  private let number = Atomic<UInt64>(0)

  var value: UInt64 { number.load(ordering: .acquiring) }

  /// Increments the count. Call it after the commit.
  func add() { number.add(1, ordering: .releasing) }
}
