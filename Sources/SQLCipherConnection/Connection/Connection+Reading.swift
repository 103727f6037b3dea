import CSQLCipher
import Foundation
import StoreFiles
package import StoreKeys

extension Connection {
  /// Opens a store for reading, without changing its file.
  ///
  /// The contents of the write-ahead log are not copied into the file either: the log may belong to another state of the store. If the
  /// folder is not writable and there is no log, neither locks nor an index are needed. The only write that can happen is the rollback of a
  /// transaction that was interrupted without a log, which must precede any read.
  package static func reading(
    _ path: String, key: DatabaseKey, options: ConnectionOptions = ConnectionOptions()
  ) throws(StoreAccessError) -> Connection {
    let path = try StoreFile.absolutePath(path)
    var options = options
    options.keepsJournalMode = true
    // A read-only connection never deletes a log, even an empty one. A log with frames must stay, but a writing connection would copy it
    // when it closes.
    let mayWrite = ReadOnlyMedium.mayWrite(path)
    options.isReadOnly = !mayWrite || StoreFile.size(path + "-wal") ?? 0 > 0
    var connection = try Connection(opening: path, key: key, options: options)
    if options.isReadOnly, mayWrite, !connection.keepsLock {
      // The log was removed in the meantime. Without one, another process can be killed before each statement, and a read-only connection
      // could not roll back its transaction.
      connection.close()
      options.isReadOnly = false
      connection = try Connection(opening: path, key: key, options: options)
    }
    try connection.set("query_only", 1)
    return connection
  }

  /// Runs `body` with a connection that can write, for example to other files, but does not change the store's own file.
  ///
  /// - Parameters:
  ///   - keepsReader: Whether `onReader` takes over its connection and closes it.
  static func withUnchangedFile<Result>(
    _ path: String, key: DatabaseKey, options: ConnectionOptions, keepsReader: Bool = false,
    onReader: (Connection) throws -> Void = { _ in }, _ body: (Connection) throws -> Result
  ) throws -> Result {
    // While this connection is open, closing another one does not copy the log into the file.
    let reader = try reading(path, key: key, options: options)
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
