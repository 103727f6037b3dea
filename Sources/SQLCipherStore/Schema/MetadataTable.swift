import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The row of the metadata table. Opening a store reads its short columns only.
struct StoreRecord {
  var format = MetadataTable.formatVersion
  /// The store's UUID.
  var identifier: String
  var type: String
  /// The checksum of the model that wrote the store.
  var checksum: String
  /// The inputs from which the layout was assigned. If this version of the library computes the layout from the same inputs, the stored
  /// layout need not be read.
  var layoutBasis: String
  var versionIdentifiers: Set<String>
  var userMetadata: [String: String]
  /// Whether the file has the table of large values.
  var hasExternalTable = false
  /// Descriptions of the work that migrations deferred.
  var deferredTasks: [String] = []

  /// The key of the current model in the list of past models.
  var modelName: String { Self.modelName(checksum, versionIdentifiers) }

  /// Returns the metadata of the store, without the lineage, which is read when it is needed.
  func metadata(hashes: [String: Data]) -> StoreMetadata {
    var metadata = StoreMetadata(storeIdentifier: identifier, storeType: type, modelHashes: hashes)
    metadata.modelChecksum = checksum
    metadata.deferredMigrationTasks = deferredTasks
    metadata.versionIdentifiers = versionIdentifiers
    metadata.userMetadata = userMetadata
    return metadata
  }

  /// Returns a model's checksum with its version identifiers, since a later version can have the same entities as an earlier one.
  static func modelName(_ checksum: String, _ versionIdentifiers: Set<String>) -> String {
    ([checksum] + versionIdentifiers.sorted()).joined(separator: " ")
  }
}

/// Reads and writes the metadata.
enum MetadataTable {
  /// The version of the file format that this library writes.
  static let formatVersion = 2
  /// The format version of a file with a component that writers must have, such as a history or stable IDs. Libraries that would write
  /// without recording history, or without passing on stable IDs, reject it. This library rejects files of greater versions, and writes only
  /// to files all of whose required components it has.
  static let formatVersionWithHistory = 4
  /// The first format version of files with a history.
  static let firstFormatVersionWithHistory = 3
  /// Returns whether files of a format version can have a history.
  static func hasHistory(format: Int?) -> Bool { (format ?? 0) >= firstFormatVersionWithHistory }
  /// Returns whether files of a format version are upgraded when they are opened for writing.
  static func isOutdated(format: Int) -> Bool { format < formatVersion || hasHistory(format: format) && format < formatVersionWithHistory }
  /// Returns the inputs that determine the layout and the indexes of a model and the entities in the store.
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

  /// The prefix of a layout basis that applies to the indexes only. The layout was assigned from other inputs and must be read.
  static let indexesOnly = "indexes:"

