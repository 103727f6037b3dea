public import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreFiles
public import StoreKeys

/// The thoroughness of a verification.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
/// for finding in try await file.findings(.full) { print(finding) }
/// ```
public enum StoreVerificationLevel: Sendable, Hashable {
  /// Runs SQLite's quick check, and checks foreign keys.
  case quick
  /// Checks the authentication code of every page in the file and in the log, runs SQLite's full integrity check, and checks foreign keys.
  case full
}

/// Information about a store's file: versions, sizes, numbers of objects, and keys.
///
/// ```swift
/// let information = try await SQLCipherStoreFile.unlock(at: url, key: key).information()
/// for (name, count) in information.entityCounts { print(name, count) }
/// print("\(information.freePageCount) of \(information.pageCount) pages are not used")
/// ```
///
/// Getting the information counts the rows of every table, so the time grows with the number of objects. The value does not change when the
/// file does.
public struct StoreFileInformation: Sendable {
  /// The store's UUID.
  public var storeIdentifier: String
  /// The UUID of the file's lineage; see ``StoreMetadata/lineageIdentifier``.
  public var lineageIdentifier: String?
  /// Whether the objects have stable IDs (``PersistentStoreDescription/tracksObjectIdentity``).
  public var tracksObjectIdentity: Bool
  /// The version of the store's file format.
  public var formatVersion: Int
  /// The page format.
  public var encryption: SQLCipherFormat
  /// SQLCipher's version, such as `3.4.1`.
  public var sqlcipherVersion: String
  /// The version of the SQLite in SQLCipher.
  public var sqliteVersion: String
  /// The size of the database file, in bytes.
  public var fileSize: Int
  /// The size of the write-ahead log, in bytes.
  public var logSize: Int
  /// The number of pages in the log since its last reset.
  public var logPageCount: Int
  /// The number of transactions in the log since its last reset.
  public var logCommitCount: Int
  /// The number of log pages at which a commit starts a checkpoint: the pages are copied to the database, and the log is reset.
  public var logPageLimit: Int
  /// The modification date of the log, or `nil` if there is no log.
  public var logModified: Date?
  /// The number of pages in the database.
  public var pageCount: Int
  /// The number of unused pages.
  public var freePageCount: Int
  /// The journal mode, usually `wal`.
  public var journalMode: String
  /// The number of objects of each entity without its subentities, ordered by name; 0 for abstract entities.
  public var entityCounts: [(entityName: String, count: Int)]
  /// The keys that open the store.
  public var keySlots: [KeySlot]
  /// The identifiers of the model's version.
  public var modelVersionIdentifiers: Set<String>
  /// The application's metadata.
  public var userMetadata: [String: String]
}

extension SQLCipherStoreFile {
  /// Returns descriptions of the damage among ``findings(_:progress:)``, without leftover files.
  ///
  /// - Throws: ``StoreError`` only if the verification itself cannot be done.
  package func verify(_ level: StoreVerificationLevel, progress: Progress? = nil) async throws -> [String] {
    try await findings(level, progress: progress).filter { $0.kind == .damage }.map(\.description)
  }

