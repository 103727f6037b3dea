import ObjectModel
import ObjectStore
import SQLCipherConnection

/// The table of large values: one row for each referenced file.
enum ExternalTable {
  static func exists(_ connection: Connection) throws -> Bool {
    let statement = try connection.statement(.hasExternals)
    defer { statement.reset() }
    return try statement.step()
  }

  /// Returns the numbers of all values; empty if there is no table.
  @Sendable static func ids(_ connection: Connection) throws -> [Int64] {
    guard try exists(connection) else { return [] }
    let statement = try connection.statement(.externals)
    defer { statement.reset() }
    var ids: [Int64] = []
    while try statement.step() { ids.append(statement.int64(0)) }
    return ids
  }
}

/// The schema of large values: their table, and triggers that mark unreferenced values as removed.
enum ExternalSchema {
  private static let triggerPrefix = "t_external_"

  /// Creates the table of large values if any of the models can have some. Without it, values stay in their rows.
  static func makeTable(for models: [CompiledModel], _ transaction: WriteTransaction) throws {
    guard models.contains(where: \.hasExternalAttributes) else { return }
    for statement in BookkeepingTables.creationOfExternals { try transaction.connection.execute(statement) }
  }

  /// Returns the triggers of a table with binary columns. They mark the former values of deleted and changed rows as removed.
  static func triggers(of table: EntityTable) throws -> [SchemaAuxiliary] {
    let columns = table.columns.filter(\.isLarge).map(\.name)
    if columns.isEmpty { return [] }
    func trigger(_ event: String, _ name: String, _ columns: [String], _ test: (String) -> String) throws -> SchemaAuxiliary {
      try table.trigger(
        named: "\(triggerPrefix)\(name)", "AFTER \(event)", when: BalancedCondition.any(columns.map(test)),
        "\(BookkeepingTables.removingExternals(columns.map { "OLD.\($0)" }));")
    }
    var result = [try trigger("DELETE", "delete_\(table.id)", columns) { "typeof(OLD.\($0)) = 'integer'" }]
    for (number, column) in columns.enumerated() {
      result.append(
        try trigger("UPDATE OF \(column)", "update_\(table.id)_\(number)", [column]) {
          "typeof(OLD.\($0)) = 'integer' AND OLD.\($0) IS NOT NEW.\($0)"
        })
    }
    return result
  }

  /// Marks unreferenced values as removed, for example after tables were rebuilt without triggers. Scans the tables with binary columns.
  static func collect(_ schema: StoreSchema, _ transaction: WriteTransaction) throws {
    let references = schema.tables.flatMap { table in table.columns.filter(\.isLarge).map(table.externalNumbers) }
    try transaction.connection.execute(BookkeepingTables.removingExternals(notIn: references))
  }

  /// Returns the statements that move all large values of a copy into its rows, and empty its table of large values.
  static func inlining(from connection: Connection, schema: String) throws -> [String] {
    guard try ExternalTable.exists(connection) else { return [] }
    let layout = try MetadataTable.readLayout(connection, path: connection.path)
    return try layout.tables.flatMap { try $0.inlining(in: schema) } + [BookkeepingTables.emptyingExternals(in: schema)]
  }
}

/// Moves the large values of a whole store between rows and files, inside a write transaction.
struct LargeValueMigration {
  private let transaction: WriteTransaction
  private let schema: StoreSchema
  private var connection: Connection { transaction.connection }

  init(_ transaction: WriteTransaction, _ schema: StoreSchema) {
    self.transaction = transaction
    self.schema = schema
  }

  /// Moves large values to files if their attributes allow it. Only one chunk of a value is in memory at a time.
  ///
  /// The tables of these attributes are scanned without reading values that stay in their rows.
  ///
  /// - Parameter moved: Called after each value with the number of values moved so far.
  func moveIntoFiles(moved: (Int) throws -> Void = { _ in }) throws {
    guard let files = transaction.files, try ExternalTable.exists(connection) else { return }
    var count = 0
    for table in schema.tables {
      for column in table.columns where column.keepsExternals {
        let search = try connection.statement(sql: table.nextLarge(column))
        let update = try connection.statement(sql: table.settingNumber(column))
        var key: Int64 = 0
        while true {
          try search.bind(1, key)
          try search.bind(2, files.storage.threshold)
          guard try search.step() else { break }
          key = search.int64(0)
          search.reset()
          let reader = try BlobReader(connection, table: table.name, column: column.name, key: key)
          let id = try files.keep { try reader.next() }
          reader.close()
          try update.bind(1, id)
          try update.bind(2, key)
          try update.run()
          count += 1
          try moved(count)
        }
        search.reset()
      }
    }
  }

  /// Moves values under uniqueness constraints back to their rows, since only values in rows can be compared. An earlier model may not have
  /// had the constraint.
  func moveIntoRows() throws {
    guard try ExternalTable.exists(connection) else { return }
    for table in schema.tables {
      let constrained = Set(
        table.root.subtree.flatMap { schema.model.entities[$0].entityDescription.uniquenessConstraints.flatMap { $0 } })
      for column in table.columns where column.isLarge && constrained.contains(column.slot.name) {
        try connection.execute(table.inlining(column))
      }
    }
  }
}
