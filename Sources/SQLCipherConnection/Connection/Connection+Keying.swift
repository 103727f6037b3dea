// Key, page format, the check that the key fits, and every setting read back. Nothing here lets SQLite touch a file that the key does not fit.

import CSQLCipher
import Foundation
import StoreFiles
package import StoreKeys

extension Connection {
  /// Gives SQLCipher the key and the page format, and checks both on the file's first page.
  func setKey(_ key: DatabaseKey, isNew: Bool) throws(StoreAccessError) {
    if !isNew { try checkHeader() }
    try CipherProvider.keep(path: path)
    let text = key.sqlcipherText()
    let code = text.withUnsafeBytes { sqlite3_key(pointer, $0.baseAddress, Int32($0.count)) }
    guard code == SQLITE_OK else { throw database.failure(code, operation: .key) }
    // Only now: before the key it would be reset, after the first read it would have written to standard error.
    if LibraryVersion.hasCipherLog { try execute("PRAGMA cipher_log_level = NONE") }
    try execute(key.format.settings(of: "main"))
    database.authenticator = try PageAuthenticator(key: key)
    if !isNew {
      try checkFirstPage(key)
      if !options.trustsLog { try checkLog() }
    }
  }

  /// A plain database says so in its first bytes.
  private func checkHeader() throws(StoreAccessError) {
    var header = [UInt8](repeating: 0, count: 16)
    let code = header.withUnsafeMutableBytes { readFile(into: $0, offset: 0) }
    guard code == SQLITE_OK else { throw database.failure(code, operation: .open) }
    try BareDatabaseFile.checkHeader(header, path: path)
  }

  /// Checks the first page's code ourselves: SQLite would recover a left-over log, and copy it into the file, before it sees a wrong key.
  private func checkFirstPage(_ key: DatabaseKey) throws(StoreAccessError) {
    guard let authenticator = database.authenticator else { return }
    let page = UnsafeMutableRawBufferPointer.allocate(byteCount: format.pageSize, alignment: 16)
    defer { page.deallocate() }
    // Another process may be writing the page just now.
    for attempt in 0..<4 {
      if attempt > 0 { usleep(2_000) }
      let code = readFile(into: page, offset: 0)
      if code == ResultCode.shortRead { throw StoreAccessError(.notAStore(.stub), path: path, operation: .open) }
      guard code == SQLITE_OK else { throw database.failure(code, operation: .open) }
      if try authenticator.isAuthentic(page, number: 1) { return }
    }
    // A crash may have torn the page while it was written: the newer copy is in the log, the older one in the rollback journal.
    if try WriteAheadLog.holdsAuthenticFirstPage(databasePath + "-wal", authenticator: authenticator) { return }
    if try RollbackJournal.holdsAuthenticFirstPage(databasePath + "-journal", authenticator: authenticator) { return }
    // The salt stands in clear text: another one is that of another data key, unless pages of this one stand behind it. Nobody has ever written zeros.
    if key.isProven, !page[..<DatabaseKey.saltSize].elementsEqual(key.salt), page[..<DatabaseKey.saltSize].contains(where: { $0 != 0 }),
      try !hasAuthenticPage(authenticator, page)
    {
      throw StoreAccessError(.keyFileOutdated, path: path, operation: .open, code: SQLITE_NOTADB)
    }
    throw StoreAccessError(key.isProven ? .storeCorrupt(.pageMAC) : .unreadableStore, path: path, operation: .open, code: SQLITE_NOTADB)
  }

  /// Whether one of some pages behind the first was written with the key: of all where there are few.
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

  /// Refuses a log that somebody put beside the store: SQLite checks a plain sum only, and would copy its pages into the file.
  private func checkLog() throws(StoreAccessError) {
    let log = databasePath + "-wal"
    guard let authenticator = database.authenticator, StoreFile.size(log) ?? 0 > WriteAheadLog.headerSize else { return }
    for attempt in 0..<2 {
      if attempt > 0 { usleep(2_000) }
      if try WriteAheadLog.isAuthentic(log, authenticator: authenticator) { return }
    }
    throw StoreAccessError(.storeCorrupt(.wal), path: log, operation: .open)
  }

  /// Reads the database file through SQLite's own descriptor: closing another one would drop this process's locks.
  func readFile(into buffer: UnsafeMutableRawBufferPointer, offset: Int64) -> Int32 {
    BareDatabaseFile.read(pointer, into: buffer, offset: offset)
  }

