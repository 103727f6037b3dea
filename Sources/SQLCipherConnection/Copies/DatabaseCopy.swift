import CSQLCipher
import Foundation
package import StoreFiles
package import StoreKeys

/// Fills new databases: with the backup API if both have the same page format, otherwise with SQLCipher's export.
enum DatabaseCopy {
  private static let pagesPerStep: Int32 = 512

  /// Fills an empty file.
  ///
  /// - Parameters:
  ///   - folder: The folder for large values of the new database.
  ///   - onSource: Called with the connection to the source store, before its snapshot is taken.
  static func fill(
    _ target: String, key: DatabaseKey, contents: StoreContents, options: ConnectionOptions,
    folder: @autoclosure () throws -> ExternalFolder,
    onOpen: (Connection) throws -> Void = { _ in }, onSource: (Connection) throws -> Void = { _ in }, progress: ProgressHandler? = nil
  ) throws {
    var options = options
    options.isReadOnly = false
    switch contents {
    case .empty, .made:
      let connection = try Connection(path: target, key: key, options: options, isNew: true)
      defer { connection.close() }
      // An empty database has no page that could prove the key, so write one.
      if case .made(let fill) = contents {
        try fill(connection, folder())
      } else {
        try connection.execute("CREATE TABLE \"new\" (x); DROP TABLE \"new\"")
      }
      _ = try connection.pragma("wal_checkpoint(TRUNCATE)")
    case .copy(let path, let sourceKey, _, _) where sourceKey.format == key.format:
      let source = try Connection.reading(path, key: sourceKey, options: options)
      try onSource(source)
      try backUp(source, sourceKey, to: target, key: key, options: options, progress: progress)
    case .copy(let path, let sourceKey, _, _):
      var sourceOptions = options
      sourceOptions.isForExport = true
      try Connection.withUnchangedFile(path, key: sourceKey, options: sourceOptions, keepsReader: true, onReader: onSource) { source in
        try onOpen(source)
        let pages = try source.usedPages()
        try source.reporting(progress, growthOf: target, pages: pages, operation: .backUp) { try source.export(to: target, key: key) }
      }
    case .plaintext(let path, _, _):
      let source = try PlainDatabase(path)
      try source.export(to: target, key: key)
    }
  }

  /// Rewrites a database without its unused pages. No connection may have it open.
  static func compact(_ path: String, key: DatabaseKey, options: ConnectionOptions) throws {
    var options = options
    options.isForExport = true
    let temporary = try StoreFile.temporaryName(nextTo: path)
    try StoreFile.createExclusively(temporary, for: FileOwner(of: path))
    defer { StoreFile.removeDatabase(temporary) }
    do {
      let source = try Connection(opening: path, key: key, options: options)
      defer { source.close() }
      try source.export(to: temporary, key: key)
    }
    guard rename(temporary, path) == 0 else { throw StoreAccessError.system(errno, path: path, operation: .copy) }
  }

  /// Copies every page of one snapshot of `source`, encrypted with the target's key.
  static func backUp(
    _ source: Connection, _ sourceKey: DatabaseKey, to target: String, key: DatabaseKey, options: ConnectionOptions,
    progress: ProgressHandler? = nil
  ) throws {
    do {
      try copyPages(of: source, to: target, key: key, options: options, admitted: nil, progress: progress)
    } catch let error as StoreAccessError where error.extendedCode == ResultCode.rejectedPage {
      // A page of zeros may be an unused one that was never written. Checking that is expensive, and few stores have such pages.
      guard truncate(target, 0) == 0 else { throw StoreAccessError.system(errno, path: target, operation: .backUp) }
      try FreePages.withAdmitted(of: source, key: sourceKey) { admitted in
        try copyPages(of: source, to: target, key: key, options: options, admitted: admitted, progress: progress)
      }
    }
  }

