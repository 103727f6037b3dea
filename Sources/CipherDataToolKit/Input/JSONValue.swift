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
