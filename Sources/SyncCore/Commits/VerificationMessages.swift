/// The name of a record and its version.
package struct RecordVersion: Hashable, Sendable {
  package let name: RecordName
  package let version: Digest

  package init(_ name: RecordName, _ version: Digest) { (self.name, self.version) = (name, version) }
}

/// A digest of the names and versions of all records in a zone, also of deleted ones.
///
/// The records are distributed over 256 ranges of names. Each range has the number of its records, and the sum of the hashes of their names
/// and versions. A sum does not depend on the order, which differs between a device and a hub.
package struct ZoneDigest: Hashable, Sendable {
  package struct Range: Hashable, Sendable {
    package private(set) var count: Int64 = 0
    package private(set) var sum = Digest.zero

    fileprivate mutating func add(_ digest: Digest) {
      count += 1
      var carry = false
      let words = zip(sum.allWords, digest.allWords).reversed().map { mine, theirs in
        let (partial, first) = mine.addingReportingOverflow(theirs)
        let (word, second) = partial.addingReportingOverflow(carry ? 1 : 0)
        carry = first || second
        return word
      }
      sum = Digest(words[3], words[2], words[1], words[0])
    }
  }

  package private(set) var ranges = [Range](repeating: Range(), count: 256)

  package init() {}

  package mutating func add(_ record: RecordVersion, _ hashing: some CommitHashing) throws {
    ranges[Int(Self.range(of: record.name))].add(try hashing.head(after: record.name.digest, adding: record.version))
  }

  /// Returns the number of the range that contains a name.
  package static func range(of name: RecordName) -> UInt8 { UInt8(truncatingIfNeeded: name.digest.words.0 >> 56) }

  /// Returns the first and the last possible name of a range.
  package static func names(in range: UInt8) -> ClosedRange<RecordName> {
    let first = UInt64(range) << 56
    return RecordName(Digest(first, 0, 0, 0))...RecordName(Digest(first | .max >> 8, .max, .max, .max))
  }
}

/// Requests that compare a device's records with those of a hub.
package enum VerificationRequest: Hashable, Sendable {
  /// For the digest of all records.
  case digest(Incarnation, at: ChainPoint)
  /// For the versions of records from a name, in one range.
  case versions(Incarnation, at: ChainPoint, range: UInt8, from: RecordName, maximumCount: Int)
}

package enum VerificationAnswer: Hashable, Sendable {
  case digest(ZoneDigest)
  case versions([RecordVersion], isLast: Bool)
  /// The zone has other commits than the device has pulled.
  case moved
}
