// LinkChanges: the links that a save or a batch request has added and removed, as far as somebody knows them.
package import ObjectModel

/// The links of one relationship that were added and removed, each told once: of two relationships that are each other's inverse, by the to-one, or of two
/// to-many ones by that with the lower number.
package struct LinkChanges: Sendable {
  /// Two objects, one of which is the other's destination.
  package struct Link: Sendable, Hashable {
    /// The object whose relationship it is.
    package let source: ObjectReference
    /// The object that it leads to.
    package let destination: ObjectReference

    /// Makes a link.
    package init(source: ObjectReference, destination: ObjectReference) {
      self.source = source
      self.destination = destination
    }
  }

  /// The relationship's number.
  package let relationshipID: Int
  /// The links added.
  package internal(set) var added: [Link]
  /// The links removed.
  package internal(set) var removed: [Link]

  /// Makes the changes of a relationship.
  package init(relationshipID: Int, added: [Link] = [], removed: [Link] = []) {
    self.relationshipID = relationshipID
    self.added = added
    self.removed = removed
  }
}

/// What a store tells of the links that a batch request has changed.
package enum BatchLinks: Sendable {
  /// Nothing: links of every relationship concerned may have come or gone, of any object.
  case unknown
  /// All of them, besides those in join tables that went with a deleted object.
  case listed([LinkChanges])
  /// They are to be read out of a save that the request amounted to.
  case ofSave(SaveChangesRequest)

  /// The greatest number of rows of which links are told: who has read members must not wait for a walk through all that a batch has written, and beside so
  /// many rows a walk through the objects that somebody has read is little.
  package static let greatestRowCount = 4_096
}
