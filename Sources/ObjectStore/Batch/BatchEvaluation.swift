public import ObjectModel
import ObjectQuery

/// Evaluates a batch request over objects in memory, for stores without a query language.
///
/// A store that keeps all rows in memory uses it for `.batchInsert`, `.batchUpdate`, and `.batchDelete`: ``save(among:resolver:row:)``
/// returns an equivalent save, the store executes it and returns ``BatchChanges/init(_:)``. Conversion, validation, conflict handling, and
/// delete rules are the same as in all stores.
public struct BatchEvaluation: Sendable {
  let model: CompiledModel
  let space: ObjectIDSpace
  private let request: PersistentStoreRequest

  /// Creates an evaluation.
  ///
  /// - Parameters:
  ///   - request: The batch request.
  ///   - model: The model of the store.
  ///   - objectIDSpace: The ID space of the store.
  public init(_ request: PersistentStoreRequest, model: CompiledModel, objectIDSpace: ObjectIDSpace) {
    self.request = request
    self.model = model
    space = objectIDSpace
  }

  /// Returns a save that is equivalent to the request. The time is linear in the number of objects of the entities concerned.
  ///
  /// - Parameters:
  ///   - candidates: Returns all objects of an entity and its subentities, in the order of their keys.
  ///   - resolver: Reads objects.
  ///   - row: Returns the row of an object, or nil if it does not exist.
  /// - Throws: ``BatchError``, ``FetchPredicateError``, or ``StoreError`` for a conflict.
  public func save<Resolver: ObjectResolver<ObjectReference>>(
    among candidates: (CompiledEntity) throws -> [ObjectReference], resolver: Resolver, row: (ObjectReference) throws -> RowImage?
  ) throws -> SaveChangesRequest {
    switch request {
    case .batchInsert(let insertion): return try insert(insertion, candidates: candidates, resolver: resolver, row: row)
    case .batchUpdate(let request): return try update(request, candidates: candidates, resolver: resolver, row: row)
    case .batchDelete(let request): return try delete(request, candidates: candidates, resolver: resolver, row: row)
    case .fetch, .save: throw StoreError(.noBatchRequest, operation: .batchRequest)
    }
  }

  func objectID(of reference: ObjectReference) -> ManagedObjectID {
    space.objectID(of: reference)
  }
}

/// Changes of rows, collected by object.
package struct BatchEdits {
  private let model: CompiledModel
  private var edits: [ObjectReference: (row: RowImage, values: [Int: Slot])] = [:]

  init(model: CompiledModel) { self.model = model }

  mutating func set(_ value: Slot, at slot: Int, of row: RowImage) {
    edits[row.reference, default: (row, [:])].values[slot] = value
  }

  /// Returns whether a slot of a row is null after the edits.
  func isNull(_ slot: Int, of row: RowImage) -> Bool { edits[row.reference]?.values[slot]?.isNull ?? row.isNull(slot) }

  /// Returns the updates, in the order of the rows' keys.
  func updates() -> [SaveChangesRequest.Update] {
    let writer = RowWriter(rowCapacity: edits.count)
    return edits.sorted { ($0.key.key, $0.key.entity) < ($1.key.key, $1.key.entity) }.map { _, edit in
      let changed = SlotMask(slots: edit.values.keys)
      let row = edit.row.edited(
        edit.values, of: model.entities[edit.row.entityNumber], version: edit.row.version + 1, into: writer)
      var update = SaveChangesRequest.Update(row: row, changedSlots: changed, oldVersion: edit.row.version)
      update.previousRow = edit.row
      return update
    }
  }
}

// MARK: - Evaluating batch deletes

extension BatchEvaluation {
  func delete<Resolver: ObjectResolver<ObjectReference>>(
    _ request: BatchDeleteRequest, candidates: (CompiledEntity) throws -> [ObjectReference], resolver: Resolver,
    row: (ObjectReference) throws -> RowImage?
  ) throws -> SaveChangesRequest {
    var waiting = try self.objects(of: request, candidates: candidates, resolver: resolver, row: row)
    var objectsToDelete = Set(waiting)
    // Iterative, because long cascades would overflow the stack.
    while let object = waiting.popLast() {
      for relationship in model.entities[object.entity].relationships where relationship.deleteEffect == .deletesMembers {
        for other in try destinations(of: object, relationship, resolver)
        where try row(other) != nil && objectsToDelete.insert(other).inserted {
          waiting.append(other)
        }
      }
    }
    try checkDenyRules(objectsToDelete, resolver: resolver, row: row)
    var edits = BatchEdits(model: model)
    for release in model.nullifiedRelationships {
      let relationship = release.relationship
      let sources = model.entities[release.leading.sourceEntity].subtree
      var released: [RowImage] = []
      for object in objectsToDelete where sources.contains(object.entity) {
        for other in try destinations(of: object, release.leading, resolver) where !objectsToDelete.contains(other) {
          if let row = try row(other), row.reference(relationship.index) == object { released.append(row) }
        }
      }
      if !relationship.isOptional, !released.isEmpty {
        throw BatchError(required: relationship, model, released.map { objectID(of: $0.reference) })
      }
      for row in released { edits.set(.null, at: relationship.index, of: row) }
    }
    var save = SaveChangesRequest()
    save.updated = edits.updates()
    save.deleted = try objectsToDelete.sorted { ($0.key, $0.entity) < ($1.key, $1.entity) }.map {
      let stored = try row($0)
      var deleted = SaveChangesRequest.VersionedReference(reference: $0, version: stored?.version ?? 0)
      deleted.previousRow = stored
      return deleted
    }
    return save
  }

