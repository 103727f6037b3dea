import CSQLCipher
import StoreFiles
package import StoreKeys

private enum Command {
  static let begin = "BEGIN"
  static let beginImmediate = "BEGIN IMMEDIATE"
  static let commit = "COMMIT"
  static let rollback = "ROLLBACK"
  static let sentinel = "SELECT 1 FROM sqlite_master LIMIT 1"
  static let userVersion = "PRAGMA user_version"
  static let dataVersion = "PRAGMA data_version"
}

extension Connection {
  /// The text of the sentinel statement.
  static var sentinelText: String { Command.sentinel }

  /// Begins a read transaction. The first read takes its snapshot.
  package func beginRead() throws(StoreAccessError) {
    guard recoverJournal != nil, !keepsLock else { return try begin() }
    try beginning { () throws(StoreAccessError) in
      // The first read detects an interrupted transaction.
      try withJournalRecovery { () throws(StoreAccessError) in
        try begin()
        _ = try userVersion()
      }
    }
  }

  private func begin() throws(StoreAccessError) {
    try lockLocation()
    try beginning { () throws(StoreAccessError) in try ownStatement(&commands.begin, Command.begin).run() }
  }

  /// Begins a transaction. If that fails, for example because memory is exhausted, SQLite may have begun it anyway: it is rolled back. A
  /// transaction that was already open, and is the cause of the error, stays open.
  private func beginning(_ begin: () throws(StoreAccessError) -> Void) throws(StoreAccessError) {
    do throws(StoreAccessError) { try begin() } catch {
      if error.code != SQLITE_ERROR { abandonTransaction() }
      throw error
    }
  }

  /// Ends the read transaction that `beginRead` began.
  package func endRead() throws(StoreAccessError) {
    try ownStatement(&commands.commit, Command.commit).run()
  }

  /// Checks that no page read since the transaction began failed its check.
  ///
  /// If the damaged page is the last one that a statement reads, SQLCipher returns it as zeros without an error, but remembers the failure.
  ///
  /// Costs about 0.4 µs, and next to nothing if no page was read since the last check.
  ///
  /// - Throws: `.storeCorrupt` if a page failed. The connection must then be closed.
  package func checkSentinel() throws(StoreAccessError) {
    // Before the step, which may read a page.
    let reads = PageGuard.readCount
    if checkedReads != reads {
      let statement = try ownStatement(&commands.sentinel, Command.sentinel)
      _ = try statement.step()
      statement.reset()
      checkedReads = reads
    }
    // Without locks, processes with more permissions can write the file.
    if let medium, !medium.isUnchanged(path) { throw StoreAccessError(.busy, path: path, operation: .read) }
  }

  /// Returns the user version in the database's first page, a number of the application.
  ///
  /// Inside a transaction the number is that of the transaction's snapshot; if nothing was read yet, this takes the snapshot. It costs
  /// about as much as the sentinel: the first page is cached, and the schema is not needed.
  package func userVersion() throws(StoreAccessError) -> Int {
    let statement = try ownStatement(&commands.userVersion, Command.userVersion)
    return try withJournalRecovery { () throws(StoreAccessError) in
      defer { statement.reset() }
      return try statement.step() ? statement.int(0) : 0
    }
  }

  /// Returns a number that changes when another connection of any process commits. Call it outside transactions.
  package func dataVersion() throws(StoreAccessError) -> Int64 {
    try lockLocation()
    let statement = try ownStatement(&commands.dataVersion, Command.dataVersion)
    return try withJournalRecovery { () throws(StoreAccessError) in
      defer { statement.reset() }
      return try statement.step() ? statement.int64(0) : 0
    }
  }

  /// Returns ``userVersion()`` in a write transaction that has begun and has not set it.
  ///
  /// Beginning a write checks the first page, and reads it again if it changed or is not cached. If no page was read since the last call,
  /// the number is unchanged and no statement runs.
  package func userVersionOfWrite() throws(StoreAccessError) -> Int {
    let reads = PageGuard.readCount
    if let knownVersion, knownVersion.reads == reads { return knownVersion.version }
    let version = try userVersion()
    // The count from before the read: reads of other threads in the meantime only cause another query.
    knownVersion = setsUserVersion ? nil : (version, reads)
    return version
  }

  /// Sets the number that ``userVersion()`` returns, as part of the open transaction.
  package func setUserVersion(_ version: Int32) throws(StoreAccessError) {
    // A rollback restores the old number without reading a page.
    setsUserVersion = true
    knownVersion = nil
    try execute("PRAGMA user_version = \(version)")
  }

  /// Returns whether another connection of any process has committed since the last call on this connection; true the first time.
  ///
  /// Commits of this connection do not count. Call it outside transactions.
  package func hasRemoteCommits() throws(StoreAccessError) -> Bool {
    let version = try dataVersion()
    defer { knownDataVersion = version }
    return version != knownDataVersion
  }

