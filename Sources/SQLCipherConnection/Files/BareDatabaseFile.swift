// A database file read without a key, through SQLite's own descriptor: another descriptor's closing would drop this process's locks.

import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys

/// Reads bytes of a file; never takes it for a database.
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

  /// Opens the file that stands at the path, and keeps everybody from exchanging it.
  ///
  /// - Throws: `.busy` where somebody is exchanging it for longer than that.
  init(locking path: String, timeoutMilliseconds: Int) throws(StoreAccessError) {
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    self.path = try StoreFile.absolutePath(path)
    pointer = try DatabasePlace.open(self.path, flags: SQLITE_OPEN_READONLY, timeoutMilliseconds: timeoutMilliseconds).pointer
  }

  deinit { sqlite3_close_v2(pointer) }

  /// The file's size.
  var size: Int { StoreFile.size(path) ?? 0 }

  /// Reads a part; what lies behind the end comes as zeros.
  func read(into buffer: UnsafeMutableRawBufferPointer, offset: Int64) throws(StoreAccessError) {
    let code = Self.read(pointer, into: buffer, offset: offset)
    guard code == SQLITE_OK || code == ResultCode.shortRead else { throw .sqlite(code, handle: nil, path: path, operation: .read) }
  }

  /// The first bytes; fewer where the file is shorter.
  func prefix(_ count: Int) throws(StoreAccessError) -> [UInt8] {
    let size = min(count, size)
    var bytes = [UInt8](repeating: 0, count: size)
    let code = bytes.withUnsafeMutableBytes { Self.read(pointer, into: $0, offset: 0) }
    guard code == SQLITE_OK || code == ResultCode.shortRead else { throw .sqlite(code, handle: nil, path: path, operation: .read) }
    return bytes
  }

  /// The salt, after the check that the file is not a plain database.
  func salt() throws(StoreAccessError) -> [UInt8] {
    let header = try prefix(DatabaseKey.saltSize)
    try Self.checkHeader(header, path: path)
    return header
  }

  /// Whether the first page was written with the key.
  func isFirstPageAuthentic(_ key: DatabaseKey) throws(StoreAccessError) -> Bool {
    var page = try prefix(key.format.pageSize)
    let authenticator = try PageAuthenticator(key: key)
    let result: Result<Bool, StoreAccessError> = page.withUnsafeMutableBytes { bytes in
      do throws(StoreAccessError) { return .success(try authenticator.isAuthentic(bytes, number: 1)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// A plain database says so in its first bytes.
  static func checkHeader(_ header: [UInt8], path: String) throws(StoreAccessError) {
    if header.starts(with: Array("SQLite format 3".utf8) + [0]) {
      throw StoreAccessError(.notEncrypted, path: path, operation: .open, code: SQLITE_NOTADB)
    }
  }

  /// Reads through the descriptor of a handle, below the page guard: whoever reads so checks pages itself.
  static func read(_ pointer: OpaquePointer, into buffer: UnsafeMutableRawBufferPointer, offset: Int64) -> Int32 {
    guard let file = DatabaseHandle.file(pointer).map(GuardedFile.lower), let read = file.pointee.pMethods?.pointee.xRead else {
      return SQLITE_CANTOPEN
    }
    return read(file, buffer.baseAddress, Int32(buffer.count), offset)
  }
}
