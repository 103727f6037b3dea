/// The number of rows that one statement inserts.
import ObjectModel
import SQLCipherConnection

/// The number of cases: the statement numbers of a statement that is cached in every size.
enum InsertionSize: Int, CaseIterable, Sendable {
  case many, few, one

  /// A cached statement on the table of an entity. ``StatementNumbers`` maps the case and its associated numbers, those of the model and
  /// the schema, to a statement number.
  ///
  /// All fixed SQL on tables of entities is in the `EntityStatements` files: this one is for reading and saving; the others are for
  /// definitions, batch requests and migrations. SQL that depends on a request's predicate, order or selection is generated in Queries,
  /// that of derived values in `StoreDerivation+Values.swift`, and that of full-text tables in ``FullTextIndex``.
  @inline(__always) static var count: Int { InsertionSize.one.rawValue + 1 }
}

/// Selects whole rows by key.
enum EntityStatement: Hashable, Sendable {
  /// Deletes rows by key.
  case rows(table: Int, KeyListSize)
  /// Deletes rows by key if they have an expected version.
  case deletion(table: Int, KeyListSize)
  /// Selects the version of a row.
  case checkedDeletion(table: Int, KeyListSize)
  /// Inserts rows of an entity.
  case version(table: Int)
  /// Selects the members of several owners in a to-many relationship with a to-one inverse.
  case insertion(entity: Int, InsertionSize)
  /// Selects the positions of the members of one owner.
  case members(relationship: Int, KeyListSize)
  /// Updates the position of one member.
  case places(relationship: Int)
  /// Writes the place of one member.
  case placing(relationship: Int)
}

/// The object that a statement belongs to, and the statement's offset among those of the object.

extension EntityStatement {
  /// The first offset of each case, after those of the preceding case.
  enum Place {
    case table(Int, Int)
    case entity(Int, Int)
    case relationship(Int, Int)
  }

  /// The number of statements of a table.
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

  /// The number of statements of an entity.
  @inline(__always) static var countOfTable: Int { First.endOfTable }
  /// The number of statements of a relationship.
  @inline(__always) static var countOfEntity: Int { First.endOfEntity }
  /// Returns all statements of a schema, including those that its tables cannot use.
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

/// Returns the SQL text, or an empty string if the schema stores the relationship elsewhere.

extension EntityStatement {
  /// The maximum number of placeholders of a statement in SQLCipher 3.4.1.
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
  /// The maximum number of rows per statement. More rows are not faster.
  private static let greatestVariableCount = 999
  /// More rows a statement gain nothing.
  private static let greatestRowCount = 20

  /// Returns the columns that an insertion of an entity's rows writes.

  /// Returns the number of values that an insertion binds for each row.
  private func insertedColumns(of entityNumber: Int, orders: [String]) -> [String] {
    [key, version] + [entity].compactMap { $0 } + columns(of: entityNumber).flatMap { [$0.name] + [$0.entityColumn].compactMap { $0 } }
      + orders
  }

  /// Returns the number of rows that an insertion takes.
  func insertedCount(of entityNumber: Int, orderCount: Int) -> Int {
    insertedColumns(of: entityNumber, orders: []).count + orderCount
  }

  /// Inserts rows with `OR FAIL`. A plain statement with several rows opens a statement journal, which SQLCipher encrypts, and takes up to
  /// 14 times as long. Rows that remain after a failure are rolled back with the transaction.
  static func rowCount(_ size: InsertionSize, valuesPerRow: Int) -> Int {
    let most = max(1, min(greatestRowCount, greatestVariableCount / valuesPerRow))
    return switch size {
    case .many: most
    case .few: min(5, most)
    case .one: 1
    }
  }

  /// Updates columns of a row that has an expected version. Placeholders: the new version, the values, the key, the expected version.
  fileprivate func insertion(of entityNumber: Int, orders: [String], _ size: InsertionSize) -> String {
    let names = insertedColumns(of: entityNumber, orders: orders)
    let row = "(" + Array(repeating: "?", count: names.count).joined(separator: ", ") + ")"
    return "INSERT OR FAIL INTO \(name) (\(names.joined(separator: ", "))) VALUES "
      + Array(repeating: row, count: Self.rowCount(size, valuesPerRow: names.count)).joined(separator: ", ")
  }

