import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension StoreEngine {
  /// Begins the stream of the changes that a request makes, or returns `nil` if nothing consumes them.
  func beginChanges(_ kind: HistoryKind, _ transaction: WriteTransaction, _ scope: RequestScope) throws -> ChangeStream? {
    let isReported = stage.map { $0.conversion != nil } ?? true
    let observation = isReported ? transaction.observation : nil
    let hasComponents = isReported && !sideTables.components.isEmpty
    let recording = transaction.excludes(HistoryTables.all.name) ? nil : history.recording
    let requested = scope.publishedChanges
    if recording == nil, observation == nil, requested.isEmpty, !hasComponents { return nil }
    var consumers: [any ChangeConsumer] = []
    let origin = stage?.origin ?? scope.origin(of: kind)
    if let recording {
      let authorship = HistoryAuthorship(
        origin, opening: history.opening, time: transaction.purpose.now ?? Date().timeIntervalSinceReferenceDate)
      let record = TransactionRecord(recording, authorship, history: history, rows: rows, in: transaction)
      transaction.keep(record)
      consumers.append(record)
    }
    var reported: [any ChangeConsumer] = []
    if hasComponents {
      reported = try sideTables.beginRequest(origin, model: stage?.conversion?.model ?? schema.model, in: transaction)
    }
    if let observation {
      observation.begin(origin)
      reported.append(observation)
    }
    if let conversion = stage?.conversion { reported = reported.map(conversion.consumer) }
    consumers += reported + requested as [any ChangeConsumer]
    transaction.changes = ChangeStream.begin(consumers, in: scope.objectIDSpace)
    return transaction.changes
  }

  /// Reads the rows of a save whose former values the consumers need, before anything is written.
  func readOldRows(of request: SaveChangesRequest, for changes: ChangeStream, _ transaction: WriteTransaction) throws
    -> [ObjectReference: RowImage]
  {
    var needed: [ObjectReference] = []
    for deleted in request.deleted where changes.needs[deleted.reference.entity].includesDeletedRow { needed.append(deleted.reference) }
    for update in request.updated where changes.needsOldRow(of: update) { needed.append(update.row.reference) }
    if needed.isEmpty { return [:] }
    var keys: [Int: [Int64]] = [:]
    for reference in needed { keys[try schema.table(of: reference.entity).index, default: []].append(reference.key) }
    let writer = makeRowWriter(rowCapacity: needed.count)
    for (index, keys) in keys.sorted(by: { $0.key < $1.key }) {
      try rows.read(keys.sortedKeys()[...], of: schema.tables[index], transaction.reading, into: writer)
    }
    return Dictionary(writer.finish().lazy.map { ($0.reference, $0) }) { $1 }
  }
}

/// The error with which an observer has rejected a migration.
struct RejectedMigration: Error {
  let error: any Error
}

/// Passes the begin and the end of transactions to the application's observers.
final class ObservedTransactions: TransactionParticipant {
  private let observers: TransactionObservers
  /// The UUID of the store, or `nil` if the observation begins later, when the store has been read.
  private let storeIdentifier: String?
  private let model: CompiledModel

  init(_ observers: TransactionObservers, storeIdentifier: String?, model: CompiledModel) {
    self.observers = observers
    self.storeIdentifier = storeIdentifier
    self.model = model
  }

  func didBegin(_ transaction: WriteTransaction) {
    if let storeIdentifier { transaction.observation = observers.begin(storeIdentifier: storeIdentifier, model: model) }
  }

  /// Begins the observation of a migration, or returns `nil` if there are no observers.
  func beginMigration(of storeIdentifier: String, author: String?, in transaction: WriteTransaction) -> TransactionObservation? {
    let observation = observers.begin(storeIdentifier: storeIdentifier, model: model)
    observation?.begin(TransactionOrigin(.migration, author: author))
    transaction.observation = observation
    return observation
  }

  func didBeginPart(_ transaction: WriteTransaction) {
    if let observation = transaction.observation { transaction.keep(observation.mark()) }
  }

  func willCommit(_ transaction: WriteTransaction) throws {
    if transaction.isPart { return }
    do { try transaction.observation?.willCommit() } catch {
      // Other errors of a migration are converted.
      throw storeIdentifier == nil ? RejectedMigration(error: error) : error
    }
  }

  func didCommit(_ transaction: WriteTransaction) { if !transaction.isPart { transaction.observation?.didCommit() } }

  func didRollBack(_ transaction: WriteTransaction) {
    guard let observation = transaction.observation else { return }
    if !transaction.isPart { return observation.didRollBack() }
    if let mark: TransactionObservation.Mark = transaction.kept() { observation.undo(to: mark) }
  }
}
