import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

extension GraphImporter {
  /// The values that an input object has from its position in a relationship: the inverse and the owner.
  struct Implied {
    let slot: Int
    let owner: ManagedObject

    /// Creates the values for members of a relationship whose inverse is to-one.
    init?(_ relationship: CompiledRelationship, of owner: ManagedObject, in model: CompiledModel) {
      guard let inverse = model.inverse(of: relationship), !inverse.isToMany else { return nil }
      slot = inverse.index
      self.owner = owner
    }
  }

  /// Returns the managed object for an input object, with its values applied.
  ///
  /// - Parameters:
  ///   - implied: The values from the object's position.
  ///   - relationship: The relationship that leads to the object; nil for the object of a line.
  func resolve(_ object: ImportObject, implied: Implied? = nil, over relationship: CompiledRelationship? = nil) throws -> ManagedObject {
    if !usesStableIDs, object.stableID != nil { summary.ignoresStableIDs = true }
    let (managed, isNew) = try locate(object, implied, isReference: relationship.map { !owningRelationships.contains($0.id) } ?? false)
    if let name = object.identifier {
      if named[name] != nil || (namedInBatch[name].map { $0 !== managed } ?? false) {
        throw object.error("The name is given twice.", key: "$id")
      }
      namedInBatch[name] = managed
    }
    if isNew || object.role == .record { try apply(object, to: managed, isNew: isNew) }
    return managed
  }

  // MARK: Finding one

  /// Finds or inserts the object.
  ///
  /// - Parameter isReference: Whether an object without values must exist.
  private func locate(_ object: ImportObject, _ implied: Implied?, isReference: Bool) throws -> (ManagedObject, isNew: Bool) {
    if let name = object.reference { return (try namedObject(name, for: object), false) }
    if let known = try identifiedObject(for: object) { return (known, false) }
    if isReference, object.stableID != nil, object.isBare {
      throw object.error(
        usesStableIDs ? "The store has no object with this ID." : "The store has no stable IDs, by which the object could be found.",
        key: "$stableID")
    }
    let key = try identities.attributeKey(of: object) ?? relationalKey(of: object, implied)
    if let key, let known = try found[key] ?? findByRelationships(key) {
      guard known.compiledEntity.isKind(of: object.entity) else {
        throw object.error("An object with these values exists, and is of the entity \(known.compiledEntity.name).")
      }
      recordFound(known, for: object)
      return (known, false)
    }
    if object.entity.isAbstract {
      throw object.error("There is no such object, and the entity is abstract: name a subentity.", key: "$entity")
    }
    let managed = try context.insertObject(entityName: object.entity.name)
    summary.inserted += 1
    if let key { found[key] = managed }
    if usesStableIDs {
      if let id = object.stableID { identifiedInBatch[id] = managed } else if isReference, key != nil { insertedByKey.append(managed) }
    }
    return (managed, true)
  }

  /// Records that an object was found by its values, although the input has a stable ID.
  private func recordFound(_ managed: ManagedObject, for object: ImportObject) {
    guard usesStableIDs, let id = object.stableID else { return }
    foundByValues[id] = managed
  }

  /// Records the stable IDs inside an object that was found by its contents. Its nested objects remain as they are.
  private func recordNested(in object: ImportObject) throws {
    guard usesStableIDs else { return }
    var stack = [object]
    while let next = stack.popLast() {
      for nested in next.toOne.compactMap(\.destination) + next.toMany.flatMap(\.members) where !nested.isBare {
        if nested.stableID != nil, try identifiedObject(for: nested) == nil {
          summary.keptStableIDs[nested.entity.name, default: 0] += 1
        }
        stack.append(nested)
      }
    }
  }

