// The write-ahead log's layout, as far as it must be read without SQLite.

import Foundation

/// Reads frames of a write-ahead log. It has no locks of its own, so that opening and closing it disturbs nobody.
enum WriteAheadLog {
  static let headerSize = 32
  static let frameHeaderSize = 24

  /// Whether some frame is page 1 written with the key.
  static func holdsAuthenticFirstPage(_ path: String, authenticator: PageAuthenticator) -> Bool {
    var isFound = false
    _ = forEachFrame(path, pageSize: authenticator.format.pageSize) { number, page in
      if number == 1, authenticator.isAuthentic(page, number: 1) { isFound = true }
      return !isFound
    }
    return isFound
  }

  /// Calls `body` with each whole frame's page number and page, until it says false. Returns false where the log cannot be read.
  static func forEachFrame(_ path: String, pageSize: Int, _ body: (UInt32, UnsafeMutableRawBufferPointer) -> Bool) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { _ = Foundation.close(descriptor) }
    let frame = UnsafeMutableRawBufferPointer.allocate(byteCount: frameHeaderSize + pageSize, alignment: 16)
    defer { frame.deallocate() }
    let page = UnsafeMutableRawBufferPointer(rebasing: frame[frameHeaderSize...])
    var offset = headerSize
    while pread(descriptor, frame.baseAddress, frame.count, off_t(offset)) == frame.count {
      let number = (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(frame[$1]) }
      if !body(number, page) { break }
      offset += frame.count
    }
    return true
  }
}
