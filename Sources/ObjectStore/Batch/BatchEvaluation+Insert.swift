package import ObjectModel
import ObjectQuery

extension BatchEvaluation {
  func insert<Resolver: ObjectResolver<ObjectReference>>(
    _ insertion: BatchInsertion, candidates: (CompiledEntity) throws -> [ObjectReference], resolver: Resolver,
    row: (ObjectReference) throws -> RowImage?
  ) throws -> SaveChangesRequest {
    let merging = try BatchRowMerging(insertion, model: model)
    var save = SaveChangesRequest()
    if insertion.onConflict == .error {
      for position in insertion.rows.indices { try merging.checkComplete(position) }
      save.inserted = insertion.rows
      var appends = OrderedMemberAppends(merging.entity, model)
      for row in insertion.rows { appends.record(row, insteadOf: nil) }
      save.relationshipChanges = try appends.changes(resolver)
      return save
    }
    var index = UniqueValueIndex(of: merging.entity, model)
    var rows: [ObjectReference: RowImage] = [:]
    for constraint in index.constraints {
      for reference in try candidates(model.entities[constraint.entity]) where rows[reference] == nil {
        rows[reference] = try row(reference)
      }
    }
    for row in rows.values { try index.insert(row, model) }
    let stored = rows
    var inserted: [ObjectReference] = []
    var changed: [ObjectReference: SlotMask] = [:]
    var appends = OrderedMemberAppends(merging.entity, model)
    let writer = RowWriter()
    for (position, new) in insertion.rows.enumerated() {
      let holders = try index.holders(of: new, model).compactMap { rows[$0] }
      switch try merging.resolution(of: position, holders: holders, space: space) {
      case .inserted:
        rows[new.reference] = new
        inserted.append(new.reference)
        appends.record(new, insteadOf: nil)
        try index.insert(new, model)
      case .skipped: break
      case .merged(let holder, let slots):
        // The version is incremented once, even if several rows of the batch change the stored row.
        let version = stored[holder.reference].map { $0.version + 1 } ?? holder.version
        let row = holder.edited(
          taking: slots, from: new, of: model.entities[holder.entityNumber], version: version, into: writer)
        appends.record(row, insteadOf: holder)
        try index.remove(holder, model)
        if let violation = try index.violation(of: row, model) { throw conflict(violation, row) }
        try index.insert(row, model)
        rows[row.reference] = row
        if stored[row.reference] != nil { changed[row.reference, default: SlotMask()].formUnion(slots) }
      }
    }
    save.inserted = RowList(inserted.compactMap { rows[$0] })
    save.updated = changed.sorted { ($0.key.key, $0.key.entity) < ($1.key.key, $1.key.entity) }.compactMap { reference, slots in
      guard let row = rows[reference] else { return nil }
      return SaveChangesRequest.Update(row: row, changedSlots: slots, oldVersion: row.version - 1)
    }
    save.relationshipChanges = try appends.changes(resolver)
    return save
  }

  /// Returns the error for a stored row whose new values belong to another row.
  private func conflict(_ violation: (constraint: DeclaredConstraint, holder: ObjectReference), _ row: RowImage) -> StoreError {
    StoreError(
      ConstraintConflict(
        entityName: model.entities[violation.constraint.entity].name, constraint: violation.constraint.names,
        objectIDs: [objectID(of: row.reference)], databaseObjectID: objectID(of: violation.holder)),
      operation: .batchInsert)
  }
}

/// New members of ordered relationships. They are appended in the order of their arrival.
private struct OrderedMemberAppends {
  private struct Owner: Hashable {
    let relationship: Int
    let object: ObjectReference
  }
  private let sides: [(slot: Int, inverse: CompiledRelationship)]
  private var members: [Owner: [ObjectReference]] = [:]

  init(_ entity: CompiledEntity, _ model: CompiledModel) {
    sides = entity.slots.compactMap { slot in
      guard let inverse = slot.relationship.flatMap(model.inverse(of:)), inverse.isOrdered else { return nil }
      return (slot.index, inverse)
    }
  }

  mutating func record(_ row: RowImage, insteadOf old: RowImage?) {
    for side in sides {
      let before = old?.reference(side.slot) ?? ObjectReference(rawValue: 0)
      let now = row.reference(side.slot)
      if before == now { continue }
      members[Owner(relationship: side.inverse.id, object: before)]?.removeAll { $0 == row.reference }
      if !now.isNull { members[Owner(relationship: side.inverse.id, object: now), default: []].append(row.reference) }
    }
  }