  /// Returns the objects that the request selects, before cascading.
  private func objects<Resolver: ObjectResolver<ObjectReference>>(
    of request: BatchDeleteRequest, candidates: (CompiledEntity) throws -> [ObjectReference], resolver: Resolver,
    row: (ObjectReference) throws -> RowImage?
  ) throws -> [ObjectReference] {
    guard var fetch = request.fetch else {
      var seen: Set<ObjectReference> = []
      return try request.objectIDs.filter { $0.space == space.number && seen.insert($0.reference).inserted }.compactMap {
        try row($0.reference)?.reference
      }
    }
    fetch.resultType = .objectIDs
    let evaluation = try FetchEvaluation(fetch, model: model)
    guard case .objectIDs(let ids) = try evaluation.answer(among: candidates(evaluation.entity), resolver: resolver, row: row) else {
      throw StoreError(.resultTypeMismatch, operation: .batchDelete)
    }
    return ids.map(\.reference)
  }

  private func destinations<Resolver: ObjectResolver<ObjectReference>>(
    of object: ObjectReference, _ relationship: CompiledRelationship, _ resolver: Resolver
  ) throws -> [ObjectReference] {
    if relationship.isTransient { return [] }
    if relationship.isToMany { return try resolver.members(of: object, toMany: relationship.index) }
    return try resolver.destination(of: object, slot: relationship.index).map { [$0] } ?? []
  }

  private func checkDenyRules<Resolver: ObjectResolver<ObjectReference>>(
    _ objectsToDelete: Set<ObjectReference>, resolver: Resolver, row: (ObjectReference) throws -> RowImage?
  ) throws {
    for relationship in model.relationships where relationship.deleteEffect == .forbidsDeletion {
      let sources = model.entities[relationship.sourceEntity].subtree
      let denying = try objectsToDelete.filter { object in
        try sources.contains(object.entity)
          && destinations(of: object, relationship, resolver).contains { try !objectsToDelete.contains($0) && row($0) != nil }
      }
      if !denying.isEmpty { throw BatchError(denied: relationship, model, denying.map(objectID(of:))) }
    }
  }
}

/// A to-one relationship that is nullified when its destination is deleted.
package struct NullifiedRelationship {
  /// The relationship to nullify.
  package let relationship: CompiledRelationship
  /// The relationship from the deleted object to the objects whose relationship is nullified.
  package let leading: CompiledRelationship
  /// Whether the two relationships are inverses of each other. If not, only the destinations of `leading` are updated, and not all objects
  /// that refer to the deleted one.
  package let isMutual: Bool
}

extension CompiledModel {
  /// The stored to-one relationships that are nullified when their destination is deleted, unless their own object is deleted too.
  package var nullifiedRelationships: [NullifiedRelationship] {
    let mutual = relationships.compactMap { relationship -> NullifiedRelationship? in
      guard !relationship.isToMany, !relationship.isTransient, let inverse = inverse(of: relationship), !inverse.isTransient,
        inverse.deleteEffect.leavesNoReferences
      else { return nil }
      return NullifiedRelationship(relationship: relationship, leading: inverse, isMutual: true)
    }
    let released = Set(mutual.map(\.relationship.id))
    // If the inverse does not name the relationship as its own inverse, it is nullified from the side that names it, as in a save.
    let oneSided = relationships.compactMap { leading -> NullifiedRelationship? in
      guard let inverse = followedInverse(of: leading), !leading.isTransient, !inverse.isTransient, !inverse.isToMany,
        leading.deleteEffect.leavesNoReferences, !released.contains(inverse.id)
      else { return nil }
      return NullifiedRelationship(relationship: inverse, leading: leading, isMutual: false)
    }
    return mutual + oneSided
  }
}

// MARK: - Evaluating batch updates