  private static func copyPages(
    of source: Connection, to target: String, key: DatabaseKey, options: ConnectionOptions, admitted: FreePages.Admitted?,
    progress: ProgressHandler?
  ) throws {
    var options = options
    options.journalMode = .delete
    let destination = try Connection(path: target, key: key, options: options, isNew: true)
    defer { destination.close() }
    // The read transaction keeps the snapshot. Without it, the backup would restart at every commit of another connection.
    try source.readTransaction {
      try source.checkSentinel()
      if let admitted {
        try admitted.checkIsCurrent(source)
        GuardedFile.admit(admitted.pages, of: source.pointer)
      }
      defer { if admitted != nil { GuardedFile.admit(nil, of: source.pointer) } }
      guard let backup = sqlite3_backup_init(destination.pointer, "main", source.pointer, "main") else {
        throw destination.database.failure(sqlite3_errcode(destination.pointer), operation: .backUp)
      }
      var isCancelled = false
      var code: Int32 = SQLITE_OK
      repeat {
        code = sqlite3_backup_step(backup, pagesPerStep)
        let total = Int(sqlite3_backup_pagecount(backup))
        if let progress, !progress(total - Int(sqlite3_backup_remaining(backup)), total) { isCancelled = true }
      } while code == SQLITE_OK && !isCancelled
      let finished = sqlite3_backup_finish(backup)
      if isCancelled { throw StoreAccessError(.cancelled, path: source.path, operation: .backUp) }
      guard finished == SQLITE_OK else {
        let error = StoreAccessError.sqlite(finished, handle: destination.pointer, path: target, operation: .backUp)
        // An unreadable page of the source is also reported here. The copy is new and will be removed, so it is never the damaged file.
        if finished == SQLITE_ERROR {
          throw error.with(kind: source.database.isShortOfMemory ? .outOfMemory : .storeCorrupt(.pageMAC), path: source.path)
        }
        if case .storeCorrupt = error.kind { throw error.with(kind: error.kind, path: source.path) }
        throw error
      }
    }
  }
}

private final class PlainDatabase {
  private let database: DatabaseHandle
  private let statements: StatementTable

  init(_ path: String) throws(StoreAccessError) {
    let path = try StoreFile.absolutePath(path)
    do throws(StoreAccessError) {
      _ = try BareDatabaseFile(path).salt()
      throw StoreAccessError(.unsupportedFormat(.notPlain), path: path, operation: .import)
    } catch  where error.kind == .notEncrypted {}
    // Not read-only, because an attached database would be read-only too.
    let pointer = try DatabaseHandle.openFile(path, SQLITE_OPEN_READWRITE, layer: PageGuard.name(for: path), operation: .import)
    // The target is guarded.
    GuardedFile.allowZeros(in: "main", of: pointer)
    database = DatabaseHandle(pointer: pointer, path: path)
    statements = StatementTable(database: database)
    sqlite3_extended_result_codes(pointer, 1)
    database.waiting.milliseconds = ConnectionOptions().busyTimeoutMilliseconds
  }

  func export(to target: String, key: DatabaseKey) throws {
    try Exporter(database: database, statements: statements).export(to: target, key: key)
  }
}

extension Connection {
  /// Exports all contents to an empty file, with another key or, without one, in plaintext. The connection must be opened for export.
  ///
  /// - Parameter last: Statements to run last, on the schema `target`.
  func export(to target: String, key: DatabaseKey?, last: [String] = []) throws {
    try Exporter(database: database, statements: statements).export(to: target, key: key, last: last)
    guard !isDamaged else { throw StoreAccessError(.storeCorrupt(.pageMAC), path: path, operation: .export) }
  }
}

/// Runs `sqlcipher_export`, and copies what it omits.
private struct Exporter {
  let database: DatabaseHandle
  let statements: StatementTable

