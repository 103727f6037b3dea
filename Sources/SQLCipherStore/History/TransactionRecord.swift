import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// The history records of one request, from its first statement to its commit. They are written in the request's transaction.
final class TransactionRecord: ChangeConsumer {
  let needs: ChangeNeeds
  private var recorder: HistoryRecorder
  private let authorship: HistoryAuthorship
  private let history: StoreHistory
  private let rows: StoreRows
  /// The transaction, which holds the record.
  private unowned let transaction: WriteTransaction
  /// The history transaction that the records belong to, once there are any.
  private var run: OpenHistoryTransaction?
  private var hasWritten = false
  /// The minimum size in bytes of values in files, or `nil` if the store has none.
  private let threshold: Int?
  /// The numbers of the values in files that the request has written.
  private var numbers: ExternalNumbers?
  /// The numbers of names that were inserted or looked up.
  private(set) var newNames: [String: Int64] = [:]
  /// The number of complete chunks that are kept until they are written.
  private static let maximumChunkCount = 64

  init(
    _ recording: StoreHistory.Recording, _ authorship: HistoryAuthorship, history: StoreHistory, rows: StoreRows,
    in transaction: WriteTransaction
  ) {
    needs = recording.needs
    recorder = HistoryRecorder(ids: recording.ids, level: recording.settings.level)
    self.authorship = authorship
    self.history = history
    self.rows = rows
    self.transaction = transaction
    threshold = transaction.files?.storage.threshold
    run = transaction.kept(HistoryTransactionState.self)?.run
  }

  func receive(_ change: RowChange) throws {
    try recorder.add(change, large: largeValue)
    if recorder.completeChunkCount >= Self.maximumChunkCount { try writeConverting(recorder.takeCompleteChunks()) }
  }

  // MARK: Large values

  /// Returns the history value of a large value in a file, or of one that is about to be moved to a file.
  private func largeValue(_ row: RowImage, _ slot: Int) throws -> HistoryValue? {
    guard let threshold else { return nil }
    let reading = transaction.reading
    numbers = numbers ?? transaction.kept()
    if let number = numbers?.id(of: row, slot) { return try Self.largeValue(number, reading) }
    if let stored = row.external(slot)?.content as? StoredLargeValue { return try Self.largeValue(stored.id, reading) }
    guard row.bytes(slot).count >= threshold,
      try rows.schema.table(of: row.entityNumber).column(entity: row.entityNumber, slot: slot)?.keepsExternals ?? false
    else { return nil }
    let data = try row.data(slot)
    return .large(id: 0, size: Int64(data.count), digest: ContentDigest.sha256(data))
  }

  /// Returns the history value of a large value in a file.
  private static func largeValue(_ id: Int64, _ transaction: ReadTransaction) throws -> HistoryValue {
    let statement = try transaction.connection.statement(.largeValue)
    defer { statement.reset() }
    try statement.bind(1, id)
    // A value that is not listed is damage, which reading the value reports.
    guard try statement.step() else { return .null }
    let digest = statement.data(1)
    return digest.count == 32 && id > 0 && statement.int64(0) >= 0 ? .large(id: id, size: statement.int64(0), digest: digest) : .null
  }

  // MARK: Completion

  /// Writes a transaction that states that any data may have changed.
  static func writeUnspecifiedChange(
    _ kind: HistoryKind, _ recording: StoreHistory.Recording, _ rows: StoreRows, _ transaction: WriteTransaction, from: String = "",
    to: String = "", scope: RequestScope? = nil, author: String? = nil, opening: String? = nil
  ) throws {
    let authorship = HistoryAuthorship(
      kind, author: author ?? scope?.transactionAuthor, context: scope?.contextName, opening: opening ?? HistoryOpening.make().text,
      time: Date().timeIntervalSinceReferenceDate)
    let record = TransactionRecord(recording, authorship, history: StoreHistory(), rows: rows, in: transaction)
    try record.write { $0.addUnspecifiedChange(from: from, to: to) }
  }

  /// Writes records of changes that are not reported one by one.
  func write(_ body: (inout HistoryRecorder) -> Void) throws {
    body(&recorder)
    try finish()
  }

  /// Writes the remaining records.
  func finish() throws {
    try writeConverting(recorder.takeChunks())
    if hasWritten { transaction.outcome.historyPosition = run?.position }
  }

  private func writeConverting(_ chunks: [[UInt8]]) throws {
    if !chunks.isEmpty { try SideTableFailure.converting(HistoryTables.all.name) { try write(chunks) } }
  }

  private func write(_ chunks: [[UInt8]]) throws {
    hasWritten = true
    let connection = transaction.connection
    let entries = HistoryRowBuilder.entries(chunks, authorship, behind: try Self.newest(connection), run: &run)
    transaction.kept(HistoryTransactionState.self)?.run = run
    let numbers = try (
      opening: number(of: authorship.opening, connection), author: authorship.author.map { try number(of: $0, connection) },
      context: authorship.context.map { try number(of: $0, connection) }
    )
    let statement = try connection.statement(.insertion)
    for entry in entries {
      try statement.bind(1, entry.number)
      try statement.bind(2, entry.start)
      try statement.bind(3, entry.authorship.kind.rawValue)
      try statement.bind(4, entry.clock)
      try statement.bind(5, entry.authorship.time)
      try statement.bind(6, numbers.opening)
      try statement.bind(7, numbers.author)
      try statement.bind(8, numbers.context)
      try statement.bind(9, entry.mark)
      try entry.changes.withUnsafeBytes { bytes in
        try statement.bindBlob(10, bytes)
        rows.trace.record(statement)
        try statement.run()
      }
    }
  }

  private static func newest(_ connection: Connection) throws -> (number: Int64, clock: Int64)? {
    let statement = try connection.statement(.newest)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    return (try HistoryTables.checked(statement.int64(0)), try HistoryTables.checked(statement.int64(1)))
  }

  private func number(of name: String, _ connection: Connection) throws -> Int64 {
    if let known = history.number(of: name) ?? newNames[name] { return known }
    let statement = try connection.statement(.name)
    defer { statement.reset() }
    try statement.bind(1, name)
    let number: Int64
    if try statement.step() {
      number = statement.int64(0)
    } else {
      let insertion = try connection.statement(.newName)
      try insertion.bind(1, name)
      try insertion.run()
      number = connection.lastInsertedRowID
    }
    newNames[name] = number
    return number
  }
}

extension Statement {
  fileprivate func bind(_ index: Int32, _ value: Int64?) throws {
    if let value { try bind(index, value) } else { try bindNull(index) }
  }
}
