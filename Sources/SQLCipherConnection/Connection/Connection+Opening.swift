// Nothing here lets SQLite access a file before the key has been checked against it.

import CSQLCipher
import Foundation
import StoreFiles
package import StoreKeys

extension Connection {
  /// Sets the key and the page format, and checks both against the first page of the file.
  func setKey(_ key: DatabaseKey, isNew: Bool) throws(StoreAccessError) {
    if !isNew { try checkHeader() }
    try CipherProvider.keep(path: path)
    let text = key.sqlcipherText()
    let code = text.withUnsafeBytes { sqlite3_key(pointer, $0.baseAddress, Int32($0.count)) }
    guard code == SQLITE_OK else { throw database.failure(code, operation: .key) }
    // The order matters: before the key, the setting would be reset; after the first read, SQLCipher would already have logged to standard
    // error.
    if LibraryVersion.hasCipherLog { try execute("PRAGMA cipher_log_level = NONE") }
    try execute(key.format.settings(of: "main"))
    database.authenticator = try PageAuthenticator(key: key)
    if !isNew {
      try checkFirstPage(key)
      if !options.trustsLog { try checkLog() }
    }
  }

  /// Rejects a plaintext database, which its first bytes identify.
  private func checkHeader() throws(StoreAccessError) {
    var header = [UInt8](repeating: 0, count: 16)
    let code = header.withUnsafeMutableBytes { readFile(into: $0, offset: 0) }
    guard code == SQLITE_OK else { throw database.failure(code, operation: .open) }
    try BareDatabaseFile.checkHeader(header, path: path)
  }

  /// Checks the authentication code of the first page. With a wrong key, SQLite would recover a leftover log and copy it into the file
  /// before it noticed.
  private func checkFirstPage(_ key: DatabaseKey) throws(StoreAccessError) {
    guard let authenticator = database.authenticator else { return }
    let page = UnsafeMutableRawBufferPointer.allocate(byteCount: format.pageSize, alignment: 16)
    defer { page.deallocate() }
    // Another process may be writing the page.
    for attempt in 0..<4 {
      if attempt > 0 { usleep(2_000) }
      let code = readFile(into: page, offset: 0)
      if code == ResultCode.shortRead { throw StoreAccessError(.notAStore(.stub), path: path, operation: .open) }
      guard code == SQLITE_OK else { throw database.failure(code, operation: .open) }
      if try authenticator.isAuthentic(page, number: 1) { return }
    }
    // A crash may have torn the page during a write. The newer copy is in the log, the older one in the rollback journal.
    if try WriteAheadLog.hasAuthenticFirstPage(databasePath + "-wal", authenticator: authenticator) { return }
    if try RollbackJournal.hasAuthenticFirstPage(databasePath + "-journal", authenticator: authenticator) { return }
    // The salt is plaintext. A different salt means a different data key, unless later pages authenticate with this one. A salt of zeros is
    // never written.
    if key.isProven, !page[..<DatabaseKey.saltSize].elementsEqual(key.salt), page[..<DatabaseKey.saltSize].contains(where: { $0 != 0 }),
      try !hasAuthenticPage(authenticator, page)
    {
      throw StoreAccessError(.keyFileOutdated, path: path, operation: .open, code: SQLITE_NOTADB)
    }
    throw StoreAccessError(key.isProven ? .storeCorrupt(.pageMAC) : .unreadableStore, path: path, operation: .open, code: SQLITE_NOTADB)
  }

  /// Returns whether any later page was written with the key. Reads all pages of a small file, and about a hundred evenly spaced ones of a
  /// larger file.
  private func hasAuthenticPage(_ authenticator: PageAuthenticator, _ page: UnsafeMutableRawBufferPointer) throws(StoreAccessError) -> Bool
  {
    let count = (StoreFile.size(path) ?? 0) / format.pageSize
    for number in stride(from: 2, through: count, by: max(1, count / 64)) {
      let code = readFile(into: page, offset: Int64(number - 1) * Int64(format.pageSize))
      guard code == SQLITE_OK else { throw database.failure(code, operation: .open) }
      if try authenticator.isAuthentic(page, number: UInt32(clamping: number)) { return true }
    }
    return false
  }

