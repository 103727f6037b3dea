import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

/// What an open store knows of its history. Where there is none, a transaction asks one number.
final class StoreHistory: Sendable {
  /// What records are written and read by.
  struct Recording: Sendable {
    let settings: HistorySettings
    let ids: HistoryIDs
  }
  private struct State {
    var recording: Recording?
    /// The numbers of names that are committed.
    var names: [String: Int64] = [:]
    /// What the history calls this opening.
    var opening: String?
  }

  private let isOn = Atomic<Bool>(false)
  private let state = Mutex(State())

  /// What records are written by; nil where the store keeps no history.
  var recording: Recording? { isOn.load(ordering: .acquiring) ? state.withLock { $0.recording } : nil }

  /// Takes over what the file says. The numbers of names are read again: the history may be another one.
  func adopt(_ recording: Recording?) {
    state.withLock { state in
      state.recording = recording
      state.names = [:]
      if recording != nil, state.opening == nil { state.opening = HistoryOpening.make().text }
    }
    isOn.store(recording != nil, ordering: .releasing)
  }

  /// What the history calls this opening.
  var opening: String { state.withLock { $0.opening ?? "" } }

  /// The number of a name; nil where it is not known yet.
  func number(of name: String) -> Int64? { state.withLock { $0.names[name] } }

  /// Keeps the numbers of names that are committed.
  func keep(_ names: [String: Int64]) {
    if !names.isEmpty { state.withLock { $0.names.merge(names) { $1 } } }
  }
}

// MARK: - In transactions

/// The transaction of the history that the requests of a store's transaction are written to.
final class HistoryRuns {
  var run: HistoryRun?
}

extension StoreHistory: TransactionParticipant {
  func didBegin(_ transaction: WriteTransaction) throws {
    if transaction.purpose.holdsRequests, recording != nil { transaction.keep(HistoryRuns()) }
  }

  func willCommit(_ transaction: WriteTransaction) throws { try transaction.record?.write(transaction) }

  func didCommit(_ transaction: WriteTransaction) {
    // What a part has entered is not committed yet: the next transaction looks it up.
    if !transaction.isPart, let record = transaction.record { keep(record.newNames) }
  }

  func didRollBack(_ transaction: WriteTransaction) {
    // The rows of the run may be gone.
    if transaction.isPart, isOn.load(ordering: .relaxed) { transaction.kept(HistoryRuns.self)?.run = nil }
  }
}

extension WriteTransaction {
  /// What it records; nil where the store keeps no history.
  var record: TransactionRecord? { kept() }
}
