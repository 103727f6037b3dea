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
  /// The numbers of rows, if the store lists none because it reports each change itself.
  package var counts: (inserted: Int, updated: Int, deleted: Int)?
  /// The save as which the store has executed the request.
  package private(set) var save: SaveChangesRequest?
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
    save = request
  }

  /// Creates the changes of a request whose rows the store has reported one by one.
  package init(counting inserted: Int, updated: Int, deleted: Int) {
    self.init()
    counts = (inserted, updated, deleted)
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
