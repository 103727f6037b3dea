//
// What follows from the predicate, the order and the selection of a fetch or batch request is generated in Queries/ (SelectGenerator, QueryGenerator), values
// of derived attributes in StoreDerivation+Values.swift. The table of a full-text index is FullTextIndex's.
import ObjectModel
import SQLCipherConnection

/// How many rows one statement inserts.
enum InsertionSize: Int, CaseIterable, Sendable {
  case many, few, one

  /// How many there are: statements that are kept in every size have so many numbers.
  @inline(__always) static var count: Int { InsertionSize.one.rawValue + 1 }
}

/// A statement that connections keep: the case is its number (``StatementNumbers``), with the table, entity or relationship that it is of, by the model's
/// and the schema's own numbers.
enum EntityStatement: Hashable, Sendable {
  /// Reads whole rows by their keys.
  case rows(table: Int, KeyListSize)
  /// Deletes rows by their keys.
  case deletion(table: Int, KeyListSize)
  /// Deletes rows that have a version.
  case checkedDeletion(table: Int, KeyListSize)
  /// Reads the version of a row.
  case version(table: Int)
  /// Inserts rows of an entity.
  case insertion(entity: Int, InsertionSize)
  /// Reads the members of a to-many relationship whose inverse is to-one, of several owners.
  case members(relationship: Int, KeyListSize)
  /// Reads the places of the members of one owner.
  case places(relationship: Int)
  /// Writes the place of one member.
  case placing(relationship: Int)
}

// MARK: - Numbers

extension EntityStatement {
  /// Whose numbers it is among, and its place among them.
  enum Place {
    case table(Int, Int)
    case entity(Int, Int)
    case relationship(Int, Int)
  }

  /// Where the numbers of each case begin: behind those of the case before.
  private enum First {
    static var rows: Int { 0 }
    static var deletion: Int { rows + KeyListSize.count }
    static var checkedDeletion: Int { deletion + KeyListSize.count }
    static var version: Int { checkedDeletion + KeyListSize.count }
    static var endOfTable: Int { version + 1 }

    static var insertion: Int { 0 }
    static var endOfEntity: Int { insertion + InsertionSize.count }

    static var members: Int { 0 }
    static var places: Int { members + KeyListSize.count }
    static var placing: Int { places + 1 }
    static var endOfRelationship: Int { placing + 1 }
  }

  /// How many statements each table has.
  @inline(__always) static var countOfTable: Int { First.endOfTable }
  /// How many statements each entity has.
  @inline(__always) static var countOfEntity: Int { First.endOfEntity }
  /// How many statements each relationship has.
  @inline(__always) static var countOfRelationship: Int { First.endOfRelationship }

  @inline(__always) var place: Place {
    switch self {
    case .rows(let table, let size): .table(table, First.rows + size.position)
    case .deletion(let table, let size): .table(table, First.deletion + size.position)
    case .checkedDeletion(let table, let size): .table(table, First.checkedDeletion + size.position)
    case .version(let table): .table(table, First.version)
    case .insertion(let entity, let size): .entity(entity, First.insertion + size.rawValue)
    case .members(let relationship, let size): .relationship(relationship, First.members + size.position)
    case .places(let relationship): .relationship(relationship, First.places)
    case .placing(let relationship): .relationship(relationship, First.placing)
    }
  }

  /// All statements of a schema, whether its tables can use them or not.
  static func all(of schema: StoreSchema) -> [EntityStatement] {
    let sizes = KeyListSize.allCases
    let ofTables = schema.tables.indices.flatMap { table -> [EntityStatement] in
      sizes.map { .rows(table: table, $0) } + sizes.map { .deletion(table: table, $0) } + sizes.map { .checkedDeletion(table: table, $0) }
        + [.version(table: table)]
    }
    let ofEntities = schema.model.entities.indices.flatMap { entity in
      InsertionSize.allCases.map { EntityStatement.insertion(entity: entity, $0) }
    }
    let ofRelationships = schema.model.relationships.indices.flatMap { relationship -> [EntityStatement] in
      sizes.map { .members(relationship: relationship, $0) } + [.places(relationship: relationship), .placing(relationship: relationship)]
    }
    return ofTables + ofEntities + ofRelationships
  }
}

