// ModelWatch: notices that somebody else has migrated the file of a store that is open here, or switched its history.
import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

/// What the file was when the store was opened: each transaction asks whether it still is.
///
/// Every migration counts up the database's `user_version`, which stands in the first page: that is all that is compared, so a transaction costs less
/// than a microsecond more. Indexes, triggers, full-text tables and deferred clearing, which change SQLite's `schema_version`, leave it alone; a mere
/// renaming or widening, which changes no table, does not. Only where the number differs are the metadata read. Switching the history counts it up too.
final class ModelWatch: Sendable {
  private struct Expectation {
    let hashes: [String: Data]
    let layout: TableLayout
    /// Reads again what may have been switched without a change of the model.
    let whenSwitched: @Sendable (ReadTransaction) throws -> Void
  }
  /// What is no `user_version`: nothing is watched yet.
  private static let nothing = Int.min

  private let path: String
  private let generation = Atomic<Int>(ModelWatch.nothing)
  private let expectation = Mutex<Expectation?>(nil)

  init(path: String) { self.path = path }

  /// Begins to watch.
  ///
  /// - Parameters:
  ///   - generation: The database's `user_version`, read before the others.
  ///   - whenSwitched: Called where the number differs and the model does not, in the transaction that has seen it.
  func begin(
    generation: Int, hashes: [String: Data], layout: TableLayout, whenSwitched: @escaping @Sendable (ReadTransaction) throws -> Void
  ) {
    expectation.withLock { $0 = Expectation(hashes: hashes, layout: layout.compared, whenSwitched: whenSwitched) }
    self.generation.store(generation, ordering: .releasing)
  }

  /// Called first in every transaction, when its snapshot is taken or its lock is held.
  ///
  /// - Throws: ``StoreError`` with the code `modelIncompatible` where the file has another model now.
  func check(_ transaction: ReadTransaction) throws {
    if isWatching { try compare(transaction, generation: try transaction.connection.userVersion()) }
  }

  /// Called first in every write transaction, when its lock is held. Throws as the other one.
  func check(_ transaction: WriteTransaction) throws {
    if isWatching { try compare(transaction.reading, generation: try transaction.connection.userVersionOfWrite()) }
  }

  private var isWatching: Bool { generation.load(ordering: .relaxed) != Self.nothing }

  private func compare(_ transaction: ReadTransaction, generation found: Int) throws {
    if found == generation.load(ordering: .acquiring) { return }
    let connection = transaction.connection
    guard let expected = expectation.withLock({ $0 }) else { return }
    // Also says so where a newer library has brought the file to a format that this one cannot read.
    guard let record = try MetadataTable.read(connection, path: path) else {
      throw StoreError(.holdsNoStore(.anyMore), operation: .checkModel, path: path)
    }
    let hashes = try MetadataTable.readHashes(connection, path: path)
    // A model may come back under another version identifier, and with other columns.
    if hashes == expected.hashes, try MetadataTable.readLayout(connection, path: path).compared == expected.layout {
      try expectation.withLock { _ in
        // An older snapshot has nothing to say of what is now. The number goes round.
        guard Int32(truncatingIfNeeded: found) &- Int32(truncatingIfNeeded: generation.load(ordering: .relaxed)) > 0 else { return }
        try expected.whenSwitched(transaction)
        generation.store(found, ordering: .releasing)
      }
      return
    }
    var error = StoreError(.migratedMeanwhile(versions: Array(record.versionIdentifiers)), operation: .checkModel, path: path)
    error.differingEntities = Set(hashes.keys).union(expected.hashes.keys).filter { hashes[$0] != expected.hashes[$0] }.sorted()
    throw error
  }
}

extension TableLayout {
  /// The layout as far as statements go by it: what a migration left behind goes away while stores are open, and the history comes and goes.
  fileprivate var compared: TableLayout {
    var layout = withoutHistory
    layout.leftoverTables = nil
    layout.deferredTables = nil
    for index in layout.tables.indices { layout.tables[index].leftovers = nil }
    for index in layout.joinTables.indices { layout.joinTables[index].leftovers = nil }
    return layout
  }
}
