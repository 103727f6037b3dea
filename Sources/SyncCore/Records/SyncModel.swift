/// What the protocol needs to know of a model: the to-one relationships of each entity, and the relationships that have links.
package struct SyncModel: Hashable, Sendable {
  package struct Entity: Hashable, Sendable {
    /// The to-one relationships, and whether each is required.
    package var references: [PropertyID: Bool]
    /// The to-one relationships whose destinations admit one referrer only: of a one-to-one relationship, the side that is stored.
    package var exclusive: Set<PropertyID>
    /// Whether the records are links (``Link``).
    package var isLink: Bool
    /// Whether the links have no direction.
    package var isSymmetric: Bool

    package init(references: [PropertyID: Bool], exclusive: Set<PropertyID> = [], isLink: Bool = false, isSymmetric: Bool = false) {
      (self.references, self.exclusive, self.isLink, self.isSymmetric) = (references, exclusive, isLink, isSymmetric)
    }

    /// Returns the entity of the links of a relationship.
    package static func link(isSymmetric: Bool = false) -> Entity {
      Entity(references: [.linkSource: true, .linkDestination: true], isLink: true, isSymmetric: isSymmetric)
    }
  }

  package var entities: [EntityID: Entity]
  package init(entities: [EntityID: Entity]) { self.entities = entities }

  /// Returns whether an object cannot exist without the destination of a relationship.
  package func isRequired(_ property: PropertyID, of entity: EntityID) -> Bool { entities[entity]?.references[property] ?? false }

  /// Returns whether the destination of a relationship admits one referrer only.
  package func isExclusive(_ property: PropertyID, of entity: EntityID) -> Bool { entities[entity]?.exclusive.contains(property) ?? false }

  /// Returns whether the records of an entity are links.
  package func isLink(_ entity: EntityID) -> Bool { entities[entity]?.isLink ?? false }

  /// Returns a link with the direction that the relationship prescribes.
  package func link(_ relationship: EntityID, from source: RecordID, to destination: RecordID) -> Link {
    Link(relationship, from: source, to: destination, isSymmetric: entities[relationship]?.isSymmetric ?? false)
  }

  /// Whether there are one-to-one relationships.
  package var hasExclusiveReferences: Bool { entities.values.contains { !$0.exclusive.isEmpty } }
}
