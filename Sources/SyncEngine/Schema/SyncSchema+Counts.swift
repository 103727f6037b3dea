import ObjectModel
import SyncCore

/// The maximum counts of to-many relationships.
extension CompiledModel {
  /// Returns how many objects can refer to one by a to-one relationship; nil if any number, or if the relationship is one-to-one.
  func capacity(_ relationship: CompiledRelationship) -> Int? { inverse(of: relationship).flatMap(\.maximumCount) }
}

extension LinkRelationship {
  /// How many links the ends admit.
  func capacities(in model: CompiledModel) -> [PropertyID: Int] {
    let (source, destination) = isReversed ? (PropertyID.linkDestination, PropertyID.linkSource) : (.linkSource, .linkDestination)
    var capacities: [PropertyID: Int] = [:]
    capacities[source] = relationship.maximumCount
    capacities[destination] = model.inverse(of: relationship).flatMap(\.maximumCount)
    return capacities
  }
}

extension CompiledRelationship {
  fileprivate var maximumCount: Int? {
    let count = relationshipDescription.maxCount
    return isToMany && count > 0 ? count : nil
  }
}
