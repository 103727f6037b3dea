package import Foundation
import ObjectModel
package import ObjectStore
import SQLCipherConnection

extension StoreHistory {
  /// Adopts the history's settings from its record in the metadata, in the current transaction.
  func adopt(_ record: SideTableRecord?, _ transaction: ReadTransaction, model: CompiledModel, path: String) throws {
    guard let record else { return adopt(nil) }
    if record.isDamaged ?? false { return adopt(nil, isDamaged: true) }
    let layout = try MetadataTable.readLayout(transaction.connection, path: path)
    adopt(Recording(settings: try HistorySettings(record, path: path), ids: HistoryIDs(layout, of: model)))
  }

  /// Starts a history in a store without one.
  static func begin(
    _ settings: HistorySettings, _ record: StoreRecord, _ layout: TableLayout, _ rows: StoreRows, _ transaction: WriteTransaction
  ) throws {
    let connection = transaction.connection
    var layout = layout
    try SideTableList(connection: connection, path: rows.path).create(HistoryTables.all, settings: settings.values)
    layout.assignHistoryIDs(of: rows.schema.model)
    try MetadataTable.write(layout: layout, layoutBasis: record.readLayoutBasis, connection)
    let recording = Recording(settings: settings, ids: HistoryIDs(layout, of: rows.schema.model))
    try TransactionRecord.writeUnspecifiedChange(.begin, recording, rows, transaction)
  }
}

extension StoreRecord {
  /// The layout basis that makes later openings read the layout: a computed layout has no history IDs.
  fileprivate var readLayoutBasis: String {
    layoutBasis.hasPrefix(MetadataTable.indexesOnly) ? layoutBasis : MetadataTable.indexesOnly + layoutBasis
  }
}

extension StoreEngine {
  // MARK: Switching

  func setHistory(_ settings: HistorySettings?) throws {
    try replacingSideTables { transaction, keepsPages in
      let connection = transaction.connection
      guard let record = try MetadataTable.read(connection, path: path) else {
        throw StoreError(.notAStore(.anyMore), operation: .switchHistory, path: path)
      }
      var records = try MetadataTable.readSideTables(connection, path: path)
      let (present, name) = (records[HistoryTables.all.name], HistoryTables.all.name)
      let isDamaged = keepsPages || present?.isDamaged ?? false
      if !isDamaged, try settings == present.map({ try HistorySettings($0, path: path) }) { return }
      if present != nil { try sideTables.check(.history(settings), in: transaction) }
      if var present, let settings, !isDamaged {
        present.settings = settings.values
        records.replace(name, by: present)
        return try MetadataTable.write(sideTables: records, connection)
      }
      if present != nil {
        if settings == nil, !isDamaged {
          let readers = try consumers(transaction.reading).map(\.name)
          if !readers.isEmpty { throw StoreError(.historyStillRead(readers), operation: .switchHistory, path: path) }
        }
        try SideTableList(connection: connection, path: path).remove(name, keepsPages: keepsPages)
      }
      let layout = try MetadataTable.readLayout(connection, path: path)
      if let settings { return try StoreHistory.begin(settings, record, layout, rows, transaction) }
      try MetadataTable.write(layout: layout, layoutBasis: record.readLayoutBasis, connection)
    }
    // Any read compares the number and adopts the new settings.
    if currentTransaction == nil { try pool.withReader { _ in } }
  }

  // MARK: Reading

  /// Runs `body` on the history, or returns `nil` if the store keeps no history.
  func readHistory<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result? {
    try read { transaction in
      try history.checkIsReadable()
      guard history.recording != nil else { return nil }
      return try SideTableFailure.converting(HistoryTables.all.name) { try body(transaction) }
    }
  }

