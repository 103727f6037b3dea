// NumberedModel: a model's entities and inverses by their numbers, found without a retain.
import ObjectModel

/// The entities of a model, and the way back from each of its relationships, by their numbers. Each property of an object that is set or validated asks for
/// one: the model's own arrays would be retained, checked and released for that.
struct NumberedModel: ~Copyable {
  /// What the tables point to.
  private let model: CompiledModel
  // Unretained: the model holds its entities and relationships, and is held here.
  private let entities: UnsafeMutablePointer<Unmanaged<CompiledEntity>>
  private let inverses: UnsafeMutablePointer<Unmanaged<CompiledRelationship>?>

  init(_ model: CompiledModel) {
    self.model = model
    entities = .allocate(capacity: model.entities.count)
    for (number, entity) in model.entities.enumerated() {
      // The model holds it.
      (entities + number).initialize(to: Unmanaged.passUnretained(entity))
    }
    inverses = .allocate(capacity: model.relationships.count)
    for (number, relationship) in model.relationships.enumerated() {
      // The model holds it.
      (inverses + number).initialize(to: model.inverse(of: relationship).map { Unmanaged.passUnretained($0) })
    }
  }

  deinit {
    entities.deallocate()
    inverses.deallocate()
  }

  /// The entity of a number, which some ID has.
  @inline(__always) func entity(numbered number: Int) -> CompiledEntity {
    #if CIPHERDATA_CHECKS
      checkInvariant(model.entities.indices.contains(number), "the model has no entity \(number)")
    #endif
    return entities[number].takeUnretainedValue()
  }

  /// The relationship back from one of the model; nil when there is none.
  @inline(__always) func inverse(of relationship: CompiledRelationship) -> CompiledRelationship? {
    inverses[relationship.id]?.takeUnretainedValue()
  }
}
