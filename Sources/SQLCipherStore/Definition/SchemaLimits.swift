import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Checks a schema against the limits of the linked library before a file is created or changed.
///
/// Models do not reach limits of names, tables, indexes and statements. Indexes with too many columns are not created, since they never
/// change the result of a fetch.
struct SchemaLimits {
  let schema: StoreSchema

  /// Throws if the schema exceeds a limit of the library.
  static func check(_ schema: StoreSchema, path: String, operation: StoreOperation) throws(StoreError) {
    if let problem = SchemaLimits(schema: schema).problem { throw StoreError(problem, operation: operation, path: path) }
  }

  /// The first limit that the schema exceeds, or `nil` if there is none.
  var problem: StoreError.Reason? { tables ?? rows }

  /// Returns whether the library supports the number of columns of a table.
  static func fits(_ table: TableLayout.Table) -> Bool { table.physicalColumns.count <= LibraryVersion.maximumColumns }

  /// Checks the number of columns. All entities of a tree share one table.
  private var tables: StoreError.Reason? {
    guard let table = schema.layout.tables.first(where: { !Self.fits($0) }) else { return nil }
    return .tooManyColumns(
      entities: table.entities.map(\.name), count: table.physicalColumns.count, limit: LibraryVersion.maximumColumns)
  }

  /// Checks the number of values in a row. Old versions of SQLite can bind fewer values than a table can have columns.
  private var rows: StoreError.Reason? {
    for table in schema.tables {
      let orders = schema.layout.tables[table.index].orderColumns.count
      for number in table.root.subtree where !schema.model.entities[number].isAbstract {
        // An update also binds the key and the expected version.
        let count = table.insertedCount(of: number, orderCount: orders) + 2
        guard count > LibraryVersion.maximumVariables else { continue }
        return .tooManyValues(entity: schema.model.entities[number].name, count: count, limit: LibraryVersion.maximumVariables)
      }
    }
    return nil
  }
}
