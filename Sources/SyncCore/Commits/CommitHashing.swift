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
