// The write-ahead log's layout, as far as it must be read without SQLite.

import Foundation

/// Reads frames of a write-ahead log. It has no locks of its own, so that opening and closing it disturbs nobody.
enum WriteAheadLog {
  static let headerSize = 32
  static let frameHeaderSize = 24

  /// One page in the log.
  struct Frame {
    let page: UInt32
    /// True where the frame ends a transaction.
    let isCommit: Bool
    /// False where the frame is left over from before the log was begun anew.
    let isCurrent: Bool
  }

  /// Whether some frame is page 1 written with the key.
  static func holdsAuthenticFirstPage(_ path: String, authenticator: PageAuthenticator) -> Bool {
    var isFound = false
    _ = forEachFrame(path, pageSize: authenticator.format.pageSize) { frame, page in
      if frame.page == 1, authenticator.isAuthentic(page, number: 1) { isFound = true }
      return !isFound
    }
    return isFound
  }

  /// Calls `body` with each whole frame and its page, until it says false. Returns false where the log cannot be read.
  static func forEachFrame(_ path: String, pageSize: Int, _ body: (Frame, UnsafeMutableRawBufferPointer) -> Bool) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return false }
    defer { _ = Foundation.close(descriptor) }
    var header = [UInt8](repeating: 0, count: headerSize)
    guard pread(descriptor, &header, headerSize, 0) == headerSize else { return false }
    let salts = Array(header[16..<24])
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: frameHeaderSize + pageSize, alignment: 16)
    defer { buffer.deallocate() }
    let page = UnsafeMutableRawBufferPointer(rebasing: buffer[frameHeaderSize...])
    var offset = headerSize
    while pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) == buffer.count {
      let frame = Frame(
        page: bigEndian(buffer, 0), isCommit: bigEndian(buffer, 4) != 0, isCurrent: Array(buffer[8..<16]) == salts)
      if !body(frame, page) { break }
      offset += buffer.count
    }
    return true
  }

  private static func bigEndian(_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int) -> UInt32 {
    (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(buffer[offset + $1]) }
  }
}
