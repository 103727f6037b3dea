package import Foundation
package import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreFiles

/// The ranges of tables, each read once.
private struct KnownRanges {
  private let identities: StableIDTable
  private var known: [Int: StableIDRanges] = [:]

  init(_ identities: StableIDTable) { self.identities = identities }

  subscript(table: Int) -> StableIDRanges {
    mutating get throws {
      if let ranges = known[table] { return ranges }
      let ranges = try identities.ranges(of: table)
      known[table] = ranges
      return ranges
    }
  }
}

extension StoreEngine {
  func setTracksObjectIdentity(_ isTracked: Bool) throws {
    try replacingSideTables { transaction, keepsPages in
      let connection = transaction.connection
      let record = try MetadataTable.readSideTables(connection, path: path)[IdentityTables.all.name]
      let isDamaged = keepsPages || record?.isDamaged ?? false
      if (record != nil) == isTracked, !isDamaged { return }
      if record != nil, !isTracked { try sideTables.check(.stableIDs, in: transaction) }
      if record != nil { try SideTableList(connection: connection, path: path).remove(IdentityTables.all.name, keepsPages: keepsPages) }
      if isTracked {
        let lineage = try transaction.assignLineageIfInherited().identifier
        try StableIDTable(connection: connection).create(tables: schema.tables.map(\.id), lineage: lineage)
      }
    }
  }

  /// The entry of the stable IDs in the metadata, or `nil` if the store has none.
  func identityRecord(_ transaction: ReadTransaction) throws -> SideTableRecord? {
    let name = IdentityTables.all.name
    // A transaction over several requests may have created the tables.
    guard let current = currentWrite else { return sideTables[name] }
    return try MetadataTable.readSideTables(transaction.connection, path: path, decoded: &current.decodedSideTables)[name]
  }

  /// Returns the tables, or `nil` if the store has none.
  private func identities(_ transaction: ReadTransaction) throws -> StableIDTable? {
    guard let record = try identityRecord(transaction) else { return nil }
    if record.isDamaged ?? false { throw SideTableFailure(component: record.name, error: nil) }
    return StableIDTable(connection: transaction.connection)
  }

  func stableIDs(of references: [ObjectReference]) throws -> [UUID?] {
    try read { transaction in
      guard let identities = try identities(transaction) else { return references.map { _ in nil } }
      var ranges = KnownRanges(identities)
      return try references.map { reference in
        let table = try schema.table(of: reference.entity).id
        if let other = try identities.other(reference.key, of: table) { return other }
        return try ranges[table].id(of: reference.key)
      }
    }
  }

  func reference(forStableID id: UUID) throws -> ObjectReference? {
    try read { transaction in
      guard let identities = try identities(transaction) else { return nil }
      var ranges = KnownRanges(identities)
      return try reference(forStableID: id, identities, &ranges)
    }
  }

  private func reference(forStableID id: UUID, _ identities: StableIDTable, _ ranges: inout KnownRanges) throws -> ObjectReference? {
    for (number, key) in try identities.objects(with: id) {
      if let table = schema.tables.first(where: { $0.id == number }), let found = try existing(key, of: table, identities) { return found }
    }
    for table in schema.tables {
      guard let key = try ranges[table.id].key(of: id), try identities.other(key, of: table.id) == nil,
        let found = try existing(key, of: table, identities)
      else { continue }
      return found
    }
    return nil
  }

  private func existing(_ key: Int64, of table: EntityTable, _ identities: StableIDTable) throws -> ObjectReference? {
    let statement = try identities.connection.statement(sql: table.presence)
    defer { statement.reset() }
    try statement.bind(1, key)
    trace.record(statement)
    return try statement.step() ? try schema.reference(key: statement.int64(0), entity: statement.int(1)) : nil
  }

