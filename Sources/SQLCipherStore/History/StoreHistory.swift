import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

/// The state of an open store's history. Without a history, a transaction only reads one atomic flag.
final class StoreHistory: Sendable {
  /// What is needed to write and read records.
  struct Recording: Sendable {
    let settings: HistorySettings
    let ids: HistoryIDs
  }
  private struct State {
    var recording: Recording?
    /// The numbers of committed names.
    var names: [String: Int64] = [:]
    /// The name of this opening in the history.
    var opening: String?
  }

  private let isOn = Atomic<Bool>(false)
  private let state = Mutex(State())

  /// The settings and IDs for records, or `nil` if the store keeps no history.
  var recording: Recording? { isOn.load(ordering: .acquiring) ? state.withLock { $0.recording } : nil }

  /// Adopts the settings in the file. Cached numbers of names are discarded, since the history can be a new one.
  func adopt(_ recording: Recording?) {
    state.withLock { state in
      state.recording = recording
      state.names = [:]
      if recording != nil, state.opening == nil { state.opening = HistoryOpening.make().text }
    }
    isOn.store(recording != nil, ordering: .releasing)
  }

  var opening: String { state.withLock { $0.opening ?? "" } }

  /// Returns the number of a name, or `nil` if it is not cached.
  func number(of name: String) -> Int64? { state.withLock { $0.names[name] } }

  /// Caches the numbers of committed names.
  func keep(_ names: [String: Int64]) {
    if !names.isEmpty { state.withLock { $0.names.merge(names) { $1 } } }
  }
}

// MARK: - In transactions

/// The history transaction that all requests of one store transaction are written to.
final class HistoryTransactionState {
  var run: OpenHistoryTransaction?
}

extension StoreHistory: TransactionParticipant {
  func didBegin(_ transaction: WriteTransaction) throws {
    if transaction.purpose.spansRequests, recording != nil { transaction.keep(HistoryTransactionState()) }
  }

  func willCommit(_ transaction: WriteTransaction) throws { try transaction.record?.write(transaction) }

  func didCommit(_ transaction: WriteTransaction) {
    // The names of a nested transaction are not committed yet, so the next transaction looks them up.
    if !transaction.isPart, let record = transaction.record { keep(record.newNames) }
  }

  func didRollBack(_ transaction: WriteTransaction) {
    // The rollback may have removed rows of the run.
    if transaction.isPart, isOn.load(ordering: .relaxed) { transaction.kept(HistoryTransactionState.self)?.run = nil }
  }
}

extension WriteTransaction {
  /// The record of the transaction, or `nil` if the store keeps no history.
  var record: TransactionRecord? { kept() }
}