  func historyBounds() throws -> HistoryBounds? {
    try readHistory { transaction -> HistoryBounds? in
      let oldest = try transaction.connection.statement(.oldest)
      defer { oldest.reset() }
      guard try oldest.step() else { return nil }
      let newest = try transaction.connection.statement(.newestTransaction)
      defer { newest.reset() }
      let first = HistoryPosition(number: oldest.int64(0), mark: oldest.int64(1))
      guard try newest.step() else { throw StoreError(.unreadableHistory(number: first.number), operation: .readHistory, path: path) }
      return HistoryBounds(oldest: first, newest: HistoryPosition(number: newest.int64(0), mark: newest.int64(1)))
    } ?? nil
  }

  func historyPosition(of number: Int64) throws -> HistoryPosition? {
    try readHistory { transaction -> HistoryPosition? in
      let statement = try transaction.connection.statement(.position)
      defer { statement.reset() }
      try statement.bind(1, number)
      return try statement.step() ? HistoryPosition(number: number, mark: statement.int64(0)) : nil
    } ?? nil
  }

  func historyEntries(_ query: HistoryQuery, byteLimit: Int) throws -> [HistoryEntry] {
    try readHistory { transaction in
      let (sql, arguments) = HistoryStatement.entries(query)
      let statement = try transaction.statement(sql: sql)
      defer { statement.reset() }
      for (position, argument) in arguments.enumerated() { try statement.bind(Int32(position + 1), argument) }
      trace.record(statement)
      var entries: [HistoryEntry] = []
      var size = 0
      while size < byteLimit, try statement.step() {
        let entry = try entry(statement)
        size += entry.size
        entries.append(entry)
      }
      return entries
    } ?? []
  }

  private func entry(_ statement: Statement) throws -> HistoryEntry {
    let number = statement.int64(0)
    guard (try? HistoryTables.checked(number)) != nil, (try? HistoryTables.checked(statement.int64(3))) != nil,
      let kind = HistoryKind(rawValue: statement.int(2)), statement.isNull(1) || (1..<number).contains(statement.int64(1))
    else {
      throw StoreError(.unreadableHistory(number: number), operation: .readHistory, path: path)
    }
    func name(_ column: Int32) -> String? { statement.isNull(column) ? nil : statement.text(column) }
    return HistoryEntry(
      number: number, start: statement.isNull(1) ? nil : statement.int64(1), clock: statement.int64(3),
      authorship: HistoryAuthorship(kind, author: name(6), context: name(7), opening: name(5) ?? "", time: statement.double(4)),
      mark: statement.int64(8), changes: Array(statement.data(9)))
  }

  // MARK: Deleting

  /// Deletes the oldest rows before a number, except those of the newest transaction.
  ///
  /// - Returns: Whether rows before the number remain.
  func deleteHistory(before number: Int64, rowLimit: Int) throws -> Bool {
    try changeHistory(.deleteHistory) { transaction in
      try HistoryPurge.deleteRows(before: number, rowLimit: rowLimit, transaction.connection, trace)
    }
  }

  // MARK: Consumers

  func historyConsumers() throws -> [HistoryConsumerRecord] { try readHistory { try consumers($0) } ?? [] }

  private func consumers(_ transaction: ReadTransaction) throws -> [HistoryConsumerRecord] {
    let statement = try transaction.connection.statement(.consumers)
    defer { statement.reset() }
    var found: [HistoryConsumerRecord] = []
    while try statement.step() {
      let position = statement.isNull(1) ? nil : HistoryPosition(number: statement.int64(1), mark: statement.int64(2))
      found.append(HistoryConsumerRecord(name: statement.text(0), position: position, seen: statement.double(3)))
    }
    return found
  }

  func setHistoryConsumer(_ consumer: HistoryConsumerRecord) throws {
    try changeHistory(.changeHistoryConsumer) { transaction in
      let statement = try transaction.connection.statement(.consumer)
      try statement.bind(1, consumer.name)
      if let position = consumer.position {
        try statement.bind(2, position.number)
        try statement.bind(3, position.mark)
      } else {
        try statement.bindNull(2)
        try statement.bindNull(3)
      }
      try statement.bind(4, consumer.seen)
      try statement.run()
    }
  }

