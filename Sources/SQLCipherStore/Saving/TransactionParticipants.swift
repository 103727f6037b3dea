import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension StoreEngine {
  /// Returns the participants in the order in which they are notified. Those that the store does not need are left out.
  static func participants(
    watch: ModelChangeDetector?, rows: StoreRows, marks: OutdatedDerivations, observers: ObservedTransactions?,
    externals: ExternalStorage?, sideTables: SideTableRegistry, history: StoreHistory, keys: KeyAllocator, sizes: TableSizes
  ) -> [any TransactionParticipant] {
    var list: [any TransactionParticipant] = []
    // First, so that a transaction fails before other participants read or write if the file's model has changed.
    if let watch { list.append(watch) }
    // Derives values from the results of the statements, so it precedes the participants that read what was written.
    if !rows.schema.derivations.isEmpty { list.append(DerivedValues(rows: rows, marks: marks)) }
    // Can reject the transaction, so it precedes the participants that prepare the commit.
    if let observers { list.append(observers) }
    // Last of those that write rows: makes files durable, and removes unreferenced files from the table.
    if let externals, !externals.isJoined { list.append(LargeValues(storage: externals)) }
    // Record the final state of the rows.
    if !sideTables.components.isEmpty { list.append(sideTables) }
    list.append(history)
    // Writes after a rollback in a separate transaction, when all other participants have finished with the failed one.
    list.append(ReservedKeys(keys: keys, tables: rows.schema.tables))
    list.append(sizes)
    return list
  }
}

// MARK: Model watch

extension ModelChangeDetector: TransactionParticipant {
  func didBegin(_ transaction: WriteTransaction) throws { try check(transaction) }
}

// MARK: Derived values

/// Updates the derived attributes that triggers marked as outdated, at the end of each request.
final class DerivedValues: TransactionParticipant {
  let rows: StoreRows
  let marks: OutdatedDerivations

  init(rows: StoreRows, marks: OutdatedDerivations) { (self.rows, self.marks) = (rows, marks) }

  func willCommit(_ transaction: WriteTransaction) throws {
    defer { marks.reset() }
    // Values that depend only on their own saved row were written with it.
    if transaction.purpose.request != nil { marks.removeLocalMarks() }
    try transaction.withCancellation {
      var updater = DerivationUpdater(
        rows: rows, marks: marks, transaction: transaction, now: transaction.purpose.now ?? Date().timeIntervalSinceReferenceDate)
      try updater.run()
      if let changes = transaction.changes { try updater.report(to: changes) }
      if let request = transaction.purpose.request { transaction.outcome = try updater.outcome(of: request) }
    }
  }

  func didRollBack(_ transaction: WriteTransaction) { marks.reset() }
}

// MARK: Large values

/// Writes files before the commit, and removes them after it.
final class LargeValues: TransactionParticipant {
  let storage: ExternalStorage

  init(storage: ExternalStorage) { self.storage = storage }

  func didBegin(_ transaction: WriteTransaction) throws {
    transaction.keep(ExternalTransaction(storage: storage, connection: transaction.connection))
  }
  func willCommit(_ transaction: WriteTransaction) throws { if !transaction.isPart { try transaction.files?.prepare() } }
  func didCommit(_ transaction: WriteTransaction) { if !transaction.isPart { transaction.files?.didCommit() } }
  func didRollBack(_ transaction: WriteTransaction) { if !transaction.isPart { transaction.files?.didFail() } }
}

// MARK: Keys

/// Makes keys reserved in a transaction over several requests available to the store when it commits. Allocated keys count as used even
/// after a rollback.
final class ReservedKeys: TransactionParticipant {
  let keys: KeyAllocator
  let tables: [EntityTable]

  init(keys: KeyAllocator, tables: [EntityTable]) { (self.keys, self.tables) = (keys, tables) }

  func didBegin(_ transaction: WriteTransaction) throws {
    if transaction.purpose.spansRequests { transaction.keep(keys.makeForTransaction()) }
  }

  func didCommit(_ transaction: WriteTransaction) {
    if !transaction.isPart, let own = transaction.keys { _ = keys.adopt(own) }
  }

  func didRollBack(_ transaction: WriteTransaction) {
    guard transaction.purpose.spansRequests, let own = transaction.keys else { return }
    // The rollback undid the reservations.
    if transaction.isPart { return own.forget() }
    // Objects with allocated keys may still exist, so the file's counter must be advanced past these keys.
    for index in keys.adopt(own) {
      let block = try? WriteTransaction.run(on: transaction.connection, transaction.participants) {
        try keys.reserve(1, for: tables[index], $0)
      }
      if let block { keys.begin(block, of: tables[index]) }
    }
  }
}

// MARK: Statistics

extension TableSizes: TransactionParticipant {
  func didCommit(_ transaction: WriteTransaction) { recordCommit() }
}