  /// Verifies the store, which can be in use, and returns all damage and all leftover files, such as those of large values that a killed
  /// process left.
  ///
  /// The result is empty if there are no findings. Verification neither changes nor repairs anything.
  ///
  /// - Parameters:
  ///   - level: The thoroughness of the verification.
  ///   - progress: Called with the completed fraction, also during SQLite's own check; returns whether to continue.
  /// - Throws: ``StoreError`` only if the verification itself cannot be done; `CancellationError` if the task is canceled.
  public func findings(_ level: StoreVerificationLevel, progress: Progress? = nil) async throws -> [StoreFinding] {
    let keyring = keyring
    return try await Self.withProgress(progress) { phases in
      try await Self.runInBackground {
        var (indexes, tables): ([String], [String]) = ([], [])
        let findings = try keyring.withDatabaseKey(options: Self.readingOptions) { key in
          try StoreVerification.run(
            path: keyring.storePath, key: key, level: level == .full ? .full : .quick, options: Self.readingOptions,
            onOpen: { connection in
              try StoredFunctionIndexes.register(on: connection)
              indexes = try StoredFunctionIndexes.inFile(connection).filter {
                ![SQLFunctions.foldIndexed, SQLFunctions.indexed].contains($0.function)
              }.map { "\($0.index)" }
              tables = try StoredFullTextIndexes.indexes(connection).filter { $0.function != SQLFunctions.words }.map { "\($0.table)" }
            }, progress: phases)
        }
        let lines = try Self.externalFindings(keyring, isFull: level == .full)
        // Indexes of another folding cannot be checked. They are not used, and the next opening replaces them.
        let isOutdated = { (finding: VerificationFinding) in
          indexes.contains(where: finding.isAbout(index:)) || tables.contains(where: finding.isAbout(table:))
        }
        return findings.filter { !isOutdated($0) }.map { StoreFinding(.damage, $0.description) } + lines
          + (try Self.sideTableFindings(keyring)) + (try Self.abandonedCopy(keyring))
      }
    }
  }

  /// Returns the leftover copy of a killed rotation or compaction. While one is running, the store cannot be open elsewhere.
  private static func abandonedCopy(_ keyring: StoreKeyring) throws -> [StoreFinding] {
    guard let connection = try? keyring.withDatabaseKey(options: readingOptions, { try Connection.reading(keyring.storePath, key: $0) })
    else {
      return []
    }
    defer { connection.close() }
    return try connection.readTransaction {
      let copy = StoreFile.rotationPath(for: connection.databasePath)
      return StoreFile.exists(copy) ? [StoreFinding(.leftover, "\(copy) is a copy that was not finished; sweeping removes it")] : []
    }
  }

  /// Returns the damage in the side tables; empty if the database itself is unreadable, which is reported elsewhere.
  private static func sideTableFindings(_ keyring: StoreKeyring) throws -> [StoreFinding] {
    func reading<Result>(_ body: (Connection) throws -> Result) throws -> Result {
      let connection = try keyring.withDatabaseKey(options: readingOptions) { try Connection.reading(keyring.storePath, key: $0) }
      defer { connection.close() }
      return try connection.readTransaction { try body(connection) }
    }
    do {
      // After a damaged page, a connection cannot be used again.
      let lineage = try SideTableVerification.lineageFindings { check in try reading(check) }
      return lineage
        + (try reading({ try MetadataTable.readSideTables(ofAnyDatabase: $0) }).flatMap { record in
          do {
            return try SideTableFailure.converting(record.name) {
              try reading { try SideTableVerification(connection: $0, path: keyring.storePath).findings(of: record) }
            }
          } catch let failure as SideTableFailure {
            return [StoreFinding(.damage, failure.storeError.message)]
          }
        })
    } catch let error as StoreAccessError {
      if case .storeCorrupt = error.kind { return [] }
      throw error
    }
  }

  /// Returns the findings in the files of large values; empty if the database itself is unreadable, which is reported elsewhere.
  private static func externalFindings(_ keyring: StoreKeyring, isFull: Bool) throws -> [StoreFinding] {
    do {
      let (connection, key) = try keyring.withDatabaseKey(options: readingOptions) {
        (try Connection.reading(keyring.storePath, key: $0), $0)
      }
      defer { connection.close() }
      let folder = try ExternalFolder(storePath: keyring.storePath, key: key)
      return try ExternalVerification.run(connection, folder: folder, isFull: isFull)
    } catch let error as StoreAccessError {
      if case .storeCorrupt = error.kind { return [] }
      if case .unreadableStore = error.kind { return [] }
      throw error
    }
  }

