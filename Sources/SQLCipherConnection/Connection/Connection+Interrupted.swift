import CSQLCipher
import StoreKeys

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
