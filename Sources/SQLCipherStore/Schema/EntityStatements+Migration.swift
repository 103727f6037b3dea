import ObjectModel
import SQLCipherConnection

/// A statement that processes a table in batches: its placeholders 1 and 2 are the exclusive lower and the inclusive upper bound of a key
/// range.
struct Batches {
  /// The quoted name of the table.
  let table: String
  /// Selects the upper bound of a range. Placeholders: the lower bound, and the number of rows in the range minus one.
  let end: String
  let sql: String
}

extension EntityTable {
  private func batches(_ sql: String) -> Batches {
    Batches(
      table: name, end: "SELECT t.\(key) FROM \(name) AS t WHERE t.\(key) > ? ORDER BY t.\(key) LIMIT 1 OFFSET ?", sql: sql)
  }

  /// Copies rows to another table.
  ///
  /// - Parameters:
  ///   - values: Unquoted columns of the other table, and expressions with the alias `t`.
  ///   - other: The other table's unquoted name.
  ///   - condition: A condition with the alias `t`, or `nil` for all rows.
  func copying(_ values: [(column: String, value: String)], to other: String, where condition: String?) throws -> Batches {
    let columns = try values.map { try Identifier.quoted($0.column) }.joined(separator: ", ")
    return batches(
      "INSERT OR FAIL INTO \(try Identifier.quoted(other)) (\(columns))"
        + " SELECT \(values.map(\.value).joined(separator: ", ")) FROM \(name) AS t WHERE t.\(key) > ? AND t.\(key) <= ?"
        + (condition.map { " AND \($0)" } ?? ""))
  }

  /// Changes or deletes rows in place.
  ///
  /// - Parameters:
  ///   - assignments: Quoted columns and their values with the table's name; empty for a deletion.
  ///   - condition: A condition with the table's name, or `nil` for all rows.
  /// - Returns: The statement, and a query that counts the affected rows.
  func changing(_ assignments: [(column: String, value: String)], where condition: String?) -> (batches: Batches, count: String) {
    let texts = assignments.map { "\($0.column) = \($0.value)" }.joined(separator: ", ")
    let head = texts.isEmpty ? "DELETE FROM \(name)" : "UPDATE OR FAIL \(name) SET \(texts)"
    return (
      batches("\(head) WHERE \(name).\(key) > ? AND \(name).\(key) <= ?" + (condition.map { " AND (\($0))" } ?? "")),
      "SELECT count(*) FROM \(name)" + (condition.map { " WHERE \($0)" } ?? "")
    )
  }
}

extension TableLayout.Table {
  /// Adds a column.
  ///
  /// - Parameter type: The column's type and constraints.
  func adding(_ column: String, _ type: String) throws -> String {
    "ALTER TABLE \(try Identifier.quoted(name)) ADD COLUMN \(try Identifier.quoted(column)) \(type)"
  }

  /// Sets columns of a row if the first of them is NULL. Placeholder 1 is the key, the values follow.
  ///
  /// - Parameters:
  ///   - columns: Unquoted names.
  ///   - working: The table's unquoted name during the migration.
  func setting(_ columns: [String], named working: String) throws -> String {
    let table = try Identifier.quoted(working)
    let columns = try columns.map { try Identifier.quoted($0) }
    let assignments = columns.enumerated().map { "\($1) = ?\($0 + 2)" }.joined(separator: ", ")
    let isEmpty = columns.first.map { " AND \(table).\($0) IS NULL" } ?? ""
    return "UPDATE OR FAIL \(table) SET \(assignments) WHERE \(table).\(try Identifier.quoted(keyColumn)) = ?1\(isEmpty)"
  }

  /// Replaces the table with the one that has a working name.
  func replacing(with working: String) throws -> [String] {
    [try dropping(), "ALTER TABLE \(try Identifier.quoted(working)) RENAME TO \(try Identifier.quoted(name))"]
  }

  func dropping() throws -> String { "DROP TABLE \(try Identifier.quoted(name))" }
}