// MARK: - Texts

extension EntityStatement {
  /// The text; empty where the schema keeps the relationship elsewhere.
  func sql(in schema: StoreSchema) -> String {
    switch self {
    case .rows(let table, let size):
      let table = schema.tables[table]
      return "SELECT \(table.readColumns(alias: "t")) FROM \(table.name) AS t WHERE t.\(table.key) \(size.condition)"
    case .deletion(let table, let size):
      let table = schema.tables[table]
      return "DELETE FROM \(table.name) WHERE \(table.name).\(table.key) \(size.condition)"
    case .checkedDeletion(let index, let size):
      let table = schema.tables[index]
      return EntityStatement.deletion(table: index, size).sql(in: schema) + " AND \(table.name).\(table.version) = ?"
    case .version(let table):
      let table = schema.tables[table]
      return "SELECT t.\(table.version) FROM \(table.name) AS t WHERE t.\(table.key) = ?"
    case .insertion(let entity, let size):
      guard let table = schema.tableIfHeld(entity) else { return "" }
      return table.insertion(of: entity, orders: schema.orderColumns(in: table).map(\.column), size)
    case .members(let relationship, let size):
      guard case .inverse(let side) = schema.relationships[relationship] else { return "" }
      return schema.tables[side.table].members(by: side, size)
    case .places(let relationship):
      guard case .inverse(let side) = schema.relationships[relationship], let order = side.order else { return "" }
      let table = schema.tables[side.table]
      return "SELECT t.\(table.key), t.\(order) FROM \(table.name) AS t WHERE t.\(side.column.name) = ?"
    case .placing(let relationship):
      guard case .inverse(let side) = schema.relationships[relationship], let order = side.order else { return "" }
      return schema.tables[side.table].placing(order)
    }
  }
}

extension EntityTable {
  /// The greatest number of placeholders of a statement on SQLCipher 3.4.1.
  private static let greatestVariableCount = 999
  /// More rows a statement gain nothing.
  private static let greatestRowCount = 20

  // MARK: Saving

  /// The columns that an insertion of an entity's rows writes.
  private func insertedColumns(of entityNumber: Int, orders: [String]) -> [String] {
    [key, version] + [entity].compactMap { $0 } + columns(of: entityNumber).flatMap { [$0.name] + [$0.entityColumn].compactMap { $0 } }
      + orders
  }

  /// The number of values that an insertion binds for a row.
  func insertedCount(of entityNumber: Int, orderCount: Int) -> Int {
    insertedColumns(of: entityNumber, orders: []).count + orderCount
  }

  /// The rows that an insertion takes.
  static func rowCount(_ size: InsertionSize, valuesPerRow: Int) -> Int {
    let most = max(1, min(greatestRowCount, greatestVariableCount / valuesPerRow))
    return switch size {
    case .many: most
    case .few: min(5, most)
    case .one: 1
    }
  }

  /// `OR FAIL`: a plain statement of several rows opens a journal of its own, which SQLCipher encrypts, at up to 14 times the price. The rows that
  /// stay after a failure go with the transaction.
  fileprivate func insertion(of entityNumber: Int, orders: [String], _ size: InsertionSize) -> String {
    let names = insertedColumns(of: entityNumber, orders: orders)
    let row = "(" + Array(repeating: "?", count: names.count).joined(separator: ", ") + ")"
    return "INSERT OR FAIL INTO \(name) (\(names.joined(separator: ", "))) VALUES "
      + Array(repeating: row, count: Self.rowCount(size, valuesPerRow: names.count)).joined(separator: ", ")
  }

