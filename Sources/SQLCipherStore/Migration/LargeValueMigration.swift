import ObjectModel
import SQLCipherConnection

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
