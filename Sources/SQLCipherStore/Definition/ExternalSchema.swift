import ObjectModel
import ObjectStore
import SQLCipherConnection

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