  /// Updates columns of a row that has a version: the new version, the values, the key and the version.
  func update(of columns: [TableColumn]) -> String {
    let names = [version] + columns.flatMap { [$0.name] + [$0.entityColumn].compactMap { $0 } }
    return
      "UPDATE OR FAIL \(name) SET \(names.map { "\($0) = ?" }.joined(separator: ", ")) WHERE \(name).\(key) = ? AND \(name).\(version) = ?"
  }

  /// Finds the rows that have one of several rows of values: the number of the values' row, the key, the entity.
  func holders(of columns: [TableColumn], entities: String?, count: Int) -> String {
    let marks = columns.map { _ in ", ?" }.joined()
    let rows = (0..<count).map { "(\($0)\(marks))" }.joined(separator: ", ")
    let conditions = columns.enumerated().map { "t.\($1.name) = v.c\($0)" } + [entities].compactMap { $0 }
    // The order of the join is fixed: each value is looked for by the constraint's index.
    return "WITH v(n\(columns.indices.map { ", c\($0)" }.joined())) AS (VALUES \(rows)) SELECT v.n, \(reference(alias: "t")) "
      + "FROM v CROSS JOIN \(name) AS t ON \(conditions.joined(separator: " AND "))"
  }

  // MARK: Reading

  /// The key and the model's number of the entity of a row.
  func reference(alias: String) -> String { "\(alias).\(key), \(entityNumber(alias: alias))" }

  /// The model's number of the entity of a row.
  private func entityNumber(alias: String) -> String { entity.map { "\(alias).\($0) + \(entityOffset)" } ?? "\(root.number)" }

  /// Owner, member, and the member's entity if it has to be read; in the order of the owners, then of the members.
  fileprivate func members(by side: InverseSide, _ size: KeyListSize) -> String {
    let owner = "t.\(side.column.name)"
    var columns = "\(owner), t.\(key)"
    if case .stored = side.members, let entity { columns += ", t.\(entity)" }
    let order = "\(owner)\(side.order.map { ", t.\($0)" } ?? ""), t.\(key)"
    return "SELECT \(columns) FROM \(name) AS t WHERE \(owner) \(size.condition) ORDER BY \(order)"
  }

  /// Finds the key and entity of a row by its key.
  var presence: String { "SELECT \(reference(alias: "t")) FROM \(name) AS t WHERE t.\(key) = ?" }

  /// Reads the row that has values under a constraint.
  ///
  /// - Parameter columns: The quoted columns of the values; `NULL` for one that is not stored.
  func row(with columns: [String], entities: String?) -> String {
    let conditions = columns.map { "t.\($0) = ?" } + [entities].compactMap { $0 }
    return "SELECT \(readColumns(alias: "t")) FROM \(name) AS t WHERE \(conditions.joined(separator: " AND ")) LIMIT 1"
  }

  /// Reads a column of a row by its key.
  func value(of column: TableColumn) -> String { "SELECT t.\(column.name) FROM \(name) AS t WHERE t.\(key) = ?" }

  /// Counts the rows of each entity, by the model's numbers.
  var entityCounts: String { "SELECT \(entityNumber(alias: "t")), count(*) FROM \(name) AS t GROUP BY 1" }

  /// Counts the rows that meet a condition over the alias `t`.
  func count(where condition: String?) -> String {
    "SELECT count(*) FROM \(name) AS t" + (condition.map { " WHERE \($0)" } ?? "")
  }

  /// The condition that a key is one of the table's.
  func exists(_ key: String) -> String { "EXISTS (SELECT 1 FROM \(name) AS e WHERE e.\(self.key) = \(key))" }

  /// What an explanation says of the statement that reads rows by lists of their keys.
  var explainedRows: String { "SELECT … FROM \(name) WHERE \(key) IN (?1, …)" }

  // MARK: Orders

  /// Writes the place of a row among the members of its owner: the place, the key.
  func placing(_ order: String) -> String { "UPDATE OR FAIL \(name) SET \(order) = ? WHERE \(name).\(key) = ?" }

  /// Finds the greatest place among the members of an owner.
  ///
  /// - Parameters:
  ///   - order: The quoted column of the places.
  ///   - owner: The quoted column that refers to the owner.
  func lastPlace(_ order: String, of owner: String) -> String { "SELECT max(t.\(order)) FROM \(name) AS t WHERE t.\(owner) = ?" }

