import ObjectModel
import SQLCipherConnection

/// The number of rows that one statement inserts.
enum InsertionSize: Int, CaseIterable, Sendable {
  case many, few, one

  /// The number of cases: the statement numbers of a statement that is cached in every size.
  @inline(__always) static var count: Int { InsertionSize.one.rawValue + 1 }
}

/// A cached statement on the table of an entity. ``StatementNumbers`` maps the case and its associated numbers, those of the model and the
/// schema, to a statement number.
///
/// All fixed SQL on tables of entities is in the `EntityStatements` files: this one is for reading and saving; the others are for
/// definitions, batch requests and migrations. SQL that depends on a request's predicate, order or selection is generated in Queries, that
/// of derived values in `StoreDerivation+Values.swift`, and that of full-text tables in ``FullTextIndex``.
enum EntityStatement: Hashable, Sendable {
  /// Selects whole rows by key.
  case rows(table: Int, KeyListSize)
  /// Deletes rows by key.
  case deletion(table: Int, KeyListSize)
  /// Deletes rows by key if they have an expected version.
  case checkedDeletion(table: Int, KeyListSize)
  /// Selects the version of a row.
  case version(table: Int)
  /// Inserts rows of an entity.
  case insertion(entity: Int, InsertionSize)
  /// Selects the members of several owners in a to-many relationship with a to-one inverse.
  case members(relationship: Int, KeyListSize)
  /// Selects the positions of the members of one owner.
  case positions(relationship: Int)
  /// Updates the position of one member.
  case positioning(relationship: Int)
}

// MARK: - Statement numbers

extension EntityStatement {
  /// The object that a statement belongs to, and the statement's offset among those of the object.
  enum Place {
    case table(Int, Int)
    case entity(Int, Int)
    case relationship(Int, Int)
  }

  /// The first offset of each case, after those of the preceding case.
  private enum First {
    static var rows: Int { 0 }
    static var deletion: Int { rows + KeyListSize.count }
    static var checkedDeletion: Int { deletion + KeyListSize.count }
    static var version: Int { checkedDeletion + KeyListSize.count }
    static var endOfTable: Int { version + 1 }

    static var insertion: Int { 0 }
    static var endOfEntity: Int { insertion + InsertionSize.count }

    static var members: Int { 0 }
    static var positions: Int { members + KeyListSize.count }
    static var positioning: Int { positions + 1 }
    static var endOfRelationship: Int { positioning + 1 }
  }

  @inline(__always) static var countOfTable: Int { First.endOfTable }
  @inline(__always) static var countOfEntity: Int { First.endOfEntity }
  @inline(__always) static var countOfRelationship: Int { First.endOfRelationship }

  @inline(__always) var place: Place {
    switch self {
    case .rows(let table, let size): .table(table, First.rows + size.position)
    case .deletion(let table, let size): .table(table, First.deletion + size.position)
    case .checkedDeletion(let table, let size): .table(table, First.checkedDeletion + size.position)
    case .version(let table): .table(table, First.version)
    case .insertion(let entity, let size): .entity(entity, First.insertion + size.rawValue)
    case .members(let relationship, let size): .relationship(relationship, First.members + size.position)
    case .positions(let relationship): .relationship(relationship, First.positions)
    case .positioning(let relationship): .relationship(relationship, First.positioning)
    }
  }

  /// Returns all statements of a schema, including those that its tables cannot use.
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
      sizes.map { .members(relationship: relationship, $0) } + [
        .positions(relationship: relationship), .positioning(relationship: relationship),
      ]
    }
    return ofTables + ofEntities + ofRelationships
  }
}

// MARK: - SQL texts

extension EntityStatement {
  /// Returns the SQL text, or an empty string if the schema stores the relationship elsewhere.
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
      guard let table = schema.tableIfStored(entity) else { return "" }
      return table.insertion(of: entity, orders: schema.orderColumns(in: table).map(\.column), size)
    case .members(let relationship, let size):
      guard case .inverse(let side) = schema.relationships[relationship] else { return "" }
      return schema.tables[side.table].members(by: side, size)
    case .positions(let relationship):
      guard case .inverse(let side) = schema.relationships[relationship], let order = side.order else { return "" }
      let table = schema.tables[side.table]
      return "SELECT t.\(table.key), t.\(order) FROM \(table.name) AS t WHERE t.\(side.column.name) = ?"
    case .positioning(let relationship):
      guard case .inverse(let side) = schema.relationships[relationship], let order = side.order else { return "" }
      return schema.tables[side.table].positioning(order)
    }
  }
}

extension EntityTable {
  /// The maximum number of placeholders of a statement in SQLCipher 3.4.1.
  private static let maximumVariableCount = 999
  /// The maximum number of rows per statement. More rows are not faster.
  private static let maximumRowCount = 20

  // MARK: Saving

