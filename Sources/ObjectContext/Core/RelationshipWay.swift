// RelationshipWay: a relationship in plain numbers.
import ObjectModel

/// A relationship in plain numbers: what is asked where a member comes.
struct RelationshipWay {
  /// The relationship's to-many index, or its slot.
  let index: Int
  let isToMany: Bool
  /// The number of the relationship back; -1 where there is none.
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

  /// Whether it leads to objects of an entity.
  @inline(__always) func leads(toEntity number: UInt32) -> Bool { number &- firstDestination < destinationCount }
}
