import Dispatch
import Foundation
import SQLCipherConnection
import StoreFiles
package import StoreKeys
import Synchronization

/// The settings of an embedded hub.
package struct HubOptions: Sendable {
  /// The maximum time for which a request waits for other processes, in milliseconds.
  package var busyTimeoutMilliseconds = 30_000
  /// The maximum work of deriving the hub's key.
  package var keyWork = KeyWorkLimit()

  package init() {}
}

/// The connections to a hub's file, as long as that file is at the hub's path.
final class HubSession: Sendable {
  let path: String
  /// The path with symbolic links resolved, next to which the log is.
  let databasePath: String
  let metadata: HubMetadata
  private let keyring: StoreKeyring
  private let pool: ConnectionPool
  private let identity: FileIdentity
  private let busyTimeoutMilliseconds: Int

  /// The time after which a connection stops waiting for a lock, so that a canceled request ends. Requests then begin to wait again.
  private static let lockTimeoutMilliseconds = 100
  private static let maximumReaders = 4
  private static let cacheSizeKiB = 4_096

  static var connectionOptions: ConnectionOptions {
    var options = ConnectionOptions()
    (options.journalMode, options.durability) = (.wal, .full)
    options.busyTimeoutMilliseconds = lockTimeoutMilliseconds
    options.cacheSizeKiB = cacheSizeKiB
    return options
  }

  /// Opens the file of an unlocked hub.
  init(_ keyring: StoreKeyring, _ options: HubOptions) throws {
    let path = keyring.storePath
    let deadline = HubDeadline(milliseconds: options.busyTimeoutMilliseconds)
    (pool, identity, metadata, databasePath) = try deadline.retrying {
      guard let identity = FileIdentity(path: path) else { throw StoreAccessError.system(ENOENT, path: path, operation: .open) }
      let pool = try keyring.withDatabaseKey(options: Self.connectionOptions) { key in
        try ConnectionPool(path: path, key: key, options: Self.connectionOptions, maximumReaders: Self.maximumReaders)
      }
      do {
        let (metadata, databasePath) = try pool.withWriter { (try HubMetadata.adopt($0), $0.databasePath) }
        guard FileIdentity(path: path) == identity else { throw StoreAccessError(.exchanged, path: path, operation: .open) }
        return (pool, identity, metadata, databasePath)
      } catch {
        pool.close()
        throw error
      }
    }
    KeyFileStorage.removeLeftovers(of: path, suffixes: [HubKeyFile.suffix])
    (self.path, self.keyring, busyTimeoutMilliseconds) = (path, keyring, options.busyTimeoutMilliseconds)
  }

  /// Whether the file is still at the path. If it was deleted or replaced, nothing may be acknowledged that was written to it.
  var isCurrent: Bool { FileIdentity(path: path) == identity }

  /// Runs `body` in a read transaction.
  func read<Result>(_ cancellation: HubCancellation, _ body: (Connection) throws -> Result) throws -> Result {
    try retrying(cancellation) {
      try pool.withReader { connection in try connection.cancelling(when: { cancellation.isCanceled }) { try body(connection) } }
    }
  }

  /// Runs `body` in a write transaction, which is durable afterward. It may run several times.
  func write<Result>(_ cancellation: HubCancellation, _ body: (Connection) throws -> Result) throws -> Result {
    try retrying(cancellation) {
      try pool.withWriter { connection in
        try connection.cancelling(when: { cancellation.isCanceled }) { try connection.writeTransaction { try body(connection) } }
      }
    }
  }

  /// Checks all pages of the file and the structure of the database.
  func verifyDatabase(_ cancellation: HubCancellation) throws -> [VerificationFinding] {
    try retrying(cancellation) {
      try keyring.withDatabaseKey(options: Self.connectionOptions) { key in
        try StoreVerification.run(
          path: path, key: key, level: .full, options: Self.connectionOptions, progress: { _, _ in !cancellation.isCanceled })
      }
    }
  }

  private func retrying<Result>(_ cancellation: HubCancellation, _ body: () throws -> Result) throws -> Result {
    let result = try HubDeadline(milliseconds: busyTimeoutMilliseconds).retrying {
      try cancellation.check()
      return try body()
    }
    guard isCurrent else { throw StoreAccessError(.exchanged, path: path, operation: .read) }
    return result
  }

  /// Pools whose file was deleted or replaced. Closing one would delete the log next to its path, which belongs to another file: older
  /// versions of SQLite delete it by name.
  private static let abandonedPools = Mutex<[ConnectionPool]>([])

  /// Closes the connections. Running requests complete before.
  func close() {
    guard isCurrent else { return Self.abandonedPools.withLock { $0.append(pool) } }
    pool.close()
    keyring.close()
  }
}

/// The time until which an operation is tried again while other processes hold the hub.
struct HubDeadline {
  private let time: UInt64

  init(milliseconds: Int) { time = DispatchTime.now().uptimeNanoseconds + UInt64(max(0, milliseconds)) * 1_000_000 }

  func retrying<Result>(_ body: () throws -> Result) throws -> Result {
    while true {
      do { return try body() } catch let error as StoreAccessError
        where error.kind == .busy && DispatchTime.now().uptimeNanoseconds < time
      { continue }
    }
  }
}
