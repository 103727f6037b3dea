// Transactions: read snapshots that end with the sentinel, immediate writes, savepoints; rollback on any error.

import CSQLCipher
import StoreFiles
package import StoreKeys

/// Statements that the connection itself runs, kept prepared in the text cache.
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
  /// The text of the sentinel.
  static var sentinelText: String { Command.sentinel }

  /// Opens a read transaction; its snapshot is taken by the first read.
  package func beginRead() throws(StoreAccessError) {
    guard takesBack != nil, !keepsLock else { return try begin() }
    try beginning { () throws(StoreAccessError) in
      // The first read is where something interrupted is found.
      try takingBack { () throws(StoreAccessError) in
        try begin()
        _ = try userVersion()
      }
    }
  }

  private func begin() throws(StoreAccessError) {
    try lockPlace()
    try beginning { () throws(StoreAccessError) in try ownStatement(&commands.begin, Command.begin).run() }
  }

  /// Begins a transaction. A beginning that fails, for want of memory for instance, may have begun it all the same, and nobody would end it. One that was open
  /// before, and is the reason, stays.
  private func beginning(_ begin: () throws(StoreAccessError) -> Void) throws(StoreAccessError) {
    do throws(StoreAccessError) { try begin() } catch {
      if error.code != SQLITE_ERROR { abandonTransaction() }
      throw error
    }
  }

  /// Ends the read transaction that `beginRead` opened.
  package func endRead() throws(StoreAccessError) {
    try ownStatement(&commands.commit, Command.commit).run()
  }

  /// Finds out whether a page read since the transaction began failed its check: SQLCipher returns such a page as zeros without an error
  /// where it is the last one that a statement reads, but remembers it.
  ///
  /// Costs about 0.4 µs, and next to nothing where no page was read since it was last asked. Throws `.storeCorrupt`; the connection must be closed then.
  package func checkSentinel() throws(StoreAccessError) {
    // Before the step: it may read a page itself.
    let reads = PageGuard.readCount
    if checkedReads != reads {
      let statement = try ownStatement(&commands.sentinel, Command.sentinel)
      _ = try statement.step()
      statement.reset()
      checkedReads = reads
    }
    // Without locks nothing keeps others from writing what this process may not.
    if let medium, !medium.isUnchanged(path) { throw StoreAccessError(.busy, path: path, operation: .read) }
  }

  /// The number in the database's first page that is the application's. Inside a transaction it is that of the transaction's snapshot, which it
  /// begins where nothing was read yet.
  ///
  /// Costs about as much as the sentinel: the first page is at hand, and no schema is looked at.
  package func userVersion() throws(StoreAccessError) -> Int {
    let statement = try ownStatement(&commands.userVersion, Command.userVersion)
    return try takingBack { () throws(StoreAccessError) in
      defer { statement.reset() }
      return try statement.step() ? statement.int(0) : 0
    }
  }

  /// A number that is another one once another connection has committed, in this process or elsewhere. To be asked outside of a transaction.
  package func dataVersion() throws(StoreAccessError) -> Int64 {
    try lockPlace()
    let statement = try ownStatement(&commands.dataVersion, Command.dataVersion)
    return try takingBack { () throws(StoreAccessError) in
      defer { statement.reset() }
      return try statement.step() ? statement.int64(0) : 0
    }
  }

  /// What ``userVersion()`` gives, in a write transaction that was begun and has not set it.
  ///
  /// The begin of a write looks at the first page: where it is another one by now, or none is at hand, SQLite reads it anew. As long as nothing was
  /// read since the number was asked for, it is the same, and no statement is run for it.
  package func userVersionOfWrite() throws(StoreAccessError) -> Int {
    let reads = PageGuard.readCount
    if let knownVersion, knownVersion.reads == reads { return knownVersion.version }
    let version = try userVersion()
    // The count of before: what others read meanwhile only makes the next one ask again.
    knownVersion = setsUserVersion ? nil : (version, reads)
    return version
  }

  /// Sets the number that ``userVersion()`` reads, as a part of the open transaction.
  package func setUserVersion(_ version: Int32) throws(StoreAccessError) {
    // It may be rolled back without a page being read.
    setsUserVersion = true
    knownVersion = nil
    try execute("PRAGMA user_version = \(version)")
  }

  /// Whether another connection, of this process or another, has committed since this was last asked of this connection; true the first time. What this
  /// connection commits itself does not count. Asked outside of transactions.
  package func othersHaveCommitted() throws(StoreAccessError) -> Bool {
    let version = try dataVersion()
    defer { knownDataVersion = version }
    return version != knownDataVersion
  }

  /// Runs `body` in one read snapshot and checks, before it ends, that no page failed.
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

  /// Begins a write transaction, and takes the writer's lock at once.
  package func beginWrite() throws(StoreAccessError) {
    try lockPlace()
    try beginning { () throws(StoreAccessError) in try ownStatement(&commands.beginImmediate, Command.beginImmediate).run() }
  }

  /// Commits the write transaction that `beginWrite` began. Where it throws the transaction may still be open.
  package func commitWrite() throws(StoreAccessError) {
    // A damaged page that was read as zeros must not be copied into new rows.
    try checkSentinel()
    try ownStatement(&commands.commit, Command.commit).run()
    commits?.add()
    notice.touch()
  }

  /// Runs `body` in one write transaction; commits, or rolls everything back on an error.
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

  /// Begins a part of the open transaction that can be taken back alone; of several, one inside the other, the inner one is ended first.
  package func beginSavepoint() throws(StoreAccessError) {
    try ownStatement(&commands.savepoint, "SAVEPOINT nested").run()
  }

  /// Ends the part that `beginSavepoint` began last; what it did is the transaction's.
  package func releaseSavepoint() throws(StoreAccessError) {
    try ownStatement(&commands.release, "RELEASE nested").run()
  }

  /// Takes the part back that `beginSavepoint` began last; what came before it stays. Used after an error, so its own failure says nothing new.
  package func rollBackToSavepoint() {
    // An error such as a full disk may have rolled the whole transaction back already.
    if isInAutocommit { return }
    do throws(StoreAccessError) {
      try ownStatement(&commands.rollbackToSavepoint, "ROLLBACK TO nested").run()
      try ownStatement(&commands.release, "RELEASE nested").run()
    } catch {
      // What cannot be taken back alone must not be committed with the rest.
      abandonTransaction()
    }
  }

  /// Runs `body` while SQLite checks no foreign keys. It must not be called in a transaction, where the setting does nothing.
  package func withoutForeignKeys<Result>(_ body: () throws -> Result) throws -> Result {
    guard options.enforcesForeignKeys else { return try body() }
    try execute("PRAGMA foreign_keys = 0")
    defer { try? execute("PRAGMA foreign_keys = 1") }
    return try body()
  }

  /// Rolls back whatever is open; used after an error, so its own failure says nothing new. A connection on which something is open even then is given up: closing
  /// it takes the transaction back.
  package func abandonTransaction() {
    guard !isInAutocommit else { return }
    try? ownStatement(&commands.rollback, Command.rollback).run()
    if !isInAutocommit { database.giveUp() }
  }

  private func ownStatement(_ place: inout Statement?, _ sql: String) throws(StoreAccessError) -> Statement {
    if let place { return place }
    let statement = try statements.prepare(sql)
    place = statement
    return statement
  }
}

/// The statements of transactions, prepared once.
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