  func setStableIDs(_ ids: [(object: ObjectReference, id: UUID)]) throws {
    if ids.isEmpty { return }
    try write { transaction in
      guard let identities = try identities(transaction.reading) else { throw StoreError(.identityOff, operation: .save, path: path) }
      var ranges = KnownRanges(identities)
      for (reference, id) in ids {
        if let holder = try self.reference(forStableID: id, identities, &ranges), holder != reference {
          throw StoreError(.stableIDInUse(id), operation: .save, path: path)
        }
        try identities.set(id, reference.key, of: try schema.table(of: reference.entity).id)
      }
    }
  }

  func purgeStableIDs() throws -> Int {
    try write { transaction in
      guard let identities = try identities(transaction.reading) else { throw StoreError(.identityOff, operation: .save, path: path) }
      try sideTables.check(.stableIDsOfDeletedObjects, in: transaction)
      return try schema.tables.reduce(0) { try $0 + identities.purge($1) }
    }
  }
}

extension SQLCipherIncrementalStore: IdentityStore {
  package func tracksObjectIdentity() throws -> Bool {
    let engine = try engine(.read)
    return try StoreError.mapping { try engine.read { try engine.identityRecord($0) != nil } }
  }

  package func setTracksObjectIdentity(_ isTracked: Bool) throws {
    let engine = try writableEngine(.save)
    try StoreError.mapping { try engine.setTracksObjectIdentity(isTracked) }
  }

  package func stableIDs(of references: [ObjectReference]) throws -> [UUID?] {
    let engine = try engine(.read)
    return try StoreError.mapping { try engine.stableIDs(of: references) }
  }

  package func reference(forStableID id: UUID) throws -> ObjectReference? {
    let engine = try engine(.findObject)
    return try StoreError.mapping { try engine.reference(forStableID: id) }
  }

  package func setStableIDs(_ ids: [(object: ObjectReference, id: UUID)]) throws {
    let engine = try writableEngine(.save)
    try StoreError.mapping { try engine.setStableIDs(ids) }
  }

  package func purgeStableIDs() throws -> Int {
    let engine = try writableEngine(.save)
    return try StoreError.mapping { try engine.purgeStableIDs() }
  }

  /// Switches stable IDs as the description requires, after the store is opened.
  func switchIdentity(_ engine: StoreEngine) throws {
    guard let isTracked = configuration.description.tracksObjectIdentity, !configuration.description.isReadOnly,
      (engine.sideTables[IdentityTables.all.name] != nil) != isTracked
    else { return }
    try engine.setTracksObjectIdentity(isTracked)
  }
}

// MARK: - Lineage of an open store

extension SQLCipherIncrementalStore: LineageStore {
  package func lineageIdentifier() throws -> String? {
    let engine = try engine(.readMetadata)
    return try StoreError.mapping {
      let outside = LineageMark(nextTo: engine.path)
      let known = try? engine.read { try LineageTable.identifier($0.connection, outside) }
      if let known = known ?? nil { return known }
      // A transaction over several requests can be rolled back, and with it the lineage.
      if configuration.description.isReadOnly || engine.currentTransaction != nil { return nil }
      return try engine.withoutDamage { try engine.write { try $0.assignLineageIfInherited().identifier } }
    }
  }

  package func renewLineage() throws -> String {
    let engine = try writableEngine(.save)
    let lineage = try StoreError.mapping { try engine.write { try LineageTable.renew($0.connection) } }
    // Their stable IDs are those of the former lineage.
    engine.forgetKeys()
    return lineage
  }

  package func advanceLineageMark() throws {
    let engine = try writableEngine(.save)
    try StoreError.mapping { try engine.write { try LineageTable.advanceMark($0.connection) } }
  }

  @discardableResult
  package func publishLineageMark() throws -> Bool {
    let engine = try engine(.read)
    let mark = try StoreError.mapping { try engine.read { try LineageTable.mark($0.connection) } }
    return mark?.write(nextTo: engine.path) ?? true
  }
}
