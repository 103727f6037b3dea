/// What the protocol needs to know of a model: the to-one relationships of each entity.
package struct SyncModel: Hashable, Sendable {
  package struct Entity: Hashable, Sendable {
    /// The to-one relationships, and whether each is required.
    package var references: [PropertyID: Bool]
    package init(references: [PropertyID: Bool]) { self.references = references }
  }

  package var entities: [EntityID: Entity]
  package init(entities: [EntityID: Entity]) { self.entities = entities }

  /// Returns whether an object cannot exist without the destination of a relationship.
  package func isRequired(_ property: PropertyID, of entity: EntityID) -> Bool { entities[entity]?.references[property] ?? false }
}
