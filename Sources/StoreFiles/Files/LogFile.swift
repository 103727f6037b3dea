import Foundation
import StoreKeys

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
