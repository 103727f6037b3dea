import Foundation

/// A position in a text file, from 1. Columns count Unicode scalars.
struct XMLPosition {
  var line: Int
  var column: Int

  /// Returns the positions of all start tags, in order. Needed because Foundation's parser reports the last line of a multiline tag.
  @_optimize(none) static func ofStartTags(in data: Data) -> [XMLPosition] {
    data.withUnsafeBytes { bytes in
      var scanner = Scanner(bytes: bytes)
      scanner.run()
      return scanner.positions
    }
  }

  private struct Scanner {
    let bytes: UnsafeRawBufferPointer
    var positions: [XMLPosition] = []
    private var offset = 0
    private var line = 1
    private var column = 1

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    @_optimize(none) mutating func run() {
      // This character does not occur in attribute values of well-formed XML.
      let open = UInt8(ascii: "<")
      while offset < bytes.count {
        guard bytes[offset] == open else {
          advance()
          continue
        }
        if starts(with: "<!--") {
          skip(past: "-->", after: 4)
        } else if starts(with: "<![CDATA[") {
          skip(past: "]]>", after: 9)
        } else if starts(with: "<?") {
          skip(past: "?>", after: 2)
        } else {
          if !starts(with: "</"), !starts(with: "<!") { positions.append(XMLPosition(line: line, column: column)) }
          advance()
        }
      }
    }

    private mutating func advance() {
      let byte = bytes[offset]
      offset += 1
      if byte == UInt8(ascii: "\n") {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }

    private mutating func skip(past end: StaticString, after length: Int) {
      for _ in 0..<length { advance() }
      while offset < bytes.count, !starts(with: end) { advance() }
      for _ in 0..<min(end.utf8CodeUnitCount, bytes.count - offset) { advance() }
    }

    private func starts(with text: StaticString) -> Bool {
      let count = text.utf8CodeUnitCount
      guard bytes.count - offset >= count else { return false }
      return text.withUTF8Buffer { buffer in
        for index in 0..<count where bytes[offset + index] != buffer[index] { return false }
        return true
      }
    }
  }
}
