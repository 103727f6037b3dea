// LineReader: lines of a byte source, one at a time, in memory that does not grow with the source.

/// Reads lines. A line ends at a line feed, which a carriage return may precede; the last line may lack one.
package final class LineReader {
  /// The number of the line read last, from 1; 0 before the first.
  package private(set) var lineNumber = 0
  /// Where the bytes come from.
  package let source: ByteSource
  private let longestLine: Int
  private var buffer: [UInt8]
  private var start = 0
  private var end = 0
  private var isAtEnd = false

  /// Reads the lines of a source.
  ///
  /// - Parameters:
  ///   - source: The bytes.
  ///   - blockSize: How many bytes are asked for at once.
  ///   - longestLine: The number of bytes above which a line is refused, so that a file without line ends does not fill the memory.
  package init(_ source: ByteSource, blockSize: Int = 1 << 16, longestLine: Int = 1 << 28) {
    self.source = source
    self.longestLine = longestLine
    buffer = [UInt8](repeating: 0, count: max(blockSize, 16))
  }

  /// Lends the bytes of the next line, without its end, to a closure.
  ///
  /// - Returns: What the closure returns; nil at the end of the source.
  /// - Throws: What reading or the closure throws; ``InputError`` when the line is too long.
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

  /// Reads more bytes behind those at hand; returns where the new ones begin.
  private func fill() throws -> Int {
    if start > 0 {
      buffer.withUnsafeMutableBytes { bytes in
        if let base = bytes.baseAddress { base.copyMemory(from: base + start, byteCount: end - start) }
      }
      end -= start
      start = 0
    }
    if end == buffer.count {
      // Room for the longest line with its end.
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
