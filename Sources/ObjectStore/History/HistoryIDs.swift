package import ObjectModel
import Synchronization

/// The mapping between a model and the IDs that a store's history uses for entities and properties. IDs belong to the store, remain
/// unchanged when an entity or property is renamed, and are never reused.
package final class HistoryIDs: Sendable {
  /// The property for an ID. A property has the same slot in all entities that have it.
  package enum Property: Sendable {
    /// An attribute or to-one relationship, as a slot of its declaring entity.
    case slot(CompiledSlot)
    /// A to-many relationship.
    case toMany(CompiledRelationship)
    /// A property that the model no longer has, with its last name.
    case removed(String)
  }

  /// The IDs of entities and properties, filled in by the store.
  package struct Assignment {
    /// The IDs of entities, indexed by entity number. 0 means none.
    package var entities: [Int]
    /// The IDs of slots, indexed by entity number and slot. 0 means that the slot is not stored.
    package var slots: [[Int]]
    /// The IDs of to-many relationships, indexed by relationship number. 0 means none. Two relationships that share a join table have
    /// separate IDs.
    package var relationships: [Int]
    /// The last names of removed properties, by ID.
    package var removed: [Int: String] = [:]
    /// The last names of removed entities, by ID.
    package var removedEntities: [Int: String] = [:]
    /// Returns the identities of entities and properties on all devices. Called when they are first used.
    package var identities: @Sendable () -> Identities = { Identities(present: [:], retired: [:]) }

    /// Creates an assignment without IDs.
    package init(of model: CompiledModel) {
      entities = Array(repeating: 0, count: model.entities.count)
      slots = model.entities.map { Array(repeating: 0, count: $0.slots.count) }
      relationships = Array(repeating: 0, count: model.relationships.count)
    }

    /// Creates an assignment with IDs for all entities and properties, for a store whose model does not change.
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
      identities = { [self] in Identities(present: derivedIdentities(of: model), retired: [:]) }
    }

    /// Returns the identities that follow from the model alone.
    fileprivate func derivedIdentities(of model: CompiledModel) -> [Int: StableIdentifier] {
      let identifiers = StableIdentifiers(of: model)
      var result: [Int: StableIdentifier] = [:]
      for entity in model.entities {
        result[entities[entity.number]] = identifiers.entities[entity.number]
        for slot in entity.slots { result[slots[entity.number][slot.index]] = identifiers.slot(slot.index, ofEntity: entity.number) }
      }
      for relationship in model.relationships { result[relationships[relationship.id]] = identifiers.relationship(relationship) }
      result[0] = nil
      return result
    }
  }

  /// The identities of entities and properties, by ID.
  package struct Identities: Sendable {
    /// Those of the current model.
    package var present: [Int: StableIdentifier]
    /// Those of removed entities and properties, as far as they are known.
    package var retired: [Int: StableIdentifier]

    package init(present: [Int: StableIdentifier], retired: [Int: StableIdentifier]) {
      (self.present, self.retired) = (present, retired)
    }
  }

  package let model: CompiledModel
  private let assignment: Assignment
  private let numbers: [Int: Int]
  /// The slots of each entity whose values are preserved when an object is deleted.
  private let preserved: [SlotMask]
  private let properties: [Int: Property]
  private let identities = Mutex<IdentityTable?>(nil)

  package init(_ assignment: Assignment, of model: CompiledModel) {
    self.model = model
    self.assignment = assignment
    var numbers: [Int: Int] = [:]
    for (number, id) in assignment.entities.enumerated() where id > 0 { numbers[id] = number }
    var properties = assignment.removed.mapValues { Property.removed($0) }
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

  /// Returns the history object of a reference, or nil if its entity has no ID in the store.
  @inline(__always) package func object(_ reference: ObjectReference) -> HistoryObject? {
    let id = assignment.entities[reference.entity]
    return id > 0 ? HistoryObject(entity: id, key: reference.key) : nil
  }

  /// Returns the ID of an entity, or 0 if it has none.
  @inline(__always) package func entity(_ number: Int) -> Int { assignment.entities[number] }

  /// Returns the IDs of the slots of an entity. 0 means that the slot is not stored.
  package func slots(of entity: Int) -> [Int] { assignment.slots[entity] }

  /// Returns the slots of an entity whose values are preserved when an object is deleted.
  package func preservedSlots(of entity: Int) -> SlotMask { preserved[entity] }

  /// Returns the ID of a to-many relationship, or 0 if it has none.
  package func relationship(_ number: Int) -> Int { assignment.relationships[number] }

  // MARK: Reading

  /// Returns the reference to an object, or nil if its entity was removed from the model.
  package func reference(_ object: HistoryObject) -> ObjectReference? {
    numbers[object.entity].map { ObjectReference(entity: $0, key: object.key) }
  }

  /// Returns whether an ID belongs to an entity that was removed from the model.
  package func isRemovedEntity(_ id: Int) -> Bool { assignment.removedEntities[id] != nil }

  /// Returns the entity for an ID: its number if the model has it, and its name, or its last name if it was removed. Nil if the store has
  /// never assigned the ID.
  func entity(ofID id: Int) -> (number: Int?, name: String)? {
    if let number = numbers[id] { return (number, model.entities[number].name) }
    return assignment.removedEntities[id].map { (nil, $0) }
  }

  /// Returns whether all entity and property IDs in a record were assigned by the store.
  package func resolves(_ record: HistoryRecord) -> Bool {
    func resolves(_ object: HistoryObject) -> Bool { numbers[object.entity] != nil || isRemovedEntity(object.entity) }
    func resolves(_ assignments: [HistoryAssignment]) -> Bool { assignments.allSatisfy { property($0.property) != nil } }
    switch record {
    case .whole: return true
    case .migrated(_, _, let changes):
      return changes.allSatisfy { change in
        entity(ofID: change.entity) != nil && [change.property, change.former].allSatisfy { $0 == 0 || property($0) != nil }
      }
    case .inserted(let entity, let first, _): return resolves(HistoryObject(entity: entity, key: first))
    case .insertedWithValues(let object, let values): return resolves(object) && resolves(values)
    case .updated(let object, let properties), .derived(let object, let properties):
      return resolves(object) && properties.allSatisfy { property($0) != nil }
    case .updatedWithValues(let object, let changes): return resolves(object) && changes.allSatisfy { property($0.property) != nil }
    case .deleted(let object, let tombstone, let others, _): return resolves(object) && resolves(tombstone) && resolves(others ?? [])
    case .linked(let relationship, _, let object, let members):
      return property(relationship) != nil && resolves(object) && members.allSatisfy(resolves)
    case .ordered(let relationship, let object, let members):
      return property(relationship) != nil && resolves(object) && (members ?? []).allSatisfy(resolves)
    case .moved(let relationship, let object, let runs):
      return property(relationship) != nil && resolves(object)
        && runs.allSatisfy { $0.members.allSatisfy(resolves) && $0.after.map(resolves) ?? true }
    }
  }

  /// Returns the property for an ID, or nil if the store has never assigned the ID.
  package func property(_ id: Int) -> Property? { properties[id] }

  // MARK: Identities

  /// Returns the identity of a property that an entity had before a migration has removed it, by its last name. Returns nil if there was no
  /// such property, or several.
  package func removedProperty(named name: String, ofEntity number: Int) -> StableIdentifier? {
    if assignment.removed.isEmpty { return nil }
    var owners: [String] = []
    var next: Int? = number
    while let entity = next {
      if let identifier = identifier(of: assignment.entities[entity]) { owners.append("\(identifier.text)/") }
      next = model.entities[entity].parent
    }
    let found = assignment.removed.filter { $0.value == name }.compactMap { identifier(of: $0.key) }.filter { identifier in
      owners.contains { identifier.text.hasPrefix($0) }
    }
    return found.count == 1 ? found[0] : nil
  }

  private struct IdentityTable {
    let identifiers: [Int: StableIdentifier]
    let ids: [StableIdentifier: Int]
  }

  /// Returns the identity of an entity or property on all devices, also of a removed one. Returns nil if the ID was never assigned, or was
  /// retired by a version of the library that kept no identities.
  package func identifier(of id: Int) -> StableIdentifier? { withIdentities { $0.identifiers[id] } }

  /// Returns the ID of the entity or property with an identity, or nil if the store has never had it.
  ///
  /// What the current model has takes precedence over what it no longer has. A property that was renamed more than once, with the previous
  /// name as its renaming identifier, also has the identity that devices derive that know only the last renaming.
  package func id(of identifier: StableIdentifier) -> Int? { withIdentities { $0.ids[identifier] } }

  private func withIdentities<Result>(_ body: (IdentityTable) -> Result) -> Result {
    identities.withLock { table in
      if let table { return body(table) }
      let made = makeIdentities()
      table = made
      return body(made)
    }
  }

  private func makeIdentities() -> IdentityTable {
    let identities = assignment.identities()
    var ids: [StableIdentifier: Int] = [:]
    func add(_ identifiers: [Int: StableIdentifier]) {
      // The newest ID takes precedence.
      for (id, identifier) in identifiers.sorted(by: { $0.key > $1.key }) where ids[identifier] == nil { ids[identifier] = id }
    }
    add(identities.present)
    add(assignment.derivedIdentities(of: model))
    add(identities.retired)
    return IdentityTable(identifiers: identities.present.merging(identities.retired) { present, _ in present }, ids: ids)
  }
}
