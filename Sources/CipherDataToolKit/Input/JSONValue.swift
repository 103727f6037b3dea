/// A JSON value. Numbers keep their text, so that decimals and large integers keep their precision. Objects keep the order of their
/// members.
package enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  /// A number in its original notation.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([Member])

  /// A member of an object.
  package struct Member: Sendable, Hashable {
    package var key: String
    package var value: JSONValue

    package init(key: String, value: JSONValue) {
      self.key = key
      self.value = value
    }
  }

  /// Creates an object from names and values, in order.
  package static func object(_ members: [(String, JSONValue)]) -> JSONValue {
    .object(members.map { Member(key: $0.0, value: $0.1) })
  }

  /// Creates an integer.
  package static func integer(_ value: some BinaryInteger) -> JSONValue { .number(String(value)) }

  package var isNull: Bool { self == .null }

  package var isNumber: Bool {
    if case .number = self { true } else { false }
  }

  /// The value of the member with a name; `nil` if there is none or the value is not an object.
  package subscript(_ key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key == key }?.value
  }

  /// The kind of the value, for messages.
  package var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// The value for a table cell: strings without quotation marks, other values as JSON.
  package var plainText: String {
    switch self {
    case .string(let text), .number(let text): text
    case .null: ""
    default: serialized()
    }
  }

  /// Returns the value as JSON on one line, without spaces.
  package func serialized() -> String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the value as JSON to a buffer.
  package func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
    case .number(let text): bytes.append(contentsOf: text.utf8)
    case .string(let text): Self.append(text, to: &bytes)
    case .array(let values):
      bytes.append(0x5B)
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(0x2C) }
        value.append(to: &bytes)
      }
      bytes.append(0x5D)
    case .object(let members):
      bytes.append(0x7B)
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(0x2C) }
        Self.append(member.key, to: &bytes)
        bytes.append(0x3A)
        member.value.append(to: &bytes)
      }
      bytes.append(0x7D)
    }
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(0x22)
    for byte in text.utf8 {
      switch byte {
      case 0x22: bytes.append(contentsOf: [0x5C, 0x22])
      case 0x5C: bytes.append(contentsOf: [0x5C, 0x5C])
      case 0x0A: bytes.append(contentsOf: [0x5C, 0x6E])
      case 0x0D: bytes.append(contentsOf: [0x5C, 0x72])
      case 0x09: bytes.append(contentsOf: [0x5C, 0x74])
      case 0..<0x20, 0x7F:
        bytes.append(contentsOf: [0x5C, 0x75, 0x30, 0x30, Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 15)])
      default: bytes.append(byte)
      }
    }
    bytes.append(0x22)
  }
}

