import SQLCipherConnection

extension WriteTransaction {
  /// The tables of stable IDs, or `nil` if the store has none, or the transaction does not use them because they are damaged.
  var stableIDs: StableIDTable? {
    get throws {
      let name = IdentityTables.all.name
      guard !excludes(name), let record = try MetadataTable.readSideTables(connection, path: connection.path)[name],
        !(record.isDamaged ?? false)
      else { return nil }
      return StableIDTable(connection: connection)
    }
  }

  /// Assigns a new lineage unless the file has one of its own.
  func assignLineageIfInherited() throws -> StoreLineage {
    try LineageTable.assignIfInherited(connection, replacesTable: excludes(LineageTable.component))
  }
}
