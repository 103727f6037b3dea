// HistoryIDs: the ids by which a store's history speaks of entities and properties, and what they are in the present model.
package import ObjectModel

/// The ids by which the history of a store speaks of what a model has. They are the store's own: they stay through renames, and none is given out twice.
package final class HistoryIDs: Sendable {
  /// What an id of a property stands for. A slot is the same in all entities that have it.
  package enum Property: Sendable {
    /// An attribute or a to-one relationship, by a slot of an entity that has it.
    case slot(CompiledSlot)
    /// A to-many relationship.
    case toMany(CompiledRelationship)
    /// Something that the model has no more, by its last name.
    case gone(String)
  }

  /// The ids of what a store holds, to be filled in by the store.
  package struct Assignment {
    /// The ids of entities by their numbers; 0 for none.
    package var entities: [Int]
    /// The ids of slots by the number of each entity that has them; 0 where nothing is stored.
    package var slots: [[Int]]
    /// The ids of to-many relationships by their numbers; 0 for none. Of two in one table, each has one.
    package var relationships: [Int]
    /// The last names of properties that are gone, by id.
    package var gone: [Int: String] = [:]
    /// The ids of entities that are gone.
    package var goneEntities: Set<Int> = []

    /// No ids.
    package init(of model: CompiledModel) {
      entities = Array(repeating: 0, count: model.entities.count)
      slots = model.entities.map { Array(repeating: 0, count: $0.slots.count) }
      relationships = Array(repeating: 0, count: model.relationships.count)
    }

    /// Ids for everything: for a store whose model does not change.
    package init(ofAll model: CompiledModel) {
      self.init(of: model)
      var last = 0
      func next() -> Int {
        last += 1
        return last
      }
      for entity in model.entities {
        entities[entity.number] = next()
        for slot in entity.slots where !slot.isTransient {
          let declaring = slot.declaringEntity
          slots[entity.number][slot.index] = declaring == entity.number ? next() : slots[declaring][slot.index]
        }
      }
      for relationship in model.relationships where relationship.isToMany && !relationship.isTransient {
        relationships[relationship.id] = next()
      }
    }
  }

  /// The model whose names and numbers are told.
  package let model: CompiledModel
  private let assignment: Assignment
  private let numbers: [Int: Int]
  /// The slots of each entity whose values a history keeps when an object is deleted.
  private let preserved: [SlotMask]
  private let properties: [Int: Property]

  package init(_ assignment: Assignment, of model: CompiledModel) {
    self.model = model
    self.assignment = assignment
    var numbers: [Int: Int] = [:]
    for (number, id) in assignment.entities.enumerated() where id > 0 { numbers[id] = number }
    var properties = assignment.gone.mapValues { Property.gone($0) }
    for entity in model.entities {
      for slot in entity.slots {
        let id = assignment.slots[entity.number][slot.index]
        if id > 0, slot.declaringEntity == entity.number { properties[id] = .slot(slot) }
      }
    }
    for relationship in model.relationships {
      let id = assignment.relationships[relationship.id]
      if id > 0 { properties[id] = .toMany(relationship) }
    }
    (self.numbers, self.properties) = (numbers, properties)
    preserved = model.entities.map { entity in
      var mask = SlotMask()
      for slot in entity.slots where slot.attribute?.preservesValueInHistoryOnDeletion == true { mask.insert(slot.index) }
      return mask
    }
  }

  // MARK: Writing

  /// The object that a reference stands for; nil where the store has no id for its entity.
  @inline(__always) package func object(_ reference: ObjectReference) -> HistoryObject? {
    let id = assignment.entities[reference.entity]
    return id > 0 ? HistoryObject(entity: id, key: reference.key) : nil
  }

  /// The id of an entity; 0 for none.
  @inline(__always) package func entity(_ number: Int) -> Int { assignment.entities[number] }

  /// The ids of an entity's slots; 0 where nothing is stored.
  package func slots(of entity: Int) -> [Int] { assignment.slots[entity] }

  /// The slots of an entity whose values a history keeps when an object is deleted.
  package func preservedSlots(of entity: Int) -> SlotMask { preserved[entity] }

  /// The id of a to-many relationship; 0 for none.
  package func relationship(_ number: Int) -> Int { assignment.relationships[number] }

  // MARK: Reading

  /// The reference to an object; nil where its entity is gone.
  package func reference(_ object: HistoryObject) -> ObjectReference? {
    numbers[object.entity].map { ObjectReference(entity: $0, key: object.key) }
  }

  /// Whether an id is that of an entity that the model had once.
  package func isGoneEntity(_ id: Int) -> Bool { assignment.goneEntities.contains(id) }

  /// Whether a record speaks of entities and properties that the store has given ids to.
  package func knows(_ record: HistoryRecord) -> Bool {
    func knows(_ object: HistoryObject) -> Bool { numbers[object.entity] != nil || isGoneEntity(object.entity) }
    func knows(_ assignments: [HistoryAssignment]) -> Bool { assignments.allSatisfy { property($0.property) != nil } }
    switch record {
    case .whole: return true
    case .inserted(let entity, let first, _): return knows(HistoryObject(entity: entity, key: first))
    case .insertedWithValues(let object, let values): return knows(object) && knows(values)
    case .updated(let object, let properties), .derived(let object, let properties):
      return knows(object) && properties.allSatisfy { property($0) != nil }
    case .updatedWithValues(let object, let changes): return knows(object) && changes.allSatisfy { property($0.property) != nil }
    case .deleted(let object, let tombstone, let others): return knows(object) && knows(tombstone) && knows(others ?? [])
    case .linked(let relationship, _, let object, let members):
      return property(relationship) != nil && knows(object) && members.allSatisfy(knows)
    case .ordered(let relationship, let object, let members):
      return property(relationship) != nil && knows(object) && (members ?? []).allSatisfy(knows)
    }
  }

  /// What an id of a property stands for; nil for one that the store has never given out.
  package func property(_ id: Int) -> Property? { properties[id] }
}
