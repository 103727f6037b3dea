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