  func export(to target: String, key: DatabaseKey?, last: [String] = []) throws {
    try LibraryVersion.checkEncryptionIsAvailable(path: database.path)
    try attached(target, key: key) {
      // Takes the snapshot and reads its schema, so that the export's statements are not prepared again if others change the schema.
      _ = try integer("SELECT count(*) FROM main.sqlite_master")
      let export = try statements.prepare("SELECT sqlcipher_export('target')")
      try export.run()
      // The export omits both.
      for name in ["user_version", "application_id"] {
        try run("PRAGMA target.\(name) = \(try integer("PRAGMA main.\(name)"))")
      }
      // A damaged page may have been read as zeros without an error.
      _ = try integer("SELECT count(*) FROM (SELECT 1 FROM main.sqlite_master LIMIT 1)")
    }
    // SQLite sees the exported triggers and views only after it reads the schema again.
    if !last.isEmpty {
      try attached(target, key: key) { for statement in last { try run(statement) } }
    }
  }

  /// Attaches a file as `target`, runs `body` in a transaction, and checks the file.
  private func attached(_ target: String, key: DatabaseKey?, _ body: () throws -> Void) throws {
    try attach(target, key: key)
    defer { try? run("DETACH DATABASE target") }
    try run("BEGIN")
    do {
      try body()
      try run("COMMIT")
    } catch {
      if sqlite3_get_autocommit(database.pointer) == 0 { try? run("ROLLBACK") }
      throw error
    }
    let check = try statements.prepare("PRAGMA target.quick_check(1)")
    guard try check.step(), check.text(0) == "ok" else {
      throw StoreAccessError(.storeCorrupt(.structure), path: target, operation: .export, circumstance: .damagedCopy)
    }
    check.reset()
  }

  private func attach(_ target: String, key: DatabaseKey?) throws {
    let attach = try statements.prepare("ATTACH DATABASE ? AS target KEY ?")
    try attach.bind(1, target)
    // Without a key, the attached database would inherit that of the main database. An empty key means plaintext.
    let text = key?.sqlcipherText() ?? SecretBytes([])
    try text.withUnsafeBytes { bytes in
      if bytes.isEmpty { try attach.bind(2, "") } else { try attach.bindStaticText(2, bytes) }
      try attach.run()
      attach.clearBindings()
    }
    guard let key else { return GuardedFile.allowZeros(in: "target", of: database.pointer) }
    try run(key.format.settings(of: "target"))
    try run("PRAGMA target.page_size = \(key.format.pageSize)")
  }

  private func run(_ sql: String) throws {
    let code = sqlite3_exec(database.pointer, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw database.failure(code, operation: .export, sql: sql) }
  }

  private func integer(_ sql: String) throws -> Int64 {
    let statement = try statements.prepare(sql)
    return try statement.step() ? statement.int64(0) : 0
  }
}

/// Returns the IDs of all large values that a database refers to. Their files are copied with the database. Only the owner of the schema
/// can list them.
package typealias LargeValueList = @Sendable (Connection) throws -> [Int64]

/// Changes a finished copy of a database before it gets its final name, in a write transaction. Only the owner of the schema knows what a
/// copy must not have in common with the original.
package typealias CopyCompletion = @Sendable (_ copy: Connection) throws -> Void

/// The initial contents of a new database.
package enum StoreContents: Sendable {
  /// No contents.
  case empty
  /// The contents that `fill` writes, given the folder for the new store's large values.
  case made(_ fill: @Sendable (Connection, ExternalFolder) throws -> Void)
  /// One snapshot of an encrypted database, which may be in use.
  case copy(of: String, key: DatabaseKey, largeValues: LargeValueList, completion: CopyCompletion = { _ in })
  /// The contents of a plaintext SQLite database. `finish` can move values to files before the new database gets its final name.
  case plaintext(of: String, finish: Finish?, completion: CopyCompletion = { _ in })

  /// Whether only one process at a time may write the contents, under the lock of the key file.
  var isCreatedExclusively: Bool {
    switch self {
    case .empty, .made: false
    case .copy, .plaintext: true
    }
  }

  /// The completion of a copy.
  var completion: CopyCompletion? {
    switch self {
    case .empty, .made: nil
    case .copy(_, _, _, let completion), .plaintext(_, _, let completion): completion
    }
  }

  /// Moves values of a new database to its folder, in a transaction, and returns their IDs.
  package typealias Finish = @Sendable (Connection, ExternalFolder) throws -> [Int64]
}
