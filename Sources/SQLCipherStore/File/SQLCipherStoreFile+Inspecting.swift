public import Foundation
import ObjectStore
import SQLCipherConnection
import StoreFiles
public import StoreKeys

/// How thorough a verification is.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
/// for finding in try await file.findings(.full) { print(finding) }
/// ```
public enum StoreVerificationLevel: Sendable, Hashable {
  /// SQLite's quick check and the foreign keys.
  case quick
  /// Every page's authentication code in the file and in the log, SQLite's whole integrity check, the foreign keys.
  case full
}

/// What is known of a store's file: its versions and sizes, how many objects it has, who can open it.
///
/// ```swift
/// let information = try await SQLCipherStoreFile.unlock(at: url, key: key).information()
/// for (name, count) in information.entityCounts { print(name, count) }
/// print("\(information.freePageCount) of \(information.pageCount) pages are not used")
/// ```
///
/// Making it counts the rows of every table: the time grows with the number of objects. It is a value, and does not follow what happens to the file.
public struct StoreFileInformation: Sendable {
  /// The store's UUID.
  public var storeIdentifier: String
  /// The version of the store's own format.
  public var formatVersion: Int
  /// The page format.
  public var encryption: SQLCipherFormat
  /// SQLCipher's version, such as `3.4.1`.
  public var sqlcipherVersion: String
  /// SQLite's version inside it.
  public var sqliteVersion: String
  /// The bytes of the database file.
  public var fileSize: Int
  /// The bytes of the write-ahead log.
  public var logSize: Int
  /// How many pages were written to the log since it was last begun anew.
  public var logPageCount: Int
  /// How many transactions have written them.
  public var logCommitCount: Int
  /// With how many pages in the log a commit copies them into the database, after which the log is begun anew.
  public var logPageLimit: Int
  /// When the log was last written; nil where there is none.
  public var logModified: Date?
  /// The number of pages of the database.
  public var pageCount: Int
  /// How many of them are not used.
  public var freePageCount: Int
  /// The journal mode, `wal` as a rule.
  public var journalMode: String
  /// The number of objects of each entity, without those of its subentities, in the order of the names; abstract entities have none.
  public var entityCounts: [(entityName: String, count: Int)]
  /// The keys that open the store.
  public var keySlots: [KeySlot]
  /// The identifiers of the model's version.
  public var modelVersionIdentifiers: Set<String>
  /// What the application keeps in the metadata.
  public var userMetadata: [String: String]
}

extension SQLCipherStoreFile {
  /// What is wrong with the store, one line each: the damage among ``findings(_:progress:)``, without what is left over beside a sound store.
  ///
  /// - Throws: ``StoreError``, only where the check itself cannot be done.
  package func verify(_ level: StoreVerificationLevel, progress: Progress? = nil) async throws -> [String] {
    try await findings(level, progress: progress).filter { $0.kind == .damage }.map(\.description)
  }

  /// Checks the store, which may be in use, and tells everything that is wrong with it, and what is left over, such as files of large values that a killed process
  /// has left; empty when there is nothing to tell. It changes and repairs nothing.
  ///
  /// - Parameters:
  ///   - level: How thorough the check is.
  ///   - progress: Called with how much is done, SQLite's own check included; answers whether to go on.
  /// - Throws: ``StoreError``, only where the check itself cannot be done; `CancellationError` when the task is cancelled.
  public func findings(_ level: StoreVerificationLevel, progress: Progress? = nil) async throws -> [StoreFinding] {
    let keyring = keyring
    return try await Self.longWork(progress) { phases in
      try await Self.offActor {
        var (indexes, tables): ([String], [String]) = ([], [])
        let findings = try keyring.withDatabaseKey(options: Self.readingOptions) { key in
          try StoreVerification.run(
            path: keyring.storePath, key: key, level: level == .full ? .full : .quick, options: Self.readingOptions,
            onOpen: { connection in
              try FoldedIndexes.register(on: connection)
              indexes = try FoldedIndexes.inFile(connection).filter {
                ![SQLFunctions.foldIndexed, SQLFunctions.indexed].contains($0.function)
              }.map { "\($0.index)" }
              tables = try FullTextFile.indexes(connection).filter { $0.function != SQLFunctions.words }.map { "\($0.table)" }
            }, progress: phases)
        }
        let lines = try Self.externalFindings(keyring, isFull: level == .full)
        // What an index of another folding holds cannot be checked: no condition uses it, and the next opening replaces it.
        let isOutdated = { (finding: VerificationFinding) in
          indexes.contains(where: finding.isAbout(index:)) || tables.contains(where: finding.isAbout(table:))
        }
        return findings.filter { !isOutdated($0) }.map { StoreFinding(.damage, $0.description) } + lines
          + (try Self.historyFindings(keyring)) + (try Self.abandonedCopy(keyring))
      }
    }
  }

