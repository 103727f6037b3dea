import ObjectModel

/// A compact description of a relationship by numbers, for changes of members.
struct RelationshipInfo {
  /// The relationship's to-many index, or its slot.
  let index: Int
  let isToMany: Bool
  /// The number of the inverse relationship; -1 if there is none.
  let inverse: Int
  private let firstDestination: UInt32
  private let destinationCount: UInt32

  init(_ relationship: CompiledRelationship, of model: CompiledModel) {
    index = relationship.index
    isToMany = relationship.isToMany
    inverse = relationship.inverseID ?? -1
    let destinations = model.entities[relationship.destinationEntity].subtree
    firstDestination = UInt32(destinations.lowerBound)
    destinationCount = UInt32(destinations.count)
  }

  /// Returns whether the destination can be an object of an entity.
  @inline(__always) func leads(toEntity number: UInt32) -> Bool { number &- firstDestination < destinationCount }
}
