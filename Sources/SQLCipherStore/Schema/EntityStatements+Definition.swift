import ObjectModel
import ObjectStore
import SQLCipherConnection

extension EntityTable {
  /// The statement that makes the table, under another quoted name while a migration fills it.
  ///
  /// - Parameters:
  ///   - orders: The quoted columns of the places among the members of owners.
  ///   - parent: The table that a column's foreign key leads to, not quoted.
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

  /// What makes a column a foreign key. The key column of every entity's table has the same name.
  static func foreignKey(to table: String) throws -> String {
    " REFERENCES \(try Identifier.quoted(table)) (\"_pk\") DEFERRABLE INITIALLY DEFERRED"
  }

  /// An index of the table.
  ///
  /// - Parameters:
  ///   - index: Its name, not quoted.
  ///   - elements: Columns and expressions, as the statement has them.
  ///   - isUnique: Whether no two rows have the same values.
  ///   - condition: The condition of a partial index with ` WHERE ` before it; empty where there is none.
  ///   - meaning: What the model knows it as.
  func index(
    named index: String, _ elements: [String], isUnique: Bool = false, where condition: String = "", _ meaning: FetchExplanation.Index
  ) throws -> StoreIndex {
    let head = "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(try Identifier.quoted(index)) ON \(name)"
    return StoreIndex(
      name: index, sql: "\(head) (\(elements.joined(separator: ", ")))" + condition, table: name, elements: elements, condition: condition,
      meaning: meaning, rowCount: "SELECT count(*) FROM \(name)")
  }

  /// A trigger of the table.
  ///
  /// - Parameters:
  ///   - trigger: Its name, not quoted.
  ///   - event: When it runs: `AFTER INSERT`, `BEFORE UPDATE OF ...`.
  ///   - condition: Over `OLD` and `NEW`; nil for all rows.
  ///   - body: The statements that it runs, each with its semicolon.
  func trigger(named trigger: String, _ event: String, when condition: String?, _ body: String) throws -> SchemaAuxiliary {
    let condition = condition.map { " WHEN \($0)" } ?? ""
    return SchemaAuxiliary(
      kind: .trigger, name: trigger,
      sql: "CREATE TRIGGER \(try Identifier.quoted(trigger)) \(event) ON \(name)\(condition) BEGIN \(body) END")
  }

  /// A view of rows, with their keys as `rowid`.
  ///
  /// - Parameters:
  ///   - view: Its name, not quoted.
  ///   - columns: What it has beside the key, over the table's name.
  ///   - condition: Over the table's name; nil for all rows.
  func view(named view: String, _ columns: String, where condition: String?) throws -> SchemaAuxiliary {
    SchemaAuxiliary(
      kind: .view, name: view,
      sql: "CREATE VIEW \(try Identifier.quoted(view)) AS SELECT \(name).\(key) AS rowid, \(columns) FROM \(name)"
        + (condition.map { " WHERE \($0)" } ?? ""))
  }
}

extension StoreIndex {
  /// Counts the rows that have the same values as another one, beyond one of each. Join tables have no unique indexes.
  var duplicateCount: String {
    let present = BalancedCondition.all(elements.map { "\($0) IS NOT NULL" })
    return EntityTable.duplicateCount(
      in: table, elements, where: condition.isEmpty ? " WHERE \(present)" : "\(condition) AND \(present)")
  }
}

extension EntityTable {
  /// Counts the rows that have the same values as another one, beyond one of each.
  ///
  /// - Parameters:
  ///   - columns: Over the alias `t`.
  ///   - condition: Over the same alias.
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
  /// The quoted columns whose values may be outside the rows.
  private func largeColumns() throws -> [String] { try columns.filter { $0.kind == .bytes }.map { try Identifier.quoted($0.name) } }

  /// Select the numbers of values outside the rows as `x`, and the table's as `t`.
  func externalNumbers() throws -> [String] {
    let name = try Identifier.quoted(name)
    return try largeColumns().map { "SELECT \($0) AS x, '\(id)' AS t FROM \(name) WHERE typeof(\($0)) = 'integer'" }
  }

  /// Put values that are outside the rows back into them, in an attached database.
  func inlining(in schema: String) throws -> [String] {
    let name = try Identifier.quoted(name)
    return try largeColumns().map { "UPDATE \(schema).\(name) SET \($0) = \(SQLFunctions.data)(\($0)) WHERE typeof(\($0)) = 'integer'" }
  }
}
