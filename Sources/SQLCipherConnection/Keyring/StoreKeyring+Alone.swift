// StoreKeyring+Alone: the store opened while nobody else has it, and kept so: what exchanging its database needs.

import Foundation
import StoreFiles
import StoreKeys

extension StoreKeyring {
  /// A connection beside which nobody has the store, and its key, which another process may have changed. Nobody can open the store until it closes.
  ///
  /// - Parameters:
  ///   - current: The key that the store is known to have; nil to find out.
  ///   - options: Without a log, and with little patience: leaving the log fails while anybody has the store open, which is the test for other processes.
  /// - Throws: `.busy` where anybody has the store open.
  func openAlone(
    _ current: DatabaseKey?, _ options: ConnectionOptions, operation: StoreAccessError.Operation
  ) throws -> (Connection, DatabaseKey) {
    if let current, !hasSlots { return (try openAlone(with: current, options, operation), current) }
    return try withDatabaseKey(options: options) { (try openAlone(with: $0, options, operation), $0) }
  }

  private func openAlone(
    with key: DatabaseKey, _ options: ConnectionOptions, _ operation: StoreAccessError.Operation
  ) throws -> Connection {
    let source = try Connection(opening: storePath, key: key, options: options)
    do {
      // From here on nobody can come in: the lock stays until the connection closes.
      _ = try source.pragma("locking_mode = EXCLUSIVE")
      try source.lockPlace()
      try source.execute("BEGIN EXCLUSIVE; COMMIT")
      // Somebody may have come in, and begun a log, just before.
      guard try source.pragma("journal_mode") == options.journalMode.rawValue else {
        throw StoreAccessError(.busy, path: storePath, operation: operation)
      }
      // A log that nobody uses would be taken for the new database's. One without pages, which SQLite does not see, stays behind where somebody came in while
      // this connection left the log.
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
