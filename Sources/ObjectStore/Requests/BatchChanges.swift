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

/// The links of one relationship that were added and removed. Each link is listed once: for a relationship and its inverse, under the
/// to-one relationship, or if both are to-many, under the one with the lower number.
package struct LinkChanges: Sendable {
  /// A pair of related objects.
  package struct Link: Sendable, Hashable {
    /// The object at the source of the relationship.
    package let source: ObjectReference
    /// The object at the destination.
    package let destination: ObjectReference

    package init(source: ObjectReference, destination: ObjectReference) {
      self.source = source
      self.destination = destination
    }
  }

  package let relationshipID: Int
  package internal(set) var added: [Link]
  package internal(set) var removed: [Link]

  package init(relationshipID: Int, added: [Link] = [], removed: [Link] = []) {
    self.relationshipID = relationshipID
    self.added = added
    self.removed = removed
  }
}

/// The links that a batch request has changed, as far as the store reports them.
package enum BatchLinks: Sendable {
  /// Not reported. Links of any object may have changed, for all relationships concerned.
  case unknown
  /// All changed links, except those in join tables that were removed with a deleted object.
  case listed([LinkChanges])
  /// The links of the save that executed the request.
  case ofSave(SaveChangesRequest)

  /// The maximum number of rows for which links are listed. For larger batches, listing would delay readers of relationships; checking the
  /// objects whose members have been read is cheaper.
  package static let maximumRowCount = 4_096
}
