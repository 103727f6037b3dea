import ObjectModel
import ObjectQuery
import ObjectStore

/// Determines which of the changed objects are results: evaluates objects in memory, and fetches the others with one request.
struct ResultsEvaluator {
  private let affected: AffectedResults
  private let results: LiveResults
  private var context: ManagedObjectContext { results.context }
  private var query: ResultsQuery { results.query }

  init(_ affected: AffectedResults, _ results: LiveResults) {
    self.affected = affected
    self.results = results
  }

  /// Returns the decision for each object.
  func decisions() throws -> [ResultsDecision] {
    var candidates: Set<ManagedObjectID> = []
    for (id, touch) in affected.own where touch.isRelevant { candidates.insert(id) }
    for (number, ids) in affected.related {
      let roots = FetchRootFinder(
        query.dependencies.related[number], of: query.entity, affectedStores: query.specification.affectedStores, in: context,
        known: affected.held)
      candidates.formUnion(try roots.roots(of: ids).filter { query.mayInclude(Int($0.entityNumber)) })
    }
    var here: [ManagedObject] = []
    var elsewhere: [ManagedObjectID] = []
    var decisions = affected.updates.filter { !candidates.contains($0.id) }
    for id in candidates {
      if let object = context.registeredObject(for: id) {
        if !object.flags.isDisjoint(with: [.isDeleted, .isRemoved, .isInaccessible]) || !query.includesStore(object, in: context) {
          decisions.append(decision(id, .none))
        } else if object.flags.contains(.isFault) && !object.flags.contains(.isUpdated) && object.row == nil {
          elsewhere.append(id)
        } else if results.isRemovedFromParent(object, wasDeleted: affected.own[id]?.isDeleted ?? false) {
          elsewhere.append(id)
        } else {
          here.append(object)
        }
      } else if affected.own[id]?.isDeleted ?? false || id.isTemporaryID {
        decisions.append(decision(id, .none))
      } else {
        elsewhere.append(id)
      }
    }
    decisions += try evaluate(here)
    decisions += try fetch(elsewhere)
    return decisions
  }

  private func decision(_ id: ManagedObjectID, _ outcome: ResultsDecision.Outcome) -> ResultsDecision {
    ResultsDecision(id: id, outcome: outcome, isUpdated: affected.isUpdated(id), hasOtherChanges: affected.hasOtherChanges(id))
  }

  // MARK: Evaluation

  /// With more objects than this, their related objects are prefetched.
  private static var fewObjects: Int { 8 }

  /// Evaluates the predicate for objects in memory.
  private func evaluate(_ objects: [ManagedObject]) throws -> [ResultsDecision] {
    if objects.count > Self.fewObjects, !query.dependencies.related.isEmpty {
      try context.prefetch(query.dependencies.paths, for: objects)
    }
    var (met, decisions): ([ManagedObject], [ResultsDecision]) = ([], [])
    for object in objects {
      if try query.isMet(by: object) { met.append(object) } else { decisions.append(decision(object.currentID, .none)) }
    }
    let former = met.map(\.currentID)
    results.givePermanentIDs(to: met)
    for (object, id) in zip(met, former) { decisions.append(try self.decision(of: object, recordedAs: id)) }
    return decisions
  }

  private func decision(of object: ManagedObject, recordedAs id: ManagedObjectID) throws -> ResultsDecision {
    let section = query.section == nil ? 0 : results.names.number(of: try query.section(of: object))
    let item = ResultItem(id: object.currentID, values: try query.values(of: object), section: section)
    return ResultsDecision(
      id: object.currentID, outcome: .result(item), isUpdated: affected.isUpdated(id), hasOtherChanges: affected.hasOtherChanges(id))
  }

  /// Whether other objects have unsaved changes that affect results and are unknown to the stores.
  private var hasUnsavedRelated: Bool {
    if query.dependencies.related.isEmpty || context.unitOfWork.isEmpty { return false }
    return context.unitOfWork.objects.contains {
      $0.hasChanges && query.dependencies.hasRelated(ofEntity: Int($0.currentID.entityNumber))
    }
  }

  private func fetch(_ ids: [ManagedObjectID]) throws -> [ResultsDecision] {
    if ids.isEmpty { return [] }
    if hasUnsavedRelated {
      // The array retains the objects until they are evaluated.
      let objects = try context.objects(with: ids)
      let there = objects.compactMap { $0 }
      let found = Set(there.map(\.currentID))
      return try evaluate(there.filter { query.includesStore($0, in: context) })
        + ids.filter { !found.contains($0) }.map { decision($0, .none) }
    }
    var specification = query.specification
    let isOne = FetchPredicate.comparison(
      FetchComparison(left: .evaluatedObject, op: .in, right: .constant(.list(ids.map { .object($0) }))))
    specification.predicate = specification.predicate.map { .and([$0, isOne]) } ?? isOne
    specification.sortDescriptors = []
    let objects = try context.settledObjects(of: specification)
    let found = Set(objects.map(\.currentID))
    return try objects.map { try decision(of: $0, recordedAs: $0.currentID) }
      + ids.filter { !found.contains($0) }.map { decision($0, .none) }
  }
}