  /// Removes unreferenced files of large values, such as those of a process that crashed during a save, and the leftover copy of a killed
  /// rotation or compaction.
  ///
  /// Opening the store for writing does the same. Files of large values are not removed while another process is writing some.
  ///
  /// - Returns: The number of removed files.
  /// - Throws: ``StoreError`` if the store or its folder cannot be read.
  @discardableResult
  public func sweepExternalFiles() async throws -> Int {
    let keyring = keyring
    return try await Self.runInBackground {
      // Open the store first: while it is open, no other store, with another folder, can replace it.
      let (connection, key) = try keyring.withDatabaseKey { (try Connection(opening: keyring.storePath, key: $0), $0) }
      defer { connection.close() }
      let count = StoreFile.removeAbandonedCopy(of: connection.databasePath) ? 1 : 0
      let folder = try ExternalFolder(storePath: keyring.storePath, key: key)
      guard let lock = try folder.lockForRemoving() else { return count }
      defer { withExtendedLifetime(lock) {} }
      return try count + folder.sweep(keeping: try connection.readTransaction { try ExternalTable.ids(connection) })
    }
  }

  /// Returns information about the store. Counting the objects scans every table or one of its indexes.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func information() async throws -> StoreFileInformation {
    let (slots, mark) = (keyring.slots, LineageMark(nextTo: path))
    return try await read { connection in
      let path = connection.path
      let record = try Self.record(connection, operation: .readMetadata)
      func number(_ pragma: String) throws -> Int { Int(try connection.pragma(pragma) ?? "") ?? 0 }
      func size(_ path: String) -> Int {
        ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.intValue ?? 0
      }
      let log = try WriteAheadLog.extent(path + "-wal", pageSize: connection.format.pageSize)
      return StoreFileInformation(
        storeIdentifier: record.identifier, lineageIdentifier: try LineageTable.identifier(connection, mark),
        tracksObjectIdentity: try MetadataTable.readSideTables(connection, path: path)[IdentityTables.all.name] != nil,
        formatVersion: record.format, encryption: connection.format,
        sqlcipherVersion: try connection.pragma("cipher_version") ?? "", sqliteVersion: LibraryVersion.sqliteName, fileSize: size(path),
        logSize: size(path + "-wal"), logPageCount: log.pages, logCommitCount: log.commits,
        logPageLimit: ConnectionOptions().checkpointPages,
        logModified: (try? FileManager.default.attributesOfItem(atPath: path + "-wal"))?[.modificationDate] as? Date,
        pageCount: try number("page_count"), freePageCount: try number("freelist_count"),
        journalMode: try connection.pragma("journal_mode") ?? "",
        entityCounts: try Self.counts(connection, layout: try MetadataTable.readLayout(connection, path: path)), keySlots: slots,
        modelVersionIdentifiers: record.versionIdentifiers, userMetadata: record.userMetadata)
    }
  }

  private static func counts(_ connection: Connection, layout: TableLayout) throws -> [(entityName: String, count: Int)] {
    var result: [(entityName: String, count: Int)] = []
    for table in layout.tables {
      let statement = try connection.statement(sql: table.entityCounts())
      defer { statement.reset() }
      let names = Dictionary(table.entities.map { ($0.discriminator, $0.name) }, uniquingKeysWith: { first, _ in first })
      var counts: [String: Int] = [:]
      while try statement.step() {
        let name = statement.isNull(0) ? table.entities.first?.name ?? table.name : names[statement.int(0)] ?? "?"
        counts[name, default: 0] += statement.int(1)
      }
      result += table.entities.map { ($0.name, counts[$0.name] ?? 0) }
    }
    return result.sorted { $0.entityName < $1.entityName }
  }
}

/// A result of ``SQLCipherStoreFile/findings(_:progress:)``.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
/// let findings = try await file.findings(.quick)
/// if findings.contains(where: { $0.kind == .damage }) { print("restore a backup") }
/// if findings.contains(where: { $0.kind == .leftover }) { try await file.sweepExternalFiles() }
/// ```
public struct StoreFinding: Sendable, Hashable, CustomStringConvertible {
  /// The severity of a finding.
  public enum Kind: Sendable, Hashable {
    /// Data of the store is wrong, missing or changed. Restore a backup.
    case damage
    /// A file next to the store is not referenced, such as that of a large value whose process was killed during a save. The store is
    /// intact. ``SQLCipherStoreFile/sweepExternalFiles()`` and the next opening for writing remove such files.
    case leftover
  }

