// ScanTurns: tables that do not fit into the cache are gone through forwards and backwards in turns.

/// Which way the statements of a connection go next that read whole tables, by their plans' numbers.
///
/// The cache keeps the pages that were used last. A walk through more than fits into it, begun where the last one began, finds nothing there: each page that it
/// reads drives out one that it would have needed later. A walk the other way begins with the pages that are there, and decrypts the rest only.
package struct ScanTurns {
  private enum Turn {
    case forwards, backwards
    /// It does not go through the whole of one table.
    case never
  }

  /// Systems read ahead where a file is read forwards only: one so much larger than the cache, whose pages may have to come from the disk, is.
  private static let greatestExcess = 8

  private var turns: [Int: Turn] = [:]

  /// Whether the statement is to go backwards this time.
  package func isBackwards(_ number: Int) -> Bool { turns[number] == .backwards }

  /// Notes that a statement has come to its end.
  ///
  /// - Parameters:
  ///   - missed: The pages that it did not find in the cache.
  ///   - capacity: The pages that the cache holds.
  ///   - canTurn: Whether the statement goes through the whole of one table; asked once, and only of one that has read more than the cache holds.
  package mutating func note(_ number: Int, missed: Int, capacity: Int, canTurn: () throws -> Bool) rethrows {
    switch turns[number] {
    case .never: return
    case nil:
      guard missed > capacity, missed <= Self.greatestExcess * capacity else { return }
      turns[number] = try canTurn() ? .backwards : .never
    case .backwards: if missed > capacity / 64 { turns[number] = .forwards }
    case .forwards: if missed > capacity / 64, missed <= Self.greatestExcess * capacity { turns[number] = .backwards }
    }
  }
}
