import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Performs the cleanup that migrations deferred, one task at a time. The recorded layout determines the tasks.
struct DeferredCleanup {
  let connection: Connection
  let path: String
  let model: CompiledModel
  let entityNumbers: [Int]
  let trace: StatementTrace
  /// The participants of the transaction. The first one throws if the file's model has changed.
  let participants: [any TransactionParticipant]

  /// Returns descriptions of the deferred tasks. Tables with unused columns come first, since these columns can refer to the tables that
  /// are dropped later.
  static func tasks(_ layout: TableLayout) -> [String] {
    (layout.deferredTables ?? []).map { name in
      let columns = layout.tables.first { $0.name == name }?.leftovers ?? []
      return "clear the unused columns \(columns.joined(separator: ", ")) out of “\(name)”"
    } + (layout.leftoverTables ?? []).map { "drop the unused table “\($0)”" }
  }

  /// Performs one task in a separate transaction.
  ///
  /// - Returns: Whether there was a task.
  func runOne() throws -> Bool {
    let result = try connection.withoutForeignKeys {
      try WriteTransaction.run(on: connection, participants) { transaction -> Bool in
        var layout = try MetadataTable.readLayout(connection, path: path)
        if let name = layout.deferredTables?.first {
          try clear(name, &layout, transaction)
        } else if let name = layout.leftoverTables?.first {
          let statement = try BookkeepingTables.droppingTable(name)
          trace.record(connection, statement)
          try connection.execute(statement)
          layout.leftoverTables = layout.leftoverTables.flatMap { $0.count > 1 ? Array($0.dropFirst()) : nil }
        } else {
          return false
        }
        let basis = MetadataTable.layoutBasis(model: model, entityNumbers: entityNumbers)
        let isFresh = layout == TableLayout(model: model, entityNumbers: entityNumbers)
        try MetadataTable.update(
          layout: layout, layoutBasis: isFresh ? basis : MetadataTable.indexesOnly + basis, deferredTasks: Self.tasks(layout), connection)
        return true
      }
    }
    connection.discardStatements()
    return result
  }

  /// Copies a table without its unused columns. All other columns keep their names, since the store is open with them.
  private func clear(_ name: String, _ layout: inout TableLayout, _ transaction: WriteTransaction) throws {
    guard let index = layout.tables.firstIndex(where: { $0.name == name }) else { return }
    layout.tables[index].leftovers = nil
    layout.deferredTables = layout.deferredTables.flatMap { $0.count > 1 ? $0.filter { $0 != name } : nil }
    let schema = try StoreSchema(model: model, layout: layout)
    let table = schema.tables[index]
    var names = NameAllocator(reserved: BookkeepingTables.reservedNames + layout.physicalTables)
    let working = names.take("cipherdata_new_1")
    let columns = try layout.tables[index].physicalColumns.map { (column: $0, value: "t.\(try Identifier.quoted($0))") }
    let creation = try SchemaGenerator(schema: schema).createTable(table, named: try Identifier.quoted(working))
    let steps = [
      MigrationStep(summary: "", work: .dropFollowers),
      MigrationStep(summary: "", work: .schema([creation])),
      MigrationStep(summary: "", work: .batches(try table.copying(columns, to: working, where: nil))),
      MigrationStep(summary: "", work: .schema(try layout.tables[index].replacing(with: working))),
      MigrationStep(summary: "", work: .makeAuxiliaries),
    ]
    let runner = MigrationRunner(transaction, request: StoreMigrationRequest(), trace: trace)
    try runner.run(steps, schema)
  }
}
