public import ObjectModel

/// The rows that a store has written for a batch request.
public struct BatchChanges: Sendable {
  /// The inserted rows.
  public var inserted: [ObjectReference]
  /// The updated rows, whose versions were incremented.
  public var updated: [ObjectReference]
  /// The deleted rows.
  public var deleted: [ObjectReference]
  /// Other rows, of which only derived values were changed. Their versions are unchanged.
  public var refreshed: [ObjectReference]
  /// The changed links, if the store reports them.
  package var links = BatchLinks.unknown
  /// The history transaction of the request, or nil if the store keeps no history.
  package var historyPosition: HistoryPosition?

  /// Creates changes from references.
  ///
  /// - Parameters:
  ///   - inserted: The inserted rows.
  ///   - updated: The updated rows.
  ///   - deleted: The deleted rows.
  ///   - refreshed: Other rows, of which only derived values were changed.
  public init(
    inserted: [ObjectReference] = [], updated: [ObjectReference] = [], deleted: [ObjectReference] = [], refreshed: [ObjectReference] = []
  ) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
    self.refreshed = refreshed
  }

  /// Creates the changes of a save, for stores that execute a batch request as a save.
  public init(_ request: SaveChangesRequest) {
    self.init(
      inserted: request.inserted.references, updated: request.updated.map(\.row.reference), deleted: request.deleted.map(\.reference))
    links = .ofSave(request)
  }

  /// Creates the changes of a save and its outcome, including objects of which only relationships outside their rows were changed.
  package init(allOf request: SaveChangesRequest, _ outcome: SaveOutcome = SaveOutcome()) {
    self.init(request)
    historyPosition = outcome.historyPosition
    if request.relationshipChanges.isEmpty, outcome.isEmpty { return }
    var known = Set(inserted).union(updated)
    for change in request.relationshipChanges where known.insert(change.source).inserted { updated.append(change.source) }
    refreshed = (outcome.refreshed.references + outcome.outdated).filter { known.insert($0).inserted }
  }
}
