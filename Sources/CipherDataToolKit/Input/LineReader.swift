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
