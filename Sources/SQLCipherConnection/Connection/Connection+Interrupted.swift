// Connection+Interrupted: what a process that was killed has begun without a log, and who only reads has to have taken back.

import CSQLCipher
import StoreKeys

extension Connection {
  /// Runs `body`, which begins to read; once more where something interrupted had to be taken back first. Only connections that know how do so, outside of
  /// transactions: without a log nothing but a transaction keeps others from beginning, and being killed, between two statements.
  func takingBack<Result>(_ body: () throws(StoreAccessError) -> Result) throws(StoreAccessError) -> Result {
    guard let takesBack, !keepsLock, isInAutocommit else { return try body() }
    return try takingBack(by: takesBack, body)
  }

  /// The same, by a way of one's own.
  func takingBack<Result>(
    by takesBack: () throws(StoreAccessError) -> Void, _ body: () throws(StoreAccessError) -> Result
  ) throws(StoreAccessError) -> Result {
    do throws(StoreAccessError) { return try body() } catch  where error.extendedCode == ResultCode.readOnlyRollback {
      // Who may not write is told so.
      guard ReadOnlyMedium.mayWrite(path) else { throw error }
      abandonTransaction()
      try takesBack()
      try lockPlace()
      return try body()
    }
  }

  /// Takes back what was interrupted in a store without a log, which is what a connection that may write does when it reads. Nothing else is changed.
  static func takeBack(_ path: String, key: DatabaseKey, options: ConnectionOptions) throws(StoreAccessError) {
    var options = options
    options.isReadOnly = false
    options.keepsJournalMode = true
    options.checkpointPages = 0
    try Connection(opening: path, key: key, options: options).close()
  }
}