  private func insertedColumns(of entityNumber: Int, orders: [String]) -> [String] {
    [key, version] + [entity].compactMap { $0 } + columns(of: entityNumber).flatMap { [$0.name] + [$0.entityColumn].compactMap { $0 } }
      + orders
  }

  /// Returns the number of values that an insertion binds for each row.
  func insertedCount(of entityNumber: Int, orderCount: Int) -> Int {
    insertedColumns(of: entityNumber, orders: []).count + orderCount
  }

  static func rowCount(_ size: InsertionSize, valuesPerRow: Int) -> Int {
    let most = max(1, min(maximumRowCount, maximumVariableCount / valuesPerRow))
    return switch size {
    case .many: most
    case .few: min(5, most)
    case .one: 1
    }
  }

  /// Inserts rows with `OR FAIL`. A plain statement with several rows opens a statement journal, which SQLCipher encrypts, and takes up to
  /// 14 times as long. Rows that remain after a failure are rolled back with the transaction.
  fileprivate func insertion(of entityNumber: Int, orders: [String], _ size: InsertionSize) -> String {
    let names = insertedColumns(of: entityNumber, orders: orders)
    let row = "(" + Array(repeating: "?", count: names.count).joined(separator: ", ") + ")"
    return "INSERT OR FAIL INTO \(name) (\(names.joined(separator: ", "))) VALUES "
      + Array(repeating: row, count: Self.rowCount(size, valuesPerRow: names.count)).joined(separator: ", ")
  }

  /// Updates columns of a row that has an expected version. Placeholders: the new version, the values, the key, the expected version.
  func update(of columns: [TableColumn]) -> String {
    let names = [version] + columns.flatMap { [$0.name] + [$0.entityColumn].compactMap { $0 } }
    return
      "UPDATE OR FAIL \(name) SET \(names.map { "\($0) = ?" }.joined(separator: ", ")) WHERE \(name).\(key) = ? AND \(name).\(version) = ?"
  }

  /// Selects the rows that have one of several tuples of values: the index of the tuple, the key, the entity.
  func holders(of columns: [TableColumn], entities: String?, count: Int) -> String {
    let marks = columns.map { _ in ", ?" }.joined()
    let rows = (0..<count).map { "(\($0)\(marks))" }.joined(separator: ", ")
    let conditions = columns.enumerated().map { "t.\($1.name) = v.c\($0)" } + [entities].compactMap { $0 }
    // `CROSS JOIN` fixes the join order, so that each tuple is looked up in the constraint's index.
    return "WITH v(n\(columns.indices.map { ", c\($0)" }.joined())) AS (VALUES \(rows)) SELECT v.n, \(reference(alias: "t")) "
      + "FROM v CROSS JOIN \(name) AS t ON \(conditions.joined(separator: " AND "))"
  }

  // MARK: Reading

  /// Returns the columns of a row's key and of its entity's number in the model.
  func reference(alias: String) -> String { "\(alias).\(key), \(entityNumber(alias: alias))" }

  private func entityNumber(alias: String) -> String { entity.map { "\(alias).\($0) + \(entityOffset)" } ?? "\(root.number)" }

  /// Selects owner, member, and the member's entity if it is stored, ordered by owner, then by member.
  fileprivate func members(by side: InverseSide, _ size: KeyListSize) -> String {
    let owner = "t.\(side.column.name)"
    var columns = "\(owner), t.\(key)"
    if case .stored = side.members, let entity { columns += ", t.\(entity)" }
    let order = "\(owner)\(side.order.map { ", t.\($0)" } ?? ""), t.\(key)"
    return "SELECT \(columns) FROM \(name) AS t WHERE \(owner) \(size.condition) ORDER BY \(order)"
  }

  /// Selects the key and entity of a row by key.
  var presence: String { "SELECT \(reference(alias: "t")) FROM \(name) AS t WHERE t.\(key) = ?" }

  /// Selects the row whose key is the value of an expression.
  func presence(of key: String) -> String { "SELECT 1 FROM \(name) AS t WHERE t.\(self.key) = \(key)" }

  /// Selects the row with given values of a uniqueness constraint.
  ///
  /// - Parameter columns: The quoted columns of the values; `NULL` for a value that is not stored.
  func row(with columns: [String], entities: String?) -> String {
    let conditions = columns.map { "t.\($0) = ?" } + [entities].compactMap { $0 }
    return "SELECT \(readColumns(alias: "t")) FROM \(name) AS t WHERE \(conditions.joined(separator: " AND ")) LIMIT 1"
  }

  func value(of column: TableColumn) -> String { "SELECT t.\(column.name) FROM \(name) AS t WHERE t.\(key) = ?" }

  /// Counts the rows of each entity, by the entity's number in the model.
  var entityCounts: String { "SELECT \(entityNumber(alias: "t")), count(*) FROM \(name) AS t GROUP BY 1" }

  /// Counts the rows that meet a condition with the alias `t`.
  func count(where condition: String?) -> String {
    "SELECT count(*) FROM \(name) AS t" + (condition.map { " WHERE \($0)" } ?? "")
  }

