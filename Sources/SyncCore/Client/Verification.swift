/// Compares the records of a device with those of the hub, exactly.
///
/// Both must have the same commits: the device pulls first, and again if another device has pushed meanwhile. Deleted records do not count.
package struct Verification {
  /// What the device is to do.
  package enum Action: Hashable {
    /// Send a request.
    case send(VerificationRequest)
    /// Send and pull everything, then begin again.
    case synchronize
    case finish(Result)
  }

  package struct Result: Hashable, Sendable {
    /// The records that differ, at most ``Verification/maximumDifferences``.
    package var differences: [RecordDifference] = []
    /// Whether more records differ.
    package var hasMore = false
    package var isEqual: Bool { differences.isEmpty }

    package init() {}
  }

  package static let maximumDifferences = 100

  private let sealing: any CommitSealing
  private let hashing: any CommitHashing
  private let maximumCount: Int
  private var incarnation = Incarnation(0)
  private var point = ChainPoint()
  private var comparison: RecordComparison?

  /// - Parameter maximumCount: The number of records in a page.
  package init(_ sealing: any CommitSealing, _ hashing: any CommitHashing, maximumCount: Int = 1_000) {
    (self.sealing, self.hashing, self.maximumCount) = (sealing, hashing, maximumCount)
  }

  package mutating func begin(in store: some SyncStore) throws -> Action {
    try store.transaction {
      let zone = try store.zone()
      guard let incarnation = zone.incarnation, zone.isJoined, zone.accepted == nil else { return .synchronize }
      (self.incarnation, point) = (incarnation, zone.base)
      comparison = try RecordComparison(store, sealing, hashing, maximumCount: maximumCount)
      return try next(in: store)
    }
  }

  package mutating func receive(_ answer: VerificationAnswer, in store: some SyncStore) throws -> Action {
    try store.transaction {
      let zone = try store.zone()
      guard zone.base == point, zone.incarnation == incarnation, zone.accepted == nil, answer != .moved else { return .synchronize }
      try comparison?.receive(answer)
      return try next(in: store)
    }
  }

  private func next(in store: some SyncStore) throws -> Action {
    switch try comparison?.next(in: store) {
    case .query(let query): return .send(VerificationRequest(incarnation, at: point, isExact: true, query))
    case .finish(let differences):
      var result = Result()
      result.differences = Array(differences.prefix(Self.maximumDifferences))
      result.hasMore = differences.count > Self.maximumDifferences
      return .finish(result)
    case nil: return .synchronize
    }
  }
}