  /// Runs `body` in one read snapshot, and checks before it ends that no page failed.
  @discardableResult
  package func readTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    try beginRead()
    do {
      let result = try body()
      try checkSentinel()
      try endRead()
      return result
    } catch {
      abandonTransaction()
      throw error
    }
  }

  /// Begins a write transaction, and takes the write lock immediately.
  package func beginWrite() throws(StoreAccessError) {
    try lockLocation()
    try beginning { () throws(StoreAccessError) in try ownStatement(&commands.beginImmediate, Command.beginImmediate).run() }
  }

  /// Commits the write transaction that `beginWrite` began. If it throws, the transaction may still be open.
  package func commitWrite() throws(StoreAccessError) {
    // A damaged page that was read as zeros must not be copied into new rows.
    try checkSentinel()
    try ownStatement(&commands.commit, Command.commit).run()
    commits?.add()
    notice.touch()
  }

  /// Runs `body` in one write transaction. Commits, or rolls back if an error is thrown.
  @discardableResult
  package func writeTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    try beginWrite()
    do {
      let result = try body()
      try commitWrite()
      return result
    } catch {
      abandonTransaction()
      throw error
    }
  }

  /// Begins a savepoint in the open transaction. Savepoints nest, and the inner one ends first.
  package func beginSavepoint() throws(StoreAccessError) {
    try ownStatement(&commands.savepoint, "SAVEPOINT nested").run()
  }

  /// Releases the savepoint that `beginSavepoint` began last. Its changes become part of the transaction.
  package func releaseSavepoint() throws(StoreAccessError) {
    try ownStatement(&commands.release, "RELEASE nested").run()
  }

  /// Rolls back to the savepoint that `beginSavepoint` began last. Earlier changes stay.
  ///
  /// Called after an error, so it ignores its own failure.
  package func rollBackToSavepoint() {
    // An error such as a full disk may have rolled back the whole transaction already.
    if isInAutocommit { return }
    do throws(StoreAccessError) {
      try ownStatement(&commands.rollbackToSavepoint, "ROLLBACK TO nested").run()
      try ownStatement(&commands.release, "RELEASE nested").run()
    } catch {
      // If the savepoint cannot be rolled back, the transaction must not commit.
      abandonTransaction()
    }
  }

  /// Runs `body` with foreign key enforcement off. Must not be called in a transaction, where the setting has no effect.
  package func withoutForeignKeys<Result>(_ body: () throws -> Result) throws -> Result {
    guard options.enforcesForeignKeys else { return try body() }
    try execute("PRAGMA foreign_keys = 0")
    defer { try? execute("PRAGMA foreign_keys = 1") }
    return try body()
  }

  /// Rolls back the open transaction, if any.
  ///
  /// Called after an error, so it ignores its own failure. If the transaction is still open then, the connection is marked as unusable:
  /// closing it rolls back the transaction.
  package func abandonTransaction() {
    guard !isInAutocommit else { return }
    try? ownStatement(&commands.rollback, Command.rollback).run()
    if !isInAutocommit { database.markDamaged() }
  }

  private func ownStatement(_ place: inout Statement?, _ sql: String) throws(StoreAccessError) -> Statement {
    if let place { return place }
    let statement = try statements.prepare(sql)
    place = statement
    return statement
  }
}

/// The prepared statements of transactions.
struct TransactionCommands {
  var begin: Statement?
  var dataVersion: Statement?
  var beginImmediate: Statement?
  var commit: Statement?
  var rollback: Statement?
  var sentinel: Statement?
  var userVersion: Statement?
  var savepoint: Statement?
  var release: Statement?
  var rollbackToSavepoint: Statement?
}

// MARK: - Write-ahead log

extension Connection {
  /// The extent of a checkpoint.
  package enum Checkpoint: Sendable {
    /// Copies as much as readers allow, without waiting.
    case passive
    /// Waits for readers, and truncates the log file to zero bytes.
    case truncate

    fileprivate var mode: Int32 {
      switch self {
      case .passive: SQLITE_CHECKPOINT_PASSIVE
      case .truncate: SQLITE_CHECKPOINT_TRUNCATE
      }
    }
  }

  /// Copies the log into the database file as far as `checkpoint` allows. Has no effect if that is not possible.
  ///
  /// - Returns: Whether the whole log was copied.
  @discardableResult
  package func checkpoint(_ checkpoint: Checkpoint) -> Bool {
    if isClosed { return false }
    var (inLog, copied): (Int32, Int32) = (0, 0)
    let code = sqlite3_wal_checkpoint_v2(pointer, "main", checkpoint.mode, &inLog, &copied)
    return code == SQLITE_OK && inLog == copied
  }

  /// Whether an observer of the log is set. SQLite then starts no automatic checkpoints.
  var hasLogObserver: Bool { logObserver != nil }

  /// Sets an observer that is called after each commit with the number of pages in the log, and turns off automatic checkpoints; nil turns
  /// them on again.
  ///
  /// While a reader keeps its snapshot, automatic checkpoints cost more with each commit: SQLite sorts the whole log before it finds that
  /// it cannot copy anything.
  func setLogObserver(_ observer: ((Connection, Int) -> Void)?) {
    guard !isClosed else { return }
    guard let observer else {
      sqlite3_wal_autocheckpoint(pointer, Int32(clamping: options.checkpointPages))
      logObserver = nil
      return
    }
    let box = LogObserver(self, observer)
    sqlite3_wal_hook(
      pointer,
      { data, _, _, count in
        // The connection keeps the box alive as long as the hook is installed.
        data.map { Unmanaged<LogObserver>.fromOpaque($0)._withUnsafeGuaranteedRef { $0.report(Int(count)) } }
        return SQLITE_OK
      }, Unmanaged.passUnretained(box).toOpaque())  // as above
    logObserver = box
  }

  /// Frees the memory of unused cache pages.
  func releaseMemory() {
    if !isClosed { sqlite3_db_release_memory(pointer) }
  }
}

final class LogObserver {
  private unowned let connection: Connection
  private let observer: (Connection, Int) -> Void

  init(_ connection: Connection, _ observer: @escaping (Connection, Int) -> Void) {
    self.connection = connection
    self.observer = observer
  }

  func report(_ count: Int) { observer(connection, count) }
}
