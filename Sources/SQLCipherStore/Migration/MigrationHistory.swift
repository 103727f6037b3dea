import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Records a migration in the history of its store, in the transaction of the migration.
///
/// Each stage is one transaction of the history: the changes of all objects that follow from the models, then those that the stage's handler
/// saved. A stage that replaces all objects makes the whole migration one record that anything may have changed.
final class MigrationHistory {
  private let transaction: WriteTransaction
  private let settings: HistorySettings
  private let origin: TransactionOrigin
  private let opening = HistoryOpening.make().text
  private let trace: StatementTrace
  private let path: String
  private let state = HistoryTransactionState()
  private var isWhole = false

  /// Returns nil if the store keeps no history.
  init?(_ transaction: WriteTransaction, author: String?, trace: StatementTrace, path: String) throws {
    guard !transaction.excludes(HistoryTables.all.name), let settings = try MetadataTable.readHistory(transaction.connection, path: path)
    else { return nil }
    self.transaction = transaction
    self.settings = settings
    self.trace = trace
    self.path = path
    origin = TransactionOrigin(.migration, author: author)
    transaction.keep(state)
  }

  /// Starts a new transaction of the history.
  func begin() { state.run = nil }

  /// Records that any object may have changed, instead of all other changes.
  func writeWhole(from older: String, to newer: String, _ schema: StoreSchema, _ layout: TableLayout) throws {
    try write(schema, HistoryIDs(layout, of: schema.model)) { $0.addUnspecifiedChange(from: older, to: newer) }
    isWhole = true
  }

  /// Records the changes of a stage, or of the opening of a store.
  ///
  /// - Parameters:
  ///   - older: The checksum of the older model.
  ///   - schema: The schema of the newer model.
  ///   - ids: The IDs of the newer model.
  func write(_ changes: [HistorySchemaChange], from older: String, to schema: StoreSchema, _ ids: HistoryIDs) throws {
    if isWhole { return }
    var changes = changes
    if settings.level != .values { for index in changes.indices { changes[index].value = nil } }
    try write(schema, ids) { $0.addMigration(from: older, to: schema.model.checksum, changes) }
  }

  private func write(_ schema: StoreSchema, _ ids: HistoryIDs, _ body: (inout HistoryRecorder) -> Void) throws {
    let rows = StoreRows(statements: StoreStatements(schema), trace: trace, path: path)
    let authorship = HistoryAuthorship(origin, opening: opening, time: Date().timeIntervalSinceReferenceDate)
    let recording = StoreHistory.Recording(settings: settings, ids: ids)
    try TransactionRecord(recording, authorship, history: StoreHistory(), rows: rows, in: transaction).write(body)
  }

  /// Returns the history for the saves of a handler.
  func history(for ids: HistoryIDs) -> StoreHistory {
    isWhole ? StoreHistory() : StoreHistory(StoreHistory.Recording(settings: settings, ids: ids), opening: opening)
  }
}
