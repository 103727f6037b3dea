import Foundation
package import StoreKeys

/// Reads the frames of a write-ahead log without SQLite.
package enum WriteAheadLog {
  package static let headerSize = 32
  package static let frameHeaderSize = 24

  /// A page in the log.
  package struct Frame {
    package let page: UInt32
    package let isCommit: Bool
    /// The offset of the page in the log.
    package let offset: Int
  }

  /// Returns whether a frame contains a page 1 written with the key.
  package static func hasAuthenticFirstPage(_ path: String, authenticator: PageAuthenticator) throws(StoreAccessError) -> Bool {
    var isFound = false
    try forEachFrame(path, pageSize: authenticator.format.pageSize) { (frame, page) throws(StoreAccessError) in
      if frame.page == 1, try authenticator.isAuthentic(page, number: 1) { isFound = true }
      return !isFound
    }
    return isFound
  }

  /// Returns whether every page that SQLite would read from the log was written with the key.
  package static func isAuthentic(_ path: String, authenticator: PageAuthenticator) throws(StoreAccessError) -> Bool {
    var hasBadFrame = false
    var isAuthentic = true
    let hasPageSize = try forEachFrame(path, pageSize: authenticator.format.pageSize) { (frame, page) throws(StoreAccessError) in
      if try !authenticator.isAuthentic(page, number: frame.page) { hasBadFrame = true }
      // Frames without a later commit are ignored.
      if frame.isCommit, hasBadFrame { isAuthentic = false }
      return isAuthentic
    }
    return isAuthentic && hasPageSize
  }

  /// Calls `body` with each frame that SQLite would accept, until it returns `false`. These are the frames of the log's current generation,
  /// as long as their checksums are continuous.
  ///
  /// - Returns: `false` if the log is valid but has pages of another size. A log that SQLite would ignore has no frames.
  @discardableResult
  package static func forEachFrame(
    _ path: String, pageSize: Int, _ body: (Frame, UnsafeMutableRawBufferPointer) throws(StoreAccessError) -> Bool
  ) throws(StoreAccessError) -> Bool {
    guard let file = try LogFile(opening: path) else { return true }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(frameHeaderSize + pageSize, headerSize), alignment: 16)
    defer { buffer.deallocate() }
    guard try file.read(headerSize, at: 0, into: buffer) == headerSize else { return true }
    let magic = buffer.bigEndian(at: 0)
    guard magic & ~1 == 0x377f_0682 else { return true }
    var sum = Sum(isBigEndian: magic & 1 == 1)
    sum.add(buffer, 0..<24)
    guard sum.equals(buffer.bigEndian(at: 24), buffer.bigEndian(at: 28)) else { return true }
    guard Int(buffer.bigEndian(at: 8)) == pageSize else { return false }
    let salts = (buffer.bigEndian(at: 16), buffer.bigEndian(at: 20))

    let page = UnsafeMutableRawBufferPointer(rebasing: buffer[frameHeaderSize..<frameHeaderSize + pageSize])
    let size = frameHeaderSize + pageSize
    var offset = headerSize
    while try file.read(size, at: offset, into: buffer) == size {
      guard (buffer.bigEndian(at: 8), buffer.bigEndian(at: 12)) == salts, buffer.bigEndian(at: 0) != 0 else { break }
      sum.add(buffer, 0..<8)
      sum.add(buffer, frameHeaderSize..<size)
      guard sum.equals(buffer.bigEndian(at: 16), buffer.bigEndian(at: 20)) else { break }
      let frame = Frame(page: buffer.bigEndian(at: 0), isCommit: buffer.bigEndian(at: 4) != 0, offset: offset + frameHeaderSize)
      if try !body(frame, page) { break }
      offset += size
    }
    return true
  }

  /// Returns the offset of the newest committed version of each page.
  package static func newestPages(_ path: String, pageSize: Int) throws(StoreAccessError) -> [UInt32: Int] {
    var committed: [UInt32: Int] = [:]
    var pending: [UInt32: Int] = [:]
    try forEachFrame(path, pageSize: pageSize) { frame, _ in
      pending[frame.page] = frame.offset
      if frame.isCommit {
        committed.merge(pending) { $1 }
        pending = [:]
      }
      return true
    }
    return committed
  }

  /// Returns the numbers of committed pages and transactions in the log since its last reset.
  package static func extent(_ path: String, pageSize: Int) throws(StoreAccessError) -> (pages: Int, commits: Int) {
    var (pages, committed, commits) = (0, 0, 0)
    try forEachFrame(path, pageSize: pageSize) { frame, _ in
      pages += 1
      if frame.isCommit { (committed, commits) = (pages, commits + 1) }
      return true
    }
    return (committed, commits)
  }

  /// Reads a page of the log, or returns `false` if the log ends before it.
  package static func read(
    _ path: String, into page: UnsafeMutableRawBufferPointer, offset: Int
  ) throws(StoreAccessError) -> Bool {
    guard let file = try LogFile(opening: path) else { return false }
    return try file.read(page.count, at: offset, into: page) == page.count
  }

  /// Makes the log durable. If there is no log, its frames are already durable in the database.
  static func sync(_ path: String) throws(StoreAccessError) {
    do throws(StoreAccessError) {
      try StoreFile.syncFile(path)
    } catch  where error.kind == .noSuchFile {}
  }

  /// SQLite's running checksum over pairs of 32-bit words.
  private struct Sum {
    let isBigEndian: Bool
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    mutating func add(_ buffer: UnsafeMutableRawBufferPointer, _ range: Range<Int>) {
      let bytes = UnsafeRawBufferPointer(buffer)
      for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
        let left = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        let right = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
        first &+= (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ second
        second &+= (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ first
      }
    }

    func equals(_ left: UInt32, _ right: UInt32) -> Bool { first == left && second == right }
  }
}