  /// The severity.
  public var kind: Kind
  /// A description in one line. It contains names of tables, indexes and files, and page numbers, but no values.
  public var description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}

/// Verifies the files of a store's large values against its rows, and the rows against the files.
struct ExternalVerification {
  let connection: Connection
  let folder: ExternalFolder
  var findings: [StoreFinding] = []

  /// Returns the damage and the leftover files.
  ///
  /// - Parameter isFull: Whether to read all bytes of all files; otherwise, only their existence and size are checked.
  static func run(_ connection: Connection, folder: ExternalFolder, isFull: Bool) throws -> [StoreFinding] {
    var verification = ExternalVerification(connection: connection, folder: folder)
    // Unreferenced files can be identified only while nothing is being written.
    if let lock = try folder.lockForRemoving() {
      defer { withExtendedLifetime(lock) {} }
      try verification.findOrphans()
    }
    let lock = try folder.lockForReading()
    defer { withExtendedLifetime(lock) {} }
    try connection.readTransaction {
      guard try ExternalTable.exists(connection) else { return }
      try verification.checkFiles(isFull: isFull)
      try verification.checkReferences()
    }
    return verification.findings
  }

  private mutating func findOrphans() throws {
    let ids = try connection.readTransaction { try ExternalTable.ids(connection) }
    let (files, foreign) = try folder.names()
    let known = Set(try ids.map { try folder.keys.name($0) })
    for name in files.subtracting(known).sorted() {
      findings.append(StoreFinding(.leftover, "the file \(name) in \(folder.path) belongs to no value; sweeping removes it"))
    }
    for name in foreign { findings.append(StoreFinding(.leftover, "“\(name)” in \(folder.path) does not belong to the store")) }
  }

  private mutating func record(_ damage: String) { findings.append(StoreFinding(.damage, damage)) }

  private mutating func checkFiles(isFull: Bool) throws {
    let statement = try connection.statement(.usedExternals)
    defer { statement.reset() }
    while try statement.step() {
      let (id, size) = (statement.int64(0), statement.int(1))
      do {
        let reader = try folder.openFile(id: id)
        if isFull { try reader.verify() }
        if reader.count != size { record("the large value \(id) has \(reader.count) bytes and should have \(size)") }
      } catch let error as StoreAccessError where error.kind == .externalDataMissing {
        record("the file of the large value \(id) is missing: \(try folder.keys.name(id))")
      } catch let error as StoreAccessError where error.kind == .storeCorrupt(.externalFile) {
        record("the file of the large value \(id) is damaged or was exchanged: \(try folder.keys.name(id))")
      }
    }
  }

  private mutating func checkReferences() throws {
    let layout = try MetadataTable.readLayout(connection, path: connection.path)
    let references = try layout.tables.flatMap { try $0.externalNumbers() }
    if references.isEmpty { return }
    let all = CompoundSelect.joined(references, by: "UNION ALL")
    let dangling = try numbers(BookkeepingTables.danglingExternals(all))
    for id in dangling { record("a row refers to the large value \(id), which is not listed") }
    for id in try numbers(BookkeepingTables.repeatedExternals(all)) {
      record("several rows refer to the large value \(id)")
    }
    for id in try numbers(BookkeepingTables.unusedExternals(all)) {
      record("no row refers to the large value \(id)")
    }
  }

  private func numbers(_ sql: String) throws -> [Int64] {
    let statement = try connection.statement(sql: sql)
    defer { statement.reset() }
    var result: [Int64] = []
    while try statement.step() { result.append(statement.int64(0)) }
    return result
  }
}