  /// The settings of every connection.
  func configure(isNew: Bool) throws(StoreAccessError) {
    if isNew {
      try set("page_size", format.pageSize)
    }
    if LibraryVersion.hasTrustedSchema { try set("trusted_schema", 0) }
    if LibraryVersion.hasDefensive && !options.isForExport {
      var now: Int32 = 0
      let code = cipherdata_db_config_flag(pointer, CIPHERDATA_DBCONFIG_DEFENSIVE, 1, &now)
      guard code == SQLITE_OK, now == 1 else { throw refused("DEFENSIVE", found: "\(now)") }
    }
    try set("temp_store", 2)
    try set("cache_size", -options.cacheSizeKiB)
    try set("cell_size_check", 1)
    try set("foreign_keys", options.enforcesForeignKeys ? 1 : 0)
    // Libraries built without memory mapping answer with no row.
    try execute("PRAGMA mmap_size = 0")
    if let size = try pragma("mmap_size"), size != "0" { throw refused("mmap_size", found: size) }

    // The first read that SQLite does: from here on it decides whether the pages make a database.
    try firstRead()
    guard let version = try pragma("cipher_version"), !version.isEmpty else {
      if isOutOfMemory { throw StoreAccessError(.outOfMemory, path: path, operation: .open, code: SQLITE_NOMEM) }
      throw StoreAccessError(.encryptionUnavailable(.notSQLCipher), path: path, operation: .open)
    }
    guard let size = try pragma("page_size"), size == String(format.pageSize) else {
      throw refused("page_size", found: try pragma("page_size") ?? "")
    }
    try setJournal()
  }

  private func firstRead() throws(StoreAccessError) {
    do {
      let statement = try self.statement(sql: "SELECT count(*) FROM sqlite_master")
      // The schema has been read, and without a log the lock went with that: another file's journal would be taken for this one's.
      try lockPlace()
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
    for _ in 0..<DatabasePlace.maximumAttempts {
      // Asking first: changing the mode, even to the same one, takes locks.
      if try pragma("journal_mode") == mode { return }
      try lockPlace()
      let answer = try pragma("journal_mode = \(mode)")
      guard answer == mode else { throw refused("journal_mode", found: answer ?? "") }
      // The lock went with the change, and the next read opens the log; unless another process, which wants another mode, has come in between.
      try lockPlace()
      try firstRead()
    }
    throw StoreAccessError(.busy, path: path, operation: .open)
  }

  /// Takes a reader's lock where SQLite holds none, and makes sure that the file is the one at its path: to be called before SQLite reads.
  ///
  /// - Throws: `.exchanged`; the connection is of no use then.
  func lockPlace() throws(StoreAccessError) {
    guard let place, !keepsLock, isInAutocommit, !isClosed else { return }
    do throws(StoreAccessError) {
      try place.lock(timeoutMilliseconds: options.busyTimeoutMilliseconds, operation: .open)
    } catch {
      if error.kind == .exchanged { database.giveUp() }
      throw error
    }
  }

  /// Sets a pragma and reads it back: SQLite ignores a pragma that it does not know without a word.
  func set(_ name: String, _ value: Int) throws(StoreAccessError) {
    try execute("PRAGMA \(name) = \(value)")
    let now = try pragma(name)
    guard now == String(value) else { throw refused(name, found: now ?? "nothing") }
  }

  /// The first column of a pragma's first row. It is run to its end: what a change of the journal's mode fails with comes after the row.
  package func pragma(_ text: String) throws(StoreAccessError) -> String? {
    let statement = try statements.prepare("PRAGMA \(text)")
    guard try statement.step(), !statement.isNull(0) else { return nil }
    guard let text = statement.optionalText(0) else {
      throw StoreAccessError(.outOfMemory, path: path, operation: .step, code: SQLITE_NOMEM)
    }
    while try statement.step() {}
    return text
  }

  /// A setting that was not taken, or whose answer got lost because there was no memory for it.
  private func refused(_ name: String, found: String) -> StoreAccessError {
    if isOutOfMemory { return StoreAccessError(.outOfMemory, path: path, operation: .open, code: SQLITE_NOMEM) }
    return StoreAccessError(.encryptionUnavailable(.refusedSetting(name, found: found)), path: path, operation: .open)
  }

  /// Whether SQLite lacks memory: it says so, or gets no little piece.
  private var isOutOfMemory: Bool {
    if sqlite3_errcode(pointer) & 0xff == SQLITE_NOMEM { return true }
    guard let piece = sqlite3_malloc(Int32(4 * format.pageSize)) else { return true }
    sqlite3_free(piece)
    return false
  }
}