/// An open log or journal. These files have no locks of their own, so opening and closing them does not affect SQLite's connections.
struct LogFile: ~Copyable {
  private let descriptor: Int32
  private let path: String

  /// Opens the file, or returns `nil` if there is none.
  init?(opening path: String) throws(StoreAccessError) {
    descriptor = Descriptors.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    self.path = path
    guard descriptor < 0 else { return }
    if errno == ENOENT { return nil }
    throw .system(errno, path: path, operation: .readLog)
  }

  deinit { if descriptor >= 0 { _ = Foundation.close(descriptor) } }

  /// Reads a range. Read errors and partial reads are not treated as the end of the log, which would then count as verified.
  ///
  /// - Returns: The number of bytes read, less than `size` at the end of the file.
  func read(_ size: Int, at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(StoreAccessError) -> Int {
    var position = 0
    while position < size {
      let count = pread(descriptor, buffer.baseAddress?.advanced(by: position), size - position, off_t(offset + position))
      if count == 0 { break }
      guard count > 0 || errno == EINTR else { throw .system(errno, path: path, operation: .readLog) }
      position += max(0, count)
    }
    return position
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Returns the big-endian 32-bit number at an offset, as used in logs and journals.
  func bigEndian(at offset: Int) -> UInt32 {
    UInt32(bigEndian: UnsafeRawBufferPointer(self).loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }
}

/// Reads the pages of a rollback journal, which contain the state before its transaction.
///
/// The layout is described in SQLite's "Database File Format", section 3: segments, each with a header that fills a sector, followed by
/// pages with their numbers and checksums.
package enum RollbackJournal {
  private static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
  private static let headSize = 28
  private static let sectorSizes = 32...65_536

  /// Returns whether the page 1 that SQLite would restore was written with the key. The journal contains each page of the database once.
  package static func hasAuthenticFirstPage(_ path: String, authenticator: PageAuthenticator) throws(StoreAccessError) -> Bool {
    guard let file = try LogFile(opening: path) else { return false }
    let pageSize = authenticator.format.pageSize
    let recordSize = pageSize + 8
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: recordSize, alignment: 16)
    defer { buffer.deallocate() }
    var offset = 0
    while try file.read(headSize, at: offset, into: buffer) == headSize {
      // A header of zeros belongs to a segment that was never synced. SQLite restores nothing from there on.
      guard buffer[..<magic.count].elementsEqual(magic), Int(buffer.bigEndian(at: 24)) == pageSize else { return false }
      let (count, sectorSize) = (buffer.bigEndian(at: 8), Int(buffer.bigEndian(at: 20)))
      guard sectorSizes.contains(sectorSize), sectorSize & (sectorSize - 1) == 0 else { return false }
      offset += sectorSize
      // A segment without a page count extends to the end of the file.
      var rest = count == 0 ? UInt32.max : count
      while rest > 0 {
        guard try file.read(recordSize, at: offset, into: buffer) == recordSize else { return false }
        if buffer.bigEndian(at: 0) == 1 {
          return try authenticator.isAuthentic(UnsafeMutableRawBufferPointer(rebasing: buffer[4..<4 + pageSize]), number: 1)
        }
        offset += recordSize
        rest -= 1
      }
      offset = (offset + sectorSize - 1) / sectorSize * sectorSize
    }
    return false
  }
}
