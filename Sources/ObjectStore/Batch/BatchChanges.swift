// BatchChanges: what a store has written for a batch request.
public import ObjectModel

/// What a store has written for a batch request.
public struct BatchChanges: Sendable {
  /// The rows inserted.
  public var inserted: [ObjectReference]
  /// The rows changed; their versions are greater now.
  public var updated: [ObjectReference]
  /// The rows deleted.
  public var deleted: [ObjectReference]
  /// Other rows, of which only computed values were changed; their versions stay as they were.
  public var refreshed: [ObjectReference]
  /// The links that were changed with the rows, as far as the store tells.
  package var links = BatchLinks.unknown
  /// The transaction of the history that it was written to; nil where the store keeps none.
  package var historyPosition: HistoryPosition?

  /// Makes changes of references.
  ///
  /// - Parameters:
  ///   - inserted: The rows that are new.
  ///   - updated: The rows that were changed.
  ///   - deleted: The rows that are gone.
  ///   - refreshed: The rows that changed beside what was asked for.
  public init(
    inserted: [ObjectReference] = [], updated: [ObjectReference] = [], deleted: [ObjectReference] = [], refreshed: [ObjectReference] = []
  ) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
    self.refreshed = refreshed
  }

  /// The rows that a save writes: for stores that execute a batch as one.
  public init(_ request: SaveChangesRequest) {
    self.init(
      inserted: request.inserted.references, updated: request.updated.map(\.row.reference), deleted: request.deleted.map(\.reference))
    links = .ofSave(request)
  }

  /// All objects that a save concerns: also those of which only relationships beside their rows were changed.
  package init(allOf request: SaveChangesRequest, _ outcome: SaveOutcome = SaveOutcome()) {
    self.init(request)
    historyPosition = outcome.historyPosition
    if request.relationshipChanges.isEmpty, outcome.isEmpty { return }
    var known = Set(inserted).union(updated)
    for change in request.relationshipChanges where known.insert(change.source).inserted { updated.append(change.source) }
    refreshed = (outcome.refreshed.references + outcome.outdated).filter { known.insert($0).inserted }
  }
}
