// Connections that leave a store's file as it is: for who only reads, and where nothing may be written.

import CSQLCipher
import Foundation
import StoreFiles
package import StoreKeys

extension Connection {
  /// Opens a store to read it. Its file is not changed, not even by what lies in its log: that may be the log of another state of the store.
  ///
  /// Where the folder may not be written and there is no log, neither locks nor an index are needed. A transaction that was interrupted without a log must
  /// be taken back before anything can be read; that is the one thing that is written.
  package static func reading(
    _ path: String, key: DatabaseKey, options: ConnectionOptions = ConnectionOptions()
  ) throws(StoreAccessError) -> Connection {
    let path = try StoreFile.absolutePath(path)
    var options = options
    options.keepsJournalMode = true
    // Who may only read leaves a log for ever, an empty one too. One with frames stays in any case, and who may write would copy them when he closes.
    let mayWrite = ReadOnlyMedium.mayWrite(path)
    options.isReadOnly = !mayWrite || StoreFile.size(path + "-wal") ?? 0 > 0
    var connection = try Connection(opening: path, key: key, options: options)
    if options.isReadOnly, mayWrite, !connection.keepsLock {
      // The log has gone since. Without one a process may be killed before each statement here, and who only reads could not take back what it began.
      connection.close()
      options.isReadOnly = false
      connection = try Connection(opening: path, key: key, options: options)
    }
    try connection.set("query_only", 1)
    return connection
  }

  /// Runs `body` with a connection that may write, into other files, say; the store's own stays as it is.
  ///
  /// - Parameters:
  ///   - keepsReader: Whether `onReader` keeps the connection that it is called with, and closes it in the end.
  static func withUnchangedFile<Result>(
    _ path: String, key: DatabaseKey, options: ConnectionOptions, keepsReader: Bool = false,
    onReader: (Connection) throws -> Void = { _ in }, _ body: (Connection) throws -> Result
  ) throws -> Result {
    // As long as this one is open, no other connection's closing copies the log into the file.
    let reader = try reading(path, key: key, options: options)
    // Who takes it closes it.
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