  /// A condition that a key is in the table.
  func exists(_ key: String) -> String { "EXISTS (SELECT 1 FROM \(name) AS e WHERE e.\(self.key) = \(key))" }

  /// The text that explanations show for the statement that reads rows by lists of keys.
  var explainedRows: String { "SELECT … FROM \(name) WHERE \(key) IN (?1, …)" }

  // MARK: Orders

  /// Updates the position of a row among the members of its owner. Placeholders: the position, the key.
  func positioning(_ order: String) -> String { "UPDATE OR FAIL \(name) SET \(order) = ? WHERE \(name).\(key) = ?" }

  /// Selects the greatest position among the members of an owner.
  ///
  /// - Parameters:
  ///   - order: The quoted column of the positions.
  ///   - owner: The quoted column that refers to the owner.
  func lastPosition(_ order: String, of owner: String) -> String { "SELECT max(t.\(order)) FROM \(name) AS t WHERE t.\(owner) = ?" }

  // MARK: Derived attributes

  /// Selects rows by key: key, entity, a column, and a value computed with the alias `t`.
  func computed(_ value: String, nextTo column: TableColumn, where condition: String?, _ size: KeyListSize) -> String {
    "SELECT \(reference(alias: "t")), t.\(column.name), \(value) FROM \(name) AS t WHERE t.\(key) \(size.condition)"
      + (condition.map { " AND \($0)" } ?? "")
  }

  /// Selects the rows that refer to others.
  ///
  /// - Parameters:
  ///   - column: The column of the reference.
  ///   - keys: `= ?` or `IN (...)`.
  func owners(by column: TableColumn, of keys: String) -> String { "SELECT o.\(key) FROM \(name) AS o WHERE o.\(column.name) \(keys)" }

  /// Selects the destinations of rows.
  ///
  /// - Parameters:
  ///   - column: The column of the reference.
  ///   - keys: `= ?` or `IN (...)`.
  func destinations(by column: TableColumn, of keys: String) -> String {
    "SELECT o.\(column.name) FROM \(name) AS o WHERE o.\(key) \(keys) AND o.\(column.name) IS NOT NULL"
  }

  /// Sets a column of rows to NULL by key.
  func clearing(_ column: TableColumn, _ size: KeyListSize) -> String {
    "UPDATE OR FAIL \(name) SET \(column.name) = NULL WHERE \(name).\(key) \(size.condition)"
  }

  /// Sets a column of a row. Placeholders: the value, the key.
  func setting(_ column: TableColumn) -> String { "UPDATE OR FAIL \(name) SET \(column.name) = ? WHERE \(name).\(key) = ?" }

  /// Computes a column of all rows that meet conditions with the table's name.
  func computing(_ column: TableColumn, _ value: String, where conditions: [String]) -> String {
    "UPDATE OR FAIL \(name) SET \(column.name) = \(value)" + (conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))")
  }

  // MARK: Large values

  /// Selects the next row after a key whose value in the row has at least a number of bytes.
  func nextLarge(_ column: TableColumn) -> String {
    "SELECT t.\(key) FROM \(name) AS t WHERE t.\(key) > ? AND typeof(t.\(column.name)) = 'blob' AND length(t.\(column.name)) >= ?"
      + " ORDER BY t.\(key) LIMIT 1"
  }

  /// Sets the number of a value in a file. Placeholders: the number, the key.
  func settingNumber(_ column: TableColumn) -> String { "UPDATE \(name) SET \(column.name) = ? WHERE \(name).\(key) = ?" }

  /// Moves values from files into their rows.
  func inlining(_ column: TableColumn) -> String {
    "UPDATE \(name) SET \(column.name) = \(SQLFunctions.data)(\(column.name)) WHERE typeof(\(column.name)) = 'integer'"
  }

  /// Selects the numbers of values in files.
  func externalNumbers(_ column: TableColumn) -> String { "SELECT \(column.name) FROM \(name) WHERE typeof(\(column.name)) = 'integer'" }
}

extension TableLayout.Table {
  /// Counts the rows of each entity, by the number in the entity column; all rows if there is no such column.
  func entityCounts() throws -> String {
    let name = try Identifier.quoted(name)
    guard let entity = try entityColumn.map(Identifier.quoted) else { return "SELECT NULL, count(*) FROM \(name)" }
    return "SELECT t.\(entity), count(*) FROM \(name) AS t GROUP BY t.\(entity)"
  }
}

extension StoreSchema {
  /// Returns the relationships that store their members' order in a table, with the columns.
  func orderColumns(in table: EntityTable) -> [(relationship: Int, column: String)] {
    model.relationships.compactMap { relationship in
      guard case .inverse(let side) = relationships[relationship.id], side.table == table.index, let order = side.order else { return nil }
      return (relationship.id, order)
    }
  }
}
