import ObjectStore
import SQLCipherConnection
import StoreFiles

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
