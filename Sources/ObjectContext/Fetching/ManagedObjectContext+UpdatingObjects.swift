// ManagedObjectContext+UpdatingObjects: objects changed as a batch update changes rows.
import ObjectModel
import ObjectQuery
package import ObjectStore

extension ManagedObjectContext {
  /// Gives objects the new values of a batch update, as unsaved changes. Computed values come from the objects as they were, each for itself.
  ///
  /// What the values may be is checked as for rows; the rules of the model and of classes are the save's.
  ///
  /// - Parameters:
  ///   - objects: Objects of this context, of the request's entity or of those below it.
  ///   - request: Which properties get which values; its predicate is not looked at.
  /// - Throws: ``BatchError`` for a property or value that cannot be written, ``FetchPredicateError`` for what cannot be computed, and an error of the store
  ///   that could not be read. Objects before the one that failed are changed then.
  package func update(_ objects: some Sequence<ManagedObject>, by request: BatchUpdateRequest) throws {
    var updates: [UInt32: ObjectUpdate] = [:]
    // As in a store, new values that the model does not allow are an error even if no object meets the condition.
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

  /// Throws where a relationship is to lead to an object that is not there.
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

/// A batch update's new values, for objects of one store.
private struct ObjectUpdate {
  let plan: BatchUpdatePlan
  private let evaluator: PredicateEvaluator<LivingObjectResolver>

  init(plan: BatchUpdatePlan) {
    self.plan = plan
    evaluator = PredicateEvaluator(plan.fetch, resolver: LivingObjectResolver())
  }

  func apply(to object: ManagedObject, in context: ManagedObjectContext) throws {
    // All are computed before one is set.
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
        object._setToOne(context.object(ObjectReference(rawValue: word), near: object), at: slot)
      } else {
        object._setToOne(nil, at: slot)
      }
    }
  }
}
