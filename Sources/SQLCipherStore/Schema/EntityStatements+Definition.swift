import ObjectModel
import ObjectStore
import SQLCipherConnection

extension EntityTable {
  /// Returns the statement that creates the table, under another quoted name while a migration fills it.
  ///
  /// - Parameters:
  ///   - orders: The quoted columns of positions among the members of owners.
  ///   - parent: Returns the unquoted name of the table that a column's foreign key references.
  func creation(named other: String?, orders: [String], parent: (TableColumn) -> String?) throws -> String {
    var columns = ["\(key) INTEGER PRIMARY KEY"]
    if let entity { columns.append("\(entity) INTEGER NOT NULL") }
    columns.append("\(version) INTEGER NOT NULL")
    for column in self.columns {
      let type = TableLayout.Kind(column.slot.kind)?.sqlType ?? "BLOB"
      columns.append("\(column.name) \(type)\(try parent(column).map(Self.foreignKey) ?? "")")
      if let entityColumn = column.entityColumn { columns.append("\(entityColumn) INTEGER") }
    }
    columns += orders.map { "\($0) INTEGER" }
    return "CREATE TABLE \(other ?? name) (\(columns.joined(separator: ", ")))"
  }

  /// Returns the foreign-key clause of a column. The key column has the same name in all tables of entities.
  static func foreignKey(to table: String) throws -> String {
    " REFERENCES \(try Identifier.quoted(table)) (\"_pk\") DEFERRABLE INITIALLY DEFERRED"
  }

  /// Returns an index of the table.
  ///
  /// - Parameters:
  ///   - index: Its unquoted name.
  ///   - elements: Columns and expressions, as SQL text.
  ///   - isUnique: Whether no two rows can have the same values.
  ///   - condition: The condition of a partial index, including ` WHERE `; empty if there is none.
  ///   - meaning: The index in terms of the model.
  func index(
    named index: String, _ elements: [String], isUnique: Bool = false, where condition: String = "", _ meaning: FetchExplanation.Index
  ) throws -> StoreIndex {
    let head = "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(try Identifier.quoted(index)) ON \(name)"
    return StoreIndex(
      name: index, sql: "\(head) (\(elements.joined(separator: ", ")))" + condition, table: name, elements: elements, condition: condition,
      meaning: meaning, rowCount: "SELECT count(*) FROM \(name)")
  }

  /// Returns a trigger of the table.
  ///
  /// - Parameters:
  ///   - trigger: Its unquoted name.
  ///   - event: When it runs, such as `AFTER INSERT` or `BEFORE UPDATE OF ...`.
  ///   - condition: A condition with `OLD` and `NEW`, or `nil` for all rows.
  ///   - body: The statements that it runs, each with its semicolon.
  func trigger(named trigger: String, _ event: String, when condition: String?, _ body: String) throws -> SchemaAuxiliary {
    let condition = condition.map { " WHEN \($0)" } ?? ""
    return SchemaAuxiliary(
      kind: .trigger, name: trigger,
      sql: "CREATE TRIGGER \(try Identifier.quoted(trigger)) \(event) ON \(name)\(condition) BEGIN \(body) END")
  }

  /// Returns a view of rows, with their keys as `rowid`.
  ///
  /// - Parameters:
  ///   - view: Its unquoted name.
  ///   - columns: The columns in addition to the key, with the table's name.
  ///   - condition: A condition with the table's name, or `nil` for all rows.
  func view(named view: String, _ columns: String, where condition: String?) throws -> SchemaAuxiliary {
    SchemaAuxiliary(
      kind: .view, name: view,
      sql: "CREATE VIEW \(try Identifier.quoted(view)) AS SELECT \(name).\(key) AS rowid, \(columns) FROM \(name)"
        + (condition.map { " WHERE \($0)" } ?? ""))
  }
}

extension StoreIndex {
  /// Counts the duplicate rows of a unique index: all but one of each group with the same values. Join tables have no unique indexes.
  var duplicateCount: String {
    let present = BalancedCondition.all(elements.map { "\($0) IS NOT NULL" })
    return EntityTable.duplicateCount(
      in: table, elements, where: condition.isEmpty ? " WHERE \(present)" : "\(condition) AND \(present)")
  }
}

extension EntityTable {
  /// Counts the duplicate rows: all but one of each group with the same values.
  ///
  /// - Parameters:
  ///   - columns: Columns with the alias `t`.
  ///   - condition: A condition with the same alias.
  func duplicateCount(of columns: [String], where condition: String?) -> String {
    let all = BalancedCondition.all([condition].compactMap { $0 } + columns.map { "\($0) IS NOT NULL" })
    return Self.duplicateCount(in: "\(name) AS t", columns, where: " WHERE \(all)")
  }

  fileprivate static func duplicateCount(in source: String, _ columns: [String], where condition: String) -> String {
    "SELECT ifnull(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM \(source)\(condition)"
      + " GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1)"
  }
}

extension TableLayout.Table {
  /// Returns the quoted columns whose values can be in files.
  private func largeColumns() throws -> [String] { try columns.filter { $0.kind == .bytes }.map { try Identifier.quoted($0.name) } }

  /// Returns queries of the numbers of values in files as `x`, with the table's ID as `t`.
  func externalNumbers() throws -> [String] {
    let name = try Identifier.quoted(name)
    return try largeColumns().map { "SELECT \($0) AS x, '\(id)' AS t FROM \(name) WHERE typeof(\($0)) = 'integer'" }
  }

  /// Returns statements that move values from files into the rows of an attached database.
  func inlining(in schema: String) throws -> [String] {
    let name = try Identifier.quoted(name)
    return try largeColumns().map { "UPDATE \(schema).\(name) SET \($0) = \(SQLFunctions.data)(\($0)) WHERE typeof(\($0)) = 'integer'" }
  }
}

// MARK: - Migrating rows

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
