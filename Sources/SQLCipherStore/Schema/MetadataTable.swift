import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The row of the metadata table.
struct StoreRecord {
  /// The version of the file's format.
  var format = MetadataTable.formatVersion
  /// The store's UUID.
  var identifier: String
  /// The name of the store's type.
  var type: String
  /// The checksum of the model that wrote the store.
  var checksum: String
  /// What the layout was assigned from; a store of the same basis has the layout that this version computes, and need not read its own.
  var layoutBasis: String
  var versionIdentifiers: Set<String>
  var userMetadata: [String: String]
  /// Whether the file has the table of large values.
  var hasExternalTable = false
  /// What migrations have put off, in words.
  var deferredTasks: [String] = []

  /// What the model that wrote the store is known by in later versions of the store.
  var modelName: String { Self.modelName(checksum, versionIdentifiers) }

  /// What the store says of itself.
  func metadata(hashes: [String: Data]) -> StoreMetadata {
    var metadata = StoreMetadata(storeIdentifier: identifier, storeType: type, modelHashes: hashes)
    metadata.modelChecksum = checksum
    metadata.deferredMigrationTasks = deferredTasks
    metadata.versionIdentifiers = versionIdentifiers
    metadata.userMetadata = userMetadata
    return metadata
  }

  /// A model's checksum with its identifiers: a later version may have the same entities as an earlier one had.
  static func modelName(_ checksum: String, _ versionIdentifiers: Set<String>) -> String {
    ([checksum] + versionIdentifiers.sorted()).joined(separator: " ")
  }
}

/// Reads and writes the metadata.
enum MetadataTable {
  /// The version of the file format that this library writes.
  static let formatVersion = 2
  /// The version of a file with a history: libraries that would write to it without recording refuse it. Files of a greater one are refused here.
  static let formatVersionWithHistory = 3
  /// What a layout for a model and the entities held is assigned from, and the indexes are made from.
  static func layoutBasis(model: CompiledModel, entityNumbers: [Int]) -> String {
    let numbers = entityNumbers.count == model.entities.count ? "all" : entityNumbers.map(String.init).joined(separator: ",")
    var basis = "\(TableLayout.assignmentVersion)/\(numbers)/\(model.checksum)"
    if !model.indexChecksum.isEmpty { basis += "/\(model.indexChecksum)" }
    if model.hasExternalAttributes { basis += "/external" }
    if model.hasFoldedIndexes { basis += "/\(TextFolding.version)" }
    if model.hasExpressionIndexes { basis += "/e\(ExpressionFunctions.version)" }
    if model.hasFullTextIndexes, LibraryVersion.hasFullText { basis += "/w\(TextWords.version)" }
    if !model.derivationChecksum.isEmpty {
      basis += "/derived:\(model.derivationChecksum)"
      if model.derivations.contains(where: \.operation.isText) { basis += "/\(TextFolding.version)" }
    }
    return basis
  }

  /// Marks a basis that only the indexes go by: the layout was assigned from another one, and has to be read.
  static let indexesOnly = "indexes:"

  /// The metadata; nil where the database has no table at all, as after a crash between the file's creation and its first transaction.
  static func read(_ connection: Connection, path: String) throws -> StoreRecord? {
    let statement: Statement
    do {
      statement = try connection.statement(.record)
    } catch {
      // No such table, or no such column: tell an empty database from a foreign, an older or a newer one.
      switch error.kind {
      case .sql, .noSuchTable: break
      default: throw error
      }
      let count = try connection.statement(.objectCount)
      defer { count.reset() }
      if try count.step(), count.int(0) == 0 { return nil }
      if let format = try? formatOnly(connection) { try checkFormat(format, path: path) }
      guard let older = try? connection.statement(.recordOfFormat1) else {
        throw StoreError(.holdsNoStore(.never), operation: .open, path: path)
      }
      statement = older
    }
    defer { statement.reset() }
    guard try statement.step() else {
      throw StoreError(.missingMetadata, operation: .open, path: path)
    }
    try checkFormat(statement.int(0), path: path)
    return StoreRecord(
      format: statement.int(0), identifier: statement.text(1), type: statement.text(2), checksum: statement.text(3),
      layoutBasis: statement.text(4),
      versionIdentifiers: Set(try decode([String].self, statement.text(5), path)),
      userMetadata: try decode([String: String].self, statement.text(6), path),
      hasExternalTable: statement.int(8) != 0, deferredTasks: try decode([String].self, statement.text(7), path))
  }

