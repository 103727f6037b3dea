// One handle on an encrypted database, used by one thread at a time.

import CSQLCipher
import Foundation
package import StoreFiles
public import StoreKeys

/// An open, keyed database. It is not `Sendable`: whoever holds it is the only one who uses it.
@usableFromInline package final class Connection {
  /// The file.
  package let path: String
  /// How it was opened.
  package let options: ConnectionOptions
  /// The page format of the file.
  package let format: SQLCipherFormat
  /// Stops what runs here, from any thread.
  package let interrupter: Interrupter

  /// Where the store's large values are.
  package var externalFolder: ExternalFolder?
  /// What goes with the open transaction; whoever has the connection sets it.
  package let attachment = ConnectionAttachment()

  /// What the file was when it was opened where nothing may be written.
  let medium: ReadOnlyMedium?
  /// Where the file stood when it was opened; nil for one that nobody else knows, or that nobody can exchange.
  let place: DatabasePlace?
  /// True from where SQLite holds a reader's lock as long as the connection is open, as it does with a log.
  var keepsLock = false
  /// Takes back what another process has begun without a log; of a connection that only reads, and that others may outlive.
  var takesBack: (() throws(StoreAccessError) -> Void)?

  let database: DatabaseHandle
  @usableFromInline let pointer: OpaquePointer
  @usableFromInline let statements: StatementTable
  /// The database by the name that SQLite has for it, which is where a link leads: its log stands beside it.
  package let databasePath: String
  /// Tells whoever waits of this connection's commits.
  var notice: CommitNotice
  /// What ``othersHaveCommitted()`` saw last; nil before it was first asked.
  var knownDataVersion: Int64?
  /// Counts the commits that this connection does itself.
  var commits: CommitCounter?
  /// The reads of pages in the process when a sentinel last found none of this connection damaged; nil before the first.
  // Asked by each transaction. One caller at a time has the connection, and nothing here calls back.
  @exclusivity(unchecked) var checkedReads: UInt64?
  /// The application's number in the first page, and the reads of pages in the process before it was read.
  // Exclusivity is unchecked for the reason above.
  @exclusivity(unchecked) var knownVersion: (version: Int, reads: UInt64)?
  /// Whether this connection has set that number: it is read each time from then on.
  var setsUserVersion = false
  /// The statements of transactions.
  // Exclusivity is unchecked for the reason above.
  @exclusivity(unchecked) var commands = TransactionCommands()
  /// Which way statements go through whole tables.
  package var scanTurns = ScanTurns()
  /// Who hears of the log, in place of checkpoints that SQLite begins by itself.
  var logObserver: LogObserver?
  /// Who hears of the statements that have run.
  var profiler: StatementProfiler?
  /// The names under which lists of values are tables.
  var valueLists: Set<String> = []
  /// True after a page failed its check: SQLCipher remembers it, and the connection should be closed.
  package var isDamaged: Bool { database.isDamaged }
  package var isClosed: Bool { database.isClosed }
  /// Whether it is read without locks, since nobody may write it here: then it is not heard what others write.
  package var isReadWithoutLocks: Bool { options.isImmutable }

  /// Opens an existing file; never creates one, and changes none where it fails.
  package convenience init(opening path: String, key: DatabaseKey, options: ConnectionOptions = ConnectionOptions())
    throws(StoreAccessError)
  {
    try self.init(path: path, key: key, options: options, isNew: false)
  }

  /// - Parameter key: nil for a plain database; only `PlaintextExchange` asks for that.
  init(path: String, key: DatabaseKey?, options: ConnectionOptions, isNew: Bool) throws(StoreAccessError) {
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    try key?.format.checkSupported(path: path)
    let path = try StoreFile.absolutePath(path)
    let medium = options.isReadOnly && !isNew ? ReadOnlyMedium(path) : nil
    var options = options
    if medium?.isComplete ?? false { options.isImmutable = true }

    let flags = options.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    let layer = key == nil ? nil : try PageGuard.name(for: path)
    let pointer: OpaquePointer
    if isNew || key == nil || options.isImmutable {
      if !isNew { try StoreFile.checkBeforeOpening(path) }
      pointer = try DatabaseHandle.openFile(
        path, flags, uri: options.isImmutable ? Self.immutableURI(path) : nil, layer: layer, operation: .open)
      place = nil
    } else {
      let opened = try DatabasePlace.open(path, flags: flags, layer: layer, timeoutMilliseconds: options.busyTimeoutMilliseconds)
      pointer = opened.pointer
      place = opened
    }
    let database = DatabaseHandle(pointer: pointer, path: path)
    self.path = path
    self.options = options
    self.medium = options.isImmutable ? medium : nil
    self.format = key?.format ?? .portable
    self.pointer = pointer
    self.database = database
    databasePath = sqlite3_db_filename(pointer, "main").map { String(cString: $0) } ?? path
    notice = CommitNotice(databasePath: databasePath)
    interrupter = database.interrupter
    statements = StatementTable(database: database)

    sqlite3_extended_result_codes(pointer, 1)
    guard options.isReadOnly || sqlite3_db_readonly(pointer, "main") == 0 else {
      // Whatever keeps SQLite from opening a file to be written, it opens it to be read then.
      let mayWrite = access(path, W_OK) == 0
      let number = mayWrite ? GuardedFile.openingError(pointer) : errno
      if mayWrite, number != 0 { throw StoreAccessError.system(number, path: path, operation: .open).with(code: SQLITE_CANTOPEN) }
      throw StoreAccessError(
        mayWrite ? .io(0) : .readOnly, path: path, operation: .open, code: mayWrite ? SQLITE_CANTOPEN : SQLITE_READONLY,
        systemError: number)
    }
    database.waiting.milliseconds = options.busyTimeoutMilliseconds
    if let key {
      do throws(StoreAccessError) {
        try setKey(key, isNew: isNew)
        // Only who opens it to be read is refused.
        try takingBack(by: { () throws(StoreAccessError) in try Self.takeBack(path, key: key, options: options) }) {
          () throws(StoreAccessError) in
          try configure(isNew: isNew)
        }
      } catch {
        throw options.isReadOnly ? error.onReadOnlyMedium(path) : error
      }
    } else {
      try configurePlain()
    }
  }

  deinit { close() }

  /// Runs one or several statements that return nothing.
  package func execute(_ sql: String) throws(StoreAccessError) {
    try database.checkOpen(.execute)
    let code = sqlite3_exec(pointer, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw database.failure(code, operation: .execute, sql: sql, source: .step) }
  }

  /// The prepared statement of a number; `sql` is asked for only the first time. A debug build compares the text of each use with the first, and stops
  /// where two texts have one number.
  ///
  /// The statement is the connection's: reset it after use, and do not use one number twice at once.
  @inlinable package func statement(_ number: Int, _ sql: @autoclosure () -> String) throws(StoreAccessError) -> Statement {
    if let known = statements.numbered(number) {
      assert(statements.misuse(of: number, for: sql()) == nil, statements.misuse(of: number, for: sql()) ?? "")
      return known
    }
    return try statements.prepareNumbered(number, sql())
  }

  /// A prepared statement for a text; the last few dozen texts stay prepared. One that is in use is not handed out twice.
  package func statement(sql: String) throws(StoreAccessError) -> Statement {
    try statements.statement(text: sql)
  }

  /// Forgets all prepared statements, for after a change of the schema.
  package func discardStatements() {
    statements.discardAll()
  }

  /// The rows that the last INSERT, UPDATE or DELETE changed.
  package var changes: Int { isClosed ? 0 : Int(sqlite3_changes(pointer)) }
  /// The rows changed since the connection was opened.
  package var totalChanges: Int { isClosed ? 0 : Int(sqlite3_total_changes(pointer)) }
  /// The key of the last inserted row.
  package var lastInsertedRowID: Int64 { isClosed ? 0 : sqlite3_last_insert_rowid(pointer) }
  /// True while no transaction is open.
  package var isInAutocommit: Bool { isClosed || sqlite3_get_autocommit(pointer) != 0 }
  /// SQLite's last message; never contains stored values.
  package var lastErrorMessage: String { isClosed ? "" : String(cString: sqlite3_errmsg(pointer)) }
  /// SQLite's last extended code.
  package var lastExtendedErrorCode: Int32 { isClosed ? 0 : sqlite3_extended_errcode(pointer) }

  /// Stops what runs here; from another thread use `interrupter`.
  package func interrupt() { interrupter.interrupt() }

  /// Finalizes the cached statements and closes the handle; a statement that somebody still holds keeps the handle alive until it goes.
  package func close() {
    guard !isClosed else { return }
    if sqlite3_get_autocommit(pointer) == 0 { sqlite3_exec(pointer, "ROLLBACK", nil, nil, nil) }
    statements.discardAll()
    commands = TransactionCommands()
    // A statement that somebody still holds would tell of its end.
    if profiler != nil { sqlite3_trace_v2(pointer, 0, nil, nil) }
    database.close()
    takesBack = nil
    logObserver = nil
    profiler = nil
  }
}

/// What goes with the open transaction of a connection.
///
/// An object of its own, which functions of SQL can hold: a connection that they knew weakly would be retained the slow way by everybody.
package final class ConnectionAttachment {
  /// Whoever has the connection sets it, and takes it away with the transaction.
  package var object: AnyObject?
}