  /// Returns the object with the stable ID that the input names, if the store has it.
  func identifiedObject(for object: ImportObject) throws -> ManagedObject? {
    guard usesStableIDs, let id = object.stableID, let known = try identifiedInBatch[id] ?? context.object(forStableID: id) else {
      return nil
    }
    guard known.compiledEntity.isKind(of: object.entity) else {
      throw object.error("The object with this ID is of the entity \(known.compiledEntity.name).", key: "$stableID")
    }
    held.append(known)
    return known
  }

  /// Returns the object to which an earlier input object assigned an identifier.
  private func namedObject(_ name: String, for object: ImportObject) throws -> ManagedObject {
    let managed: ManagedObject
    if let known = namedInBatch[name] {
      managed = known
    } else if let id = named[name] {
      managed = try context.existingObject(with: id)
      held.append(managed)
    } else {
      throw object.error("No earlier object has this name.", key: "$ref")
    }
    guard managed.compiledEntity.isKind(of: object.entity) else {
      throw object.error("The object of this name is of the entity \(managed.compiledEntity.name).", key: "$ref")
    }
    return managed
  }

  /// Returns the key of an object for a constraint with relationships. The destinations are found or inserted first.
  private func relationalKey(of object: ImportObject, _ implied: Implied?) throws -> IdentityKey? {
    guard let constraint = relationalConstraint(of: object, implied) else { return nil }
    var values: [Int: Slot] = [:]
    for slot in constraint.slots {
      if let value = object.value(slot) {
        values[slot] = value
      } else if let (relationship, destination) = object.toOne.first(where: { $0.relationship.index == slot }), let destination {
        values[slot] = .int(try resolve(destination, over: relationship).objectID.reference.rawValue)
      } else if let implied, implied.slot == slot {
        values[slot] = .int(implied.owner.objectID.reference.rawValue)
      }
    }
    return IdentityKey(constraint) { values[$0] }
  }

  /// Returns the first constraint with relationships for which the input has all values.
  private func relationalConstraint(of object: ImportObject, _ implied: Implied?) -> IdentityConstraint? {
    identities.constraints(of: object.entity).first { constraint in
      constraint.hasRelationships
        && constraint.slots.allSatisfy { slot in
          if let value = object.value(slot) { return !value.isNull }
          if let destination = object.destination(slot) { return !isAnonymous(destination, nil) }
          return implied?.slot == slot
        }
    }
  }

  /// Fetches an object by a constraint with relationships, one at a time: such constraints are rare.
  private func findByRelationships(_ key: IdentityKey) throws -> ManagedObject? {
    guard key.constraint.hasRelationships else { return nil }
    let entity = model.entities[key.constraint.entity]
    var parts: [FetchPredicate] = []
    for (slot, value) in zip(key.constraint.slots, key.values) {
      let property = entity.slots[slot]
      var constant = FetchConstant(value, type: property.attributeType ?? .undefined)
      if property.relationship != nil, case .int(let word) = value {
        // A new object has no row yet.
        guard let store = context.persistentStoreCoordinator.stores(holding: entity, affectedStores: nil).first else { return nil }
        let reference = ObjectReference(rawValue: word)
        guard reference.key > 0 else { return nil }
        constant = .object(ManagedObjectID(space: store.space.number, entityNumber: UInt32(reference.entity), key: reference.key))
      }
      parts.append(.compare(property.name, .equal, constant))
    }
    var request = FetchRequest<ManagedObject>(entityName: entity.name, predicate: .and(parts))
    request.includesPendingChanges = false
    guard let managed = try context.fetch(request).first else { return nil }
    found[key] = managed
    return managed
  }

  // MARK: Setting values

  /// Sets the values that differ.
  private func apply(_ object: ImportObject, to managed: ManagedObject, isNew: Bool) throws {
    let slots = managed.compiledEntity.slots
    // Exported lines include derived attributes, which the store computes.
    for (slot, value) in object.values where !slots[slot].isDerived && !Fingerprint.isSame(managed.slotValue(slot), value) {
      managed.setSlotValue(value, at: slot)
      if !isNew { changed.insert(managed) }
    }
    for (relationship, destination) in object.toOne { try apply(destination, relationship, to: managed, isNew: isNew) }
    for (relationship, members) in object.toMany { try apply(members, relationship, to: managed, isNew: isNew) }
  }

