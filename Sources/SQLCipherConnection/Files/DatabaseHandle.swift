// The C handle of a database, closed when the connection and every statement have let go of it.

import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys
import Synchronization

/// Compares two UTF-8 texts of a collation: below, equal to or above 0.
package typealias CollationComparison = (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Int32

/// Owns a `sqlite3 *`. Used by one thread at a time, as its connection is.
@usableFromInline package final class DatabaseHandle {
  @usableFromInline let pointer: OpaquePointer
  let path: String
  /// Interrupts a running statement from any thread.
  let interrupter: Interrupter
  /// How it waits for another one's lock: not at all, unless it is told how long.
  let waiting = LockWaiting(milliseconds: 0)
  /// Returns the comparison of a collation that a statement names and that is not registered.
  var collationOnDemand: ((String) -> CollationComparison?)?

  init(pointer: OpaquePointer, path: String) {
    self.pointer = pointer
    self.path = path
    interrupter = Interrupter(pointer)
    sqlite3_busy_handler(
      pointer,
      { data, attempt in
        guard let data else { return 0 }
        // Every statement holds the handle, and so what it waits by.
        return Unmanaged<LockWaiting>.fromOpaque(data)._withUnsafeGuaranteedRef {
          if attempt == 0 { $0.restart() }
          return $0.pause() ? 1 : 0
        }
      }, Unmanaged.passUnretained(waiting).toOpaque())  // as above
  }

  /// Opens a database file, and reads nothing of it.
  static func openFile(
    _ path: String, _ flags: Int32, uri: String? = nil, layer: String? = nil, operation: StoreAccessError.Operation
  ) throws(StoreAccessError) -> OpaquePointer {
    let flags = flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | (uri == nil ? 0 : SQLITE_OPEN_URI)
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(uri ?? path, &opened, flags, layer)
    guard code == SQLITE_OK, let opened else {
      let error = StoreAccessError.sqlite(code, handle: opened, path: path, operation: operation)
      sqlite3_close_v2(opened)
      throw error
    }
    return opened
  }

  deinit { close() }

  /// SQLite's own file of a database that a handle has open; nil where there is none.
  static func file(_ pointer: OpaquePointer, _ name: String = "main") -> UnsafeMutablePointer<sqlite3_file>? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    return sqlite3_file_control(pointer, name, SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK ? file : nil
  }

  /// SQLite's own file of the main database's log, or of its journal; nil where there is none.
  static func log(_ pointer: OpaquePointer) -> UnsafeMutablePointer<sqlite3_file>? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    let code = sqlite3_file_control(pointer, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
    return code == SQLITE_OK && file?.pointee.pMethods != nil ? file : nil
  }

  /// Checks pages without SQLite, once the handle has its key.
  var authenticator: PageAuthenticator?
  private(set) var isClosed = false
  /// True after a page failed its check: SQLCipher remembers it, and the handle answers nothing more. Or the file was exchanged, or a transaction can be neither
  /// committed nor taken back.
  private(set) var isDamaged = false

  /// Closes the handle. A statement that somebody still holds keeps SQLite's own memory of it alive until it is finalized.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    authenticator = nil
    interrupter.invalidate()
    sqlite3_close_v2(pointer)
  }

  /// Refuses to use the handle after it is closed.
  func checkOpen(_ operation: StoreAccessError.Operation) throws(StoreAccessError) {
    if isClosed { throw StoreAccessError(.closed, path: path, operation: operation) }
  }

  func failure(
    _ code: Int32, operation: StoreAccessError.Operation, sql: String? = nil, subject: StoreAccessError.Subject? = nil,
    source: StoreAccessError.Source = .other
  ) -> StoreAccessError {
    var error = StoreAccessError.sqlite(
      code, handle: pointer, path: path, operation: operation, sql: sql, subject: subject, source: source)
    if error.kind == .storeCorrupt(.structure), let authenticator, GuardedFile.isLastPageAuthentic(pointer, authenticator) == false {
      error = error.with(kind: .storeCorrupt(.pageMAC))
    } else if code == SQLITE_ERROR, error.kind == .storeCorrupt(.pageMAC), isShortOfMemory {
      // SQLCipher remembers this too.
      isDamaged = true
      error = error.with(kind: .outOfMemory)
    }
    // A large value's file is none of the database's, and one strange value does not damage the others.
    if case .storeCorrupt(let part) = error.kind, part != .externalFile, part != .value { isDamaged = true }
    return error
  }

  /// What SQLCipher 4 means by an error without a name where the page that was read last is whole: it got no memory for its key.
  var isShortOfMemory: Bool { authenticator.flatMap { GuardedFile.isLastPageAuthentic(pointer, $0) } ?? false }

  /// Nothing more can be done with it: whoever has the connection closes it.
  func giveUp() { isDamaged = true }
}

/// Stops what a connection is doing, from any thread.
package final class Interrupter: Sendable {
  /// The handle's address; SQLite allows `sqlite3_interrupt` from any thread as long as the handle is open, which the lock ensures.
  private let address: Mutex<UInt?>

  init(_ pointer: OpaquePointer) {
    address = Mutex(UInt(bitPattern: pointer))
  }

  /// Makes the statement that runs now fail with `.cancelled`; no effect where none runs or the connection is closed.
  package func interrupt() {
    address.withLock { address in
      if let address, let pointer = OpaquePointer(bitPattern: address) { sqlite3_interrupt(pointer) }
    }
  }

  func invalidate() {
    address.withLock { $0 = nil }
  }
}
