/// 32 bytes that identify a text: the digest of a commit, the version of a record, or the head of a zone's chain of commits.
package struct Digest: Hashable, Comparable, Sendable {
  package let words: (UInt64, UInt64, UInt64, UInt64)

  package init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64) { words = (a, b, c, d) }

  package var allWords: [UInt64] { [words.0, words.1, words.2, words.3] }

  package static let zero = Digest(0, 0, 0, 0)
  package static let max = Digest(.max, .max, .max, .max)

  package static func == (one: Digest, other: Digest) -> Bool { one.words == other.words }
  package static func < (one: Digest, other: Digest) -> Bool { one.words < other.words }
  package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

extension Digest: Codable {
  package init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    words = (
      try container.decode(UInt64.self), try container.decode(UInt64.self), try container.decode(UInt64.self),
      try container.decode(UInt64.self)
    )
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for word in allWords { try container.encode(word) }
  }
}

extension Digest {
  /// Creates a digest from its 32 bytes, or returns nil for another number of bytes.
  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    var words: [UInt64] = [0, 0, 0, 0]
    for (index, byte) in bytes.enumerated() { words[index / 8] |= UInt64(byte) << UInt64(8 * (index % 8)) }
    self.init(words[0], words[1], words[2], words[3])
  }

  /// The 32 bytes.
  package var allBytes: [UInt8] { allWords.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } } }
}
