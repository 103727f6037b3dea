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

/// The name of a record on a hub: a keyed hash of its identity.
package struct RecordName: Hashable, Comparable, Codable, Sendable {
  package let digest: Digest
  package init(_ digest: Digest) { self.digest = digest }

  /// The next possible name; nil for the last one.
  package var next: RecordName? {
    var words = digest.allWords
    for index in words.indices.reversed() {
      words[index] &+= 1
      if words[index] != 0 { return RecordName(Digest(words[0], words[1], words[2], words[3])) }
    }
    return nil
  }
  package static func < (one: RecordName, other: RecordName) -> Bool { one.digest < other.digest }
}

/// Computes digests. The protocol depends only on their being different for different texts.
package protocol CommitHashing: Sendable {
  /// Returns the head of a chain to which a commit was added.
  func head(after head: Digest, adding commit: Digest) throws -> Digest
  /// Returns the digest of bytes, which identifies a chunk of a large value.
  func digest(of bytes: [UInt8]) throws -> Digest
}
