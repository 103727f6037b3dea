/// A request that compares a device's records with those of a hub.
package struct VerificationRequest: Hashable, Sendable {
  package enum Query: Hashable, Sendable {
    /// For the sums of the parts of ranges (``NameRange/parts``).
    case sums(of: [NameRange])
    /// For the versions of records that are not deleted, in the order of their names.
    ///
    /// - `ranges`: Ranges in ascending order, which do not overlap.
    /// - `after`: The last name of the previous answer.
    case versions(in: [NameRange], after: RecordName?, maximumCount: Int)
    /// For records, also deleted ones.
    case records([RecordName])
  }

  package let incarnation: Incarnation
  /// A commit that the zone must contain.
  package let point: ChainPoint
  /// Whether the zone must have no later commit.
  package let isExact: Bool
  package let query: Query

  package init(_ incarnation: Incarnation, at point: ChainPoint, isExact: Bool, _ query: Query) {
    (self.incarnation, self.point, self.isExact, self.query) = (incarnation, point, isExact, query)
  }
}

package enum VerificationAnswer: Hashable, Sendable {
  case sums([RecordSum])
  case versions([RecordVersion], isLast: Bool)
  /// The records of the first names, as many as fit into an answer. Those that are missing do not exist.
  case records([StoredRecord], nameCount: Int)
  /// The zone has other commits than those of the request.
  case moved

  /// About how many bytes the answer takes.
  package var approximateSize: Int {
    switch self {
    case .sums(let sums): sums.count * 18
    case .versions(let records, _): records.count * 64
    case .records(let records, _): records.reduce(0) { $0 + 80 + $1.body.count }
    case .moved: 1
    }
  }
}

/// What a hub answers to a device that is too far behind: deletions that it has not pulled were removed.
package struct Truncation: Hashable, Sendable {
  package var request: PullRequest
  package var incarnation: Incarnation
  /// The head of the zone. The device continues from there, when its records are those of the hub.
  package var head: ChainPoint
  /// The last commit of the device.
  package var lastCommit: CommitEntry?
  package var hubTime: Int64

  package init(request: PullRequest, incarnation: Incarnation, head: ChainPoint, lastCommit: CommitEntry?, hubTime: Int64) {
    (self.request, self.incarnation, self.head) = (request, incarnation, head)
    (self.lastCommit, self.hubTime) = (lastCommit, hubTime)
  }
}