  /// Brings the metadata of an older format to the present one. Call it in a write transaction.
  static func upgrade(_ connection: Connection, path: String) throws {
    guard let format = try formatOnly(connection), format == 1 else { return }
    let model = try readModel(connection, path: path)
    for statement in BookkeepingTables.upgrade { try connection.execute(statement) }
    let statement = try connection.statement(.upgrade)
    try statement.bind(1, formatVersion)
    try statement.bind(2, try compressed(model))
    try statement.run()
  }

  private static func formatOnly(_ connection: Connection) throws -> Int? {
    let statement = try connection.statement(.format)
    defer { statement.reset() }
    return try statement.step() ? statement.int(0) : nil
  }

  private static func checkFormat(_ format: Int, path: String) throws {
    guard format > formatVersionWithHistory else { return }
    throw StoreError(.unsupportedFormat(format, newest: formatVersionWithHistory), operation: .open, path: path)
  }

  /// The version hashes of the model that wrote the store.
  static func readHashes(_ connection: Connection, path: String) throws -> [String: Data] {
    try decode([String: Data].self, try readText(.hashes, connection, path), path)
  }

  static func readLayout(_ connection: Connection, path: String) throws -> TableLayout {
    try decode(TableLayout.self, try readText(.layout, connection, path), path)
  }

  /// The models that the store has been through, the latest last, by `StoreRecord.modelName`.
  static func readPastModels(_ connection: Connection, path: String) throws -> [String] {
    guard try formatOnly(connection) ?? 0 > 1 else { return [] }
    return try decode([String].self, try readText(.pastModels, connection, path), path)
  }

  /// The model's XML, as a model file holds it.
  static func readModel(_ connection: Connection, path: String) throws -> String {
    let statement = try connection.statement(.model)
    defer { statement.reset() }
    guard try statement.step() else {
      throw StoreError(.missingMetadata, operation: .open, path: path)
    }
    // Format 1 kept the text itself.
    guard statement.type(0) == .blob else { return statement.text(0) }
    guard let text = CompressedText.expand(statement.data(0)) else {
      throw StoreError(.unreadableModel, operation: .readModel, path: path)
    }
    return text
  }

  private static func compressed(_ model: String) throws -> Data {
    guard let data = CompressedText.compress(model) else {
      throw StoreError(.internalInconsistency(.modelNotCompressed), operation: .create)
    }
    return data
  }

  private static func readText(_ column: BookkeepingStatement, _ connection: Connection, _ path: String) throws -> String {
    let statement = try connection.statement(column)
    defer { statement.reset() }
    guard try statement.step() else {
      throw StoreError(.missingMetadata, operation: .open, path: path)
    }
    return statement.text(0)
  }

  /// Writes the row of a new store.
  static func insert(
    _ record: StoreRecord, hashes: [String: Data], layout: TableLayout, model: String, into connection: Connection
  ) throws {
    let statement = try connection.statement(.creation)
    try statement.bind(1, formatVersion)
    try statement.bind(2, record.identifier)
    try statement.bind(3, record.type)
    try statement.bind(4, record.checksum)
    try statement.bind(5, record.layoutBasis)
    try statement.bind(6, try encode(record.versionIdentifiers.sorted()))
    try statement.bind(7, try encode(record.userMetadata))
    try statement.bind(8, try encode(hashes))
    try statement.bind(9, try encode(layout))
    try statement.bind(10, try compressed(model))
    try statement.run()
  }

  /// How many past models are remembered.
  private static let pastModelLimit = 100