  func removeHistoryConsumer(_ name: String) throws -> Bool {
    try changeHistory(.changeHistoryConsumer) { transaction in
      let statement = try transaction.connection.statement(.removal)
      try statement.bind(1, name)
      try statement.run()
      return transaction.connection.changes > 0
    }
  }

  private func changeHistory<Result>(_ operation: StoreOperation, _ body: (WriteTransaction) throws -> Result) throws -> Result {
    try write { transaction in
      try history.checkIsReadable()
      guard history.recording != nil else { throw StoreError(.historyOff, operation: operation, path: path) }
      return try SideTableFailure.converting(HistoryTables.all.name) { try body(transaction) }
    }
  }
}

// MARK: - History of an incremental store

extension SQLCipherIncrementalStore: HistoryStore {
  package func historySettings() throws -> HistorySettings? {
    let engine = try engine(.readHistory)
    // A read transaction adopts settings that another process has switched.
    return try StoreError.mapping {
      try engine.read { _ in
        try engine.history.checkIsReadable()
        return engine.history.recording?.settings
      }
    }
  }

  package func setHistory(_ settings: HistorySettings?) throws {
    let engine = try writableEngine(.switchHistory)
    try StoreError.mapping { try engine.setHistory(settings) }
  }

  package func historyIDs() throws -> HistoryIDs? {
    let engine = try engine(.readHistory)
    return try StoreError.mapping {
      try engine.read { _ in
        try engine.history.checkIsReadable()
        return engine.history.recording?.ids
      }
    }
  }

  package func historyOpening() throws -> UUID? {
    let history = try engine(.readHistory).history
    return history.recording == nil ? nil : HistoryOpening(history.opening)?.identifier
  }

  package func historyBounds() throws -> HistoryBounds? {
    let engine = try engine(.readHistory)
    return try StoreError.mapping { try engine.historyBounds() }
  }

  package func historyPosition(of number: Int64) throws -> HistoryPosition? {
    let engine = try engine(.readHistory)
    return try StoreError.mapping { try engine.historyPosition(of: number) }
  }

  package func historyEntries(_ query: HistoryQuery, byteLimit: Int) throws -> [HistoryEntry] {
    let engine = try engine(.readHistory)
    return try StoreError.mapping { try engine.historyEntries(query, byteLimit: byteLimit) }
  }

  package func deleteHistory(before number: Int64, rowLimit: Int) throws -> Bool {
    let engine = try writableEngine(.deleteHistory)
    return try StoreError.mapping { try engine.deleteHistory(before: number, rowLimit: rowLimit) }
  }

  package func historyConsumers() throws -> [HistoryConsumerRecord] {
    let engine = try engine(.readHistory)
    return try StoreError.mapping { try engine.historyConsumers() }
  }

  package func setHistoryConsumer(_ consumer: HistoryConsumerRecord) throws {
    let engine = try writableEngine(.changeHistoryConsumer)
    try StoreError.mapping { try engine.setHistoryConsumer(consumer) }
  }

  package func removeHistoryConsumer(_ name: String) throws -> Bool {
    let engine = try writableEngine(.changeHistoryConsumer)
    return try StoreError.mapping { try engine.removeHistoryConsumer(name) }
  }

  /// Switches the history as the description requires, after the store is opened.
  func switchHistory(_ engine: StoreEngine) throws {
    let description = configuration.description
    guard
      let isTracked = description.historyTracking
        ?? (description.historyLevel == nil ? nil : engine.sideTables[HistoryTables.all.name] != nil),
      !description.isReadOnly
    else { return }
    let record = engine.sideTables[HistoryTables.all.name]
    // A damaged history is kept until it is disabled.
    if isTracked, record?.isDamaged ?? false { return }
    let present = try record.map { try HistorySettings($0, path: path) }
    let requested = isTracked ? HistorySettings(level: description.historyLevel ?? present?.level ?? .properties) : nil
    if requested != present { try engine.setHistory(requested) }
  }
}
