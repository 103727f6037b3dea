import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys

/// Pages that a page-by-page copy may read as zeros. Such a copy also reads unused pages, which may never have been written.
package final class AdmittedPages {
  let numbers: Set<UInt32>
  /// Writes the replacement of a page that was never written, as SQLCipher would have written it.
  let fill: (UInt32, UnsafeMutableRawBufferPointer) throws(StoreAccessError) -> Void

  init(_ numbers: Set<UInt32>, fill: @escaping (UInt32, UnsafeMutableRawBufferPointer) throws(StoreAccessError) -> Void) {
    self.numbers = numbers
    self.fill = fill
  }
}

/// An open file of the page guard. It checks reads of databases and logs, preallocates log space, and forwards all other calls.
///
/// Its memory consists of SQLite's file structure with the guard's state, followed by the file of the layer below. SQLite owns the memory,
/// and uses a file from one thread at a time.
struct GuardedFile {
  private enum Kind: UInt8 {
    case database, log, other
  }

  private var base: sqlite3_file
  private var kind: Kind
  /// False for a plaintext database, whose pages may be zeros.
  private var isEncrypted: Bool
  private var admitted: Unmanaged<AdmittedPages>?  // C's memory holds it: `admit` retains and releases it
  /// The offset of the last read, and its number among the reads of the process; 0 before the first.
  private var lastRead = (offset: Int64(0), turn: UInt64(0))
  private var preallocation = LogPreallocation()
  /// The error with which opening for writing failed, if the file was opened for reading instead; otherwise 0.
  private var openingError: Int32 = 0

  /// The number of bytes before the file of the layer below, aligned to 8 as SQLite aligns its own.
  static let size = (MemoryLayout<GuardedFile>.stride + 7) & ~7

  private static let smallestPage = 512

  // MARK: Opening

  static func open(
    _ file: UnsafeMutablePointer<sqlite3_file>, over lower: UnsafeMutablePointer<sqlite3_vfs>, name: UnsafePointer<CChar>?, flags: Int32,
    outFlags: UnsafeMutablePointer<Int32>?
  ) -> Int32 {
    let inner = (UnsafeMutableRawPointer(file) + size).assumingMemoryBound(to: sqlite3_file.self)
    inner.pointee.pMethods = nil
    file.pointee.pMethods = nil
    guard let open = lower.pointee.xOpen else { return SQLITE_CANTOPEN }
    errno = 0
    let code = open(lower, name, inner, flags, outFlags)
    let openingError = errno
    // A file that failed to open may still need to be closed.
    guard let innerMethods = inner.pointee.pMethods else { return code }
    let kind: Kind = flags & SQLITE_OPEN_MAIN_DB != 0 ? .database : flags & SQLITE_OPEN_WAL != 0 ? .log : .other
    UnsafeMutableRawPointer(file).assumingMemoryBound(to: GuardedFile.self).initialize(
      to: GuardedFile(
        base: sqlite3_file(pMethods: innerMethods.pointee.iVersion >= 2 ? methods.shared : methods.plain), kind: kind, isEncrypted: true,
        admitted: nil))
    // Successful calls after the failure leave `errno` unchanged.
    if flags & SQLITE_OPEN_READWRITE != 0, let outFlags, outFlags.pointee & SQLITE_OPEN_READONLY != 0 {
      state(file).pointee.openingError = openingError
    }
    return code
  }

