import Foundation
import StoreKeys

/// An open log or journal. It has no locks of its own, so that opening and closing it disturbs nobody.
struct LogFile: ~Copyable {
  private let descriptor: Int32
  private let path: String

  /// nil where there is none.
  init?(opening path: String) throws(StoreAccessError) {
    descriptor = Descriptors.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    self.path = path
    guard descriptor < 0 else { return }
    if errno == ENOENT { return nil }
    throw .system(errno, path: path, operation: .readLog)
  }

  deinit { if descriptor >= 0 { _ = Foundation.close(descriptor) } }

  /// Reads a part. What cannot be read is no end of the log, and neither is what comes in pieces: the log would count as checked.
  ///
  /// - Returns: How many bytes were read: fewer than `size` where the file ends.
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
  /// The 32-bit number at an offset, as logs and journals have it.
  func bigEndian(at offset: Int) -> UInt32 {
    UInt32(bigEndian: UnsafeRawBufferPointer(self).loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }
}
