// NewStore: the files of a store that was made just now, which can be taken back until the opening that made them has succeeded.

import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys
import Synchronization

/// A store that was made a moment ago. If what follows fails, its files are removed, unless another process has begun to use them.
///
/// It keeps the database file open from before the file had its name. So it can lock the file, and see whether it is still as it was made, even where no file can
/// be opened any more.
package final class NewStore: Sendable {
  private let path: String
  private let identity: FileIdentity
  /// The digest of the file as it was made.
  private let digest: [UInt8]
  private struct State {
    /// The address of SQLite's handle; nil after the end.
    var address: UInt?
    var keyFile: FileIdentity?
  }
  private let state: Mutex<State>

  /// - Parameters:
  ///   - temporary: The complete database, before it has its name. No connection has it open.
  ///   - path: The name that it gets.
  init(_ temporary: String, path: String) throws(StoreAccessError) {
    let pointer = try DatabaseHandle.openFile(temporary, SQLITE_OPEN_READWRITE, operation: .create)
    do throws(StoreAccessError) {
      guard let identity = FileIdentity(path: temporary) else { throw .system(errno, path: path, operation: .create) }
      self.path = path
      self.identity = identity
      digest = try Self.digest(pointer, size: StoreFile.size(temporary) ?? 0, path: path)
      state = Mutex(State(address: UInt(bitPattern: pointer)))
    } catch {
      sqlite3_close_v2(pointer)
      throw error
    }
  }

  deinit { end() }

  /// Notes the key file, which has got its name.
  func noteKeyFile() {
    let identity = FileIdentity(path: KeyFileStorage.path(for: path))
    state.withLock { $0.keyFile = identity }
  }

  /// Keeps the store's files from here on.
  package func end() {
    let pointer = state.withLock { state in
      defer { state.address = nil }
      return state.address.flatMap { OpaquePointer(bitPattern: $0) }
    }
    if let pointer { sqlite3_close_v2(pointer) }
  }

  /// Removes the store's files, after its connections were closed. They stay where another process has the store open, has written to it, or has put other files
  /// in their place.
  ///
  /// - Parameter withContents: Whether to remove the files also where something was written since.
  /// - Returns: Whether the files are gone.
  @discardableResult
  package func takeBack(withContents: Bool = false) -> Bool {
    defer { end() }
    let (pointer, keyFile) = state.withLock { ($0.address.flatMap { OpaquePointer(bitPattern: $0) }, $0.keyFile) }
    guard let pointer, DatabaseFileLock.take(SQLITE_LOCK_SHARED, pointer) == SQLITE_OK else { return false }
    defer { DatabaseFileLock.giveBack(pointer) }
    guard DatabaseFileLock.take(SQLITE_LOCK_EXCLUSIVE, pointer) == SQLITE_OK else { return false }
    let keyPath = KeyFileStorage.path(for: path)
    func isOurs() -> Bool { FileIdentity(path: path) == identity && FileIdentity(path: keyPath) == keyFile }
    guard isOurs(), withContents || isUnused(pointer) else { return false }
    var isRemoved = false
    do {
      try KeyFileStorage.withLock(for: keyPath, operation: .remove, timeoutMilliseconds: 1_000) {
        if isOurs() { isRemoved = StoreRemoval.removeNew(path, hasKeyFile: keyFile != nil) }
      }
    } catch let error as StoreAccessError where error.kind == .busy {
      return false
    } catch {
      // No file can be made, so no other process edits the key file either.
      if !isRemoved { isRemoved = StoreRemoval.removeNew(path, hasKeyFile: keyFile != nil) }
    }
    return isRemoved
  }

  /// Whether nothing was written since the store was made.
  private func isUnused(_ pointer: OpaquePointer) -> Bool {
    guard StoreFile.size(path + "-wal") ?? 0 == 0, StoreFile.size(path + "-journal") ?? 0 == 0 else { return false }
    return (try? Self.digest(pointer, size: StoreFile.size(path) ?? 0, path: path)) == digest
  }

  private static func digest(_ pointer: OpaquePointer, size: Int, path: String) throws(StoreAccessError) -> [UInt8] {
    let digest = try GrowingDigest()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
    defer { buffer.deallocate() }
    var position = 0
    while position < size {
      let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, size - position)])
      let code = BareDatabaseFile.read(pointer, into: piece, offset: Int64(position))
      guard code == SQLITE_OK else { throw .sqlite(code, handle: nil, path: path, operation: .create) }
      try digest.append(UnsafeRawBufferPointer(piece))
      position += piece.count
    }
    return try digest.finish()
  }
}
