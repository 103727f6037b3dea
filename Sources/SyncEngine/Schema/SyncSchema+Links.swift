package import ObjectModel
import ObjectStore
package import SyncCore

/// A relationship whose links are records of their own (``Link``): a many-to-many relationship, or a to-many relationship without an inverse.
package struct LinkRelationship: Sendable {
  /// The entity of the links' records.
  package let entity: EntityID
  /// The one of the relationship and its inverse by which stores save and report the links.
  package let relationship: CompiledRelationship
  /// Whether the links are those of the inverse. Which of two relationships has the links does not depend on the version of the model.
  package let isReversed: Bool

  package var isSymmetric: Bool { relationship.isItsOwnInverse }

  /// Returns a link.
  ///
  /// - Parameters:
  ///   - source: The record of an object at the source of ``relationship``.
  ///   - destination: The record of its member.
  func link(from source: RecordID, to destination: RecordID) -> Link {
    isReversed
      ? Link(entity, from: destination, to: source, isSymmetric: isSymmetric)
      : Link(entity, from: source, to: destination, isSymmetric: isSymmetric)
  }

  /// Returns the records of the source of ``relationship`` and of its member.
  func ends(of link: Link) -> (source: RecordID, destination: RecordID) {
    isReversed ? (link.destination, link.source) : (link.source, link.destination)
  }

  /// Returns whether the relationship can have a link of two objects.
  func admits(_ link: LinkChanges.Link, in model: CompiledModel) -> Bool {
    model.entities[relationship.sourceEntity].subtree.contains(link.source.entity)
      && model.entities[relationship.destinationEntity].subtree.contains(link.destination.entity)
  }

  /// The relationships of a model that have links, in the order of their numbers.
  static func all(of model: CompiledModel, _ identifiers: StableIdentifiers) -> [LinkRelationship] {
    model.entities.flatMap { entity in
      entity.relationships.compactMap { relationship -> LinkRelationship? in
        guard relationship.sourceEntity == entity.number, relationship.hasLinks(in: model),
          let own = identifiers.relationship(relationship)
        else { return nil }
        let inverse = model.inverse(of: relationship).flatMap { identifiers.relationship($0) } ?? own
        let isReversed = inverse.text.utf8.lexicographicallyPrecedes(own.text.utf8)
        return LinkRelationship(
          entity: EntityID((isReversed ? inverse : own).number), relationship: relationship, isReversed: isReversed)
      }
    }
  }
}

extension CompiledRelationship {
  /// Whether the relationship has links, and it, not its inverse, reports them.
  fileprivate func hasLinks(in model: CompiledModel) -> Bool {
    guard isToMany, !isTransient else { return false }
    guard let inverse = model.inverse(of: self), !inverse.isTransient else { return true }
    return inverse.isToMany && id <= inverse.id
  }
}

extension Link {
  /// The ID of the link's record.
  var recordID: RecordID { RecordID(bytes: Array(ContentDigest.sha256(bytes).prefix(16))) }
}
