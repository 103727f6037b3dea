/// What the protocol needs to know of a model: the to-one relationships of each entity, the relationships that have links, and how attributes
/// are merged.
package struct SyncModel: Hashable, Sendable {
  package struct Entity: Hashable, Sendable {
    /// The to-one relationships, and whether each is required.
    package var references: [PropertyID: Bool]
    /// The to-one relationships whose destinations admit one referrer only: of a one-to-one relationship, the side that is stored.
    package var exclusive: Set<PropertyID>
    /// Those that are their own inverse: both ends are stored. They are among ``exclusive``.
    package var mutual: Set<PropertyID>
    /// The to-one relationships whose destinations cannot be deleted while an object refers to them: those whose inverse has the delete rule
    /// Deny. Of links, the ends.
    package var denying: Set<PropertyID>
    /// The to-one relationships to parents: optional ones to objects of the same kind, whose inverse is a to-many relationship with the delete
    /// rule Cascade. No object may be its own ancestor.
    package var trees: Set<PropertyID>
    /// How many referrers an object admits at most, by a to-one relationship whose inverse has a maximum count. Of links, how many an end
    /// admits. They are not among ``exclusive``.
    package var capacities: [PropertyID: Int]
    /// Whether an edit wins over a deletion that did not know it (``DeletionMark``). It must be set also if the deletion of an object can be
    /// denied. A device whose model does not say so deletes for good.
    package var updateWins: Bool
    /// Whether the records are links (``Link``).
    package var isLink: Bool
    /// Whether the links have no direction.
    package var isSymmetric: Bool
    /// The rules of attributes that are not merged by ``MergeRule/latest``.
    package var merging: [PropertyID: MergeRule]
    /// The functions of the application that merge attributes with the rule ``MergeRule/custom``.
    package var functions: [PropertyID: MergeFunction]
    /// The uniqueness constraints, of ancestors too.
    package var unique: [UniqueConstraint]

    package init(
      references: [PropertyID: Bool], exclusive: Set<PropertyID> = [], mutual: Set<PropertyID> = [], denying: Set<PropertyID> = [],
      trees: Set<PropertyID> = [], capacities: [PropertyID: Int] = [:], updateWins: Bool = false,
      merging: [PropertyID: MergeRule] = [:], functions: [PropertyID: MergeFunction] = [:], unique: [UniqueConstraint] = [],
      isLink: Bool = false, isSymmetric: Bool = false
    ) {
      (self.unique, self.functions, self.mutual) = (unique, functions, mutual)
      (self.denying, self.trees, self.capacities, self.updateWins) = (denying, trees, capacities, updateWins)
      (self.references, self.exclusive, self.merging) = (references, exclusive, merging)
      (self.isLink, self.isSymmetric) = (isLink, isSymmetric)
    }

    /// Returns the entity of the links of a relationship.
    ///
    /// - Parameters:
    ///   - denying: The ends that cannot be deleted while there is a link.
    ///   - capacities: How many links the ends admit at most. The ends of links without a direction admit the same number.
    package static func link(
      isSymmetric: Bool = false, denying: Set<PropertyID> = [], capacities: [PropertyID: Int] = [:]
    ) -> Entity {
      Entity(
        references: [.linkSource: true, .linkDestination: true], denying: denying, capacities: capacities, isLink: true,
        isSymmetric: isSymmetric)
    }
  }

  package var entities: [EntityID: Entity]
  /// Whether a save can delete an object and leave a reference to it: by a relationship with the delete rule No Action.
  package var leavesReferences: Bool

  package init(entities: [EntityID: Entity], leavesReferences: Bool = false) {
    (self.entities, self.leavesReferences) = (entities, leavesReferences)
  }

  /// Returns whether an object cannot exist without the destination of a relationship.
  package func isRequired(_ property: PropertyID, of entity: EntityID) -> Bool { entities[entity]?.references[property] ?? false }

  /// Returns whether the destination of a relationship admits one referrer only.
  package func isExclusive(_ property: PropertyID, of entity: EntityID) -> Bool { entities[entity]?.exclusive.contains(property) ?? false }

  /// Returns how many referrers an object admits by a relationship; nil if any number.
  package func capacity(_ property: PropertyID, of entity: EntityID) -> Int? { entities[entity]?.capacities[property] }

  /// Whether there are relationships by which an object admits a limited number of referrers.
  package var hasCapacities: Bool { entities.values.contains { !$0.capacities.isEmpty } }

  /// Whether there are links of which an object admits a limited number.
  package var hasLinkCapacities: Bool { entities.values.contains { $0.isLink && !$0.capacities.isEmpty } }

  /// Returns whether a one-to-one relationship is its own inverse.
  package func isMutual(_ property: PropertyID, of entity: EntityID) -> Bool { entities[entity]?.mutual.contains(property) ?? false }

  /// Returns whether an edit wins over a deletion that did not know it.
  package func updateWins(_ entity: EntityID) -> Bool { entities[entity]?.updateWins ?? false }

  /// Returns whether the destination of a relationship cannot be deleted while an object refers to it.
  package func isDenying(_ property: PropertyID, of entity: EntityID) -> Bool { entities[entity]?.denying.contains(property) ?? false }

  /// Returns whether a relationship is one to parents.
  package func isTree(_ property: PropertyID, of entity: EntityID) -> Bool { entities[entity]?.trees.contains(property) ?? false }

  /// The relationships whose destinations cannot be deleted while an object refers to them.
  package var denyingReferences: Set<PropertyID> { entities.values.reduce(into: []) { $0.formUnion($1.denying) } }

  /// Returns whether the records of an entity are links.
  package func isLink(_ entity: EntityID) -> Bool { entities[entity]?.isLink ?? false }

  /// Returns a link with the direction that the relationship prescribes.
  package func link(_ relationship: EntityID, from source: RecordID, to destination: RecordID) -> Link {
    Link(relationship, from: source, to: destination, isSymmetric: entities[relationship]?.isSymmetric ?? false)
  }

  /// Returns the rules of an entity's attributes that are not merged by ``MergeRule/latest``.
  package func merging(of entity: EntityID) -> [PropertyID: MergeRule] { entities[entity]?.merging ?? [:] }

  /// Whether attributes have rules.
  package var hasMergeRules: Bool { entities.values.contains { !$0.merging.isEmpty } }

  /// Whether objects can depend on a record that refers to them, or on another one that refers to the same object.
  package var hasRivals: Bool {
    entities.values.contains { !$0.exclusive.isEmpty || !$0.denying.isEmpty || !$0.trees.isEmpty || !$0.capacities.isEmpty }
  }

  /// Whether edits can win over deletions.
  package var hasDeletionMarks: Bool { entities.values.contains(where: \.updateWins) }

  /// Whether there are uniqueness constraints.
  package var hasUniqueConstraints: Bool { entities.values.contains { !$0.unique.isEmpty } }

  /// Whether there are one-to-one relationships.
  package var hasExclusiveReferences: Bool { entities.values.contains { !$0.exclusive.isEmpty } }

  /// Whether there are relationships to parents.
  package var hasTrees: Bool { entities.values.contains { !$0.trees.isEmpty } }
}