  /// Writes what a migration changes.
  static func update(
    _ record: StoreRecord, hashes: [String: Data], layout: TableLayout, model: String, pastModels: [String], _ connection: Connection
  ) throws {
    let statement = try connection.statement(.migration)
    try statement.bind(1, record.checksum)
    try statement.bind(2, record.layoutBasis)
    try statement.bind(3, try encode(record.versionIdentifiers.sorted()))
    try statement.bind(4, try encode(hashes))
    try statement.bind(5, try encode(layout))
    try statement.bind(6, try compressed(model))
    try statement.bind(7, try encode(Array(pastModels.suffix(pastModelLimit))))
    try statement.bind(8, try encode(record.deferredTasks))
    try statement.run()
  }

  /// Writes what the clearing away of something put off changes.
  static func update(layout: TableLayout, layoutBasis: String, deferredTasks: [String], _ connection: Connection) throws {
    let statement = try connection.statement(.clearing)
    try statement.bind(1, try encode(layout))
    try statement.bind(2, layoutBasis)
    try statement.bind(3, try encode(deferredTasks))
    try statement.run()
  }

  /// Writes what a model of the same version hashes changes.
  static func write(layoutBasis: String, model: String, _ connection: Connection) throws {
    let statement = try connection.statement(.renewal)
    try statement.bind(1, layoutBasis)
    try statement.bind(2, try compressed(model))
    try statement.run()
  }

  /// Whether the database is a store with a history; a foreign database is none. What cannot be read for the time being says nothing.
  static func hasHistory(_ connection: Connection) throws -> Bool {
    do {
      return try formatOnly(connection) == formatVersionWithHistory
    } catch let error as StoreAccessError {
      if [.io, .outOfMemory, .busy, .diskFull].contains(StoreError(error).code) { throw error }
      return false
    } catch is StoreError {
      return false
    }
  }

  /// What the metadata say of the history; nil where there is none.
  static func readHistory(_ connection: Connection, path: String) throws -> HistorySettings? {
    guard try formatOnly(connection) == formatVersionWithHistory else { return nil }
    let statement = try connection.statement(.settings)
    defer { statement.reset() }
    guard try statement.step(), !statement.isNull(0) else { throw StoreError(.unreadableMetadata, operation: .open, path: path) }
    return try decode(HistorySettings.self, statement.text(0), path)
  }

  /// Writes what switching the history changes.
  static func write(history: HistorySettings?, layout: TableLayout, layoutBasis: String, _ connection: Connection) throws {
    let hasColumn = try connection.statement(.hasSettings)
    let isThere = try hasColumn.step()
    hasColumn.reset()
    if !isThere { try connection.execute(HistoryTables.settingsColumn) }
    let statement = try connection.statement(.newSettings)
    try statement.bind(1, history == nil ? formatVersion : formatVersionWithHistory)
    try statement.bind(2, layoutBasis)
    try statement.bind(3, try encode(layout))
    if let history { try statement.bind(4, try encode(history)) } else { try statement.bindNull(4) }
    try statement.run()
  }

  static func writeUserMetadata(_ metadata: [String: String], _ connection: Connection) throws {
    let statement = try connection.statement(.userMetadata)
    try statement.bind(1, try encode(metadata))
    try statement.run()
  }

  private static func encode(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  private static func decode<Value: Decodable>(_ type: Value.Type, _ text: String, _ path: String) throws -> Value {
    // Opening is to be fast, and most stores keep nothing here.
    if let value = PlainCollections.value(of: type, text) { return value }
    do {
      return try JSONDecoder().decode(type, from: Data(text.utf8))
    } catch {
      throw StoreError(.unreadableMetadata, operation: .open, path: path)
    }
  }
}

/// What most stores keep, read without a decoder.
private enum PlainCollections {
  static func value<Value>(of type: Value.Type, _ text: String) -> Value? {
    if type == [String: String].self { return text == "{}" ? [String: String]() as? Value : nil }
    guard type == [String].self else { return nil }
    if text == "[]" { return [String]() as? Value }
    // One text without anything that stands for something else.
    let bytes = text.utf8
    guard bytes.count >= 4, text.hasPrefix("[\""), text.hasSuffix("\"]") else { return nil }
    let inner = bytes.dropFirst(2).dropLast(2)
    guard inner.allSatisfy({ (0x20..<0x7f).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) else { return nil }
    return [String(decoding: inner, as: UTF8.self)] as? Value
  }
}
