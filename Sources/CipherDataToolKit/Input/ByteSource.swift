import Foundation

/// A reader for the bytes of a file, a pipe, or standard input, block by block. It is not thread-safe.
package final class ByteSource {
  /// The name of the source for messages.
  package let name: String
  /// The total number of bytes, if known.
  package let size: Int?
  /// The number of bytes read so far.
  package private(set) var position = 0
  private let descriptor: Int32
  private let isOwned: Bool

  /// Creates a reader of an open file descriptor, which the caller closes.
  package init(descriptor: Int32, name: String) {
    self.descriptor = descriptor
    self.name = name
    isOwned = false
    size = Self.regularSize(descriptor)
  }

  /// Checks a file without opening it: opening and closing a pipe unread would discard the writer's data.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/noInput``.
  package static func check(path: String) throws {
    if path == "-" { return }
    var status = stat()
    guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
      throw ToolError(.noInput, "Cannot read \(path): \(String(cString: strerror(errno))).")
    }
    if status.st_mode & S_IFMT == S_IFDIR { throw ToolError(.noInput, "Cannot read \(path): it is a folder.") }
  }

  /// Opens a file. The path `-` means standard input.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/noInput``.
  package init(path: String) throws {
    if path == "-" {
      descriptor = STDIN_FILENO
      name = "standard input"
      isOwned = false
    } else {
      descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        throw ToolError(.noInput, "Cannot read \(path): \(String(cString: strerror(errno))).")
      }
      name = path
      isOwned = true
      var status = stat()
      if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
        close(descriptor)
        throw ToolError(.noInput, "Cannot read \(path): it is a folder.")
      }
    }
    size = Self.regularSize(descriptor)
  }

  deinit {
    if isOwned { close(descriptor) }
  }

  /// Reads the next bytes into a buffer.
  ///
  /// - Returns: The number of bytes read; 0 at the end.
  /// - Throws: ``ToolError`` with ``ExitStatus/damage``.
  package func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    while true {
      let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
      if count >= 0 {
        position += count
        return count
      }
      if errno == EINTR { continue }
      throw ToolError(.damage, "Cannot read \(name): \(String(cString: strerror(errno))).")
    }
  }

  private static func regularSize(_ descriptor: Int32) -> Int? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size)
  }
}
