/// What the protocol needs to know of a model: the to-one relationships of each entity.
package struct SyncModel: Hashable, Sendable {
  package struct Entity: Hashable, Sendable {
    /// The to-one relationships, and whether each is required.
    package var references: [PropertyID: Bool]
    /// The to-one relationships whose destinations admit one referrer only: of a one-to-one relationship, the side that is stored.
    package var exclusive: Set<PropertyID>

    package init(references: [PropertyID: Bool], exclusive: Set<PropertyID> = []) {
      (self.references, self.exclusive) = (references, exclusive)
    }
  }

  package var entities: [EntityID: Entity]
  package init(entities: [EntityID: Entity]) { self.entities = entities }

  /// Returns whether an object cannot exist without the destination of a relationship.
  package func isRequired(_ property: PropertyID, of entity: EntityID) -> Bool { entities[entity]?.references[property] ?? false }

  /// Returns whether the destination of a relationship admits one referrer only.
  package func isExclusive(_ property: PropertyID, of entity: EntityID) -> Bool { entities[entity]?.exclusive.contains(property) ?? false }

  /// Whether there are one-to-one relationships.
  package var hasExclusiveReferences: Bool { entities.values.contains { !$0.exclusive.isEmpty } }
}
