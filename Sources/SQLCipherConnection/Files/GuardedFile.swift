// GuardedFile: an open file of the page guard: looks at what is read from databases and logs, makes room in logs, and hands everything else on.

import CSQLCipher
import Foundation
import StoreFiles
import StoreKeys

/// Pages of zeros that a copy by pages may read: it reads unused pages too, which need never have been written.
package final class AdmittedPages {
  let numbers: Set<UInt32>
  /// Writes the page that stands for one that was never written, as SQLCipher would have written it.
  let fill: (UInt32, UnsafeMutableRawBufferPointer) throws(StoreAccessError) -> Void

  init(_ numbers: Set<UInt32>, fill: @escaping (UInt32, UnsafeMutableRawBufferPointer) throws(StoreAccessError) -> Void) {
    self.numbers = numbers
    self.fill = fill
  }
}

/// SQLite's file with what the guard knows of it in front, and the file of the layer below behind it. SQLite owns the memory, and uses a file from one thread
/// at a time.
struct GuardedFile {
  private enum Kind: UInt8 {
    case database, log, other
  }

  private var base: sqlite3_file
  private var kind: Kind
  /// False for a plain database, whose pages may be zeros.
  private var isEncrypted: Bool
  /// True once a page was refused.
  private var hasRefused: Bool
  private var admitted: Unmanaged<AdmittedPages>?  // C's memory holds it: `admit` retains and releases it
  /// Where the last read began, and its place among the reads of the process; 0 before the first.
  private var lastRead = (offset: Int64(0), turn: UInt64(0))
  private var room = LogRoom()
  /// Why the file could not be opened to be written, where it is open to be read all the same; else 0.
  private var openingError: Int32 = 0

  /// The bytes in front of the file below, which stands at a multiple of 8 as SQLite's own do.
  static let size = (MemoryLayout<GuardedFile>.stride + 7) & ~7

