/// The name of a record and its version.
package struct RecordVersion: Hashable, Sendable {
  package let name: RecordName
  package let version: Digest

  package init(_ name: RecordName, _ version: Digest) { (self.name, self.version) = (name, version) }
}

/// The number of some records that are not deleted, and the sum of the digests of their names and versions.
///
/// A sum does not depend on the order, and a record can be removed from it. Deleted records are not part of it: a hub removes them at some
/// time, and new devices do not receive them.
package struct RecordSum: Hashable, Sendable {
  package private(set) var count: Int64
  /// The sum, modulo 2^128.
  package private(set) var high: UInt64
  package private(set) var low: UInt64

  package init(count: Int64 = 0, high: UInt64 = 0, low: UInt64 = 0) { (self.count, self.high, self.low) = (count, high, low) }

  package mutating func add(_ record: RecordVersion, _ hashing: some CommitHashing) throws {
    self = try self + RecordSum(of: record, hashing)
  }

  package mutating func remove(_ record: RecordVersion, _ hashing: some CommitHashing) throws {
    self = try self - RecordSum(of: record, hashing)
  }

  private init(of record: RecordVersion, _ hashing: some CommitHashing) throws {
    let words = try hashing.head(after: record.name.digest, adding: record.version).words
    self.init(count: 1, high: words.0, low: words.1)
  }

  package static func + (one: RecordSum, other: RecordSum) -> RecordSum {
    let (low, carry) = one.low.addingReportingOverflow(other.low)
    return RecordSum(count: one.count &+ other.count, high: one.high &+ other.high &+ (carry ? 1 : 0), low: low)
  }

  package static func - (one: RecordSum, other: RecordSum) -> RecordSum {
    let (low, borrow) = one.low.subtractingReportingOverflow(other.low)
    return RecordSum(count: one.count &- other.count, high: one.high &- other.high &- (borrow ? 1 : 0), low: low)
  }
}

extension RecordSum: Codable {
  package init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    count = try container.decode(Int64.self)
    high = try container.decode(UInt64.self)
    low = try container.decode(UInt64.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    try container.encode(count)
    try container.encode(high)
    try container.encode(low)
  }
}

/// All names that begin with the same bits.
package struct NameRange: Hashable, Sendable {
  /// The bits, as the highest ones of a word.
  package let prefix: UInt64
  /// The number of bits: 0, 8, 12 or 16.
  package let bitCount: Int

  package init?(prefix: UInt64, bitCount: Int) {
    guard [0, 8, 12, 16].contains(bitCount), bitCount == 64 || prefix & (.max >> UInt64(bitCount)) == 0 else { return nil }
    (self.prefix, self.bitCount) = (prefix, bitCount)
  }

  private init(_ prefix: UInt64, _ bitCount: Int) { (self.prefix, self.bitCount) = (prefix, bitCount) }

  package static let all = NameRange(0, 0)
  /// The number of the smallest ranges.
  static let leafCount = 1 << 16

  /// Whether the range is not divided any further.
  package var isLeaf: Bool { bitCount == 16 }

  /// The parts of the range, in the order of their names: 256 parts of all names, 16 parts of others.
  package var parts: [NameRange] {
    if isLeaf { return [self] }
    let bits = bitCount == 0 ? 8 : bitCount + 4
    return (0..<UInt64(1) << UInt64(bits - bitCount)).map { NameRange(prefix | $0 << UInt64(64 - bits), bits) }
  }

  /// The first and the last possible name.
  package var names: ClosedRange<RecordName> {
    RecordName(Digest(prefix, 0, 0, 0))...RecordName(Digest(prefix | .max >> UInt64(bitCount), .max, .max, .max))
  }

  /// The numbers of the smallest ranges that the range contains.
  var leaves: Range<Int> {
    let first = Int(prefix >> 48)
    return first..<first + 1 << (16 - bitCount)
  }

  /// Returns the number of the smallest range that contains a name.
  static func leaf(of name: RecordName) -> Int { Int(name.digest.words.0 >> 48) }
}