  /// Rejects a log that was placed next to the store. SQLite checks only an unkeyed checksum, and would copy its pages into the file.
  private func checkLog() throws(StoreAccessError) {
    let log = databasePath + "-wal"
    guard let authenticator = database.authenticator, StoreFile.size(log) ?? 0 > WriteAheadLog.headerSize else { return }
    for attempt in 0..<2 {
      if attempt > 0 { usleep(2_000) }
      if try WriteAheadLog.isAuthentic(log, authenticator: authenticator) { return }
    }
    throw StoreAccessError(.storeCorrupt(.wal), path: log, operation: .open)
  }

  /// Reads the database file through SQLite's descriptor. Closing a second descriptor would drop this process's locks.
  func readFile(into buffer: UnsafeMutableRawBufferPointer, offset: Int64) -> Int32 {
    BareDatabaseFile.read(pointer, into: buffer, offset: offset)
  }

  /// Applies the settings of every connection.
  func configure(isNew: Bool) throws(StoreAccessError) {
    if isNew {
      try set("page_size", format.pageSize)
    }
    if LibraryVersion.hasTrustedSchema { try set("trusted_schema", 0) }
    if LibraryVersion.hasDefensive && !options.isForExport {
      var now: Int32 = 0
      let code = cipherdata_db_config_flag(pointer, CIPHERDATA_DBCONFIG_DEFENSIVE, 1, &now)
      guard code == SQLITE_OK, now == 1 else { throw rejected("DEFENSIVE", found: "\(now)") }
    }
    try set("temp_store", 2)
    try set("cache_size", -options.cacheSizeKiB)
    try set("cell_size_check", 1)
    try set("foreign_keys", options.enforcesForeignKeys ? 1 : 0)
    // Libraries built without memory mapping return no row.
    try execute("PRAGMA mmap_size = 0")
    if let size = try pragma("mmap_size"), size != "0" { throw rejected("mmap_size", found: size) }

    // The first read by SQLite. From here on, SQLite determines whether the pages form a valid database.
    try firstRead()
    guard let version = try pragma("cipher_version"), !version.isEmpty else {
      if isOutOfMemory { throw StoreAccessError(.outOfMemory, path: path, operation: .open, code: SQLITE_NOMEM) }
      throw StoreAccessError(.encryptionUnavailable(.notSQLCipher), path: path, operation: .open)
    }
    guard let size = try pragma("page_size"), size == String(format.pageSize) else {
      throw rejected("page_size", found: try pragma("page_size") ?? "")
    }
    try setJournal()
  }

  private func firstRead() throws(StoreAccessError) {
    do {
      let statement = try self.statement(sql: "SELECT count(*) FROM sqlite_master")
      // Lock again: preparing read the schema and, without a log, released the lock. SQLite could apply the journal of another file.
      try lockLocation()
      _ = try statement.step()
      statement.reset()
    } catch  where error.code == SQLITE_NOTADB || error.code == SQLITE_CORRUPT {
      let isPage = error.code == SQLITE_NOTADB || error.kind == .storeCorrupt(.pageMAC)
      throw error.with(kind: .storeCorrupt(isPage ? .pageMAC : .structure), operation: .open)
    }
  }

  private func setJournal() throws(StoreAccessError) {
    let keepsMode = options.isReadOnly || options.keepsJournalMode
    if !keepsMode { try changeJournal(to: options.journalMode.rawValue) }
    let mode = keepsMode ? try pragma("journal_mode") : options.journalMode.rawValue
    if !options.isReadOnly { try set("wal_autocheckpoint", options.checkpointPages) }
    keepsLock = mode == ConnectionOptions.JournalMode.wal.rawValue
    try set("synchronous", options.durability == .full ? 2 : 1)
  }