  /// The least that SQLite's pages have.
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
    // A file that failed to open may still want to be closed.
    guard let innerMethods = inner.pointee.pMethods else { return code }
    let kind: Kind = flags & SQLITE_OPEN_MAIN_DB != 0 ? .database : flags & SQLITE_OPEN_WAL != 0 ? .log : .other
    UnsafeMutableRawPointer(file).assumingMemoryBound(to: GuardedFile.self).initialize(
      to: GuardedFile(
        base: sqlite3_file(pMethods: innerMethods.pointee.iVersion >= 2 ? methods.shared : methods.plain), kind: kind, isEncrypted: true,
        hasRefused: false, admitted: nil))
    // What succeeds afterwards leaves `errno` as it is.
    if flags & SQLITE_OPEN_READWRITE != 0, let outFlags, outFlags.pointee & SQLITE_OPEN_READONLY != 0 {
      state(file).pointee.openingError = openingError
    }
    return code
  }

  /// The file below a guarded one; a file that is not guarded is its own.
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

  /// The guarded file of a database of a handle; nil where the handle was opened without the guard.
  private static func state(_ database: OpaquePointer, _ name: String) -> UnsafeMutablePointer<GuardedFile>? {
    guard let file = DatabaseHandle.file(database, name), let own = file.pointee.pMethods, own == methods.shared || own == methods.plain
    else { return nil }
    return state(file)
  }

  /// Says that an attached database is a plain one, whose pages may be zeros.
  static func allowZeros(in name: String, of database: OpaquePointer) { state(database, name)?.pointee.isEncrypted = false }

  /// Whether a page of the main database was refused.
  static func hasRefusedPage(_ database: OpaquePointer) -> Bool { state(database, "main")?.pointee.hasRefused ?? false }

  /// Why a database of the handle, or its log, could not be opened to be written although this process may write it; nil where none is so.
  static func failedWritableOpening(_ database: OpaquePointer) -> Int32? {
    var files = ["main", "target"].compactMap { state(database, $0) }
    if let log = DatabaseHandle.log(database), lower(log) != log { files.append(state(log)) }
    return files.map(\.pointee.openingError).first { ![0, EACCES, EPERM, EROFS, ETXTBSY].contains($0) }
  }

  /// Why the main database of the handle could not be opened to be written; 0 where it is, or that is not known.
  static func openingError(_ database: OpaquePointer) -> Int32 { state(database, "main")?.pointee.openingError ?? 0 }

  /// Lets some pages of the main database be zeros until it is called with nil.
  static func admit(_ pages: AdmittedPages?, of database: OpaquePointer) {
    guard let state = state(database, "main") else { return }
    state.pointee.admitted?.release()
    state.pointee.admitted = pages.map { Unmanaged.passRetained($0) }  // released by the next call
  }

  /// Whether the page that was read last for the main database was written with its key; nil where that is not known. SQLCipher hands a page that was not on as
  /// zeros, in which SQLite finds no database, or has the same error for it as for too little memory: this tells them apart. The page is read again.
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
      // Before a page in the log stands its number.
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
    // SQLite would make damage of it.
    if code == ResultCode.readError { return SQLITE_IOERR }
    guard code == SQLITE_OK || code == ResultCode.shortRead else { return code }
    let page = UnsafeMutableRawBufferPointer(start: output, count: Int(count))
    let state = state(file)
    if state.pointee.kind != .other { state.pointee.lastRead = (offset, PageGuard.noteRead()) }
    guard state.pointee.kind != .other, isPage(page.count), code != SQLITE_OK || isZero(page) else { return code }
    switch state.pointee.kind {
    case .database:
      // Parts of the header are read with sizes of their own. A short first page is a file that is none yet, or none at all.
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
      state.pointee.hasRefused = true
      return ResultCode.refusedPage
    case .log:
      // Recovery reads frames with their heads, checks their sums, and ends where they end: it is not refused here, the page is when it is read.
      return code == SQLITE_OK ? ResultCode.refusedPage : code
    case .other:
      return code
    }
  }

  private static func isPage(_ count: Int) -> Bool { count >= smallestPage && count & (count - 1) == 0 }

  /// Looks at 8 bytes of nearly every page; then compares the page with itself, moved by 8 bytes.
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
    // Asked before the write, which may change it.
    let wanted = state.pointee.room.noteWrite(offset..<end, size: size(inner))
    let code = write(inner, input, count, offset)
    if wanted > 0, code == SQLITE_OK { makeRoom(inner, end..<end + wanted, state) }
    return code
  }

  /// The length of a file of the layer below; nil where it does not tell.
  private static func size(_ inner: UnsafeMutablePointer<sqlite3_file>) -> Int64? {
    var size: sqlite3_int64 = 0
    return inner.pointee.pMethods?.pointee.xFileSize?(inner, &size) == SQLITE_OK ? size : nil
  }

  /// Writes zeros behind the end of a log. Where that fails SQLite's own writes go on, and say what is wrong with the disk.
  private static func makeRoom(
    _ inner: UnsafeMutablePointer<sqlite3_file>, _ range: Range<Int64>, _ state: UnsafeMutablePointer<GuardedFile>
  ) {
    // In pieces of the greatest page: SQLite's own files write no more than twice that at once.
    let zeros = [UInt8](repeating: 0, count: 65_536)
    var (offset, code) = (range.lowerBound, SQLITE_OK)
    while offset < range.upperBound, code == SQLITE_OK {
      let count = min(zeros.count, Int(range.upperBound - offset))
      code = zeros.withUnsafeBytes { inner.pointee.pMethods?.pointee.xWrite?(inner, $0.baseAddress, Int32(count), offset) } ?? SQLITE_IOERR
      offset += Int64(count)
    }
    // What there is of the disk's last room belongs to the pages.
    if code != SQLITE_OK { _ = inner.pointee.pMethods?.pointee.xTruncate?(inner, range.lowerBound) }
    state.pointee.room.noteRoom(code == SQLITE_OK, to: range.upperBound)
  }

  // MARK: All else

  /// The functions of guarded files: with shared memory where the layer below has it. Mapped pages would pass by the check: there is no function for them.
  private struct Methods: @unchecked Sendable {  // made once and never changed; SQLite wants addresses
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
      GuardedFile.state(file).pointee.room.noteTruncation()
      let inner = GuardedFile.below(file)
      return inner.pointee.pMethods?.pointee.xTruncate?(inner, size) ?? SQLITE_IOERR
    }
    table.xSync = { file, flags in
      guard let file else { return SQLITE_IOERR }
      GuardedFile.state(file).pointee.room.noteSync()
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
      // The index of the log is open to be read, since it could not be opened to be written.
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

  /// Memory that is never given back.
  private static func kept(_ table: sqlite3_io_methods) -> UnsafePointer<sqlite3_io_methods> {
    let pointer = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    pointer.initialize(to: table)
    return UnsafePointer(pointer)
  }
}