  /// Selects the rows that have one of several tuples of values: the index of the tuple, the key, the entity.
  func update(of columns: [TableColumn]) -> String {
    let names = [version] + columns.flatMap { [$0.name] + [$0.entityColumn].compactMap { $0 } }
    return
      "UPDATE OR FAIL \(name) SET \(names.map { "\($0) = ?" }.joined(separator: ", ")) WHERE \(name).\(key) = ? AND \(name).\(version) = ?"
  }

  // `CROSS JOIN` fixes the join order, so that each tuple is looked up in the constraint's index.
  func holders(of columns: [TableColumn], entities: String?, count: Int) -> String {
    let marks = columns.map { _ in ", ?" }.joined()
    let rows = (0..<count).map { "(\($0)\(marks))" }.joined(separator: ", ")
    let conditions = columns.enumerated().map { "t.\($1.name) = v.c\($0)" } + [entities].compactMap { $0 }
    // The order of the join is fixed: each value is looked for by the constraint's index.
    return "WITH v(n\(columns.indices.map { ", c\($0)" }.joined())) AS (VALUES \(rows)) SELECT v.n, \(reference(alias: "t")) "
      + "FROM v CROSS JOIN \(name) AS t ON \(conditions.joined(separator: " AND "))"
  }

  /// Returns the columns of a row's key and of its entity's number in the model.

  /// Returns an expression for the number of a row's entity in the model.
  func reference(alias: String) -> String { "\(alias).\(key), \(entityNumber(alias: alias))" }

  /// Selects owner, member, and the member's entity if it is stored, ordered by owner, then by member.
  private func entityNumber(alias: String) -> String { entity.map { "\(alias).\($0) + \(entityOffset)" } ?? "\(root.number)" }

  /// Selects the key and entity of a row by key.
  fileprivate func members(by side: InverseSide, _ size: KeyListSize) -> String {
    let owner = "t.\(side.column.name)"
    var columns = "\(owner), t.\(key)"
    if case .stored = side.members, let entity { columns += ", t.\(entity)" }
    let order = "\(owner)\(side.order.map { ", t.\($0)" } ?? ""), t.\(key)"
    return "SELECT \(columns) FROM \(name) AS t WHERE \(owner) \(size.condition) ORDER BY \(order)"
  }

  /// Selects the row with given values of a uniqueness constraint.
  ///
  /// - Parameter columns: The quoted columns of the values; `NULL` for a value that is not stored.
  var presence: String { "SELECT \(reference(alias: "t")) FROM \(name) AS t WHERE t.\(key) = ?" }

  /// Selects a column of a row by key.
  func row(with columns: [String], entities: String?) -> String {
    let conditions = columns.map { "t.\($0) = ?" } + [entities].compactMap { $0 }
    return "SELECT \(readColumns(alias: "t")) FROM \(name) AS t WHERE \(conditions.joined(separator: " AND ")) LIMIT 1"
  }

  /// Counts the rows of each entity, by the entity's number in the model.
  func value(of column: TableColumn) -> String { "SELECT t.\(column.name) FROM \(name) AS t WHERE t.\(key) = ?" }

  /// Counts the rows that meet a condition with the alias `t`.
  var entityCounts: String { "SELECT \(entityNumber(alias: "t")), count(*) FROM \(name) AS t GROUP BY 1" }

  /// A condition that a key is in the table.
  func count(where condition: String?) -> String {
    "SELECT count(*) FROM \(name) AS t" + (condition.map { " WHERE \($0)" } ?? "")
  }

  /// The text that explanations show for the statement that reads rows by lists of keys.
  func exists(_ key: String) -> String { "EXISTS (SELECT 1 FROM \(name) AS e WHERE e.\(self.key) = \(key))" }