  /// Reads the metadata, or returns `nil` if the database has no tables, as after a crash between the file's creation and its first
  /// transaction.
  static func read(_ connection: Connection, path: String) throws -> StoreRecord? {
    let statement: Statement
    do {
      statement = try connection.statement(.record)
    } catch {
      // The table or a column is missing: distinguish an empty database from a foreign, an older or a newer one.
      switch error.kind {
      case .sql, .noSuchTable: break
      default: throw error
      }
      let count = try connection.statement(.objectCount)
      defer { count.reset() }
      if try count.step(), count.int(0) == 0 { return nil }
      if let format = try? formatOnly(connection) { try checkFormat(format, path: path) }
      guard let older = try? connection.statement(.recordOfFormat1) else {
        throw StoreError(.notAStore(.never), operation: .open, path: path)
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
      hasExternalTable: statement.int(8) != 0,
      deferredTasks: try decode([String].self, statement.text(7), path))
  }

  /// Upgrades the metadata of an older format. Must be called in a write transaction.
  static func upgrade(_ connection: Connection, path: String) throws {
    guard let format = try formatOnly(connection), isOutdated(format: format) else { return }
    guard format == 1 else {
      var layout = try readLayout(connection, path: path)
      // If the model is damaged, the identities follow from the next model that the store is migrated to.
      if let model = try? StoredSchema.readModel(connection, path: path) { layout.assignHistoryIDs(of: model) }
      guard let record = try read(connection, path: path) else { return }
      try write(layout: layout, layoutBasis: record.layoutBasis, connection)
      // Libraries that have the store open and cannot write this format read the metadata again, and reject it.
      return try write(sideTables: readSideTables(connection, format: format, path: path), connection)
    }
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

  static func readHashes(_ connection: Connection, path: String) throws -> [String: Data] {
    try decode([String: Data].self, try readText(.hashes, connection, path), path)
  }

  static func readLayout(_ connection: Connection, path: String) throws -> TableLayout {
    try decode(TableLayout.self, try readText(.layout, connection, path), path)
  }

  /// Reads the names (`StoreRecord.modelName`) of the store's past models, the newest last.
  static func readPastModels(_ connection: Connection, path: String) throws -> [String] {
    guard try formatOnly(connection) ?? 0 > 1 else { return [] }
    return try decode([String].self, try readText(.pastModels, connection, path), path)
  }

  /// Reads the model's XML in the format of a model file.
  static func readModel(_ connection: Connection, path: String) throws -> String {
    let statement = try connection.statement(.model)
    defer { statement.reset() }
    guard try statement.step() else {
      throw StoreError(.missingMetadata, operation: .open, path: path)
    }
    // Format 1 stored uncompressed text.
    guard statement.type(0) == .blob else { return statement.text(0) }
    guard let text = CompressedText.expand(statement.data(0)) else {
      throw StoreError(.unreadableModel, operation: .readModel, path: path)
    }
    return text
  }

  private static func compressed(_ model: String) throws -> Data {
    guard let data = CompressedText.compress(model) else {
      throw StoreError(.modelNotCompressed, operation: .create)
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

  /// The maximum number of past models in the list.
  private static let pastModelLimit = 100

  /// Writes the changes of a migration.
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

  /// Writes the changes of deferred work that is now done.
  static func update(layout: TableLayout, layoutBasis: String, deferredTasks: [String], _ connection: Connection) throws {
    let statement = try connection.statement(.clearing)
    try statement.bind(1, try encode(layout))
    try statement.bind(2, layoutBasis)
    try statement.bind(3, try encode(deferredTasks))
    try statement.run()
  }

  /// Writes the changes of a model with the same version hashes.
  static func write(layoutBasis: String, model: String, _ connection: Connection) throws {
    let statement = try connection.statement(.renewal)
    try statement.bind(1, layoutBasis)
    try statement.bind(2, try compressed(model))
    try statement.run()
  }

  // MARK: Components

  /// Reads the components that have side tables.
  ///
  /// - Parameter format: The format of the file, or `nil` if it has not been read yet.
  static func readSideTables(_ connection: Connection, format: Int? = nil, path: String) throws -> [SideTableRecord] {
    guard let format = try format ?? formatOnly(connection) else { return [] }
    if format == firstFormatVersionWithHistory {
      let settings = try decode(HistorySettings.self, try readText(.settings, connection, path), path)
      return [SideTableRecord(HistoryTables.all, settings: settings.values)]
    }
    // Files of the later formats have the column.
    if format < firstFormatVersionWithHistory {
      let statement = try connection.statement(.hasSideTables)
      defer { statement.reset() }
      guard try statement.step() else { return [] }
    }
    let text = try readText(.sideTables, connection, path)
    return text.isEmpty ? [] : try decode([SideTableRecord].self, text, path)
  }

  /// The components in the metadata, as text and decoded.
  struct DecodedSideTables {
    fileprivate let text: String
    fileprivate let records: [SideTableRecord]
  }

  /// Reads the components that have side tables, many times in one transaction: the same text is decoded once.
  static func readSideTables(
    _ connection: Connection, path: String, decoded: inout DecodedSideTables?
  ) throws -> [SideTableRecord] {
    guard let format = try formatOnly(connection), format > firstFormatVersionWithHistory else {
      return try readSideTables(connection, path: path)
    }
    let text = try readText(.sideTables, connection, path)
    if let decoded, decoded.text == text { return decoded.records }
    let records = text.isEmpty ? [] : try decode([SideTableRecord].self, text, path)
    decoded = DecodedSideTables(text: text, records: records)
    return records
  }

  /// Reads the components of a database that may not be a store. Temporary read errors are thrown.
  static func readSideTables(ofAnyDatabase connection: Connection) throws -> [SideTableRecord] {
    do {
      return try readSideTables(connection, path: connection.path)
    } catch let error as StoreAccessError {
      if [.io, .outOfMemory, .busy, .diskFull].contains(StoreError(error).code) { throw error }
      return []
    } catch is StoreError {
      return []
    }
  }

  /// Writes the components, and the format that follows from them. Other connections read both again.
  static func write(sideTables: [SideTableRecord], _ connection: Connection) throws {
    let found = try connection.statement(.hasSideTables)
    let hasColumn = try found.step()
    found.reset()
    if !hasColumn { try connection.execute(BookkeepingTables.sideTablesColumn) }
    let statement = try connection.statement(.newSideTables)
    try statement.bind(1, format(of: sideTables))
    try statement.bind(2, try encode(sideTables))
    try statement.run()
    try connection.setUserVersion(Int32(truncatingIfNeeded: try connection.userVersion()) &+ 1)
  }

  /// Returns the statement that writes the components of an attached copy.
  static func writing(sideTables: [SideTableRecord], schema: String) throws -> String {
    let text = try encode(sideTables).replacingOccurrences(of: "'", with: "''")
    return BookkeepingTables.writingSideTables(text, format: format(of: sideTables), in: schema)
  }

  private static func format(of sideTables: [SideTableRecord]) -> Int {
    sideTables.isRequiredByWriters ? formatVersionWithHistory : formatVersion
  }

  /// Reads the history's settings, or returns `nil` if there is no history, or it is damaged.
  static func readHistory(_ connection: Connection, path: String) throws -> HistorySettings? {
    guard let record = try readSideTables(connection, path: path)[HistoryTables.all.name], !(record.isDamaged ?? false) else { return nil }
    return try HistorySettings(record, path: path)
  }

  /// Writes the layout, whose history IDs were assigned.
  static func write(layout: TableLayout, layoutBasis: String, _ connection: Connection) throws {
    let statement = try connection.statement(.newLayout)
    try statement.bind(1, layoutBasis)
    try statement.bind(2, try encode(layout))
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
    // Fast path for opening: these columns are empty in most stores.
    if let value = PlainCollections.value(of: type, text) { return value }
    do {
      return try JSONDecoder().decode(type, from: Data(text.utf8))
    } catch {
      throw StoreError(.unreadableMetadata, operation: .open, path: path)
    }
  }
}

extension HistorySettings {
  /// The settings in the record of the history.
  var values: [String: String] { ["level": level.rawValue] }

  init(_ record: SideTableRecord, path: String) throws {
    guard let level = record.settings?["level"].flatMap(HistoryLevel.init) else {
      throw StoreError(.unreadableMetadata, operation: .open, path: path)
    }
    self.init(level: level)
  }
}

/// Parses the most common values without a JSON decoder.
private enum PlainCollections {
  static func value<Value>(of type: Value.Type, _ text: String) -> Value? {
    if type == [String: String].self { return text == "{}" ? [String: String]() as? Value : nil }
    guard type == [String].self else { return nil }
    if text == "[]" { return [String]() as? Value }
    // One string without escape sequences.
    let bytes = text.utf8
    guard bytes.count >= 4, text.hasPrefix("[\""), text.hasSuffix("\"]") else { return nil }
    let inner = bytes.dropFirst(2).dropLast(2)
    guard inner.allSatisfy({ (0x20..<0x7f).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) else { return nil }
    return [String(decoding: inner, as: UTF8.self)] as? Value
  }
}

/// Reads the schema that a store's own metadata describe.
enum StoredSchema {
  static func read(_ connection: Connection, path: String) throws -> StoreSchema {
    try StoreSchema(model: readModel(connection, path: path), layout: try MetadataTable.readLayout(connection, path: path))
  }

  static func readModel(_ connection: Connection, path: String) throws -> CompiledModel {
    let text = try MetadataTable.readModel(connection, path: path)
    do {
      return try CompiledModel(ManagedObjectModel(xmlData: Data(text.utf8), path: path))
    } catch {
      throw StoreError(.unreadableModel, operation: .migrate, path: path, underlying: error)
    }
  }
}
