// TableSizes: about how many rows tables have, for choosing a plan.
import Synchronization

/// The numbers of tables' rows, up to a bound, as they were a few saves ago: enough to choose a plan by.
final class TableSizes: Sendable {
  private struct Entry {
    let size: Int
    let commits: Int
  }
  /// How many commits a number is believed.
  private static let trust = 32
  private let entries = Mutex<[Int: Entry]>([:])
  private let commits = Atomic<Int>(0)

  /// Something was committed: the numbers are older by one.
  func noteCommit() { commits.add(1, ordering: .relaxed) }

  /// The size of a table; counted where it is not known or too old.
  func size(of table: Int, count: () throws -> Int) rethrows -> Int {
    let commits = commits.load(ordering: .relaxed)
    if let entry = entries.withLock({ $0[table] }), commits - entry.commits < Self.trust { return entry.size }
    let size = try count()
    entries.withLock { $0[table] = Entry(size: size, commits: commits) }
    return size
  }
}
