package import Foundation
import ObjectModel

/// Objects with consecutive keys and their stable IDs, which are consecutive numbers too.
///
/// Keys are never reused, so the objects of one range need one base instead of one entry each: inserting an object writes nothing for its
/// identity. A copy of a store starts new ranges for the keys that it assigns, so that no two stores give an ID to different objects.
package struct StableIDRange: Sendable, Hashable {
  /// The first key of the range. Its objects reach up to the next range.
  package let first: Int64
  /// The stable ID of the first key: a UUID of version 8 (RFC 9562). From the front: 32 bits of the time in seconds since 1970, so that
  /// newer bases are greater, 42 random bits between the version and the variant, and 48 bits that count from 0.
  package let base: UUID

  package init(first: Int64, base: UUID) { (self.first, self.base) = (first, base) }

  /// Creates a range with a new base.
  package init(first: Int64) {
    var generator = SystemRandomNumberGenerator()
    self.init(first: first, using: &generator, time: Date().timeIntervalSince1970)
  }

  init(first: Int64, using generator: inout some RandomNumberGenerator, time: TimeInterval) {
    let seconds = UInt32(truncatingIfNeeded: Int64(max(0, min(time, 4_294_967_295))))
    let (random, other) = (UInt32.random(in: .min ... .max, using: &generator), UInt16.random(in: .min ... .max, using: &generator))
    var bytes = [UInt8](repeating: 0, count: 16)
    for index in 0..<4 { bytes[index] = UInt8(truncatingIfNeeded: seconds >> UInt32(24 - index * 8)) }
    for index in 0..<4 { bytes[4 + index] = UInt8(truncatingIfNeeded: random >> UInt32(24 - index * 8)) }
    (bytes[8], bytes[9]) = (UInt8(truncatingIfNeeded: other >> 8), UInt8(truncatingIfNeeded: other))
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    self.init(first: first, base: UUID(bytes: bytes))
  }

  /// Whether the range can be one that was created here; another one in a file is damaged.
  package var isValid: Bool {
    let bytes = base.bytes
    return first > 0 && bytes[6] & 0xF0 == 0x80 && bytes[8] & 0xC0 == 0x80 && bytes[Self.prefixSize...].allSatisfy { $0 == 0 }
  }

  /// The number of bytes that all IDs of a range have in common.
  private static let prefixSize = 10

  /// Returns the stable ID of a key of the range.
  package func id(of key: Int64) -> UUID {
    var bytes = base.bytes
    let offset = UInt64(bitPattern: key &- first)
    for index in 0..<6 { bytes[Self.prefixSize + index] = UInt8(truncatingIfNeeded: offset >> UInt64(40 - index * 8)) }
    return UUID(bytes: bytes)
  }

  /// Returns the key with a stable ID, or nil if the ID is not of the range's base.
  package func key(of id: UUID) -> Int64? {
    let bytes = id.bytes
    guard bytes.prefix(Self.prefixSize) == base.bytes.prefix(Self.prefixSize) else { return nil }
    let (key, isTooGreat) = first.addingReportingOverflow(bytes[Self.prefixSize...].reduce(Int64(0)) { $0 << 8 | Int64($1) })
    return isTooGreat ? nil : key
  }
}

/// The ranges of one inheritance tree, ordered by their first keys.
package struct StableIDRanges: Sendable, Hashable {
  package private(set) var ranges: [StableIDRange]

  package init(_ ranges: [StableIDRange] = []) { self.ranges = ranges.sorted { $0.first < $1.first } }

  /// Starts a range for the keys from `first`.
  package mutating func append(_ range: StableIDRange) { self = StableIDRanges(ranges.filter { $0.first != range.first } + [range]) }

  /// Returns the stable ID of a key, or nil if no range includes it.
  package func id(of key: Int64) -> UUID? { ranges.last { $0.first <= key }?.id(of: key) }

  /// Returns the key with a stable ID, or nil if no range includes it.
  package func key(of id: UUID) -> Int64? {
    for (index, range) in ranges.enumerated() {
      guard let key = range.key(of: id) else { continue }
      let end = index + 1 < ranges.count ? ranges[index + 1].first : .max
      if key < end { return key }
    }
    return nil
  }
}

extension UUID {
  /// The 16 bytes.
  package var bytes: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }

  /// Creates a UUID from 16 bytes.
  package init(bytes: [UInt8]) {
    var value = UUID().uuid
    withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: bytes.prefix(16)) }
    self.init(uuid: value)
  }

  /// Returns the UUID of version 8 whose bits are the SHA-256 digest of a text.
  package static func digest(of text: String) -> UUID {
    var bytes = Array(ContentDigest.sha256(Data(text.utf8)).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return UUID(bytes: bytes)
  }
}
