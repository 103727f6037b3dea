// CompoundSelect: many queries joined to one within the limits of SQLite.

/// Joins queries. SQLite takes 500 terms in a row.
enum CompoundSelect {
  private static let greatestRow = 100

  /// The queries with `UNION` or `UNION ALL` between them.
  static func joined(_ queries: [String], by word: String) -> String {
    guard queries.count > greatestRow else { return queries.joined(separator: " \(word) ") }
    let groups = stride(from: 0, to: queries.count, by: greatestRow).map { start in
      "SELECT * FROM (\(queries[start..<min(start + greatestRow, queries.count)].joined(separator: " \(word) ")))"
    }
    return joined(groups, by: word)
  }
}