  /// Returns the file of the layer below, or the file itself if it is not guarded.
  static func lower(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<sqlite3_file> {
    guard let own = file.pointee.pMethods, own == methods.shared || own == methods.plain else { return file }
    return below(file)
  }

  private static func below(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<sqlite3_file> {
    (UnsafeMutableRawPointer(file) + size).assumingMemoryBound(to: sqlite3_file.self)
  }

  private static func state(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<GuardedFile> {
    UnsafeMutableRawPointer(file).assumingMemoryBound(to: GuardedFile.self)
  }

  // MARK: For connections

  /// Returns the guarded file of a database, or nil if the handle was opened without the guard.
  private static func state(_ database: OpaquePointer, _ name: String) -> UnsafeMutablePointer<GuardedFile>? {
    guard let file = DatabaseHandle.file(database, name), let own = file.pointee.pMethods, own == methods.shared || own == methods.plain
    else { return nil }
    return state(file)
  }

  /// Marks an attached database as plaintext. Its pages may be zeros.
  static func allowZeros(in name: String, of database: OpaquePointer) { state(database, name)?.pointee.isEncrypted = false }

  /// Returns the error with which a database of the handle, or its log, could not be opened for writing for a reason other than
  /// permissions; otherwise nil.
  static func failedWritableOpening(_ database: OpaquePointer) -> Int32? {
    var files = ["main", "target"].compactMap { state(database, $0) }
    if let log = DatabaseHandle.log(database), lower(log) != log { files.append(state(log)) }
    return files.map(\.pointee.openingError).first { ![0, EACCES, EPERM, EROFS, ETXTBSY].contains($0) }
  }

  /// Returns the error with which the main database could not be opened for writing; 0 if it is open for writing or the error is unknown.
  static func openingError(_ database: OpaquePointer) -> Int32 { state(database, "main")?.pointee.openingError ?? 0 }

  /// Allows the given pages of the main database to be zeros, until the next call with nil.
  static func admit(_ pages: AdmittedPages?, of database: OpaquePointer) {
    guard let state = state(database, "main") else { return }
    state.pointee.admitted?.release()
    state.pointee.admitted = pages.map { Unmanaged.passRetained($0) }  // released by the next call
  }

  /// Returns whether the page last read for the main database was written with its key; nil if that is unknown.
  ///
  /// SQLCipher turns a page that was not into zeros, which SQLite does not recognize as a database, or reports the same error as for
  /// exhausted memory. This distinguishes the two. The page is read again.
  static func isLastPageAuthentic(_ database: OpaquePointer, _ authenticator: PageAuthenticator) -> Bool? {
    guard let main = DatabaseHandle.file(database), let mainState = state(database, "main") else { return nil }
    var (file, last) = (main, mainState.pointee)
    if let log = DatabaseHandle.log(database), lower(log) != log, state(log).pointee.kind == .log,
      state(log).pointee.lastRead.turn > last.lastRead.turn
    {
      (file, last) = (log, state(log).pointee)
    }
    let (pageSize, offset) = (authenticator.format.pageSize, last.lastRead.offset)
    let inner = below(file)
    guard last.lastRead.turn > 0, let read = inner.pointee.pMethods?.pointee.xRead else { return nil }
    var number = UInt32(truncatingIfNeeded: offset / Int64(pageSize) + 1)
    if last.kind == .log {
      // The page number precedes the page in the log.
      guard read(inner, &number, 4, offset - Int64(WriteAheadLog.frameHeaderSize)) == SQLITE_OK else { return nil }
      number = UInt32(bigEndian: number)
    } else if offset % Int64(pageSize) != 0 {
      return nil
    }
    let page = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 16)
    defer { page.deallocate() }
    guard read(inner, page.baseAddress, Int32(pageSize), offset) == SQLITE_OK else { return nil }
    return try? authenticator.isAuthentic(page, number: number)
  }

  // MARK: Reading

  private static func read(
    _ file: UnsafeMutablePointer<sqlite3_file>, _ output: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64
  ) -> Int32 {
    let inner = below(file)
    guard let read = inner.pointee.pMethods?.pointee.xRead, let output else { return SQLITE_IOERR }
    let code = read(inner, output, count, offset)
    // SQLite would report this error as corruption.
    if code == ResultCode.readError { return SQLITE_IOERR }
    guard code == SQLITE_OK || code == ResultCode.shortRead else { return code }
    let page = UnsafeMutableRawBufferPointer(start: output, count: Int(count))
    let state = state(file)
    if state.pointee.kind != .other { state.pointee.lastRead = (offset, PageGuard.recordRead()) }
    guard state.pointee.kind != .other, isPage(page.count), code != SQLITE_OK || isZero(page) else { return code }
    switch state.pointee.kind {
    case .database:
      // SQLite reads parts of the header with other sizes. A short first page belongs to a file that is not a database (yet).
      guard state.pointee.isEncrypted, offset % Int64(count) == 0, code == SQLITE_OK || offset > 0 else { return code }
      let number = UInt32(truncatingIfNeeded: offset / Int64(count) + 1)
      if let admitted = state.pointee.admitted?.takeUnretainedValue(), admitted.numbers.contains(number) {
        do throws(StoreAccessError) {
          try admitted.fill(number, page)
          return SQLITE_OK
        } catch {
          return error.kind == .outOfMemory ? SQLITE_NOMEM : SQLITE_IOERR
        }
      }
      return ResultCode.rejectedPage
    case .log:
      // Recovery reads whole frames, checks their checksums, and ends where the log is cut off. A short read is therefore not rejected
      // here; the page is, when it is read.
      return code == SQLITE_OK ? ResultCode.rejectedPage : code
    case .other:
      return code
    }
  }

  private static func isPage(_ count: Int) -> Bool { count >= smallestPage && count & (count - 1) == 0 }

  /// Returns whether a page is all zeros. For most pages it compares 8 bytes; otherwise it compares the page with itself, shifted by 8
  /// bytes.
  static func isZero(_ page: UnsafeMutableRawBufferPointer) -> Bool {
    guard page.count >= 8, let base = page.baseAddress, page.loadUnaligned(as: UInt64.self) == 0 else { return false }
    return memcmp(base, base + 8, page.count - 8) == 0
  }

  // MARK: Writing

  private static func write(
    _ file: UnsafeMutablePointer<sqlite3_file>, _ input: UnsafeRawPointer?, _ count: Int32, _ offset: Int64
  ) -> Int32 {
    let inner = below(file)
    guard let write = inner.pointee.pMethods?.pointee.xWrite else { return SQLITE_IOERR }
    let state = state(file)
    guard state.pointee.kind == .log else { return write(inner, input, count, offset) }
    let end = offset + Int64(count)
    // Before the write, which may change the size.
    let growth = state.pointee.preallocation.recordWrite(offset..<end, size: size(inner))
    let code = write(inner, input, count, offset)
    if growth > 0, code == SQLITE_OK { preallocate(inner, end..<end + growth, state) }
    return code
  }

  /// Returns the size of a file of the layer below, or nil if it is unavailable.
  private static func size(_ inner: UnsafeMutablePointer<sqlite3_file>) -> Int64? {
    var size: sqlite3_int64 = 0
    return inner.pointee.pMethods?.pointee.xFileSize?(inner, &size) == SQLITE_OK ? size : nil
  }

  /// Writes zeros past the end of a log. If that fails, SQLite's own writes continue, and report the disk's error.
  private static func preallocate(
    _ inner: UnsafeMutablePointer<sqlite3_file>, _ range: Range<Int64>, _ state: UnsafeMutablePointer<GuardedFile>
  ) {
    // In chunks of the largest page size: SQLite's own files write at most twice that at a time.
    let zeros = [UInt8](repeating: 0, count: 65_536)
    var (offset, code) = (range.lowerBound, SQLITE_OK)
    while offset < range.upperBound, code == SQLITE_OK {
      let count = min(zeros.count, Int(range.upperBound - offset))
      code = zeros.withUnsafeBytes { inner.pointee.pMethods?.pointee.xWrite?(inner, $0.baseAddress, Int32(count), offset) } ?? SQLITE_IOERR
      offset += Int64(count)
    }
    // The last free space on the disk is left to the pages.
    if code != SQLITE_OK { _ = inner.pointee.pMethods?.pointee.xTruncate?(inner, range.lowerBound) }
    state.pointee.preallocation.recordPreallocation(code == SQLITE_OK, to: range.upperBound)
  }

  // MARK: All else

  /// The method tables of guarded files, with and without shared memory, depending on the layer below. There are no methods for memory
  /// mapping, which would bypass the check.
  private struct Methods: @unchecked Sendable {  // made once and never changed; SQLite requires addresses
    let plain: UnsafePointer<sqlite3_io_methods>
    let shared: UnsafePointer<sqlite3_io_methods>
  }

  private static let methods: Methods = {
    var table = sqlite3_io_methods()
    table.iVersion = 1
    table.xClose = { file in
      guard let file else { return SQLITE_OK }
      GuardedFile.state(file).pointee.admitted?.release()
      GuardedFile.state(file).pointee.admitted = nil
      let inner = GuardedFile.below(file)
      let code = inner.pointee.pMethods?.pointee.xClose?(inner) ?? SQLITE_OK
      file.pointee.pMethods = nil
      return code
    }
    table.xRead = { file, output, count, offset in file.map { GuardedFile.read($0, output, count, offset) } ?? SQLITE_IOERR }
    table.xWrite = { file, input, count, offset in file.map { GuardedFile.write($0, input, count, offset) } ?? SQLITE_IOERR }
    table.xTruncate = { file, size in
      guard let file else { return SQLITE_IOERR }
      GuardedFile.state(file).pointee.preallocation.recordTruncation()
      let inner = GuardedFile.below(file)
      return inner.pointee.pMethods?.pointee.xTruncate?(inner, size) ?? SQLITE_IOERR
    }
    table.xSync = { file, flags in
      guard let file else { return SQLITE_IOERR }
      GuardedFile.state(file).pointee.preallocation.recordSync()
      let inner = GuardedFile.below(file)
      return inner.pointee.pMethods?.pointee.xSync?(inner, flags) ?? SQLITE_IOERR
    }
    table.xFileSize = { file, size in
      guard let inner = file.map(GuardedFile.below) else { return SQLITE_IOERR }
      return inner.pointee.pMethods?.pointee.xFileSize?(inner, size) ?? SQLITE_IOERR
    }
    table.xLock = { file, level in
      guard let inner = file.map(GuardedFile.below) else { return SQLITE_IOERR }
      return inner.pointee.pMethods?.pointee.xLock?(inner, level) ?? SQLITE_IOERR
    }
    table.xUnlock = { file, level in
      guard let inner = file.map(GuardedFile.below) else { return SQLITE_IOERR }
      return inner.pointee.pMethods?.pointee.xUnlock?(inner, level) ?? SQLITE_IOERR
    }
    table.xCheckReservedLock = { file, result in
      guard let inner = file.map(GuardedFile.below) else { return SQLITE_IOERR }
      return inner.pointee.pMethods?.pointee.xCheckReservedLock?(inner, result) ?? SQLITE_IOERR
    }
    table.xFileControl = { file, operation, argument in
      guard let inner = file.map(GuardedFile.below) else { return SQLITE_NOTFOUND }
      return inner.pointee.pMethods?.pointee.xFileControl?(inner, operation, argument) ?? SQLITE_NOTFOUND
    }
    table.xSectorSize = { file in
      guard let inner = file.map(GuardedFile.below) else { return 0 }
      return inner.pointee.pMethods?.pointee.xSectorSize?(inner) ?? 0
    }
    table.xDeviceCharacteristics = { file in
      guard let inner = file.map(GuardedFile.below) else { return 0 }
      return inner.pointee.pMethods?.pointee.xDeviceCharacteristics?(inner) ?? 0
    }
    var withMemory = table
    withMemory.iVersion = 2
    withMemory.xShmMap = { file, region, size, extends, output in
      guard let inner = file.map(GuardedFile.below) else { return SQLITE_IOERR }
      errno = 0
      let code = inner.pointee.pMethods?.pointee.xShmMap?(inner, region, size, extends, output) ?? SQLITE_IOERR
      // The log's index could not be opened for writing, and is open for reading.
      if code & 0xff == SQLITE_READONLY, let file { GuardedFile.state(file).pointee.openingError = errno }
      return code
    }
    withMemory.xShmLock = { file, offset, count, flags in
      guard let inner = file.map(GuardedFile.below) else { return SQLITE_IOERR }
      return inner.pointee.pMethods?.pointee.xShmLock?(inner, offset, count, flags) ?? SQLITE_IOERR
    }
    withMemory.xShmBarrier = { file in
      guard let inner = file.map(GuardedFile.below) else { return }
      inner.pointee.pMethods?.pointee.xShmBarrier?(inner)
    }
    withMemory.xShmUnmap = { file, deletes in
      guard let inner = file.map(GuardedFile.below) else { return SQLITE_OK }
      return inner.pointee.pMethods?.pointee.xShmUnmap?(inner, deletes) ?? SQLITE_OK
    }
    return Methods(plain: kept(table), shared: kept(withMemory))
  }()

  /// Returns a copy in memory that is never freed.
  private static func kept(_ table: sqlite3_io_methods) -> UnsafePointer<sqlite3_io_methods> {
    let pointer = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    pointer.initialize(to: table)
    return UnsafePointer(pointer)
  }
}

/// Preallocation of space in the file of a write-ahead log, ahead of the frames that fill it.
///
/// A synced commit that makes the file longer waits for the file system to record the new length, which takes several times as long as
/// writing the commit's pages. If commits are synced one by one, the file therefore grows by many pages at a time, and most commits fill
/// preallocated space. That space is zeros: SQLite stops at a frame without a page number, and a restarted log fills its file from the
/// start.
///
/// The writer holds SQLite's write lock of the log, so nothing else writes during preallocation.
struct LogPreallocation {
  /// The number of syncs that must have found the file longer before space is preallocated: the log's header, which is synced separately,
  /// and two commits. A program that saves once or twice needs none.
  private static let requiredLongerSyncs: UInt8 = 3
  /// The minimum and maximum number of bytes to preallocate. Within these bounds it is the current size of the log, so that the log is
  /// never more than half empty.
  private static let bounds: ClosedRange<Int64> = 65_536...262_144

  /// The end of the file, as far as known; nil before the first query. Other processes may since have extended the file, or truncated and
  /// restarted it. Then less space is preallocated for a while.
  private var end: Int64?
  /// The number of syncs that found the file longer than before.
  private var longerSyncs: UInt8 = 0
  private var isLonger = false
  /// Whether space was preallocated in this transaction. A transaction that fills it is long, and gets no more.
  private var hasPreallocated = false

  /// Records a write.
  ///
  /// - Parameters:
  ///   - range: The byte range of the write.
  ///   - size: The file size before the write, or nil if unknown. Evaluated at the start of the log, and before preallocation.
  /// - Returns: The number of bytes to preallocate after the write; 0 for none.
  mutating func recordWrite(_ range: Range<Int64>, size: @autoclosure () -> Int64?) -> Int64 {
    if let end, range.upperBound <= end, range.lowerBound > 0 { return 0 }
    guard let known = range.lowerBound > 0 ? end ?? size() : size() else { return 0 }
    end = max(known, range.upperBound)
    guard range.upperBound > known else { return 0 }
    isLonger = true
    guard longerSyncs >= Self.requiredLongerSyncs, !hasPreallocated, let now = size() else { return 0 }
    // Another process may have preallocated space in the meantime.
    guard range.upperBound > now else {
      end = now
      return 0
    }
    hasPreallocated = true
    return min(max(range.upperBound, Self.bounds.lowerBound), Self.bounds.upperBound)
  }

  /// Records whether the preallocation succeeded.
  mutating func recordPreallocation(_ succeeded: Bool, to preallocatedEnd: Int64) {
    if succeeded { end = preallocatedEnd } else { longerSyncs = 0 }
  }

  mutating func recordSync() {
    if isLonger, !hasPreallocated, longerSyncs < Self.requiredLongerSyncs { longerSyncs += 1 }
    (isLonger, hasPreallocated) = (false, false)
  }

  mutating func recordTruncation() { end = nil }
}
