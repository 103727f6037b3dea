import Synchronization

/// The numbers of rows of tables, up to a limit, as of a few commits ago. This is accurate enough to choose a plan.
final class TableSizes: Sendable {
  private struct Entry {
    let size: Int
    let commits: Int
  }
  /// The number of commits after which a size is counted again.
  private static let maximumAge = 32
  private let entries = Mutex<[Int: Entry]>([:])
  private let commits = Atomic<Int>(0)

  /// Records a commit, which ages all sizes.
  func recordCommit() { commits.add(1, ordering: .relaxed) }

  /// Returns the size of a table, and counts it if it is missing or too old.
  func size(of table: Int, count: () throws -> Int) rethrows -> Int {
    let commits = commits.load(ordering: .relaxed)
    if let entry = entries.withLock({ $0[table] }), commits - entry.commits < Self.maximumAge { return entry.size }
    let size = try count()
    entries.withLock { $0[table] = Entry(size: size, commits: commits) }
    return size
  }
}
