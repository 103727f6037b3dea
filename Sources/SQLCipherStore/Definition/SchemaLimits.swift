import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Compares a schema with the limits of the linked library.
///
/// Names, tables, indexes and statements have no limit that a model reaches. Indexes and full-text indexes over more columns than the library takes are
/// not built: they never change what a fetch returns.
struct SchemaLimits {
  let schema: StoreSchema

  /// Throws what the library cannot hold.
  static func check(_ schema: StoreSchema, path: String, operation: StoreOperation) throws(StoreError) {
    if let problem = SchemaLimits(schema: schema).problem { throw StoreError(problem, operation: operation, path: path) }
  }

  /// The first limit that the schema exceeds; nil where there is none.
  var problem: StoreError.Reason? { tables ?? rows }

  /// Whether a table is one that the library takes.
  static func holds(_ table: TableLayout.Table) -> Bool { table.physicalColumns.count <= LibraryVersion.maximumColumns }

  /// All entities of a tree share one table.
  private var tables: StoreError.Reason? {
    guard let table = schema.layout.tables.first(where: { !Self.holds($0) }) else { return nil }
    return .tooManyColumns(
      entities: table.entities.map(\.name), count: table.physicalColumns.count, limit: LibraryVersion.maximumColumns)
  }

  /// An old SQLite binds fewer values than it has columns.
  private var rows: StoreError.Reason? {
    for table in schema.tables {
      let orders = schema.layout.tables[table.index].orderColumns.count
      for number in table.root.subtree where !schema.model.entities[number].isAbstract {
        // An update binds the key and the version that it expects, too.
        let count = table.insertedCount(of: number, orderCount: orders) + 2
        guard count > LibraryVersion.maximumVariables else { continue }
        return .tooManyValues(entity: schema.model.entities[number].name, count: count, limit: LibraryVersion.maximumVariables)
      }
    }
    return nil
  }
}
