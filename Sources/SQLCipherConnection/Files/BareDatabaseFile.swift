import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys

/// Reads the raw bytes of a database file without a key, through SQLite's descriptor. Closing another descriptor would drop this process's
/// locks.
final class BareDatabaseFile {
  private let pointer: OpaquePointer
  private let path: String

  init(_ path: String) throws(StoreAccessError) {
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    let path = try StoreFile.absolutePath(path)
    try StoreFile.checkBeforeOpening(path)
    pointer = try DatabaseHandle.openFile(path, SQLITE_OPEN_READONLY, operation: .open)
    self.path = path
  }

  /// Opens the file at the path with a shared lock, which prevents other processes from replacing it.
  ///
  /// - Throws: `.busy` if a replacement takes longer than the timeout.
  init(locking path: String, timeoutMilliseconds: Int) throws(StoreAccessError) {
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    self.path = try StoreFile.absolutePath(path)
    pointer = try DatabaseLocation.open(self.path, flags: SQLITE_OPEN_READONLY, timeoutMilliseconds: timeoutMilliseconds).pointer
  }

  deinit { sqlite3_close_v2(pointer) }

  /// The size of the file, in bytes.
  var size: Int { StoreFile.size(path) ?? 0 }

  /// Reads a part of the file. Bytes past the end are zeros.
  func read(into buffer: UnsafeMutableRawBufferPointer, offset: Int64) throws(StoreAccessError) {
    let code = Self.read(pointer, into: buffer, offset: offset)
    guard code == SQLITE_OK || code == ResultCode.shortRead else { throw .sqlite(code, handle: nil, path: path, operation: .read) }
  }

  /// Returns the first bytes of the file; fewer if the file is shorter.
  func prefix(_ count: Int) throws(StoreAccessError) -> [UInt8] {
    let size = min(count, size)
    var bytes = [UInt8](repeating: 0, count: size)
    let code = bytes.withUnsafeMutableBytes { Self.read(pointer, into: $0, offset: 0) }
    guard code == SQLITE_OK || code == ResultCode.shortRead else { throw .sqlite(code, handle: nil, path: path, operation: .read) }
    return bytes
  }

  /// Returns the salt, after checking that the file is not a plaintext database.
  func salt() throws(StoreAccessError) -> [UInt8] {
    let header = try prefix(DatabaseKey.saltSize)
    try Self.checkHeader(header, path: path)
    return header
  }

  /// Returns whether the first page was written with the key.
  func isFirstPageAuthentic(_ key: DatabaseKey) throws(StoreAccessError) -> Bool {
    var page = try prefix(key.format.pageSize)
    let authenticator = try PageAuthenticator(key: key)
    let result: Result<Bool, StoreAccessError> = page.withUnsafeMutableBytes { bytes in
      do throws(StoreAccessError) { return .success(try authenticator.isAuthentic(bytes, number: 1)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// Rejects a plaintext database, which its first bytes identify.
  static func checkHeader(_ header: [UInt8], path: String) throws(StoreAccessError) {
    if header.starts(with: Array("SQLite format 3".utf8) + [0]) {
      throw StoreAccessError(.notEncrypted, path: path, operation: .open, code: SQLITE_NOTADB)
    }
  }

  /// Reads through the descriptor of a handle, below the page guard. Callers must check pages themselves.
  static func read(_ pointer: OpaquePointer, into buffer: UnsafeMutableRawBufferPointer, offset: Int64) -> Int32 {
    guard let file = DatabaseHandle.file(pointer).map(GuardedFile.lower), let read = file.pointee.pMethods?.pointee.xRead else {
      return SQLITE_CANTOPEN
    }
    return read(file, buffer.baseAddress, Int32(buffer.count), offset)
  }
}
