import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys
import Synchronization

/// The files of a newly created store. If a later step of opening fails, the files are removed, unless another process has started using
/// them.
///
/// The object keeps the database file open from before it got its final name. It can therefore lock the file, and check whether it is
/// unchanged, even when no more files can be opened.
package final class NewStore: Sendable {
  private let path: String
  private let identity: FileIdentity
  private let digest: [UInt8]
  private struct State {
    /// The address of SQLite's handle; nil after the end.
    var address: UInt?
    var keyFile: FileIdentity?
  }
  private let state: Mutex<State>

  /// - Parameters:
  ///   - temporary: The path of the complete database, before it gets its final name. No connection has it open.
  ///   - path: The final path.
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

  /// Records the identity of the key file, once it has its final name.
  func recordKeyFile() {
    let identity = FileIdentity(path: KeyFileStorage.path(for: path))
    state.withLock { $0.keyFile = identity }
  }

  /// Keeps the store's files, and closes the handle.
  package func end() {
    let pointer = state.withLock { state in
      defer { state.address = nil }
      return state.address.flatMap { OpaquePointer(bitPattern: $0) }
    }
    if let pointer { sqlite3_close_v2(pointer) }
  }

  /// Removes the store's files, after its connections have been closed. Keeps them if another process has the store open, has written to
  /// it, or has replaced its files.
  ///
  /// - Parameter withContents: Whether to remove the files even if something was written since.
  /// - Returns: Whether the files were removed.
  @discardableResult
  package func remove(withContents: Bool = false) -> Bool {
    defer { end() }
    let (pointer, keyFile) = state.withLock { ($0.address.flatMap { OpaquePointer(bitPattern: $0) }, $0.keyFile) }
    guard let pointer, DatabaseFileLock.take(SQLITE_LOCK_SHARED, pointer) == SQLITE_OK else { return false }
    defer { DatabaseFileLock.release(pointer) }
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
      // No file can be created, so no other process can edit the key file either.
      if !isRemoved { isRemoved = StoreRemoval.removeNew(path, hasKeyFile: keyFile != nil) }
    }
    return isRemoved
  }

  /// Returns whether nothing was written since the store was created.
  private func isUnused(_ pointer: OpaquePointer) -> Bool {
    guard StoreFile.size(path + "-wal") ?? 0 == 0, StoreFile.size(path + "-journal") ?? 0 == 0 else { return false }
    return (try? Self.digest(pointer, size: StoreFile.size(path) ?? 0, path: path)) == digest
  }

  private static func digest(_ pointer: OpaquePointer, size: Int, path: String) throws(StoreAccessError) -> [UInt8] {
    let digest = try IncrementalDigest()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
    defer { buffer.deallocate() }
    var position = 0
    while position < size {
      let chunk = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, size - position)])
      let code = BareDatabaseFile.read(pointer, into: chunk, offset: Int64(position))
      guard code == SQLITE_OK else { throw .sqlite(code, handle: nil, path: path, operation: .create) }
      try digest.append(UnsafeRawBufferPointer(chunk))
      position += chunk.count
    }
    return try digest.finish()
  }
}
