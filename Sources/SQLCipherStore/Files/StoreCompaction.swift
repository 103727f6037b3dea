import ObjectStore
import SQLCipherConnection
import StoreFiles

/// The result of ``SQLCipherStoreFile/compact(updatesStatistics:progress:)``.
///
/// ```swift
/// let compaction = try await SQLCipherStoreFile.unlock(at: url, key: key).compact()
/// print("\(compaction.bytesBefore - compaction.bytesAfter) bytes were given back")
/// ```
public struct StoreCompaction: Sendable, Hashable {
  /// The size of the database and its log before, in bytes.
  public var bytesBefore: Int
  /// The size of the database after, in bytes. Without unused pages, it can be the same as before.
  public var bytesAfter: Int
}

// MARK: - Compaction

extension SQLCipherStoreFile {
  /// Returns the unused pages of deleted objects, and the log, to the file system.
  ///
  /// The database is rewritten with the same key, verified, and moved into the place of the old one. Keys, large values, the history, and
  /// the files' owner and permissions do not change.
  ///
  /// The store must not be open anywhere, including this process. Compaction takes as long as a backup with a full verification. It needs
  /// disk space for the pages in use, which is checked first. If it fails, is canceled, or is killed at any point, the store is either the
  /// old or the new one. The next opening removes files that a killed process left.
  ///
  /// - Parameters:
  ///   - updatesStatistics: Whether to call ``updateStatistics()`` afterward.
  ///   - progress: Called with the completed fraction; returns whether to continue.
  /// - Returns: The sizes before and after.
  /// - Throws: ``StoreError`` with the code `busy` if the store is open anywhere, `diskFull` with ``StoreError/requiredSpace`` if there is
  ///   not enough space, `storeCorrupt` if a page fails its check, or `cancelled`; `CancellationError` if the task is canceled. The store
  ///   is unchanged then.
  @discardableResult
  public func compact(updatesStatistics: Bool = false, progress: Progress? = nil) async throws -> StoreCompaction {
    let sizes = try await Self.withProgress(progress) { phases in
      let sizes = try await StoreError.mapping {
        try await keyring.compact(onOpen: { try StoredFunctionIndexes.register(on: $0) }, progress: phases)
      }
      if updatesStatistics { try await updateStatistics() }
      return sizes
    }
    return StoreCompaction(bytesBefore: sizes.before, bytesAfter: updatesStatistics ? StoreFile.size(path) ?? sizes.after : sizes.after)
  }

  /// Collects statistics of all indexes for SQLite's query planner, which otherwise uses only the definitions of the indexes.
  ///
  /// Statistics never change the result of a fetch. They can help stores with several indexes on one entity, if some indexes match few rows
  /// and others many. The explanation of a fetch (see ``PersistentStoreCoordinator``) shows which index is used.
  ///
  /// The store can be in use. Its open connections use the statistics after the store is opened again. Statistics are stored in the file
  /// and are not updated by later changes. All indexes are read.
  ///
  /// - Throws: ``StoreError`` with the code `busy` if another connection writes for longer than a few seconds.
  public func updateStatistics() async throws {
    try await write { try $0.execute("ANALYZE main") }
  }

  /// Removes the statistics that ``updateStatistics()`` collected.
  ///
  /// - Throws: ``StoreError``, as ``updateStatistics()`` does.
  public func removeStatistics() async throws {
    try await write { connection in
      for table in try connection.objects(.statistics) { try connection.execute(BookkeepingTables.droppingTable(table.name)) }
    }
  }

  /// Runs `body` with a new connection in one write transaction. It must not change anything that users of the store depend on.
  private func write(_ body: @escaping @Sendable (Connection) throws -> Void) async throws {
    let keyring = keyring
    try await Self.runInBackground {
      let connection = try keyring.withDatabaseKey { try Connection(opening: keyring.storePath, key: $0) }
      defer { connection.close() }
      try StoredFunctionIndexes.register(on: connection)
      try connection.writeTransaction { try body(connection) }
    }
  }
}

// MARK: - Usage

/// The size of a table or index in a store.
package struct StoreUsage: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable {
    case table, index
    /// The members of relationships.
    case members
    /// The store's own data: metadata, history and full-text indexes.
    case bookkeeping
  }

  package let kind: Kind
  package let name: String
  /// The entities whose rows it contains, the root entity first.
  package let entityNames: [String]
  package let bytes: Int
}

extension SQLCipherStoreFile {
  /// Returns the tables and indexes with their sizes in bytes, in descending order. All pages in use are read.
  ///
  /// - Throws: ``StoreError`` with the code `busy` if other connections commit continuously.
  package func usage() async throws -> [StoreUsage] {
    let keyring = keyring
    return try await Self.runInBackground {
      try keyring.withDatabaseKey(options: Self.readingOptions) { key in
        let connection = try Connection.reading(keyring.storePath, key: key, options: Self.readingOptions)
        defer { connection.close() }
        let layout = try connection.readTransaction { try MetadataTable.readLayout(connection, path: connection.path) }
        let trees = try connection.readTransaction { try Self.trees(connection) }
        let bytes = try PageUsage.bytes(of: trees.map(\.root), connection, key: key)
        let entities = Dictionary(layout.tables.map { ($0.name, $0.entities.map(\.name)) }, uniquingKeysWith: { first, _ in first })
        let members = Set(layout.joinTables.map(\.name))
        return trees.map { tree in
          let kind: StoreUsage.Kind =
            if members.contains(tree.table) { .members } else if entities[tree.table] == nil { .bookkeeping } else {
              tree.type == "index" ? .index : .table
            }
          return StoreUsage(kind: kind, name: tree.name, entityNames: entities[tree.table] ?? [], bytes: bytes[tree.root] ?? 0)
        }.sorted { ($1.bytes, $0.name) < ($0.bytes, $1.name) }
      }
    }
  }

  private static func trees(_ connection: Connection) throws -> [(type: String, name: String, table: String, root: UInt32)] {
    let statement = try connection.statement(.trees)
    defer { statement.reset() }
    var result: [(type: String, name: String, table: String, root: UInt32)] = []
    while try statement.step() {
      result.append((statement.text(0), statement.text(1), statement.text(2), UInt32(clamping: statement.int(3))))
    }
    return result
  }

  /// Returns the number and the total size in bytes of the files of large values.
  package func largeValueSizes() -> (count: Int, bytes: Int) {
    let folder = StoreFile.supportPath(for: path)
    guard let names = StoreFile.names(in: folder) else { return (0, 0) }
    let sizes = names.filter { $0.utf8.count == 32 }.compactMap { StoreFile.size(folder + "/" + $0) }
    return (sizes.count, sizes.reduce(0, +))
  }
}