  private func changeJournal(to mode: String) throws(StoreAccessError) {
    for _ in 0..<DatabaseLocation.maximumAttempts {
      // Read the mode first: setting it, even to the same value, takes locks.
      if try pragma("journal_mode") == mode { return }
      try lockLocation()
      let answer = try pragma("journal_mode = \(mode)")
      guard answer == mode else { throw rejected("journal_mode", found: answer ?? "") }
      // The change released the lock, and the next read opens the log. Another process that wants a different mode may have changed it in
      // between.
      try lockLocation()
      try firstRead()
    }
    throw StoreAccessError(.busy, path: path, operation: .open)
  }

  /// Takes a shared lock where SQLite holds none, and checks that the open file is the one at its path. Call it before SQLite reads.
  ///
  /// - Throws: `.exchanged` if the file was replaced. The connection is then unusable.
  func lockLocation() throws(StoreAccessError) {
    guard let place, !keepsLock, isInAutocommit, !isClosed else { return }
    do throws(StoreAccessError) {
      try place.lock(timeoutMilliseconds: options.busyTimeoutMilliseconds, operation: .open)
    } catch {
      if error.kind == .exchanged { database.markDamaged() }
      throw error
    }
  }

  /// Sets a pragma and reads it back, because SQLite silently ignores unknown pragmas.
  func set(_ name: String, _ value: Int) throws(StoreAccessError) {
    try execute("PRAGMA \(name) = \(value)")
    let now = try pragma(name)
    guard now == String(value) else { throw rejected(name, found: now ?? "nothing") }
  }

  /// Returns the first column of a pragma's first row.
  ///
  /// The pragma runs to its end: errors of a journal mode change come after the row.
  package func pragma(_ text: String) throws(StoreAccessError) -> String? {
    let statement = try statements.prepare("PRAGMA \(text)")
    guard try statement.step(), !statement.isNull(0) else { return nil }
    guard let text = statement.optionalText(0) else {
      throw StoreAccessError(.outOfMemory, path: path, operation: .step, code: SQLITE_NOMEM)
    }
    while try statement.step() {}
    return text
  }

  /// Returns the error for a setting that was not applied, or that could not be read back because memory is exhausted.
  private func rejected(_ name: String, found: String) -> StoreAccessError {
    if isOutOfMemory { return StoreAccessError(.outOfMemory, path: path, operation: .open, code: SQLITE_NOMEM) }
    return StoreAccessError(.encryptionUnavailable(.rejectedSetting(name, found: found)), path: path, operation: .open)
  }

  /// Whether SQLite is out of memory: it reports so, or a small allocation fails.
  private var isOutOfMemory: Bool {
    if sqlite3_errcode(pointer) & 0xff == SQLITE_NOMEM { return true }
    guard let block = sqlite3_malloc(Int32(4 * format.pageSize)) else { return true }
    sqlite3_free(block)
    return false
  }
}

// MARK: - Opening for reading

extension Connection {
  /// Opens a store for reading, without changing its file.
  ///
  /// The contents of the write-ahead log are not copied into the file either: the log may belong to another state of the store. If the
  /// folder is not writable and there is no log, neither locks nor an index are needed. The only write that can happen is the rollback of a
  /// transaction that was interrupted without a log, which must precede any read.
  package static func reading(
    _ path: String, key: DatabaseKey, options: ConnectionOptions = ConnectionOptions()
  ) throws(StoreAccessError) -> Connection {
    let path = try StoreFile.absolutePath(path)
    var options = options
    options.keepsJournalMode = true
    // A read-only connection never deletes a log, even an empty one. A log with frames must stay, but a writing connection would copy it
    // when it closes.
    let mayWrite = ReadOnlyMedium.mayWrite(path)
    options.isReadOnly = !mayWrite || StoreFile.size(path + "-wal") ?? 0 > 0
    var connection = try Connection(opening: path, key: key, options: options)
    if options.isReadOnly, mayWrite, !connection.keepsLock {
      // The log was removed in the meantime. Without one, another process can be killed before each statement, and a read-only connection
      // could not roll back its transaction.
      connection.close()
      options.isReadOnly = false
      connection = try Connection(opening: path, key: key, options: options)
    }
    try connection.set("query_only", 1)
    return connection
  }

