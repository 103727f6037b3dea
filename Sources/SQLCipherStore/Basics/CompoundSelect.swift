/// Joins queries into compound queries. SQLite limits a compound `SELECT` to 500 terms.
enum CompoundSelect {
  private static let greatestRow = 100

  static func joined(_ queries: [String], by word: String) -> String {
    guard queries.count > greatestRow else { return queries.joined(separator: " \(word) ") }
    let groups = stride(from: 0, to: queries.count, by: greatestRow).map { start in
      "SELECT * FROM (\(queries[start..<min(start + greatestRow, queries.count)].joined(separator: " \(word) ")))"
    }
    return joined(groups, by: word)
  }
}
