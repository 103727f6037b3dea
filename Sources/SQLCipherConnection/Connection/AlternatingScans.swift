/// The scan directions of a connection's full table scans, by plan number.
///
/// Tables that do not fit into the cache are scanned forward and backward in turn. The cache keeps the most recently used pages. A scan
/// that starts where the last one started misses on every page, and evicts pages that it needs later. A scan in the other direction starts
/// with the cached pages and decrypts only the rest.
package struct AlternatingScans {
  private enum Direction {
    case forwards, backwards
    /// The statement is not a full scan of one table.
    case never
  }

  /// Larger multiples of the cache size are always scanned forward: their pages may come from disk, and the system's read-ahead works
  /// forward only.
  private static let maximumExcess = 8

  private var directions: [Int: Direction] = [:]

  /// Returns whether the statement should scan backward this time.
  package func isBackwards(_ number: Int) -> Bool { directions[number] == .backwards }

  /// Records that a statement finished.
  ///
  /// - Parameters:
  ///   - number: The plan number of the statement.
  ///   - missed: The number of pages that were not in the cache.
  ///   - capacity: The number of pages that fit into the cache.
  ///   - canTurn: Returns whether the statement is a full scan of one table. Called once, and only if the statement read more pages than
  ///     fit into the cache.
  package mutating func record(_ number: Int, missed: Int, capacity: Int, canReverse: () throws -> Bool) rethrows {
    switch directions[number] {
    case .never: return
    case nil:
      guard missed > capacity, missed <= Self.maximumExcess * capacity else { return }
      directions[number] = try canReverse() ? .backwards : .never
    case .backwards: if missed > capacity / 64 { directions[number] = .forwards }
    case .forwards: if missed > capacity / 64, missed <= Self.maximumExcess * capacity { directions[number] = .backwards }
    }
  }
}
