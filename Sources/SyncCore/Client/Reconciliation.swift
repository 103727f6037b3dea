/// What the comparison of a device's records with those of the hub has changed.
package struct ReconciliationResult: Hashable, Sendable {
  package static let maximumDifferences = 100

  /// The number of records that differed.
  package var differenceCount = 0
  /// Records that differed, at most ``maximumDifferences``.
  package var differences: [RecordDifference] = []
  /// The number of records that were fetched from the hub.
  package var fetchedCount = 0
  /// The number of records that were removed on the device, because the hub does not have them anymore.
  package var removedCount = 0
  /// The records that the hub does not have anymore, and that are sent again, because they have unsent changes or are required by such ones.
  package var resent: [RecordID] = []
  /// Whether the hub computes another sum than the one of its records.
  package var isSumWrong = false

  package init() {}

  /// Returns the changes of two comparisons, of which the second one has completed the first one.
  func adding(_ other: ReconciliationResult) -> ReconciliationResult {
    var both = self
    both.differenceCount += other.differenceCount
    both.differences = Array((differences + other.differences).prefix(Self.maximumDifferences))
    both.fetchedCount += other.fetchedCount
    both.removedCount += other.removedCount
    both.resent += other.resent
    both.isSumWrong = other.isSumWrong
    return both
  }
}

/// The comparison of a device's records with those of the hub, as far as it is kept in memory: a process that starts again begins it again.
///
/// The records that differ are fetched and staged. Then the device pulls from the point at which the comparison began, and imports everything
/// together.
struct Reconciliation {
  enum Step {
    case comparing(RecordComparison)
    /// Fetches records by their names, from the last one.
    case fetching
    /// The records are staged.
    case staged
  }

  /// The number of records in a request.
  static let namesInRequest = 500

  let incarnation: Incarnation
  /// The head of the zone when the comparison began.
  let point: ChainPoint
  /// The digest of the commit in the outbox, if the hub had accepted it by then.
  let listedOutbox: Digest?
  /// Whether it is the second one in a row, because the sums differed after the first one.
  var isRepeated = false
  var step: Step
  /// The request that was not answered yet.
  var request: VerificationRequest?
  /// The records that differ and were not fetched yet, the last one first.
  var names: [RecordName] = []
  /// Those of the records that the device has.
  var ids: [RecordName: RecordID] = [:]
  /// The names of those that the hub does not have.
  var missing: [RecordName] = []
  var result = ReconciliationResult()

  init(_ incarnation: Incarnation, at point: ChainPoint, listedOutbox: Digest? = nil, _ step: Step) {
    (self.incarnation, self.point, self.listedOutbox, self.step) = (incarnation, point, listedOutbox, step)
  }

  /// Whether pulls have to wait.
  var isComparing: Bool { if case .staged = step { false } else { true } }

  /// Begins to fetch records.
  ///
  /// - Parameter others: The names of records that the device does not have yet.
  mutating func fetch(_ differences: [RecordDifference], others: [RecordName] = []) {
    result.differenceCount = differences.count
    result.differences = Array(differences.prefix(ReconciliationResult.maximumDifferences))
    names = others + differences.map(\.name).reversed()
    for difference in differences { ids[difference.name] = difference.id }
    step = .fetching
  }

  /// Returns the next request, or nil if one is not answered yet, or all records are fetched.
  ///
  /// - Parameter others: Returns the names of records to fetch although the device does not have them.
  mutating func nextRequest(in store: some SyncStore, others: () throws -> [RecordName]) throws -> VerificationRequest? {
    if request != nil { return nil }
    if case .comparing(let comparison) = step {
      switch try comparison.next(in: store) {
      case .query(let query): request = VerificationRequest(incarnation, at: point, isExact: false, query)
      case .finish(let differences): fetch(differences, others: try others())
      }
    }
    if case .fetching = step, !names.isEmpty {
      request = VerificationRequest(incarnation, at: point, isExact: false, .records(names.suffix(Self.namesInRequest).reversed()))
    }
    return request
  }

  /// Processes an answer.
  ///
  /// - Returns: The records to stage.
  mutating func receive(_ answer: VerificationAnswer) throws -> [StoredRecord] {
    request = nil
    switch (step, answer) {
    case (.comparing(var comparison), _):
      step = .fetching  // So that the comparison is not copied.
      try comparison.receive(answer)
      step = .comparing(comparison)
      return []
    case (.fetching, .records(let records, let count)):
      guard count > 0, count <= names.count else { throw WireError.invalid }
      let found = Set(records.map(\.name))
      missing += names.suffix(count).filter { !found.contains($0) }
      names.removeLast(count)
      result.fetchedCount += records.count
      return records
    default: throw WireError.invalid
    }
  }
}