extension BatchEvaluation {
  func update<Resolver: ObjectResolver<ObjectReference>>(
    _ request: BatchUpdateRequest, candidates: (CompiledEntity) throws -> [ObjectReference], resolver: Resolver,
    row: (ObjectReference) throws -> RowImage?
  ) throws -> SaveChangesRequest {
    let plan = try BatchUpdatePlan(request, model: model, objectIDSpace: space)
    let entity = plan.entity
    for assignment in plan.assignments where assignment.slot.relationship != nil {
      guard case .constant(.int(let word)) = assignment.value else { continue }
      if try row(ObjectReference(rawValue: word)) == nil { throw BatchUpdatePlan.missingDestination(of: assignment.slot, entity) }
    }
    let evaluator = PredicateEvaluator(plan.fetch, resolver: resolver)
    var edits = BatchEdits(model: model)
    var rows: [RowImage] = []
    for reference in try candidates(entity) where request.includesSubentities || reference.entity == entity.number {
      guard try evaluator.matches(reference), let row = try row(reference) else { continue }
      rows.append(row)
      for assignment in plan.assignments {
        switch assignment.value {
        case .constant(let value): edits.set(value, at: assignment.slot.index, of: row)
        case .computed(let expression):
          let value = try BatchUpdatePlan.assigned(evaluator.value(of: expression, for: reference), to: assignment.slot, of: entity)
          edits.set(value, at: assignment.slot.index, of: row)
        }
      }
      for completion in plan.completions {
        for (slot, value) in completion.values({ edits.isNull($0.index, of: row) }) { edits.set(value, at: slot.index, of: row) }
        if let slot = completion.missing({ edits.isNull($0.index, of: row) }) { throw BatchError(missingPart: slot, of: entity) }
      }
    }
    var save = SaveChangesRequest()
    for assignment in plan.assignments {
      guard let relationship = assignment.slot.relationship, let inverse = model.inverse(of: relationship),
        case .constant(let value) = assignment.value
      else { continue }
      if !inverse.isToMany {
        try release(inverse, from: rows, edits: &edits, row: row)
      } else if inverse.isOrdered, case .int(let word) = value {
        // New members are appended to the ordered relationship.
        let owner = ObjectReference(rawValue: word)
        let arriving = rows.filter { $0.reference(assignment.slot.index) != owner }.map(\.reference)
        if arriving.isEmpty { continue }
        let order = try resolver.members(of: owner, toMany: inverse.index) + arriving
        save.relationshipChanges.append(SaveChangesRequest.RelationshipChange(source: owner, relationshipID: inverse.id, order: order))
      }
    }
    save.updated = edits.updates()
    return save
  }

  /// Nullifies the inverse of a one-to-one relationship in the previous partners of rows.
  private func release(
    _ inverse: CompiledRelationship, from rows: [RowImage], edits: inout BatchEdits, row: (ObjectReference) throws -> RowImage?
  ) throws {
    guard let relationship = model.inverse(of: inverse) else { return }
    let partners = try rows.compactMap { own -> RowImage? in
      let reference = own.reference(relationship.index)
      guard !reference.isNull, let partner = try row(reference), partner.reference(inverse.index) == own.reference else { return nil }
      return partner
    }
    if !inverse.isOptional, !partners.isEmpty { throw BatchError(required: inverse, model, partners.map { objectID(of: $0.reference) }) }
    for partner in partners { edits.set(.null, at: inverse.index, of: partner) }
  }
}

extension BatchUpdatePlan {
  /// Returns the error for a to-one relationship that is set to an object that does not exist.
  package static func missingDestination(of slot: CompiledSlot, _ entity: CompiledEntity) -> BatchError {
    BatchError(.objectNotFound, entityName: entity.name, key: slot.name, reason: "was given an object that is not in the store.")
  }
}

extension BatchError {
  /// Creates the error for a required to-one relationship that would become empty.
  package init(required relationship: CompiledRelationship, _ model: CompiledModel, _ objectIDs: [ManagedObjectID]) {
    self.init(
      .requiredRelationship, entityName: model.entities[relationship.sourceEntity].name, key: relationship.name,
      objectIDs: Array(objectIDs.sorted { $0.key < $1.key }.prefix(100)),
      reason: "is required and would become empty. Delete these objects too, or set another object first.")
  }

  /// Creates the error for a relationship whose delete rule denies a deletion.
  package init(denied relationship: CompiledRelationship, _ model: CompiledModel, _ objectIDs: [ManagedObjectID]) {
    self.init(
      .deletionDenied, entityName: model.entities[relationship.sourceEntity].name, key: relationship.name,
      objectIDs: Array(objectIDs.sorted { $0.key < $1.key }.prefix(100)),
      reason: "forbids to delete objects that it leads from to objects that stay. Delete or move those first.")
  }
}
