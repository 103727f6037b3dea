import Foundation

/// Serializes numbers (little-endian) and bytes.
package struct ByteWriter {
  package private(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func append(_ value: some FixedWidthInteger & UnsignedInteger) {
    for shift in stride(from: 0, to: value.bitWidth, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
  }

  package mutating func append(_ values: [UInt8]) { bytes += values }

  mutating func append(_ id: UUID) { withUnsafeBytes(of: id.uuid) { bytes += $0 } }
}

/// Parses numbers (little-endian) and bytes. Reads past the end return `nil`.
struct ByteReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func bytes(_ count: Int) -> [UInt8]? {
    guard count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func uint8() -> UInt8? { number() }
  mutating func uint16() -> UInt16? { number() }
  mutating func uint32() -> UInt32? { number() }
  mutating func uint64() -> UInt64? { number() }

  mutating func uuid() -> UUID? {
    bytes(16).map { $0.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) } }
  }

  private mutating func number<Number: FixedWidthInteger>() -> Number? {
    bytes(Number.bitWidth / 8).map { $0.reversed().reduce(Number(0)) { $0 << 8 | Number($1) } }
  }
}
