import CSQLCipher
import Foundation
import StoreFiles
package import StoreKeys
import Synchronization

/// Compares two UTF-8 texts. Returns a negative number, 0 or a positive number.
package typealias CollationComparison = (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Int32

/// The owner of a `sqlite3 *`, which is closed once the connection and all statements have released it. Used by one thread at a time.
@usableFromInline package final class DatabaseHandle {
  @usableFromInline let pointer: OpaquePointer
  let path: String
  let interrupter: Interrupter
  /// The wait for another connection's lock; 0 ms by default.
  let waiting = LockRetry(milliseconds: 0)
  /// Returns the comparison function of a collation that a statement uses and that is not registered.
  var collationOnDemand: ((String) -> CollationComparison?)?

  init(pointer: OpaquePointer, path: String) {
    self.pointer = pointer
    self.path = path
    interrupter = Interrupter(pointer)
    sqlite3_busy_handler(
      pointer,
      { data, attempt in
        guard let data else { return 0 }
        // Every statement retains the handle, and the handle retains this object.
        return Unmanaged<LockRetry>.fromOpaque(data)._withUnsafeGuaranteedRef {
          if attempt == 0 { $0.restart() }
          return $0.pause() ? 1 : 0
        }
      }, Unmanaged.passUnretained(waiting).toOpaque())  // as above
  }

  /// Opens a database file without reading it.
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

  /// Returns SQLite's file object of an open database, or nil.
  static func file(_ pointer: OpaquePointer, _ name: String = "main") -> UnsafeMutablePointer<sqlite3_file>? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    return sqlite3_file_control(pointer, name, SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK ? file : nil
  }

  /// Returns SQLite's file object of the main database's log or journal, or nil.
  static func log(_ pointer: OpaquePointer) -> UnsafeMutablePointer<sqlite3_file>? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    let code = sqlite3_file_control(pointer, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
    return code == SQLITE_OK && file?.pointee.pMethods != nil ? file : nil
  }

  /// Checks pages without SQLite. Set once the handle has its key.
  var authenticator: PageAuthenticator?
  private(set) var isClosed = false
  /// Whether the handle is unusable: a page failed its check, after which SQLCipher rejects every read, the file was replaced, or a
  /// transaction can be neither committed nor rolled back.
  private(set) var isDamaged = false

  /// Closes the handle. SQLite frees its memory once the last statement is finalized.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    authenticator = nil
    interrupter.invalidate()
    sqlite3_close_v2(pointer)
  }

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
      // SQLCipher remembers this failure too.
      isDamaged = true
      error = error.with(kind: .outOfMemory)
    }
    // The file of a large value is not part of the database, and one invalid value does not affect others.
    if case .storeCorrupt(let part) = error.kind, part != .externalFile, part != .value { isDamaged = true }
    return error
  }

  /// Whether SQLCipher 4 is out of memory for its key. It reports a generic error then, although the last page is authentic.
  var isShortOfMemory: Bool { authenticator.flatMap { GuardedFile.isLastPageAuthentic(pointer, $0) } ?? false }

  /// Marks the handle as unusable. The owner of the connection closes it.
  func markDamaged() { isDamaged = true }
}

/// Interrupts a connection from any thread.
package final class Interrupter: Sendable {
  /// The handle's address. SQLite allows `sqlite3_interrupt` from any thread while the handle is open, which the lock ensures.
  private let address: Mutex<UInt?>

  init(_ pointer: OpaquePointer) {
    address = Mutex(UInt(bitPattern: pointer))
  }

  /// Makes the running statement fail with `.cancelled`. Has no effect if none runs or the connection is closed.
  package func interrupt() {
    address.withLock { address in
      if let address, let pointer = OpaquePointer(bitPattern: address) { sqlite3_interrupt(pointer) }
    }
  }

  func invalidate() {
    address.withLock { $0 = nil }
  }
}

// MARK: - Queries of the library

extension LibraryVersion {
  /// Returns the value of a SQLCipher pragma on an in-memory handle, or nil if the library does not have it.
  ///
  /// - Parameter name: The pragma, such as `cipher_version` or `cipher_provider`.
  package static func answer(to name: String) throws(StoreAccessError) -> String? {
    let pointer = try DatabaseHandle.openFile(":memory:", SQLITE_OPEN_READWRITE, operation: .checkLibrary)
    defer { sqlite3_close_v2(pointer) }
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(pointer, "PRAGMA \(name)", -1, &statement, nil) == SQLITE_OK, sqlite3_step(statement) == SQLITE_ROW else {
      return nil
    }
    return sqlite3_column_text(statement, 0).map { String(cString: $0) }
  }

  /// A message that explains why this process cannot create or open encrypted stores; nil if it can.
  package static var problem: String? {
    do throws(StoreAccessError) {
      try checkEncryptionIsAvailable()
      return nil
    } catch {
      return error.explanation
    }
  }
}

/// Keeps SQLCipher's cryptography provider alive for the lifetime of the process.
///
/// Otherwise SQLCipher frees it with the last keyed handle and allocates it again for the next. SQLCipher 3.4.1 does not check that
/// allocation, and crashes if it fails.
enum CipherProvider {
  /// The address of a keyed in-memory handle that is never closed; 0 before the first.
  private static let kept = Mutex<UInt>(0)

  /// Keeps the provider alive. Call it before a handle gets its key.
  static func keep(path: String) throws(StoreAccessError) {
    let result = kept.withLock { kept -> Result<Void, StoreAccessError> in
      if kept != 0 { return .success(()) }
      do throws(StoreAccessError) {
        kept = UInt(bitPattern: try make(path))
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  private static func make(_ path: String) throws(StoreAccessError) -> OpaquePointer {
    let pointer = try DatabaseHandle.openFile(":memory:", SQLITE_OPEN_READWRITE, operation: .key)
    // If a large allocation succeeds, so do the few small ones that SQLCipher does not check.
    let block = sqlite3_malloc(1 << 16)
    sqlite3_free(block)
    // The key protects nothing.
    let text = Array(("x'" + String(repeating: "0", count: 96) + "'").utf8)
    let code = block == nil ? SQLITE_NOMEM : sqlite3_key(pointer, text, Int32(text.count))
    guard code == SQLITE_OK else {
      sqlite3_close_v2(pointer)
      throw .sqlite(code, handle: nil, path: path, operation: .key)
    }
    return pointer
  }
}
