import ObjectModel
import SQLCipherConnection

/// A statement with the placeholders 1 and 2 for the bounds of a range of keys, the first of which is not in it.
struct Portions {
  /// The quoted table that is gone through.
  let table: String
  /// Finds the end of a range: the key before it, and how many rows of the range come before its last one.
  let end: String
  let sql: String
}

extension EntityTable {
  /// A statement that goes through the table.
  private func portions(_ sql: String) -> Portions {
    Portions(
      table: name, end: "SELECT t.\(key) FROM \(name) AS t WHERE t.\(key) > ? ORDER BY t.\(key) LIMIT 1 OFFSET ?", sql: sql)
  }

  /// Copies rows into another table.
  ///
  /// - Parameters:
  ///   - values: Not quoted columns of the other table, and expressions over the alias `t`.
  ///   - other: The other table's name, not quoted.
  ///   - condition: Over the alias `t`; nil for all rows.
  func copying(_ values: [(column: String, value: String)], to other: String, where condition: String?) throws -> Portions {
    let columns = try values.map { try Identifier.quoted($0.column) }.joined(separator: ", ")
    return portions(
      "INSERT OR FAIL INTO \(try Identifier.quoted(other)) (\(columns))"
        + " SELECT \(values.map(\.value).joined(separator: ", ")) FROM \(name) AS t WHERE t.\(key) > ? AND t.\(key) <= ?"
        + (condition.map { " AND \($0)" } ?? ""))
  }

  /// Changes rows that stay where they are; and the count of all of them.
  ///
  /// - Parameters:
  ///   - assignments: Quoted columns and their values over the table's name; none for a deletion.
  ///   - condition: Over the table's name; nil for all rows.
  func changing(_ assignments: [(column: String, value: String)], where condition: String?) -> (portions: Portions, count: String) {
    let texts = assignments.map { "\($0.column) = \($0.value)" }.joined(separator: ", ")
    let head = texts.isEmpty ? "DELETE FROM \(name)" : "UPDATE OR FAIL \(name) SET \(texts)"
    return (
      portions("\(head) WHERE \(name).\(key) > ? AND \(name).\(key) <= ?" + (condition.map { " AND (\($0))" } ?? "")),
      "SELECT count(*) FROM \(name)" + (condition.map { " WHERE \($0)" } ?? "")
    )
  }
}

extension TableLayout.Table {
  /// Adds a column.
  ///
  /// - Parameter type: What stands behind its name.
  func adding(_ column: String, _ type: String) throws -> String {
    "ALTER TABLE \(try Identifier.quoted(name)) ADD COLUMN \(try Identifier.quoted(column)) \(type)"
  }

  /// Writes values into columns of a row that has nothing in the first of them: the key is placeholder 1, the values follow.
  ///
  /// - Parameters:
  ///   - columns: Not quoted.
  ///   - working: The name that the table has meanwhile, not quoted.
  func setting(_ columns: [String], named working: String) throws -> String {
    let table = try Identifier.quoted(working)
    let columns = try columns.map { try Identifier.quoted($0) }
    let assignments = columns.enumerated().map { "\($1) = ?\($0 + 2)" }.joined(separator: ", ")
    let isEmpty = columns.first.map { " AND \(table).\($0) IS NULL" } ?? ""
    return "UPDATE OR FAIL \(table) SET \(assignments) WHERE \(table).\(try Identifier.quoted(keyColumn)) = ?1\(isEmpty)"
  }

  /// Puts the table with a working name in the place of the one with its name.
  func replacing(with working: String) throws -> [String] {
    [try dropping(), "ALTER TABLE \(try Identifier.quoted(working)) RENAME TO \(try Identifier.quoted(name))"]
  }

  /// Drops the table.
  func dropping() throws -> String { "DROP TABLE \(try Identifier.quoted(name))" }
}