  func changes<Resolver: ObjectResolver<ObjectReference>>(_ resolver: Resolver) throws -> [SaveChangesRequest.RelationshipChange] {
    try members.sorted { ($0.key.relationship, $0.key.object.rawValue) < ($1.key.relationship, $1.key.object.rawValue) }.map {
      owner, arriving in
      let index = sides.first { $0.inverse.id == owner.relationship }?.inverse.index ?? 0
      let isArriving = Set(arriving)
      let before = try resolver.members(of: owner.object, toMany: index).filter { !isArriving.contains($0) }
      return SaveChangesRequest.RelationshipChange(source: owner.object, relationshipID: owner.relationship, order: before + arriving)
    }
  }
}

/// An index of rows by their values under an entity's uniqueness constraints.
private struct UniqueValueIndex {
  let constraints: [DeclaredConstraint]
  private var holders: [[[Slot]: ObjectReference]]

  /// Creates an empty index for the constraints that apply to an entity or any of its subentities.
  init(of entity: CompiledEntity, _ model: CompiledModel) {
    var constraints = entity.constraints(in: model)
    for number in entity.subtree.dropFirst() {
      constraints += model.entities[number].constraints(in: model).filter { $0.entity == number }
    }
    self.constraints = constraints
    holders = Array(repeating: [:], count: constraints.count)
  }

  /// Returns a row's values under a constraint, or nil if one is null.
  private func values(_ row: RowImage, _ constraint: DeclaredConstraint) throws -> [Slot]? {
    if constraint.slots.contains(where: { row.isNull($0.index) }) { return nil }
    return try constraint.slots.map { try row.slot($0.index, kind: $0.kind) }
  }

  mutating func insert(_ row: RowImage, _ model: CompiledModel) throws {
    for (number, constraint) in constraints.enumerated() where model.entities[constraint.entity].subtree.contains(row.entityNumber) {
      // Conflicts between stored rows are detected by the save.
      if let values = try values(row, constraint), holders[number][values] == nil { holders[number][values] = row.reference }
    }
  }

  mutating func remove(_ row: RowImage, _ model: CompiledModel) throws {
    for (number, constraint) in constraints.enumerated() where model.entities[constraint.entity].subtree.contains(row.entityNumber) {
      if let values = try values(row, constraint), holders[number][values] == row.reference { holders[number][values] = nil }
    }
  }

  /// Returns the rows that have the values of a new row under any constraint.
  func holders(of row: RowImage, _ model: CompiledModel) throws -> [ObjectReference] {
    var found: [ObjectReference] = []
    for (number, constraint) in constraints.enumerated() where model.entities[constraint.entity].subtree.contains(row.entityNumber) {
      guard let values = try values(row, constraint), let holder = holders[number][values], !found.contains(holder) else { continue }
      found.append(holder)
    }
    return found
  }

  /// Returns the first constraint under which another row has the values of a row.
  func violation(of row: RowImage, _ model: CompiledModel) throws -> (constraint: DeclaredConstraint, holder: ObjectReference)? {
    for (number, constraint) in constraints.enumerated() where model.entities[constraint.entity].subtree.contains(row.entityNumber) {
      if let values = try values(row, constraint), let holder = holders[number][values] { return (constraint, holder) }
    }
    return nil
  }
}

