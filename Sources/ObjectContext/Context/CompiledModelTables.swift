import ObjectModel

/// The entities and inverse relationships of a model by number, accessible without a retain. Setting or validating a property needs one of
/// them, and access through the model's own arrays would retain, check and release the array.
struct CompiledModelTables: ~Copyable {
  /// The model, which keeps the tables' pointers valid.
  private let model: CompiledModel
  // Unretained: the model retains its entities and relationships, and is retained here.
  private let entities: UnsafeMutablePointer<Unmanaged<CompiledEntity>>
  private let inverses: UnsafeMutablePointer<Unmanaged<CompiledRelationship>?>
  /// The relationships, by number.
  private let infos: UnsafeMutablePointer<RelationshipInfo>
  /// The relationship numbers of all entities: for each entity those of its slots, with -1 for attributes, followed by those of its to-many
  /// relationships.
  private let numbers: UnsafeMutablePointer<Int32>
  /// The start indexes in `numbers`, two for each entity: of its slots and of its to-many relationships. The last element is the end of
  /// `numbers`.
  private let starts: UnsafeMutablePointer<Int32>
  var hasRelationshipsWithoutInverse: Bool { lacksInverses }
  private let lacksInverses: Bool

  init(_ model: CompiledModel) {
    self.model = model
    lacksInverses = model.relationships.contains { $0.inverseID == nil && !$0.isTransient }
    entities = .allocate(capacity: model.entities.count)
    for (number, entity) in model.entities.enumerated() {
      // The model retains it.
      (entities + number).initialize(to: Unmanaged.passUnretained(entity))
    }
    inverses = .allocate(capacity: model.relationships.count)
    for (number, relationship) in model.relationships.enumerated() {
      // The model retains it.
      (inverses + number).initialize(to: model.inverse(of: relationship).map { Unmanaged.passUnretained($0) })
    }
    infos = .allocate(capacity: model.relationships.count)
    for (number, relationship) in model.relationships.enumerated() {
      (infos + number).initialize(to: RelationshipInfo(relationship, of: model))
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
    infos.deallocate()
    numbers.deallocate()
    starts.deallocate()
  }

  /// Returns the entity with a number, which must come from an ID.
  @inline(__always) func entity(numbered number: Int) -> CompiledEntity {
    with(entity: number) { $0 }
  }

  /// Returns the entity with a number, which must come from an ID, without retaining it.
  // The model retains it.
  @inline(__always) func unretainedEntity(numbered number: Int) -> Unmanaged<CompiledEntity> {
    #if CIPHERDATA_CHECKS
      checkInvariant(model.entities.indices.contains(number), "the model has no entity \(number)")
    #endif
    return entities[number]
  }

  /// Calls a closure with the entity of a number, which must come from an ID, without retaining it.
  @inline(__always) func with<Answer>(entity number: Int, _ body: (CompiledEntity) -> Answer) -> Answer {
    unretainedEntity(numbered: number)._withUnsafeGuaranteedRef(body)
  }

  @inline(__always) func inverse(of relationship: CompiledRelationship) -> CompiledRelationship? {
    inverses[relationship.id]?.takeUnretainedValue()
  }

  /// Returns the to-one relationship of an entity's slot, or `nil` if the slot is not a to-one relationship.
  @inline(__always) func toOne(_ slot: Int, ofEntity number: UInt32) -> RelationshipInfo? { info(slot, Int(number) &* 2) }

  /// Returns the to-many relationship of an entity with an index, or `nil` if there is none.
  @inline(__always) func toMany(_ index: Int, ofEntity number: UInt32) -> RelationshipInfo? { info(index, Int(number) &* 2 &+ 1) }

  @inline(__always) private func info(_ index: Int, _ list: Int) -> RelationshipInfo? {
    let (start, end) = (Int(starts[list]), Int(starts[list &+ 1]))
    guard index >= 0, index < end &- start else { return nil }
    let number = Int(numbers[start &+ index])
    return number < 0 ? nil : infos[number]
  }

  /// Returns the compact form of a relationship.
  func info(of relationship: CompiledRelationship) -> RelationshipInfo { infos[relationship.id] }

  @inline(__always) func inverse(of info: RelationshipInfo) -> RelationshipInfo? { info.inverse < 0 ? nil : infos[info.inverse] }
}

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