/// A strict RFC 8259 parser that keeps the text of numbers. Its input is one JSON value in memory, nested at most ``deepest`` levels within
/// the outermost one.
package struct JSONParser {
  /// A syntax error and its position.
  package struct SyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The offset of the byte, from 0.
    package var offset: Int
    /// What was expected.
    package var message: String

    package var description: String { "\(message) (at byte \(offset + 1) of the line)" }
  }

  /// The maximum nesting depth. A deeper value could overflow the stack and is rejected.
  package static let deepest = 200

  private let bytes: UnsafeRawBufferPointer
  private var index = 0

  /// Parses a value that fills the buffer, except for white space.
  ///
  /// - Throws: ``SyntaxError``.
  package static func parse(_ bytes: UnsafeRawBufferPointer) throws(SyntaxError) -> JSONValue {
    var parser = JSONParser(bytes: bytes)
    let value = try parser.value(depth: 0)
    parser.skipSpace()
    guard parser.index == bytes.count else { throw parser.error("Nothing more is expected after the value.") }
    return value
  }

  /// Parses a value from text.
  package static func parse(_ text: String) throws(SyntaxError) -> JSONValue {
    try Array(text.utf8).withUnsafeBufferPointer { (buffer) throws(SyntaxError) in try parse(UnsafeRawBufferPointer(buffer)) }
  }

  private init(bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  private func error(_ message: String) -> SyntaxError { SyntaxError(offset: index, message: message) }

  private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
  }

  private mutating func value(depth: Int) throws(SyntaxError) -> JSONValue {
    guard depth <= Self.deepest else { throw error("Values are nested deeper than \(Self.deepest) levels.") }
    skipSpace()
    // No JSON value begins with NUL, which represents the end of input here.
    switch current ?? 0 {
    case 0x7B: return try object(depth: depth)
    case 0x5B: return try array(depth: depth)
    case 0x22: return .string(try string())
    case 0x74: return try word("true", .bool(true))
    case 0x66: return try word("false", .bool(false))
    case 0x6E: return try word("null", .null)
    case 0x2D, 0x30...0x39: return .number(try number())
    default: throw error("A JSON value is expected.")
    }
  }

  private mutating func word(_ text: StaticString, _ value: JSONValue) throws(SyntaxError) -> JSONValue {
    for offset in 0..<text.utf8CodeUnitCount {
      guard index + offset < bytes.count, bytes[index + offset] == text.utf8Start[offset] else { throw error("A JSON value is expected.") }
    }
    index += text.utf8CodeUnitCount
    return value
  }

  private mutating func object(depth: Int) throws(SyntaxError) -> JSONValue {
    index += 1
    var members: [JSONValue.Member] = []
    var names: Set<String> = []
    skipSpace()
    if current == 0x7D {
      index += 1
      return .object(members)
    }
    while true {
      skipSpace()
      guard current == 0x22 else { throw error("The name of a member, in quotes, is expected.") }
      let key = try string()
      guard names.insert(key).inserted else { throw error("A member occurs twice in its object.") }
      skipSpace()
      guard current == 0x3A else { throw error("A colon is expected.") }
      index += 1
      members.append(JSONValue.Member(key: key, value: try value(depth: depth + 1)))
      skipSpace()
      switch current {
      case 0x2C: index += 1
      case 0x7D:
        index += 1
        return .object(members)
      default: throw error("A comma or “}” is expected.")
      }
    }
  }

  private mutating func array(depth: Int) throws(SyntaxError) -> JSONValue {
    index += 1
    var values: [JSONValue] = []
    skipSpace()
    if current == 0x5D {
      index += 1
      return .array(values)
    }
    while true {
      values.append(try value(depth: depth + 1))
      skipSpace()
      switch current {
      case 0x2C: index += 1
      case 0x5D:
        index += 1
        return .array(values)
      default: throw error("A comma or “]” is expected.")
      }
    }
  }

  private mutating func number() throws(SyntaxError) -> String {
    let start = index
    if current == 0x2D { index += 1 }
    if current == 0x30 { index += 1 } else { try digits() }
    if current == 0x2E {
      index += 1
      try digits()
    }
    if current == 0x65 || current == 0x45 {
      index += 1
      if current == 0x2B || current == 0x2D { index += 1 }
      try digits()
    }
    return String(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<index]), as: UTF8.self)
  }

  private mutating func digits() throws(SyntaxError) {
    guard let byte = current, (0x30...0x39).contains(byte) else { throw error("A digit is expected.") }
    while let byte = current, (0x30...0x39).contains(byte) { index += 1 }
  }

  private mutating func string() throws(SyntaxError) -> String {
    index += 1
    let start = index
    while let byte = current, byte != 0x22, byte != 0x5C, byte >= 0x20 { index += 1 }
    if current == 0x22 {
      defer { index += 1 }
      return try text(bytes[start..<index])
    }
    // A string with escapes.
    var content = Array(bytes[start..<index])
    while let byte = current {
      switch byte {
      case 0x22:
        index += 1
        guard let text = String(validating: content, as: UTF8.self) else { throw error("The string is not valid UTF-8.") }
        return text
      case 0x5C: try escape(into: &content)
      case 0..<0x20: throw error("A control character in a string must be escaped.")
      default:
        content.append(byte)
        index += 1
      }
    }
    throw error("The string does not end.")
  }

  private func text(_ slice: Slice<UnsafeRawBufferPointer>) throws(SyntaxError) -> String {
    guard let text = String(validating: slice, as: UTF8.self) else { throw error("The string is not valid UTF-8.") }
    return text
  }

  private mutating func escape(into content: inout [UInt8]) throws(SyntaxError) {
    index += 1
    guard let byte = current else { throw error("The string does not end.") }
    index += 1
    switch byte {
    case 0x22, 0x5C, 0x2F: content.append(byte)
    case 0x62: content.append(0x08)
    case 0x66: content.append(0x0C)
    case 0x6E: content.append(0x0A)
    case 0x72: content.append(0x0D)
    case 0x74: content.append(0x09)
    case 0x75:
      var value = try fourDigits()
      if (0xD800...0xDBFF).contains(value) {
        guard current == 0x5C, index + 1 < bytes.count, bytes[index + 1] == 0x75 else { throw error("Half a surrogate pair.") }
        index += 2
        let low = try fourDigits()
        guard (0xDC00...0xDFFF).contains(low) else { throw error("Half a surrogate pair.") }
        value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(value) else { throw error("Half a surrogate pair.") }
      content.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    default: throw error("No such escape.")
    }
  }

  private mutating func fourDigits() throws(SyntaxError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = current, let digit = Hexadecimal.value(of: byte) else { throw error("Four hexadecimal digits are expected.") }
      value = value << 4 | UInt32(digit)
      index += 1
    }
    return value
  }
}