/// Decides for each row of a batch insert whether it is inserted, skipped, or merged into a stored row.
package struct BatchRowMerging {
  /// The decision for a row.
  package enum Resolution {
    case inserted
    case skipped
    /// A stored row takes the values of the given slots.
    case merged(RowImage, SlotMask)
  }

  package let entity: CompiledEntity
  private let model: CompiledModel
  private let insertion: BatchInsertion
  private let requiredSlots: [CompiledSlot]
  /// The slots that `.update(only:)` names, or nil if it names none.
  private let named: SlotMask?

  /// Creates the merging for a chunk of a batch insert.
  ///
  /// - Throws: ``BatchError`` if `.update(only:)` names anything but attributes and to-one relationships.
  package init(_ insertion: BatchInsertion, model: CompiledModel) throws {
    guard let entity = model.entity(named: insertion.entityName) else {
      throw StoreError(.unknownEntity(insertion.entityName, known: []), operation: .batchInsert)
    }
    self.insertion = insertion
    self.entity = entity
    self.model = model
    requiredSlots = entity.slots.filter { !$0.isOptional && $0.kind != .none && !$0.isDerived }
    guard case .update(let names?) = insertion.onConflict else {
      named = nil
      return
    }
    var slots = SlotMask()
    for name in names {
      switch entity.property(named: name) {
      case .attribute(let slot) where slot.kind != .none: slots.insert(slot.index)
      case .toOne(let relationship) where !relationship.isTransient: slots.insert(relationship.index)
      case .composite(let composite): for slot in composite.slots { slots.insert(slot) }
      default:
        throw BatchError(
          .notSettable, entityName: entity.name, key: name,
          reason: "is named in update(only:), but is not a stored attribute or to-one relationship of the entity.")
      }
    }
    named = slots
  }

  /// Checks that a row has all required values.
  ///
  /// - Throws: ``BatchError`` if a required value is missing.
  package func checkComplete(_ position: Int) throws(BatchError) {
    let row = insertion.rows[position]
    var missing = requiredSlots.first { row.isNull($0.index) }?.name
    for composite in entity.composites where missing == nil {
      if composite.slots.allSatisfy(row.isNull) {
        if !composite.attribute.isOptional { missing = composite.name }
      } else {
        missing = composite.requiredSlots.first(where: row.isNull).map { entity.slots[$0].name }
      }
    }
    guard let missing else { return }
    throw BatchError(
      .missingValue, entityName: entity.name, key: missing, row: insertion.firstRow + position,
      reason: "is required, and the row has no value for it.")
  }

  /// Returns the decision for a row.
  ///
  /// - Parameter holders: The distinct rows that have its values under uniqueness constraints.
  package func resolution(of position: Int, holders: [RowImage], space: ObjectIDSpace) throws -> Resolution {
    guard let holder = holders.first else {
      try checkComplete(position)
      return .inserted
    }
    if insertion.onConflict == .ignore { return .skipped }
    let new = insertion.rows[position]
    let isOfEntity = entity.subtree.contains(holder.entityNumber)
    guard holders.count == 1, isOfEntity else {
      throw StoreError(
        .rowConflictsWithObjects(row: insertion.firstRow + position, entity: entity.name, ofSeveral: isOfEntity), operation: .batchInsert)
    }
    let slots = merged(position)
    if insertion.onConflict == .replace, let slot = slots.first(where: { !$0.isOptional && new.isNull($0.index) }) {
      throw BatchError(
        .missingValue, entityName: entity.name, key: slot.name, row: insertion.firstRow + position,
        reason: "is required, and the row has no value for it.")
    }
    var changed = try differing(slots, new, holder)
    try complete(&changed, position, new, holder)
    return changed.isEmpty ? .skipped : .merged(holder, changed)
  }

  /// Returns the slots that a stored row takes from a new one.
  private func merged(_ position: Int) -> [CompiledSlot] {
    let given = insertion.given[position]
    return entity.slots.filter { slot in
      guard slot.kind != .none, !slot.isDerived else { return false }
      if insertion.onConflict == .replace { return given.contains(slot.index) || slot.relationship == nil }
      return given.contains(slot.index) && named?.contains(slot.index) ?? true
    }
  }

  /// If the merge gives a composite its first value, adds its required attributes with default values. The new row contains the default
  /// values unless it was given others.
  ///
  /// - Throws: ``BatchError`` if a required attribute of a composite remains without a value.
  private func complete(_ changed: inout SlotMask, _ position: Int, _ new: RowImage, _ holder: RowImage) throws {
    let given = insertion.given[position]
    for composite in entity.composites where composite.slots.contains(where: changed.contains) {
      let mask = changed
      func isNull(_ slot: Int) -> Bool { mask.contains(slot) ? new.isNull(slot) : holder.isNull(slot) }
      if composite.slots.allSatisfy(isNull) { continue }
      for slot in composite.slotsWithDefaults where isNull(slot) && !given.contains(slot) && !new.isNull(slot) { changed.insert(slot) }
      let missing = composite.requiredSlots.first { entity.slots[$0].kind != .none && (changed.contains($0) ? new : holder).isNull($0) }
      if let missing { throw BatchError(missingPart: entity.slots[missing], of: entity, row: insertion.firstRow + position) }
    }
  }

  /// Returns the slots whose values differ in two rows. Only these are written.
  private func differing(_ slots: [CompiledSlot], _ new: RowImage, _ old: RowImage) throws -> SlotMask {
    var changed = SlotMask()
    for slot in slots where try new.slot(slot.index, kind: slot.kind) != old.slot(slot.index, kind: slot.kind) {
      changed.insert(slot.index)
    }
    return changed
  }
}
