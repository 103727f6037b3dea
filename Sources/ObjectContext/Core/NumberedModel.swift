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
  /// The relationships by their numbers.
  private let ways: UnsafeMutablePointer<RelationshipWay>
  /// The numbers of the relationships of each entity: of its slots, -1 for an attribute, and behind them those of its to-many relationships.
  private let numbers: UnsafeMutablePointer<Int32>
  /// Where the numbers of each entity's slots, and of its to-many relationships, begin; behind them stands where all end.
  private let starts: UnsafeMutablePointer<Int32>
  /// Whether some stored relationship has no inverse.
  var hasRelationshipsWithoutInverse: Bool { isMissingInverses }
  private let isMissingInverses: Bool

  init(_ model: CompiledModel) {
    self.model = model
    isMissingInverses = model.relationships.contains { $0.inverseID == nil && !$0.isTransient }
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
    ways = .allocate(capacity: model.relationships.count)
    for (number, relationship) in model.relationships.enumerated() {
      (ways + number).initialize(to: RelationshipWay(relationship, of: model))
    }
    var (all, begins): ([Int32], [Int32]) = ([], [])
    for entity in model.entities {
      begins.append(Int32(all.count))
      all += entity.slots.map { $0.relationship.map { Int32($0.id) } ?? -1 }
      begins.append(Int32(all.count))
      all += entity.toManyRelationships.map { Int32($0.id) }
    }
    begins.append(Int32(all.count))
    numbers = .allocate(capacity: all.count)
    numbers.initialize(from: all, count: all.count)
    starts = .allocate(capacity: begins.count)
    starts.initialize(from: begins, count: begins.count)
  }

  deinit {
    entities.deallocate()
    inverses.deallocate()
    ways.deallocate()
    numbers.deallocate()
    starts.deallocate()
  }

  /// The entity of a number, which some ID has.
  @inline(__always) func entity(numbered number: Int) -> CompiledEntity {
    ask(entity: number) { $0 }
  }

  /// The entity of a number, which some ID has, not retained.
  // The model that has the IDs holds it.
  @inline(__always) func unretainedEntity(numbered number: Int) -> Unmanaged<CompiledEntity> {
    #if CIPHERDATA_CHECKS
      checkInvariant(model.entities.indices.contains(number), "the model has no entity \(number)")
    #endif
    return entities[number]
  }

  /// Asks the entity of a number, which some ID has, without a reference to it.
  @inline(__always) func ask<Answer>(entity number: Int, _ question: (CompiledEntity) -> Answer) -> Answer {
    unretainedEntity(numbered: number)._withUnsafeGuaranteedRef(question)
  }

  /// The relationship back from one of the model; nil when there is none.
  @inline(__always) func inverse(of relationship: CompiledRelationship) -> CompiledRelationship? {
    inverses[relationship.id]?.takeUnretainedValue()
  }

  /// The to-one relationship of an entity's slot; nil where that is no such.
  @inline(__always) func toOne(_ slot: Int, ofEntity number: UInt32) -> RelationshipWay? { way(slot, Int(number) &* 2) }

  /// A to-many relationship of an entity; nil where there is none of the index.
  @inline(__always) func toMany(_ index: Int, ofEntity number: UInt32) -> RelationshipWay? { way(index, Int(number) &* 2 &+ 1) }

  @inline(__always) private func way(_ index: Int, _ list: Int) -> RelationshipWay? {
    let (start, end) = (Int(starts[list]), Int(starts[list &+ 1]))
    guard index >= 0, index < end &- start else { return nil }
    let number = Int(numbers[start &+ index])
    return number < 0 ? nil : ways[number]
  }

  /// A relationship of the model.
  func way(of relationship: CompiledRelationship) -> RelationshipWay { ways[relationship.id] }

  /// The relationship back; nil when there is none.
  @inline(__always) func inverse(of way: RelationshipWay) -> RelationshipWay? { way.inverse < 0 ? nil : ways[way.inverse] }
}
