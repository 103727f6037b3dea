import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension StoreEngine {
  /// Begins the stream of the changes that a request makes, or returns `nil` if nothing consumes them.
  func beginChanges(_ kind: HistoryKind, _ transaction: WriteTransaction, _ scope: RequestScope) throws -> ChangeStream? {
    var consumers: [any ChangeConsumer] = []
    let origin = history.origin ?? scope.origin(of: kind)
    if let recording = history.recording {
      let authorship = HistoryAuthorship(
        origin, opening: history.opening, time: transaction.purpose.now ?? Date().timeIntervalSinceReferenceDate)
      let record = TransactionRecord(recording, authorship, history: history, rows: rows, in: transaction)
      transaction.keep(record)
      consumers.append(record)
    }
    if let observation: TransactionObservation = transaction.kept() {
      observation.begin(origin)
      consumers.append(observation)
    }
    guard let changes = ChangeStream(consumers, in: scope.objectIDSpace) else { return nil }
    transaction.keep(changes)
    return changes
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

/// Passes the begin and the end of transactions to the application's observers.
final class ObservedTransactions: TransactionParticipant {
  private let observers: TransactionObservers
  private let storeIdentifier: String
  private let model: CompiledModel

  init(_ observers: TransactionObservers, storeIdentifier: String, model: CompiledModel) {
    self.observers = observers
    self.storeIdentifier = storeIdentifier
    self.model = model
  }

  func didBegin(_ transaction: WriteTransaction) {
    if let observation = observers.begin(storeIdentifier: storeIdentifier, model: model) { transaction.keep(observation) }
  }

  func didBeginPart(_ transaction: WriteTransaction) {
    if let observation = transaction.observation { transaction.keep(observation.mark()) }
  }

  func willCommit(_ transaction: WriteTransaction) throws { if !transaction.isPart { try transaction.observation?.willCommit() } }

  func didCommit(_ transaction: WriteTransaction) { if !transaction.isPart { transaction.observation?.didCommit() } }

  func didRollBack(_ transaction: WriteTransaction) {
    guard let observation = transaction.observation else { return }
    if !transaction.isPart { return observation.didRollBack() }
    if let mark: TransactionObservation.Mark = transaction.kept() { observation.undo(to: mark) }
  }
}

extension WriteTransaction {
  /// The observation of the transaction, or `nil` if there are no observers.
  fileprivate var observation: TransactionObservation? { kept() }
}