  // MARK: Derived attributes

  /// Reads rows by their keys: key, entity, a column and a value that is computed over the alias `t`.
  func computed(_ value: String, beside column: TableColumn, where condition: String?, _ size: KeyListSize) -> String {
    "SELECT \(reference(alias: "t")), t.\(column.name), \(value) FROM \(name) AS t WHERE t.\(key) \(size.condition)"
      + (condition.map { " AND \($0)" } ?? "")
  }

  /// Selects the rows that refer to others.
  ///
  /// - Parameters:
  ///   - column: The column of the reference.
  ///   - keys: `= ?` or `IN (...)`.
  func owners(by column: TableColumn, of keys: String) -> String { "SELECT o.\(key) FROM \(name) AS o WHERE o.\(column.name) \(keys)" }

  /// Selects what rows refer to.
  ///
  /// - Parameters:
  ///   - column: The column of the reference.
  ///   - keys: `= ?` or `IN (...)`.
  func destinations(by column: TableColumn, of keys: String) -> String {
    "SELECT o.\(column.name) FROM \(name) AS o WHERE o.\(key) \(keys) AND o.\(column.name) IS NOT NULL"
  }

  /// Writes NULL into a column of rows by their keys.
  func clearing(_ column: TableColumn, _ size: KeyListSize) -> String {
    "UPDATE OR FAIL \(name) SET \(column.name) = NULL WHERE \(name).\(key) \(size.condition)"
  }

  /// Writes a value into a column of a row: the value, the key.
  func setting(_ column: TableColumn) -> String { "UPDATE OR FAIL \(name) SET \(column.name) = ? WHERE \(name).\(key) = ?" }

  /// Computes a column of all rows that meet a condition over the table's name.
  func computing(_ column: TableColumn, _ value: String, where conditions: [String]) -> String {
    "UPDATE OR FAIL \(name) SET \(column.name) = \(value)" + (conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))")
  }

  // MARK: Large values

  /// Finds the next row behind a key whose value inside the row has at least so many bytes.
  func nextLarge(_ column: TableColumn) -> String {
    "SELECT t.\(key) FROM \(name) AS t WHERE t.\(key) > ? AND typeof(t.\(column.name)) = 'blob' AND length(t.\(column.name)) >= ?"
      + " ORDER BY t.\(key) LIMIT 1"
  }

  /// Writes the number of a value outside the row: the number, the key.
  func settingNumber(_ column: TableColumn) -> String { "UPDATE \(name) SET \(column.name) = ? WHERE \(name).\(key) = ?" }

  /// Puts values that are outside the rows back into them.
  func inlining(_ column: TableColumn) -> String {
    "UPDATE \(name) SET \(column.name) = \(SQLFunctions.data)(\(column.name)) WHERE typeof(\(column.name)) = 'integer'"
  }

  /// Selects the numbers of values outside the rows.
  func externalNumbers(_ column: TableColumn) -> String { "SELECT \(column.name) FROM \(name) WHERE typeof(\(column.name)) = 'integer'" }
}

extension TableLayout.Table {
  /// Counts the rows of each entity, by the numbers in the entity column; all rows where there is none.
  func entityCounts() throws -> String {
    let name = try Identifier.quoted(name)
    guard let entity = try entityColumn.map(Identifier.quoted) else { return "SELECT NULL, count(*) FROM \(name)" }
    return "SELECT t.\(entity), count(*) FROM \(name) AS t GROUP BY t.\(entity)"
  }
}

extension StoreSchema {
  /// The relationships that order the members in a table, with the columns.
  func orderColumns(in table: EntityTable) -> [(relationship: Int, column: String)] {
    model.relationships.compactMap { relationship in
      guard case .inverse(let side) = relationships[relationship.id], side.table == table.index, let order = side.order else { return nil }
      return (relationship.id, order)
    }
  }
}
