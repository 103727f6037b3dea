/// Decodes what ``WireWriter`` has encoded. All bytes are untrusted.
package struct WireReader {
  private let bytes: [UInt8]
  private var position = 0

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package var isAtEnd: Bool { position == bytes.count }

  package mutating func readByte() throws -> UInt8 {
    guard position < bytes.count else { throw WireError.truncated }
    defer { position += 1 }
    return bytes[position]
  }

  package mutating func readUnsigned() throws -> UInt64 {
    var (value, shift): (UInt64, UInt64) = (0, 0)
    while true {
      let byte = try readByte()
      let group = UInt64(byte & 0x7F)
      guard shift < 63 || shift == 63 && group <= 1 else { throw WireError.invalid }
      value |= group << shift
      if byte & 0x80 == 0 { return value }
      shift += 7
    }
  }

  package mutating func readSigned() throws -> Int64 {
    let value = try readUnsigned()
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  package mutating func readFixed() throws -> UInt64 {
    guard bytes.count - position >= 8 else { throw WireError.truncated }
    defer { position += 8 }
    return bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: UInt64.self)) }
  }

  /// Reads the number of elements that follow, each of which takes at least one byte.
  package mutating func readCount() throws -> Int {
    let count = try readUnsigned()
    guard count <= UInt64(bytes.count - position) else { throw WireError.truncated }
    return Int(count)
  }

  package mutating func readBytes() throws -> [UInt8] {
    let count = try readCount()
    defer { position += count }
    return Array(bytes[position..<position + count])
  }

  package mutating func readText() throws -> String {
    let count = try readCount()
    defer { position += count }
    guard let text = String(validating: bytes[position..<position + count], as: UTF8.self) else { throw WireError.invalid }
    return text
  }

  package mutating func readDigest() throws -> Digest {
    Digest(try readFixed(), try readFixed(), try readFixed(), try readFixed())
  }

  package mutating func readRecordID() throws -> RecordID { RecordID(high: try readFixed(), low: try readFixed()) }

  package mutating func readStamp() throws -> Stamp {
    Stamp(HybridTime(value: try readUnsigned()), DeviceID(try readFixed()))
  }
}

/// An error in bytes from another device or a hub.
package enum WireError: Error, Hashable {
  /// The bytes end too early.
  case truncated
  /// The bytes are not a valid encoding.
  case invalid
  /// The bytes were written in a later version of the format.
  case unsupportedVersion(UInt64)
}
