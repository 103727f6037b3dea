import CSQLCipher
import Foundation
package import StoreFiles
public import StoreKeys
import Synchronization

/// An open, keyed database connection, used by one thread at a time. It is not `Sendable`.
@usableFromInline package final class Connection {
  /// The path of the database file.
  package let path: String
  /// The options that the connection was opened with.
  package let options: ConnectionOptions
  /// The page format of the file.
  package let format: SQLCipherFormat
  /// Interrupts the running statement, from any thread.
  package let interrupter: Interrupter

  /// The folder of the store's large values.
  package var externalFolder: ExternalFolder?
  /// An object attached to the open transaction. The owner of the connection sets it.
  package let attachment = ConnectionAttachment()

  /// The state of the file at opening, if its folder is not writable.
  let medium: ReadOnlyMedium?
  /// The path and identity of the file at opening; nil for a file that is new, plaintext, or that cannot be replaced.
  let place: DatabaseLocation?
  /// Whether SQLite holds a shared lock as long as the connection is open, as it does with a write-ahead log.
  var keepsLock = false
  /// Rolls back the interrupted transaction of another process without a log. Set on read-only connections that may outlive others.
  var recoverJournal: (() throws(StoreAccessError) -> Void)?

  let database: DatabaseHandle
  @usableFromInline let pointer: OpaquePointer
  @usableFromInline let statements: StatementTable
  /// The path that SQLite uses, with symbolic links resolved. The log is next to it.
  package let databasePath: String
  /// Notifies observers of this connection's commits.
  var notice: CommitNotice
  /// The data version at the last call of ``hasRemoteCommits()``; nil before the first.
  var knownDataVersion: Int64?
  /// Counts the commits of this connection.
  var commits: CommitCounter?
  /// The process-wide number of page reads at the last successful sentinel; nil before the first.
  // Every transaction accesses it. A connection has one caller at a time, and nothing here re-enters.
  @exclusivity(unchecked) var checkedReads: UInt64?
  /// The user version in the first page, and the process-wide number of page reads before it was read.
  // Exclusivity is unchecked for the reason above.
  @exclusivity(unchecked) var knownVersion: (version: Int, reads: UInt64)?
  /// Whether this connection has set the user version. From then on it is read every time.
  var setsUserVersion = false
  /// The statements of transactions.
  // Exclusivity is unchecked for the reason above.
  @exclusivity(unchecked) var commands = TransactionCommands()
  /// The scan directions of statements that read whole tables.
  package var scanDirections = AlternatingScans()
  /// The observer of the log, which replaces automatic checkpoints.
  var logObserver: LogObserver?
  var profiler: StatementProfiler?
  /// The registered names of value-list tables.
  var valueLists: Set<String> = []
  /// Whether a page failed its check. SQLCipher then fails every later read, and the connection should be closed.
  package var isDamaged: Bool { database.isDamaged }
  package var isClosed: Bool { database.isClosed }
  /// Whether the file is read without locks because its folder is not writable. The connection then does not notice other processes'
  /// commits.
  package var isReadWithoutLocks: Bool { options.isImmutable }

  /// Opens an existing file. Never creates a file, and changes nothing if it fails.
  package convenience init(opening path: String, key: DatabaseKey, options: ConnectionOptions = ConnectionOptions())
    throws(StoreAccessError)
  {
    try self.init(path: path, key: key, options: options, isNew: false)
  }

  /// - Parameter key: The key, or nil for a plaintext database, which only `PlaintextExchange` opens.
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
      let opened = try DatabaseLocation.open(path, flags: flags, layer: layer, timeoutMilliseconds: options.busyTimeoutMilliseconds)
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
      // SQLite opens a file for reading if it cannot open it for writing, whatever the reason.
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
        // Only read-only connections fail with an interrupted transaction.
        try withJournalRecovery(by: { () throws(StoreAccessError) in try Self.recoverJournal(path, key: key, options: options) }) {
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

  /// Runs one or several statements that return no rows.
  package func execute(_ sql: String) throws(StoreAccessError) {
    try database.checkOpen(.execute)
    let code = sqlite3_exec(pointer, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw database.failure(code, operation: .execute, sql: sql, source: .step) }
  }

  /// Returns the prepared statement with a plan number. `sql` is evaluated only the first time.
  ///
  /// The connection owns the statement. Reset it after use, and do not use one number twice at the same time. Debug builds check that each
  /// number always has the same text.
  @inlinable package func statement(_ number: Int, _ sql: @autoclosure () -> String) throws(StoreAccessError) -> Statement {
    if let known = statements.numbered(number) {
      assert(statements.misuse(of: number, for: sql()) == nil, statements.misuse(of: number, for: sql()) ?? "")
      return known
    }
    return try statements.prepareNumbered(number, sql())
  }

  /// Returns a prepared statement for a text. The last few dozen texts stay prepared. A statement that is in use is not returned a second
  /// time.
  package func statement(sql: String) throws(StoreAccessError) -> Statement {
    try statements.statement(text: sql)
  }

  /// Discards all prepared statements, for example after a schema change.
  package func discardStatements() {
    statements.discardAll()
  }

  /// The number of rows that the last INSERT, UPDATE or DELETE changed.
  package var changes: Int { isClosed ? 0 : Int(sqlite3_changes(pointer)) }
  /// The row ID of the last inserted row.
  package var lastInsertedRowID: Int64 { isClosed ? 0 : sqlite3_last_insert_rowid(pointer) }
  /// Whether no transaction is open.
  package var isInAutocommit: Bool { isClosed || sqlite3_get_autocommit(pointer) != 0 }

  /// Interrupts the running statement. From another thread, use `interrupter`.
  package func interrupt() { interrupter.interrupt() }

  /// Finalizes the cached statements and closes the handle. SQLite keeps the handle alive until the last statement is released.
  package func close() {
    guard !isClosed else { return }
    if sqlite3_get_autocommit(pointer) == 0 { sqlite3_exec(pointer, "ROLLBACK", nil, nil, nil) }
    statements.discardAll()
    commands = TransactionCommands()
    // Statements that outlive the connection would still report to the profiler.
    if profiler != nil { sqlite3_trace_v2(pointer, 0, nil, nil) }
    database.close()
    recoverJournal = nil
    logObserver = nil
    profiler = nil
  }
}

/// A holder for an object attached to the open transaction of a connection.
///
/// SQL functions capture this object rather than a weak reference to the connection, which would put the connection on Swift's slow path
/// for reference counting.
package final class ConnectionAttachment {
  /// The attached object. The owner of the connection sets it, and clears it when the transaction ends.
  package var object: AnyObject?
}

/// The settings of a connection: journal, durability, cache, waiting. Each is read back after it is set.
package struct ConnectionOptions: Sendable, Hashable {
  /// The journal mode.
  package enum JournalMode: String, Sendable, Hashable {
    /// Write-ahead log: readers and the writer do not block each other.
    case wal
    /// Rollback journal, for a database that must consist of a single file.
    case delete
  }

  /// The guarantee for commits after a power failure.
  package enum Durability: Sendable, Hashable {
    /// No acknowledged commit is lost (`synchronous=FULL`).
    case full
    /// The last commits may be lost, but the file stays consistent (`synchronous=NORMAL`).
    case fast
  }

  package var journalMode: JournalMode = .wal
  package var durability: Durability = .full
  /// The page cache of each connection, in KiB. The default is 16 MiB: with SQLite's 2 MB, inserts take twice as long and deletes 5.5
  /// times.
  package var cacheSizeKiB = 16_384
  /// The maximum time to wait for another connection's lock, in milliseconds.
  package var busyTimeoutMilliseconds = 5_000
  package var isReadOnly = false
  /// Whether declared foreign keys are enforced.
  package var enforcesForeignKeys = false
  /// The number of pages in the write-ahead log after which a commit starts a checkpoint.
  package var checkpointPages = 1_000

  /// Whether the journal mode of the file stays unchanged. Changing it writes.
  var keepsJournalMode = false

  /// Whether to omit settings that keep SQLCipher's export from writing the copy's schema. For connections that only export.
  var isForExport = false

  /// Whether to skip the check of the log's pages. Set for further connections of a pool, whose first connection has checked them.
  var trustsLog = false

  /// Whether the file and its folder cannot be written, so that SQLite needs neither locks nor an index of the log. For read-only access.
  var isImmutable = false

  package init() {}
}

/// A commit count that a pool shares with its connections, so that a connection needs no reference to its pool.
final class CommitCounter: Sendable {
  private let number = Atomic<UInt64>(0)

  var value: UInt64 { number.load(ordering: .acquiring) }

  /// Increments the count. Call it after the commit.
  func add() { number.add(1, ordering: .releasing) }
}

/// The scan directions of a connection's full table scans, by plan number.
///
/// Tables that do not fit into the cache are scanned forward and backward in turn. The cache keeps the most recently used pages. A scan
/// that starts where the last one started misses on every page, and evicts pages that it needs later. A scan in the other direction starts
/// with the cached pages and decrypts only the rest.
package struct AlternatingScans {
  private enum Direction {
    case forwards, backwards
    /// The statement is not a full scan of one table.
    case never
  }

  /// Larger multiples of the cache size are always scanned forward: their pages may come from disk, and the system's read-ahead works
  /// forward only.
  private static let maximumExcess = 8

  private var directions: [Int: Direction] = [:]

  /// Returns whether the statement should scan backward this time.
  package func isBackwards(_ number: Int) -> Bool { directions[number] == .backwards }

  /// Records that a statement finished.
  ///
  /// - Parameters:
  ///   - number: The plan number of the statement.
  ///   - missed: The number of pages that were not in the cache.
  ///   - capacity: The number of pages that fit into the cache.
  ///   - canReverse: Returns whether the statement is a full scan of one table. Called once, and only if the statement read more pages
  ///     than fit into the cache.
  package mutating func record(_ number: Int, missed: Int, capacity: Int, canReverse: () throws -> Bool) rethrows {
    switch directions[number] {
    case .never: return
    case nil:
      guard missed > capacity, missed <= Self.maximumExcess * capacity else { return }
      directions[number] = try canReverse() ? .backwards : .never
    case .backwards: if missed > capacity / 64 { directions[number] = .forwards }
    case .forwards: if missed > capacity / 64, missed <= Self.maximumExcess * capacity { directions[number] = .backwards }
    }
  }
}
