import Foundation
import StoreFiles
import StoreKeys

extension StoreKeyring {
  /// Opens the store exclusively, and returns the connection and the current key, which another process may have changed. Until the
  /// connection closes, no other connection can open the store.
  ///
  /// - Parameters:
  ///   - current: The key that the store is known to have; nil to determine it.
  ///   - options: Options without a write-ahead log and with a short timeout. Leaving WAL mode fails while another connection is open,
  ///     which detects other processes.
  /// - Throws: `.busy` if another connection has the store open.
  func openExclusively(
    _ current: DatabaseKey?, _ options: ConnectionOptions, operation: StoreAccessError.Operation
  ) throws -> (Connection, DatabaseKey) {
    if let current, !hasSlots { return (try openExclusively(with: current, options, operation), current) }
    return try withDatabaseKey(options: options) { (try openExclusively(with: $0, options, operation), $0) }
  }

  private func openExclusively(
    with key: DatabaseKey, _ options: ConnectionOptions, _ operation: StoreAccessError.Operation
  ) throws -> Connection {
    let source = try Connection(opening: storePath, key: key, options: options)
    do {
      // From here on the lock is kept until the connection closes, so no other connection can open the store.
      _ = try source.pragma("locking_mode = EXCLUSIVE")
      try source.lockLocation()
      try source.execute("BEGIN EXCLUSIVE; COMMIT")
      // Another connection may have opened the store, and started a log, just before.
      guard try source.pragma("journal_mode") == options.journalMode.rawValue else {
        throw StoreAccessError(.busy, path: storePath, operation: operation)
      }
      // A leftover log would be applied to the new database. If another connection opened the store while this one left WAL mode, a log
      // without pages remains, which SQLite ignores.
      let log = source.databasePath + "-wal"
      if StoreFile.size(log) == 0 { unlink(log) }
      guard !StoreFile.exists(log) else { throw StoreAccessError(.io(0), path: log, operation: operation) }
      return source
    } catch {
      source.close()
      throw error
    }
  }
}
