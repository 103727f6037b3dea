/// Joins queries into compound queries. SQLite limits a compound `SELECT` to 500 terms.
enum CompoundSelect {
  private static let maximumRow = 100

  static func joined(_ queries: [String], by word: String) -> String {
    guard queries.count > maximumRow else { return queries.joined(separator: " \(word) ") }
    let groups = stride(from: 0, to: queries.count, by: maximumRow).map { start in
      "SELECT * FROM (\(queries[start..<min(start + maximumRow, queries.count)].joined(separator: " \(word) ")))"
    }
    return joined(groups, by: word)
  }
}
