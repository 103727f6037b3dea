import ObjectModel
import ObjectQuery
package import ObjectStore

extension ManagedObjectContext {
  /// Applies the assignments of a batch update to objects as unsaved changes. Each object's computed values use its previous values.
  ///
  /// Values are checked as for a batch update of rows. Validation rules of the model and of classes apply when the context is saved.
  ///
  /// - Parameters:
  ///   - objects: Objects of this context, of the request's entity or its subentities.
  ///   - request: The assignments. Its predicate is ignored.
  /// - Throws: ``BatchError`` for a property or value that cannot be written; ``FetchPredicateError`` for an invalid expression; an error
  ///   of the store. Objects before the failing one have been changed.
  package func update(_ objects: some Sequence<ManagedObject>, by request: BatchUpdateRequest) throws {
    var updates: [UInt32: ObjectUpdate] = [:]
    // As in a store, invalid assignments are an error even if there are no objects to update.
    if let entity = model.entity(named: request.entityName), let store = rowSource.firstStore(holding: entity) {
      _ = try BatchUpdatePlan(request, model: model, objectIDSpace: store.space)
    }
    for object in objects {
      let space = space(of: object)
      let update: ObjectUpdate
      if let known = updates[space] {
        update = known
      } else {
        guard let store = rowSource.store(numbered: space) else { continue }
        let plan = try BatchUpdatePlan(request, model: model, objectIDSpace: store.space)
        try checkDestinations(of: plan, space: space)
        update = ObjectUpdate(plan: plan)
        updates[space] = update
      }
      try update.apply(to: object, in: self)
    }
  }

  /// Throws if the destination of an assigned relationship does not exist.
  private func checkDestinations(of plan: BatchUpdatePlan, space: UInt32) throws {
    for assignment in plan.assignments where assignment.slot.relationship != nil {
      guard case .constant(.int(let word)) = assignment.value else { continue }
      let reference = ObjectReference(rawValue: word)
      let id = ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key)
      do { _ = try existingObject(with: id) } catch let error as StoreError where error.code == .objectNotFound {
        throw BatchUpdatePlan.missingDestination(of: assignment.slot, plan.entity)
      }
    }
  }
}

/// The assignments of a batch update for the objects of one store.
private struct ObjectUpdate {
  let plan: BatchUpdatePlan
  private let evaluator: PredicateEvaluator<ManagedObjectResolver>

  init(plan: BatchUpdatePlan) {
    self.plan = plan
    evaluator = PredicateEvaluator(plan.fetch, resolver: ManagedObjectResolver())
  }

  func apply(to object: ManagedObject, in context: ManagedObjectContext) throws {
    // Compute all values before setting any of them.
    let values = try plan.assignments.map { assignment in
      switch assignment.value {
      case .constant(let value): value
      case .computed(let expression):
        try BatchUpdatePlan.assigned(evaluator.value(of: expression, for: object), to: assignment.slot, of: plan.entity)
      }
    }
    for (assignment, value) in zip(plan.assignments, values) {
      let slot = assignment.slot.index
      if assignment.slot.relationship == nil {
        object.setAttributeValue(value, at: slot)
      } else if case .int(let word) = value {
        object.setToOne(context.object(ObjectReference(rawValue: word), near: object), at: slot)
      } else {
        object.setToOne(nil, at: slot)
      }
    }
  }
}
