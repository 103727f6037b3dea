import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// The history records of one request, from its first statement to its commit. They are written in the request's transaction.
final class TransactionRecord {
  var recorder: HistoryRecorder
  private let authorship: HistoryAuthorship
  private let history: StoreHistory
  private let request: SaveChangesRequest?
  /// The numbers of names that were inserted or looked up.
  private(set) var newNames: [String: Int64] = [:]
  private var previousRows: [ObjectReference: RowImage] = [:]
  private let rows: StoreRows
  /// The references that a batch request clears, by row and slot.
  var released: [ObjectReference: [(slot: Int, old: ObjectReference?)]] = [:]

  init(
    _ recording: StoreHistory.Recording, _ authorship: HistoryAuthorship, history: StoreHistory, rows: StoreRows,
    request: SaveChangesRequest?
  ) {
    recorder = HistoryRecorder(ids: recording.ids, level: recording.settings.level)
    self.authorship = authorship
    self.history = history
    self.rows = rows
    self.request = request
  }

  // MARK: Saves

  /// Reads the rows whose former values the history needs, before anything is written.
  func readPreviousRows(_ transaction: WriteTransaction, into makeWriter: (Int) -> RowWriter) throws {
    guard let request else { return }
    var needed: [ObjectReference] = []
    for deleted in request.deleted where recorder.needsPreviousRow(ofDeleted: deleted.reference.entity) { needed.append(deleted.reference) }
    if recorder.needsPreviousRows { needed += request.updated.map(\.row.reference) }
    if needed.isEmpty { return }
    var keys: [Int: [Int64]] = [:]
    for reference in needed { keys[try rows.schema.table(of: reference.entity).index, default: []].append(reference.key) }
    let writer = makeWriter(needed.count)
    for (index, keys) in keys.sorted(by: { $0.key < $1.key }) {
      try rows.read(keys.sortedKeys()[...], of: rows.schema.tables[index], transaction.reading, into: writer)
    }
    for row in writer.finish() { previousRows[row.reference] = row }
  }

  /// Records the changes of a save after its statements have run.
  func add(_ transaction: WriteTransaction, numbers: ExternalNumbers?) throws {
    guard let request else { return }
    try recorder.add(request, previousRows: previousRows, large: Self.largeValues(transaction.reading, numbers))
    previousRows = [:]
  }

  /// Returns a closure that provides the history values of large values in files.
  ///
  /// - Parameter numbers: The numbers of the rows that the request wrote. Other rows contain their own.
  static func largeValues(_ transaction: ReadTransaction, _ numbers: ExternalNumbers? = nil) -> HistoryRecorder.LargeValues {
    { row, slot in
      try largeValue(numbers?.id(of: row, slot) ?? (row.external(slot)?.content as? StoredLargeValue)?.id, transaction)
    }
  }

  /// Returns the history value of a large value in a file.
  static func largeValue(_ id: Int64?, _ transaction: ReadTransaction) throws -> HistoryValue? {
    guard let id else { return nil }
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
    let record = TransactionRecord(recording, authorship, history: StoreHistory(), rows: rows, request: nil)
    record.recorder.addUnspecifiedChange(from: from, to: to)
    try record.write(transaction)
  }

  /// Records, if the store keeps a history, that a migration or an update of auxiliaries may have changed any data.
  ///
  /// - Parameters:
  ///   - older: The checksum of the former model.
  ///   - layout: The schema's layout with history IDs.
  ///   - author: The author of the migration.
  static func writeMigration(
    from older: String, to schema: StoreSchema, _ layout: TableLayout, _ transaction: WriteTransaction, author: String?,
    trace: StatementTrace, path: String
  ) throws {
    guard let settings = try MetadataTable.readHistory(transaction.connection, path: path) else { return }
    let rows = StoreRows(statements: StoreStatements(schema), trace: trace, path: path)
    let recording = StoreHistory.Recording(settings: settings, ids: HistoryIDs(layout, of: schema.model))
    try writeUnspecifiedChange(.migration, recording, rows, transaction, from: older, to: schema.model.checksum, author: author)
  }

  func write(_ transaction: WriteTransaction) throws {
    recorder.add(transaction.outcome, of: request)
    let chunks = recorder.takeChunks()
    if chunks.isEmpty { return }
    let connection = transaction.connection
    let runs = transaction.kept(HistoryTransactionState.self)
    var run = runs?.run
    let entries = HistoryRowBuilder.entries(chunks, authorship, behind: try Self.newest(connection), run: &run)
    runs?.run = run
    transaction.outcome.historyPosition = run?.position
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
    return try statement.step() ? (statement.int64(0), statement.int64(1)) : nil
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