  /// Runs `body` with a connection that can write, for example to other files, but does not change the store's own file.
  ///
  /// - Parameters:
  ///   - keepsReader: Whether `onReader` takes over its connection and closes it.
  static func withUnchangedFile<Result>(
    _ path: String, key: DatabaseKey, options: ConnectionOptions, keepsReader: Bool = false,
    onReader: (Connection) throws -> Void = { _ in }, _ body: (Connection) throws -> Result
  ) throws -> Result {
    // While this connection is open, closing another one does not copy the log into the file.
    let reader = try reading(path, key: key, options: options)
    defer { if !keepsReader { reader.close() } }
    try onReader(reader)
    var options = options
    options.isReadOnly = false
    options.checkpointPages = 0
    options.keepsJournalMode = true
    let connection = try Connection(opening: path, key: key, options: options)
    defer { connection.close() }
    return try body(connection)
  }
}

// MARK: - Recovering interrupted transactions

extension Connection {
  /// Runs `body`, which starts reading. If an interrupted transaction must be rolled back first, rolls it back and runs `body` again.
  ///
  /// Only read-only connections that have `recoverJournal` recover, and only outside transactions. Without a write-ahead log, another process
  /// can begin a transaction and be killed between any two statements.
  func withJournalRecovery<Result>(_ body: () throws(StoreAccessError) -> Result) throws(StoreAccessError) -> Result {
    guard let recoverJournal, !keepsLock, isInAutocommit else { return try body() }
    return try withJournalRecovery(by: recoverJournal, body)
  }

  /// Runs `body` like `withJournalRecovery(_:)`, with the given rollback.
  func withJournalRecovery<Result>(
    by recoverJournal: () throws(StoreAccessError) -> Void, _ body: () throws(StoreAccessError) -> Result
  ) throws(StoreAccessError) -> Result {
    do throws(StoreAccessError) { return try body() } catch  where error.extendedCode == ResultCode.readOnlyRollback {
      // A process without write permission gets the error.
      guard ReadOnlyMedium.mayWrite(path) else { throw error }
      abandonTransaction()
      try recoverJournal()
      try lockLocation()
      return try body()
    }
  }

  /// Rolls back an interrupted transaction in a store without a write-ahead log by opening it for writing. Nothing else changes.
  static func recoverJournal(_ path: String, key: DatabaseKey, options: ConnectionOptions) throws(StoreAccessError) {
    var options = options
    options.isReadOnly = false
    options.keepsJournalMode = true
    options.checkpointPages = 0
    try Connection(opening: path, key: key, options: options).close()
  }
}

// MARK: - Opening plaintext databases

extension Connection {
  /// Configures a connection without a key. Rejects files that are not plaintext databases, and connections that are not read-only.
  ///
  /// The connection writes nothing, and keeps temporary data in memory.
  func configurePlain() throws(StoreAccessError) {
    guard options.isReadOnly else {
      throw StoreAccessError(.misuse(.plainIsReadOnly), path: path, operation: .open)
    }
    let header = try BareDatabaseFile(path).prefix(16)
    guard header.starts(with: Array("SQLite format 3".utf8) + [0]) else {
      throw StoreAccessError(.unsupportedFormat(.notPlain), path: path, operation: .open, code: SQLITE_NOTADB)
    }
    if LibraryVersion.hasTrustedSchema { try set("trusted_schema", 0) }
    try set("temp_store", 2)
    try set("query_only", 1)
    try set("cache_size", -options.cacheSizeKiB)
    try set("cell_size_check", 1)
    try execute("PRAGMA mmap_size = 0")
    let statement = try self.statement(sql: "SELECT count(*) FROM sqlite_master")
    _ = try statement.step()
    statement.reset()
  }

  /// Returns the URI with which SQLite opens a file that cannot change.
  static func immutableURI(_ path: String) -> String {
    "file:" + (path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed.subtracting(CharacterSet(charactersIn: "?#%"))) ?? path)
      + "?immutable=1"
  }
}
