package import ObjectModel
import ObjectQuery

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
