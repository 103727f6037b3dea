package import ObjectModel

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
