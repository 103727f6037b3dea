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
    let needs: ChangeNeeds

    init(settings: HistorySettings, ids: HistoryIDs) {
      self.settings = settings
      self.ids = ids
      needs = ChangeNeeds(ofHistory: ids, level: settings.level)
    }
  }
  private struct State {
    var recording: Recording?
    /// Whether the store keeps a history whose tables are damaged.
    var isDamaged = false
    /// The numbers of committed names.
    var names: [String: Int64] = [:]
    /// The name of this opening in the history.
    var opening: String?
  }

  private let isOn: Atomic<Bool>
  private let state: Mutex<State>

  /// Creates the state of a store without a history.
  init() {
    isOn = Atomic(false)
    state = Mutex(State())
  }

  /// Creates the state for requests that are part of another operation, such as a migration.
  init(_ recording: Recording, opening: String) {
    isOn = Atomic(true)
    state = Mutex(State(recording: recording, opening: opening))
  }

  /// The settings and IDs for records, or `nil` if the store keeps no history.
  var recording: Recording? { isOn.load(ordering: .acquiring) ? state.withLock { $0.recording } : nil }

  /// Throws if the tables of the history are damaged.
  func checkIsReadable() throws {
    if state.withLock({ $0.isDamaged }) { throw SideTableFailure(component: HistoryTables.all.name, error: nil) }
  }

  /// Adopts the settings in the file. Cached numbers of names are discarded, since the history can be a new one.
  func adopt(_ recording: Recording?, isDamaged: Bool = false) {
    state.withLock { state in
      state.recording = recording
      state.isDamaged = isDamaged
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

// MARK: - Recording in transactions

/// The history transaction that all requests of one store transaction are written to.
final class HistoryTransactionState {
  var run: OpenHistoryTransaction?
}

extension StoreHistory: TransactionParticipant {
  func didBegin(_ transaction: WriteTransaction) throws {
    if transaction.purpose.spansRequests, recording != nil { transaction.keep(HistoryTransactionState()) }
  }

  func willCommit(_ transaction: WriteTransaction) throws { try transaction.record?.finish() }

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

/// Deletes the oldest rows of a history, in chunks after commits, as the retention policy requires.
final class HistoryPurge: TransactionParticipant {
  private let retention: HistoryRetention
  private let history: StoreHistory
  private let trace: StatementTrace
  private let commits = Atomic<Int>(0)
  /// The number of commits between purges.
  static let interval = 32
  /// The maximum number of rows that a purge deletes.
  private static let batchSize = 500

  init(_ retention: HistoryRetention, history: StoreHistory, trace: StatementTrace) {
    self.retention = retention
    self.history = history
    self.trace = trace
  }

  func didCommit(_ transaction: WriteTransaction) {
    guard !transaction.isPart, history.recording != nil,
      commits.wrappingAdd(1, ordering: .relaxed).oldValue % Self.interval == 0
    else { return }
    // The commit has succeeded, so errors are ignored. A later purge deletes the rows.
    try? WriteTransaction.run(on: transaction.connection, []) { try purge($0.connection) }
  }

  private func purge(_ connection: Connection) throws {
    // Another process may have switched the history off.
    guard try MetadataTable.readHistory(connection, path: connection.path) != nil, var end = try end(connection) else { return }
    let consumed = try connection.statement(.oldestConsumed)
    if try consumed.step(), !consumed.isNull(0) { end = min(end, consumed.int64(0)) }
    consumed.reset()
    _ = try Self.deleteRows(before: end, rowLimit: Self.batchSize, connection, trace)
  }

  /// Returns the number of the first transaction to keep, or `nil` to keep all.
  private func end(_ connection: Connection) throws -> Int64? {
    let statement: Statement
    switch retention {
    case .unlimited: return nil
    case .age(let seconds):
      statement = try connection.statement(.oldestSince)
      try statement.bind(1, Date().timeIntervalSinceReferenceDate - seconds)
    case .transactions(let count):
      // The range of numbers shows whether there can be enough transactions. Counting them pays off only if at least one eighth more than
      // the limit exist.
      let (first, newest) = (try Self.number(.first, connection), try Self.number(.newest, connection))
      guard let first, let newest, newest - first >= Int64(clamping: max(1, count)) + Int64(clamping: max(1, count) / 8) else { return nil }
      statement = try connection.statement(.beforeLast)
      try statement.bind(1, max(1, count) - 1)
    }
    defer { statement.reset() }
    return try statement.step() ? statement.int64(0) : retention.keepsNothing ? .max : nil
  }

  private static func number(_ statement: HistoryStatement, _ connection: Connection) throws -> Int64? {
    let statement = try connection.statement(statement)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    return try HistoryTables.checked(statement.int64(0))
  }

  /// Deletes the oldest rows before a number, except those of the newest transaction.
  ///
  /// The record that begins the history is deleted together with the first transaction, never alone: a position there is valid as long as
  /// nothing after it is deleted.
  ///
  /// - Returns: Whether rows before the number remain.
  static func deleteRows(before number: Int64, rowLimit: Int, _ connection: Connection, _ trace: StatementTrace) throws -> Bool {
    guard let first = try Self.number(.first, connection), let newest = try Self.number(.newestTransaction, connection) else {
      return false
    }
    let end = min(number, newest)
    let batchSize = min(end, first + Int64(max(1, rowLimit)))
    guard batchSize > first else { return false }
    let statement = try connection.statement(.deletion)
    try statement.bind(1, batchSize)
    trace.record(statement)
    try statement.run()
    return batchSize < end
  }
}

extension HistoryRetention {
  /// Whether all transactions are deleted if none is recent enough.
  fileprivate var keepsNothing: Bool { if case .age = self { true } else { false } }
}