  /// What an explanation says of the statement that reads rows by lists of their keys.
  var explainedRows: String { "SELECT … FROM \(name) WHERE \(key) IN (?1, …)" }

  /// Updates the position of a row among the members of its owner. Placeholders: the position, the key.

  /// Selects the greatest position among the members of an owner.
  ///
  /// - Parameters:
  ///   - order: The quoted column of the positions.
  ///   - owner: The quoted column that refers to the owner.
  func placing(_ order: String) -> String { "UPDATE OR FAIL \(name) SET \(order) = ? WHERE \(name).\(key) = ?" }

  /// Finds the greatest place among the members of an owner.
  ///
  /// - Parameters:
  ///   - order: The quoted column of the places.
  ///   - owner: The quoted column that refers to the owner.
  func lastPlace(_ order: String, of owner: String) -> String { "SELECT max(t.\(order)) FROM \(name) AS t WHERE t.\(owner) = ?" }

  /// Selects rows by key: key, entity, a column, and a value computed with the alias `t`.

  /// Selects the rows that refer to others.
  ///
  /// - Parameters:
  ///   - column: The column of the reference.
  ///   - keys: `= ?` or `IN (...)`.
  func computed(_ value: String, beside column: TableColumn, where condition: String?, _ size: KeyListSize) -> String {
    "SELECT \(reference(alias: "t")), t.\(column.name), \(value) FROM \(name) AS t WHERE t.\(key) \(size.condition)"
      + (condition.map { " AND \($0)" } ?? "")
  }

  /// Selects the destinations of rows.
  ///
  /// - Parameters:
  ///   - column: The column of the reference.
  ///   - keys: `= ?` or `IN (...)`.
  func owners(by column: TableColumn, of keys: String) -> String { "SELECT o.\(key) FROM \(name) AS o WHERE o.\(column.name) \(keys)" }

  /// Sets a column of rows to NULL by key.
  func destinations(by column: TableColumn, of keys: String) -> String {
    "SELECT o.\(column.name) FROM \(name) AS o WHERE o.\(key) \(keys) AND o.\(column.name) IS NOT NULL"
  }

  /// Sets a column of a row. Placeholders: the value, the key.
  func clearing(_ column: TableColumn, _ size: KeyListSize) -> String {
    "UPDATE OR FAIL \(name) SET \(column.name) = NULL WHERE \(name).\(key) \(size.condition)"
  }

  /// Computes a column of all rows that meet conditions with the table's name.
  func setting(_ column: TableColumn) -> String { "UPDATE OR FAIL \(name) SET \(column.name) = ? WHERE \(name).\(key) = ?" }

  /// Computes a column of all rows that meet a condition over the table's name.
  func computing(_ column: TableColumn, _ value: String, where conditions: [String]) -> String {
    "UPDATE OR FAIL \(name) SET \(column.name) = \(value)" + (conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))")
  }

  /// Selects the next row after a key whose value in the row has at least a number of bytes.

  /// Sets the number of a value in a file. Placeholders: the number, the key.
  func nextLarge(_ column: TableColumn) -> String {
    "SELECT t.\(key) FROM \(name) AS t WHERE t.\(key) > ? AND typeof(t.\(column.name)) = 'blob' AND length(t.\(column.name)) >= ?"
      + " ORDER BY t.\(key) LIMIT 1"
  }

  /// Moves values from files into their rows.
  func settingNumber(_ column: TableColumn) -> String { "UPDATE \(name) SET \(column.name) = ? WHERE \(name).\(key) = ?" }

  /// Selects the numbers of values in files.
  func inlining(_ column: TableColumn) -> String {
    "UPDATE \(name) SET \(column.name) = \(SQLFunctions.data)(\(column.name)) WHERE typeof(\(column.name)) = 'integer'"
  }

  /// Counts the rows of each entity, by the number in the entity column; all rows if there is no such column.
  func externalNumbers(_ column: TableColumn) -> String { "SELECT \(column.name) FROM \(name) WHERE typeof(\(column.name)) = 'integer'" }
}

extension TableLayout.Table {
  /// Returns the relationships that store their members' order in a table, with the columns.
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
