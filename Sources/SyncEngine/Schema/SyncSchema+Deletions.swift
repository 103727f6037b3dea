import ObjectModel
import SyncCore

/// What synchronization does if an object is deleted on one device and changed, or referred to, on another one.
extension CompiledModel {
  /// Returns whether edits win over deletions of an entity's objects: as the entity or the nearest superentity declares it, or because a
  /// relationship can deny their deletion.
  func updateWins(_ entity: CompiledEntity) -> Bool {
    if entity.relationships.contains(where: { $0.deleteRule == .deny && !$0.isTransient }) { return true }
    var ancestor: CompiledEntity? = entity
    while let entity = ancestor {
      if let rule = entity.entityDescription.syncDeletionRule { return rule == .updateWins }
      ancestor = entity.parent.map { entities[$0] }
    }
    return false
  }

  /// Returns whether the destination of a to-one relationship cannot be deleted while an object refers to it.
  func isDenying(_ relationship: CompiledRelationship) -> Bool { inverse(of: relationship).map { $0.deleteRule == .deny } ?? false }

  /// Returns whether a to-one relationship is one to parents (``SyncModel/Entity/trees``).
  func isTree(_ relationship: CompiledRelationship) -> Bool {
    guard relationship.relationshipDescription.isOptional, let inverse = inverse(of: relationship) else { return false }
    return inverse.isToMany && inverse.deleteRule == .cascade && isWithinHierarchy(relationship)
  }

  /// Returns whether an object can refer to another one of its kind by a relationship.
  func isWithinHierarchy(_ relationship: CompiledRelationship) -> Bool {
    let (source, destination) = (entities[relationship.sourceEntity], entities[relationship.destinationEntity])
    return source.subtree.contains(destination.number) || destination.subtree.contains(source.number)
  }
}

extension LinkRelationship {
  /// The ends of the links that cannot be deleted while there is a link.
  func denyingEnds(in model: CompiledModel) -> Set<PropertyID> {
    var ends: Set<PropertyID> = []
    let (source, destination) = isReversed ? (PropertyID.linkDestination, PropertyID.linkSource) : (.linkSource, .linkDestination)
    if relationship.deleteRule == .deny { ends.formUnion(isSymmetric ? [source, destination] : [source]) }
    if let inverse = model.inverse(of: relationship), inverse.deleteRule == .deny { ends.insert(destination) }
    return ends
  }
}
