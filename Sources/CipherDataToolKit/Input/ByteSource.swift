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

/// A reader for the lines of a byte source, in bounded memory. A line ends with a line feed, optionally preceded by a carriage return. The
/// last line may lack a terminator.
package final class LineReader {
  /// The number of the last line read, from 1; 0 before the first.
  package private(set) var lineNumber = 0
  /// The source of the bytes.
  package let source: ByteSource
  private let longestLine: Int
  private var buffer: [UInt8]
  private var start = 0
  private var end = 0
  private var isAtEnd = false

  /// Creates a reader for the lines of a source.
  ///
  /// - Parameters:
  ///   - source: The bytes.
  ///   - blockSize: The number of bytes to read at a time.
  ///   - longestLine: The maximum number of bytes in a line, so that a file without line breaks does not exhaust memory.
  package init(_ source: ByteSource, blockSize: Int = 1 << 16, longestLine: Int = 1 << 28) {
    self.source = source
    self.longestLine = longestLine
    buffer = [UInt8](repeating: 0, count: max(blockSize, 16))
  }

  /// Passes the bytes of the next line, without its terminator, to a closure. The buffer is valid only during the call.
  ///
  /// - Returns: The closure's result; `nil` at the end of the source.
  /// - Throws: Errors of reading or of the closure; ``InputError`` if the line is too long.
  package func next<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result? {
    guard let range = try nextRange() else { return nil }
    return try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  private func nextRange() throws -> Range<Int>? {
    var searched = start
    while true {
      let found = buffer.withUnsafeBytes { bytes in
        UnsafeRawBufferPointer(rebasing: bytes[searched..<end]).firstIndex(of: 0x0A)
      }
      if let found {
        let lineEnd = searched + found
        let line = try checked(start..<(lineEnd > start && buffer[lineEnd - 1] == 0x0D ? lineEnd - 1 : lineEnd))
        start = lineEnd + 1
        lineNumber += 1
        return line
      }
      if isAtEnd {
        guard start < end else { return nil }
        let line = try checked(start..<(buffer[end - 1] == 0x0D ? end - 1 : end))
        start = end
        lineNumber += 1
        return line
      }
      searched = try fill()
    }
  }

  private var tooLong: InputError { InputError(line: lineNumber + 1, "The line is longer than \(longestLine) bytes.") }

  private func checked(_ line: Range<Int>) throws -> Range<Int> {
    guard line.count <= longestLine else { throw tooLong }
    return line
  }

  /// Appends more bytes to the buffer. Returns the offset of the new bytes.
  private func fill() throws -> Int {
    if start > 0 {
      buffer.withUnsafeMutableBytes { bytes in
        if let base = bytes.baseAddress { base.copyMemory(from: base + start, byteCount: end - start) }
      }
      end -= start
      start = 0
    }
    if end == buffer.count {
      // Space for the longest line with its terminator.
      let room = longestLine + 2 - buffer.count
      guard room > 0 else { throw tooLong }
      buffer.append(contentsOf: repeatElement(0, count: min(buffer.count, room)))
    }
    let searched = end
    let count = try buffer.withUnsafeMutableBytes { try source.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[searched...])) }
    if count == 0 { isAtEnd = true }
    end += count
    return searched
  }
}
