import ObjectStore
import SQLCipherConnection
import StoreFiles

/// A table or an index of a store, and what it takes.
package struct StoreUsage: Sendable, Hashable {
  /// What it is.
  package enum Kind: String, Sendable, Hashable {
    case table, index
    /// The members of relationships.
    case members
    /// What the store keeps for itself: metadata, history, words.
    case bookkeeping
  }

  package let kind: Kind
  package let name: String
  /// The entities whose rows it holds, the topmost first.
  package let entityNames: [String]
  package let bytes: Int
}

extension SQLCipherStoreFile {
  /// The tables and indexes with their bytes, the greatest first. Every page that is in use is read.
  ///
  /// - Throws: ``StoreError``; with the code `busy` where others commit all the time.
  package func usage() async throws -> [StoreUsage] {
    let keyring = keyring
    return try await Self.offActor {
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

  /// The bytes of the files of large values, and how many there are.
  package func largeValueSizes() -> (count: Int, bytes: Int) {
    let folder = StoreFile.supportPath(for: path)
    guard let names = StoreFile.names(in: folder) else { return (0, 0) }
    let sizes = names.filter { $0.utf8.count == 32 }.compactMap { StoreFile.size(folder + "/" + $0) }
    return (sizes.count, sizes.reduce(0, +))
  }
}
