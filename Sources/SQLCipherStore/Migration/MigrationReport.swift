import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Passes the changes of a migration to those that need them: the history, and the application's observers.
final class MigrationReport {
  private let history: MigrationHistory?
  private let observation: MigrationObservation?
  private let observers: ObservedTransactions?
  private let origin: TransactionOrigin

  init(_ history: MigrationHistory?, _ observation: MigrationObservation?, _ observers: ObservedTransactions?, author: String?) {
    (self.history, self.observation, self.observers) = (history, observation, observers)
    origin = TransactionOrigin(.migration, author: author)
  }

  /// Whether nothing needs the changes.
  var isEmpty: Bool { history == nil && observation == nil }

  /// Starts a new transaction of the history.
  func begin() { history?.begin() }

  /// Reports that any object may have changed, instead of all other changes.
  func reportWhole(from older: String, to newer: String, _ schema: StoreSchema, _ layout: TableLayout) throws {
    try history?.writeWhole(from: older, to: newer, schema, layout)
    observation?.reportWhole()
  }

  /// Reports changes of all objects of entities, by a stage or the opening of a store.
  ///
  /// - Parameters:
  ///   - older: The checksum of the older model.
  ///   - schema: The schema of the newer model.
  ///   - ids: The IDs of the newer model.
  func report(_ changes: [HistorySchemaChange], from older: String, to schema: StoreSchema, _ ids: HistoryIDs) throws {
    try history?.write(changes, from: older, to: schema, ids)
    try observation?.report(changes)
  }

  /// Returns how the changes of a handler are recorded that writes objects of a model.
  func stage(_ ids: HistoryIDs) -> StageRecording {
    StageRecording(
      origin: origin, history: history?.history(for: ids) ?? StoreHistory(), observer: observation?.consumer(of: ids),
      observers: observation == nil ? nil : observers)
  }
}

/// How the changes of a stage's handler are recorded.
///
/// `@unchecked Sendable`: used only by the thread of the migration.
final class StageRecording: @unchecked Sendable {
  let origin: TransactionOrigin
  let history: StoreHistory
  /// The consumer for the application's observers.
  let observer: (any ChangeConsumer)?
  /// Reports which requests of the handler are rolled back.
  let observers: ObservedTransactions?

  /// Creates the state of a handler that only reads.
  convenience init() { self.init(origin: TransactionOrigin(.migration), history: StoreHistory(), observer: nil, observers: nil) }

  init(origin: TransactionOrigin, history: StoreHistory, observer: (any ChangeConsumer)?, observers: ObservedTransactions?) {
    self.origin = origin
    self.history = history
    self.observer = observer
    self.observers = observers
  }
}
