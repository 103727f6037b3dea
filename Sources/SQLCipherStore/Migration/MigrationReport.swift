import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Passes the changes of a migration to those that need them: the history, the components with side tables, and the application's observers.
final class MigrationReport {
  private let transaction: WriteTransaction
  private let history: MigrationHistory?
  private let sideTables: SideTableRegistry
  private let observers: ObservedTransactions?
  /// The conversion of the changes that components and observers receive, or nil without any.
  private let conversion: MigrationConversion?
  private let origin: TransactionOrigin
  /// Whether the migration was reported as a whole, so that its parts are not.
  private var isWhole = false

  init(
    _ transaction: WriteTransaction, _ history: MigrationHistory?, _ sideTables: SideTableRegistry, _ observers: ObservedTransactions?,
    _ conversion: MigrationConversion?, author: String?
  ) {
    (self.transaction, self.history, self.sideTables, self.observers) = (transaction, history, sideTables, observers)
    self.conversion = conversion
    origin = TransactionOrigin(.migration, author: author)
  }

  /// Whether nothing needs the changes.
  var isEmpty: Bool { history == nil && conversion == nil }

  /// Starts a new transaction of the history.
  func begin() { history?.begin() }

  /// Reports that any object may have changed, instead of all other changes.
  func reportWhole(from older: String, to newer: String, _ schema: StoreSchema, _ layout: TableLayout) throws {
    try history?.writeWhole(from: older, to: newer, schema, layout)
    try pass([.unspecified])
    isWhole = true
  }

  /// Reports changes of all objects of entities, by a stage or the opening of a store.
  ///
  /// - Parameters:
  ///   - older: The checksum of the older model.
  ///   - schema: The schema of the newer model.
  ///   - ids: The IDs of the newer model.
  func report(_ changes: [HistorySchemaChange], from older: String, to schema: StoreSchema, _ ids: HistoryIDs) throws {
    try history?.write(changes, from: older, to: schema, ids)
    if !isWhole, let conversion { try pass(try conversion.changes(changes)) }
  }

  private func pass(_ changes: [RowChange]) throws {
    guard let conversion else { return }
    try sideTables.report(changes, origin, model: conversion.model, in: transaction)
    for change in changes { transaction.observation?.receive(change) }
  }

  /// Returns how the changes of a handler are recorded that writes objects of a model.
  func stage(_ ids: HistoryIDs) -> StageRecording {
    StageRecording(
      origin: origin, history: history?.history(for: ids) ?? StoreHistory(), conversion: isWhole ? nil : conversion?.ofStage(ids),
      owners: sideTables.components.map(\.owner), observers: transaction.observation == nil ? nil : observers)
  }
}

/// How the changes of a stage's handler are recorded.
///
/// `@unchecked Sendable`: used only by the thread of the migration.
final class StageRecording: @unchecked Sendable {
  let origin: TransactionOrigin
  let history: StoreHistory
  /// The conversion of the changes that components and observers receive, or nil if the changes are not reported.
  let conversion: StageConversion?
  /// The components with side tables.
  let owners: [any SideTableOwner]
  /// Reports which requests of the handler are rolled back.
  let observers: ObservedTransactions?
  /// The damage that a request of the handler has found. The migration is then repeated, whatever the handler does with the error.
  var failure: SideTableFailure?

  /// Creates the state of a handler that only reads.
  convenience init() {
    self.init(origin: TransactionOrigin(.migration), history: StoreHistory(), conversion: nil, owners: [], observers: nil)
  }

  init(
    origin: TransactionOrigin, history: StoreHistory, conversion: StageConversion?, owners: [any SideTableOwner],
    observers: ObservedTransactions?
  ) {
    (self.origin, self.history, self.conversion, self.owners, self.observers) = (origin, history, conversion, owners, observers)
  }
}