  /// The copy that a killed rotation or compaction has left. While one runs nobody has the store open.
  private static func abandonedCopy(_ keyring: StoreKeyring) throws -> [StoreFinding] {
    guard let connection = try? keyring.withDatabaseKey(options: readingOptions, { try Connection.reading(keyring.storePath, key: $0) })
    else {
      return []
    }
    defer { connection.close() }
    return try connection.readTransaction {
      let copy = StoreFile.rotationPath(for: connection.databasePath)
      return StoreFile.exists(copy) ? [StoreFinding(.leftOver, "\(copy) is a copy that was not finished; sweeping removes it")] : []
    }
  }

  /// What is wrong with the history; nothing where the database itself cannot be read, which was said already.
  private static func historyFindings(_ keyring: StoreKeyring) throws -> [StoreFinding] {
    do {
      let connection = try keyring.withDatabaseKey(options: readingOptions) { try Connection.reading(keyring.storePath, key: $0) }
      defer { connection.close() }
      return try HistoryVerification.run(connection, path: keyring.storePath)
    } catch let error as StoreAccessError {
      if case .storeCorrupt = error.kind { return [] }
      throw error
    }
  }

  /// What is wrong with the files of large values; nothing where the database itself cannot be read, which was said already.
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

  /// Removes the files of large values that nothing refers to, such as those of a process that died while it saved, and the copy that a killed rotation or
  /// compaction has left. Opening the store for writing does so too.
  /// While somebody else is writing large values nothing happens.
  ///
  /// - Returns: How many files were removed.
  /// - Throws: ``StoreError`` where the store or its folder cannot be read.
  @discardableResult
  public func sweepExternalFiles() async throws -> Int {
    let keyring = keyring
    return try await Self.offActor {
      // First the store: while it is open nobody puts another one, with another folder, in its place.
      let (connection, key) = try keyring.withDatabaseKey { (try Connection(opening: keyring.storePath, key: $0), $0) }
      defer { connection.close() }
      let count = StoreFile.removeAbandonedCopy(of: connection.databasePath) ? 1 : 0
      let folder = try ExternalFolder(storePath: keyring.storePath, key: key)
      guard let lock = try folder.lockForRemoving() else { return count }
      defer { withExtendedLifetime(lock) {} }
      return try count + folder.sweep(keeping: try connection.readTransaction { try ExternalTable.ids(connection) })
    }
  }

  /// What is known of the store. Counting takes a pass over each table's smallest index.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read.
  public func information() async throws -> StoreFileInformation {
    let slots = keyring.slots
    return try await read { connection in
      let path = connection.path
      let record = try Self.record(connection, operation: .inspect)
      func number(_ pragma: String) throws -> Int { Int(try connection.pragma(pragma) ?? "") ?? 0 }
      func size(_ path: String) -> Int {
        ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.intValue ?? 0
      }
      let log = try WriteAheadLog.extent(path + "-wal", pageSize: connection.format.pageSize)
      return StoreFileInformation(
        storeIdentifier: record.identifier, formatVersion: record.format, encryption: connection.format,
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
