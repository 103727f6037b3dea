import Foundation

/// A JSON value of a configuration file, with line numbers for error messages.
indirect enum LineNumberedJSON {
  /// A value and the number of its first line, from 1.
  struct LineNumbered {
    let value: LineNumberedJSON
    let line: Int
  }

  case text(String)
  case array([LineNumbered])
  case object([String: LineNumbered])
  case boolean(Bool)
  /// A number or null, which no configuration contains.
  case other

  /// Parses a value that fills a file, nested at most ``deepest`` levels.
  static func parse(_ data: Data) throws(PluginConfigurationError) -> (value: LineNumberedJSON, line: Int) {
    var reader = Reader(bytes: Array(data))
    let top = try reader.value(depth: 0)
    reader.skipSpace()
    if reader.current != nil { throw reader.error("nothing more is expected after the closing brace") }
    return (top.value, top.line)
  }

  /// Returns the members of an object.
  func members(_ otherwise: String, _ line: Int) throws(PluginConfigurationError) -> [String: LineNumbered] {
    guard case .object(let members) = self else { throw PluginConfigurationError(line: line, reason: otherwise) }
    return members
  }

  /// The maximum nesting depth; a configuration has 4 levels.
  private static let deepest = 8

  private struct Reader {
    private let bytes: [UInt8]
    private var index = 0
    private var line = 1

    init(bytes: [UInt8]) {
      // A byte order mark is ignored.
      self.bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    var current: UInt8? { index < bytes.count ? bytes[index] : nil }

    func error(_ reason: String) -> PluginConfigurationError {
      PluginConfigurationError(line: line, reason: current == nil ? "the file ends here, but \(reason)" : reason)
    }

    mutating func skipSpace() {
      while let byte = current, [0x20, 0x09, 0x0A, 0x0D].contains(byte) {
        if byte == 0x0A { line += 1 }
        index += 1
      }
    }

    @_optimize(none) mutating func value(depth: Int) throws(PluginConfigurationError) -> LineNumbered {
      guard depth < LineNumberedJSON.deepest else { throw error("values are nested too deeply") }
      skipSpace()
      let start = line
      switch current ?? 0 {
      case UInt8(ascii: "{"): return LineNumbered(value: .object(try object(depth: depth)), line: start)
      case UInt8(ascii: "["):
        var elements: [LineNumbered] = []
        try list(until: UInt8(ascii: "]"), "a closing bracket") { (reader) throws(PluginConfigurationError) in
          elements.append(try reader.value(depth: depth + 1))
        }
        return LineNumbered(value: .array(elements), line: start)
      case UInt8(ascii: "\""): return LineNumbered(value: .text(try text()), line: start)
      default:
        let word = bytes[index...].prefix { byte in
          [UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: ".")].contains(byte)
            || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
        }
        guard let scalar = try? JSONSerialization.jsonObject(with: Data(word), options: .fragmentsAllowed), !(scalar is [Any]) else {
          throw error("a value is expected: a text in quotes, a list in brackets, an object in braces")
        }
        index += word.count
        // A number would also be accepted as a Boolean.
        let isBoolean = word.elementsEqual("true".utf8) || word.elementsEqual("false".utf8)
        return LineNumbered(value: isBoolean ? .boolean(word.count == 4) : .other, line: start)
      }
    }

    @_optimize(none) private mutating func object(depth: Int) throws(PluginConfigurationError) -> [String: LineNumbered] {
      var members: [String: LineNumbered] = [:]
      try list(until: UInt8(ascii: "}"), "a closing brace") { (reader) throws(PluginConfigurationError) in
        guard reader.current == UInt8(ascii: "\"") else { throw reader.error("a name in quotes is expected") }
        let place = reader.line
        let key = try reader.text()
        reader.skipSpace()
        guard reader.current == UInt8(ascii: ":") else { throw reader.error("a colon is expected after \"\(key)\"") }
        reader.index += 1
        let value = try reader.value(depth: depth + 1)
        guard members.updateValue(LineNumbered(value: value.value, line: place), forKey: key) == nil else {
          throw PluginConfigurationError(line: place, reason: "\"\(key)\" appears twice")
        }
      }
      return members
    }

    @_optimize(none) private mutating func list(
      until end: UInt8, _ name: String, _ element: (inout Reader) throws(PluginConfigurationError) -> Void
    ) throws(PluginConfigurationError) {
      index += 1
      skipSpace()
      if current == end {
        index += 1
        return
      }
      while true {
        skipSpace()
        try element(&self)
        skipSpace()
        let separator = current
        guard separator == end || separator == UInt8(ascii: ",") else { throw error("a comma or \(name) is expected") }
        index += 1
        if separator == end { return }
      }
    }

    @_optimize(none) private mutating func text() throws(PluginConfigurationError) -> String {
      let start = index
      index += 1
      while let byte = current, byte != UInt8(ascii: "\""), byte >= 0x20 { index += byte == UInt8(ascii: "\\") ? 2 : 1 }
      guard current == UInt8(ascii: "\"") else { throw error("a text must end with quotes, in its line") }
      index += 1
      // Foundation decodes escapes.
      guard let text = try? JSONSerialization.jsonObject(with: Data(bytes[start..<index]), options: .fragmentsAllowed) as? String else {
        throw error("a text is not valid JSON")
      }
      return text
    }
  }
}