  private func apply(_ wanted: ImportObject?, _ relationship: CompiledRelationship, to managed: ManagedObject, isNew: Bool) throws {
    let current: ManagedObject? = isNew ? nil : managed.toOne(relationship.index)
    guard let wanted else {
      guard let current else { return }
      managed.setToOne(nil, at: relationship.index)
      changed.insert(managed)
      release(current, from: relationship)
      return
    }
    let implied = Implied(relationship, of: managed, in: model)
    if let current, isAnonymous(wanted, implied), try identifiedObject(for: wanted) == nil {
      if try fingerprint(current, besides: relationship) == fingerprint(wanted, besides: relationship) {
        try recordNested(in: wanted)
        return recordFound(current, for: wanted)
      }
    }
    let destination = try resolve(wanted, implied: implied, over: relationship)
    if destination === current { return }
    managed.setToOne(destination, at: relationship.index)
    if !isNew { changed.insert(managed) }
    if let current { release(current, from: relationship) }
  }

  private func apply(_ wanted: [ImportObject], _ relationship: CompiledRelationship, to managed: ManagedObject, isNew: Bool) throws {
    let implied = Implied(relationship, of: managed, in: model)
    if isNew {
      for member in wanted { managed.addToToMany(try resolve(member, implied: implied, over: relationship), at: relationship.index) }
      return
    }
    let current = managed.toManyArray(relationship.index, as: ManagedObject.self)
    // Members without a key or a known stable ID are compared as a whole with existing members.
    let identified = try wanted.map { try identifiedObject(for: $0) }
    var unmatched: [[UInt8]: [ManagedObject]] = [:]
    if zip(wanted, identified).contains(where: { $1 == nil && isAnonymous($0, implied) }) {
      let taken = Set(identified.compactMap(\.self))
      for member in current.reversed() where identities.key(of: member) == nil && !taken.contains(member) {
        unmatched[try fingerprint(member, besides: relationship), default: []].append(member)
      }
    }
    var members: [ManagedObject] = []
    for (object, known) in zip(wanted, identified) {
      if known == nil, isAnonymous(object, implied), let match = unmatched[try fingerprint(object, besides: relationship)]?.popLast() {
        recordFound(match, for: object)
        try recordNested(in: object)
        members.append(match)
      } else {
        members.append(try resolve(object, implied: implied, over: relationship))
      }
    }
    let kept = Set(members)
    let isSame = relationship.isOrdered ? current == members : kept == Set(current)
    if isSame { return }
    managed.setToMany(members, at: relationship.index)
    changed.insert(managed)
    for object in current where !kept.contains(object) { release(object, from: relationship) }
  }

  /// Returns whether an input object can be matched only by comparing it as a whole.
  private func isAnonymous(_ object: ImportObject, _ implied: Implied?) -> Bool {
    object.reference == nil && object.identifier == nil && identities.attributeKey(of: object) == nil
      && relationalConstraint(of: object, implied) == nil
  }

  /// Deletes an object without a key that its owner no longer refers to.
  private func release(_ object: ManagedObject, from relationship: CompiledRelationship) {
    guard relationship.deleteEffect == .deletesMembers, identities.key(of: object) == nil else { return }
    context.delete(object)
    summary.deleted += 1
  }
}

// MARK: - Keys of imported objects

extension IdentityTable {
  /// Returns the key from an input object's attributes. Constraints with relationships are ignored.
  package func attributeKey(of object: ImportObject) -> IdentityKey? {
    for constraint in constraints(of: object.entity) where !constraint.hasRelationships {
      if let key = IdentityKey(constraint, value: object.value) { return key }
    }
    return nil
  }
}
