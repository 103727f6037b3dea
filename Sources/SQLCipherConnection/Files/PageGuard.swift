import CSQLCipher
import StoreKeys
import Synchronization

/// The file system layer (VFS) of every encrypted connection, on top of SQLite's default VFS. It rejects pages of zeros.
///
/// SQLCipher takes a page of zeros for one that was never written, and does not check its authentication code. An encrypted page is never
/// all zeros, and SQLite reads unwritten pages only in page-by-page copies. A page of zeros, or one past the end of the file, is therefore
/// damage. The same applies to pages of the write-ahead log: its checksums are not keyed, so anyone could write such a page. All other
/// calls are forwarded: locks, shared memory, file controls.
enum PageGuard {
  /// The underlying VFS of a guard. A different VFS at the same address needs another guard.
  private struct Key: Hashable {
    let address: UInt
    let name: String
    let fileSize: Int32
    let version: Int32
  }

  private static let guards = Mutex<[Key: String]>([:])

  private static let reads = Atomic<UInt64>(0)

  /// Counts a read of any file through the layer. While the count is unchanged, no connection can have read a damaged page.
  ///
  /// - Returns: The number of reads so far, including this one.
  static func recordRead() -> UInt64 { reads.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The number of reads so far. It includes the calling connection's own, since they happen on the same thread.
  static var readCount: UInt64 { reads.load(ordering: .relaxed) }

  /// Returns the name of the guard over SQLite's default VFS, and registers it on first use.
  static func name(for path: String) throws(StoreAccessError) -> String {
    guard let name = registeredName() else {
      throw StoreAccessError(.encryptionUnavailable(.noFileSystemLayer), path: path, operation: .open)
    }
    return name
  }

  private static func registeredName() -> String? {
    guard let lower = sqlite3_vfs_find(nil), let lowerName = lower.pointee.zName else { return nil }
    let key = Key(
      address: UInt(bitPattern: lower), name: String(cString: lowerName), fileSize: lower.pointee.szOsFile, version: lower.pointee.iVersion)
    return guards.withLock { guards in
      if let known = guards[key] { return known }
      let name = "cipherdata-\(guards.count)-\(key.name)"
      guard register(name, over: lower) else { return nil }
      guards[key] = name
      return name
    }
  }

  /// SQLite keeps a registered VFS for the lifetime of the process.
  private static func register(_ name: String, over lower: UnsafeMutablePointer<sqlite3_vfs>) -> Bool {
    let text = UnsafeMutableBufferPointer<CChar>.allocate(capacity: name.utf8.count + 1)
    _ = text.initialize(from: name.utf8.map { CChar(bitPattern: $0) } + [0])
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: lower.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.zName = UnsafePointer(text.baseAddress)
    vfs.pointee.pAppData = UnsafeMutableRawPointer(lower)
    vfs.pointee.szOsFile = Int32(GuardedFile.size) + lower.pointee.szOsFile
    forward(vfs)
    return sqlite3_vfs_register(vfs, 0) == SQLITE_OK
  }

  /// Returns the VFS below. Its functions must be called with it, not with the guard.
  private static func lower(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> UnsafeMutablePointer<sqlite3_vfs>? {
    vfs?.pointee.pAppData?.assumingMemoryBound(to: sqlite3_vfs.self)
  }

  /// Opens files through the guard, and forwards everything else to the VFS below. Functions that it lacks stay nil.
  private static func forward(_ vfs: UnsafeMutablePointer<sqlite3_vfs>) {
    vfs.pointee.xOpen = { vfs, name, file, flags, outFlags in
      guard let lower = PageGuard.lower(vfs), let file else { return SQLITE_CANTOPEN }
      return GuardedFile.open(file, over: lower, name: name, flags: flags, outFlags: outFlags)
    }
    vfs.pointee.xDelete = { vfs, name, syncsFolder in
      let lower = PageGuard.lower(vfs)
      return lower?.pointee.xDelete?(lower, name, syncsFolder) ?? SQLITE_IOERR
    }
    vfs.pointee.xAccess = { vfs, name, flags, result in
      let lower = PageGuard.lower(vfs)
      return lower?.pointee.xAccess?(lower, name, flags, result) ?? SQLITE_IOERR
    }
    vfs.pointee.xFullPathname = { vfs, name, count, output in
      let lower = PageGuard.lower(vfs)
      return lower?.pointee.xFullPathname?(lower, name, count, output) ?? SQLITE_CANTOPEN
    }
    vfs.pointee.xDlOpen = { vfs, name in
      let lower = PageGuard.lower(vfs)
      return lower?.pointee.xDlOpen?(lower, name)
    }
    vfs.pointee.xDlError = { vfs, count, message in
      let lower = PageGuard.lower(vfs)
      lower?.pointee.xDlError?(lower, count, message)
    }
    vfs.pointee.xDlSym = { vfs, library, symbol in
      let lower = PageGuard.lower(vfs)
      return lower?.pointee.xDlSym?(lower, library, symbol)
    }
    vfs.pointee.xDlClose = { vfs, library in
      let lower = PageGuard.lower(vfs)
      lower?.pointee.xDlClose?(lower, library)
    }
    vfs.pointee.xRandomness = { vfs, count, output in
      let lower = PageGuard.lower(vfs)
      return lower?.pointee.xRandomness?(lower, count, output) ?? 0
    }
    vfs.pointee.xSleep = { vfs, microseconds in
      let lower = PageGuard.lower(vfs)
      return lower?.pointee.xSleep?(lower, microseconds) ?? 0
    }
    vfs.pointee.xCurrentTime = { vfs, time in
      let lower = PageGuard.lower(vfs)
      return lower?.pointee.xCurrentTime?(lower, time) ?? SQLITE_ERROR
    }
    vfs.pointee.xGetLastError = { vfs, count, message in
      let lower = PageGuard.lower(vfs)
      return lower?.pointee.xGetLastError?(lower, count, message) ?? 0
    }
    guard vfs.pointee.iVersion >= 2 else { return }
    if vfs.pointee.xCurrentTimeInt64 != nil {
      vfs.pointee.xCurrentTimeInt64 = { vfs, time in
        let lower = PageGuard.lower(vfs)
        return lower?.pointee.xCurrentTimeInt64?(lower, time) ?? SQLITE_ERROR
      }
    }
    guard vfs.pointee.iVersion >= 3 else { return }
    if vfs.pointee.xSetSystemCall != nil {
      vfs.pointee.xSetSystemCall = { vfs, name, call in
        let lower = PageGuard.lower(vfs)
        return lower?.pointee.xSetSystemCall?(lower, name, call) ?? SQLITE_NOTFOUND
      }
    }
    if vfs.pointee.xGetSystemCall != nil {
      vfs.pointee.xGetSystemCall = { vfs, name in
        let lower = PageGuard.lower(vfs)
        return lower?.pointee.xGetSystemCall?(lower, name) ?? nil
      }
    }
    if vfs.pointee.xNextSystemCall != nil {
      vfs.pointee.xNextSystemCall = { vfs, name in
        let lower = PageGuard.lower(vfs)
        return lower?.pointee.xNextSystemCall?(lower, name) ?? nil
      }
    }
  }
}
