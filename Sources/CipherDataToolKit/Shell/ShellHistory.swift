import Foundation

/// A history file of shell input, which only its owner can read. The file contains plaintext. Without a file, which is the default, the
/// history ends with the process.
final class ShellHistory {
  private static let longest = 1000
  private let descriptor: Int32
  /// The lines of earlier sessions, oldest first.
  let lines: [String]

  /// Opens or creates a file, and makes it inaccessible to other users.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/cannotCreate``.
  init(path: String) throws {
    descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { throw ToolError(.cannotCreate, "Cannot open the history \(path): \(String(cString: strerror(errno))).") }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, fchmod(descriptor, 0o600) == 0 else {
      close(descriptor)
      throw ToolError(.cannotCreate, "Cannot use \(path) as history: it is not a file of this user.")
    }
    let reader = LineReader(ByteSource(descriptor: descriptor, name: path), longestLine: 1 << 20)
    var lines: [String] = []
    do {
      while let line = try reader.next({ String(decoding: $0, as: UTF8.self) }) { lines.append(line) }
    } catch {
      close(descriptor)
      throw error
    }
    self.lines = lines.suffix(Self.longest)
    // The file is truncated once it has twice the maximum number of lines.
    if lines.count >= 2 * Self.longest, ftruncate(descriptor, 0) == 0 { self.lines.forEach(append) }
  }

  deinit { close(descriptor) }

  /// Appends a line.
  func append(_ line: String) {
    var bytes = Array(line.utf8)
    bytes.append(0x0A)
    bytes.withUnsafeBytes { _ = write(descriptor, $0.baseAddress, $0.count) }
  }
}
