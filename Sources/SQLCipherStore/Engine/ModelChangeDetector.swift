import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

/// Detects that another process or coordinator migrated the file of an open store, or switched its history.
///
/// Each transaction compares the database's `user_version`, which is in the first page, with the value at opening; this costs less than 1
/// µs. Every migration increments `user_version`, even one that only renames or widens and changes no table; so does switching the history.
/// Indexes, triggers, full-text tables and deferred clearing change SQLite's `schema_version`, but not `user_version`. The metadata is read
/// only if the number differs.
final class ModelChangeDetector: Sendable {
  private struct Expectation {
    let hashes: [String: Data]
    let layout: TableLayout
    /// Rereads settings that can change without a change of the model.
    let onHistoryChange: @Sendable (ReadTransaction) throws -> Void
  }
  /// A value outside the range of `user_version`: the watch has not begun.
  private static let nothing = Int.min

  private let path: String
  private let generation = Atomic<Int>(ModelChangeDetector.nothing)
  private let expectation = Mutex<Expectation?>(nil)

  init(path: String) { self.path = path }

  /// Begins to watch.
  ///
  /// - Parameters:
  ///   - generation: The database's `user_version`, read before the other values.
  ///   - onHistoryChange: Called if the number differs but the model is the same, in the transaction that found the difference.
  func begin(
    generation: Int, hashes: [String: Data], layout: TableLayout, onHistoryChange: @escaping @Sendable (ReadTransaction) throws -> Void
  ) {
    expectation.withLock { $0 = Expectation(hashes: hashes, layout: layout.compared, onHistoryChange: onHistoryChange) }
    self.generation.store(generation, ordering: .releasing)
  }

  /// Checks the model. Called first in every read transaction, once its snapshot is taken or its lock is held.
  ///
  /// - Throws: ``StoreError`` with the code `modelIncompatible` if the file now has another model.
  func check(_ transaction: ReadTransaction) throws {
    if isWatching { try compare(transaction, generation: try transaction.connection.userVersion()) }
  }

  /// Checks the model. Called first in every write transaction, once its lock is held. Throws the same error as for a read transaction.
  func check(_ transaction: WriteTransaction) throws {
    if isWatching { try compare(transaction.reading, generation: try transaction.connection.userVersionOfWrite()) }
  }

  private var isWatching: Bool { generation.load(ordering: .relaxed) != Self.nothing }

  private func compare(_ transaction: ReadTransaction, generation found: Int) throws {
    if found == generation.load(ordering: .acquiring) { return }
    let connection = transaction.connection
    guard let expected = expectation.withLock({ $0 }) else { return }
    // This also throws if a newer library converted the file to a format that this version cannot read.
    guard let record = try MetadataTable.read(connection, path: path) else {
      throw StoreError(.notAStore(.anyMore), operation: .open, path: path)
    }
    let hashes = try MetadataTable.readHashes(connection, path: path)
    // A model can return with another version identifier, and with different columns.
    if hashes == expected.hashes, try MetadataTable.readLayout(connection, path: path).compared == expected.layout {
      try expectation.withLock { _ in
        // An older snapshot must not overwrite newer settings. The version number wraps around.
        guard Int32(truncatingIfNeeded: found) &- Int32(truncatingIfNeeded: generation.load(ordering: .relaxed)) > 0 else { return }
        try expected.onHistoryChange(transaction)
        generation.store(found, ordering: .releasing)
      }
      return
    }
    var error = StoreError(.migratedElsewhere(versions: Array(record.versionIdentifiers)), operation: .open, path: path)
    error.differingEntities = Set(hashes.keys).union(expected.hashes.keys).filter { hashes[$0] != expected.hashes[$0] }.sorted()
    throw error
  }
}

extension TableLayout {
  /// The layout without the parts that statements do not depend on: leftovers of migrations are removed while stores are open, and the
  /// history can be switched on and off.
  fileprivate var compared: TableLayout {
    var layout = withoutHistory
    layout.leftoverTables = nil
    layout.deferredTables = nil
    for index in layout.tables.indices { layout.tables[index].leftovers = nil }
    for index in layout.joinTables.indices { layout.joinTables[index].leftovers = nil }
    return layout
  }
}
