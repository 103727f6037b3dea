// Connections that leave a store's file as it is: for who only reads, and where nothing may be written.

import CSQLCipher
import Foundation

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
    let mayWrite = access(path, W_OK) == 0 && !ReadOnlyMedium.isReadOnly(path)
    options.isReadOnly = !mayWrite || StoreFile.size(path + "-wal") ?? 0 > 0
    let connection: Connection
    do throws(StoreAccessError) {
      connection = try Connection(opening: path, key: key, options: options)
    } catch  where error.extendedCode == ResultCode.readOnlyRollback && mayWrite {
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

/// A store where nothing can be written: how it is read, and whether it stays as it is meanwhile.
struct ReadOnlyMedium: Equatable {
  private let device: dev_t
  private let inode: ino_t
  private let size: off_t
  private let changed: [Int]
  private let hasLog: Bool

  /// The state of a file whose folder may not be written; nil where it may. A log's index could not be made there, so a log cannot be read.
  init?(_ path: String) {
    guard Self.isReadOnly(path) else { return nil }
    self.init(statusOf: path)
  }

  private init?(statusOf path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    (device, inode, size) = (status.st_dev, status.st_ino, status.st_size)
    #if os(Linux)
      changed = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    #else
      changed = [
        status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec, status.st_ctimespec.tv_sec, status.st_ctimespec.tv_nsec,
      ]
    #endif
    hasLog = Self.hasLog(path)
  }

  /// Whether the file can be read as it is, without a log.
  var isComplete: Bool { !hasLog }

  /// Somebody else may be allowed to write what this process may not.
  func isUnchanged(_ path: String) -> Bool { ReadOnlyMedium(statusOf: path) == self }

  static func isReadOnly(_ path: String) -> Bool {
    access(StoreFile.folder(of: path), W_OK) != 0 && [EACCES, EPERM, EROFS].contains(errno)
  }

  static func hasLog(_ path: String) -> Bool { ["-wal", "-journal"].contains { StoreFile.size(path + $0) ?? 0 > 0 } }
}

extension StoreAccessError {
  /// The same error, as what it is where nothing may be written beside the file.
  func onReadOnlyMedium(_ path: String) -> StoreAccessError {
    let isThere = [SQLITE_CANTOPEN, SQLITE_READONLY].contains(code) || kind == .readOnly || kind == .permissionDenied
    guard isThere, ReadOnlyMedium.isReadOnly(path), ReadOnlyMedium.hasLog(path) else { return self }
    return with(kind: .readOnlyLog)
  }
}
