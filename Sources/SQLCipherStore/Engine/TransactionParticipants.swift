// TransactionParticipants: who takes part in a store's write transactions, in which order, and what each does. Read it from top to bottom.
import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension StoreEngine {
  /// Who takes part, in the order in which each moment is told. Whoever is not needed is not in the list.
  static func participants(
    watch: ModelWatch?, rows: StoreRows, marks: DerivationMarks, externals: ExternalStorage?, history: StoreHistory, keys: KeyAllocator,
    sizes: TableSizes
  ) -> [any TransactionParticipant] {
    var list: [any TransactionParticipant] = []
    // Refuses before anybody else reads or writes where the file has another model by now.
    if let watch { list.append(watch) }
    // Computes what follows from the statements, so it comes before all who look at what was written.
    if !rows.schema.derivations.isEmpty { list.append(DerivedValues(rows: rows, marks: marks)) }
    // The last who writes rows: files are made durable, and those that no row refers to any more leave the list.
    if let externals, !externals.isJoined { list.append(LargeValues(storage: externals)) }
    // Records what was written in the end.
    list.append(history)
    // After a rollback it writes, in a transaction of its own: all others are done with the failed one by then.
    list.append(ReservedKeys(keys: keys, tables: rows.schema.tables))
    list.append(sizes)
    return list
  }
}

// MARK: Model watch

extension ModelWatch: TransactionParticipant {
  func didBegin(_ transaction: WriteTransaction) throws { try check(transaction) }
}

// MARK: Derived values

/// Brings derived attributes in step with what triggers have noted, at the end of each request.
final class DerivedValues: TransactionParticipant {
  let rows: StoreRows
  let marks: DerivationMarks

  init(rows: StoreRows, marks: DerivationMarks) { (self.rows, self.marks) = (rows, marks) }

  func willCommit(_ transaction: WriteTransaction) throws {
    defer { marks.reset() }
    // The values of the saved rows that depend on nothing else went in with them.
    if transaction.purpose.request != nil { marks.forgetLocal() }
    try transaction.whileWanted {
      var updater = DerivationUpdater(
        rows: rows, marks: marks, transaction: transaction, now: transaction.purpose.now ?? Date().timeIntervalSinceReferenceDate)
      try updater.run()
      transaction.outcome = try transaction.purpose.request.map(updater.outcome) ?? SaveOutcome(outdated: updater.changedReferences)
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

/// Keys that were reserved in a transaction over several requests become the store's with it; those handed out are used up in any case.
final class ReservedKeys: TransactionParticipant {
  let keys: KeyAllocator
  let tables: [EntityTable]

  init(keys: KeyAllocator, tables: [EntityTable]) { (self.keys, self.tables) = (keys, tables) }

  func didBegin(_ transaction: WriteTransaction) throws {
    if transaction.purpose.holdsRequests { transaction.keep(keys.makeForTransaction()) }
  }

  func didCommit(_ transaction: WriteTransaction) {
    if !transaction.isPart, let own = transaction.keys { _ = keys.adopt(own) }
  }

  func didRollBack(_ transaction: WriteTransaction) {
    guard transaction.purpose.holdsRequests, let own = transaction.keys else { return }
    // Its reservations were part of it.
    if transaction.isPart { return own.forget() }
    // Objects may live on with keys that were handed out: the file's counter has to pass them all the same.
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
  func didCommit(_ transaction: WriteTransaction) { noteCommit() }
}
