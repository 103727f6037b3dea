import ObjectModel
import ObjectQuery
import ObjectStore

/// Determines which of the changed objects are results: evaluates objects in memory, and fetches the others with one request.
struct ResultsInquiry {
  private let touched: TouchedResults
  private let results: LiveResults
  private var context: ManagedObjectContext { results.context }
  private var question: ResultsQuestion { results.question }

  init(_ touched: TouchedResults, _ results: LiveResults) {
    self.touched = touched
    self.results = results
  }

  /// Returns the decision for each object.
  func decisions() throws -> [ResultsDecision] {
    var candidates: Set<ManagedObjectID> = []
    for (id, touch) in touched.own where touch.isRelevant { candidates.insert(id) }
    for (number, ids) in touched.related {
      let roots = FetchRoots(
        question.dependencies.related[number], of: question.entity, affectedStores: question.specification.affectedStores, in: context,
        known: touched.held)
      candidates.formUnion(try roots.roots(of: ids).filter { question.mayHave(Int($0.entityNumber)) })
    }
    var here: [ManagedObject] = []
    var elsewhere: [ManagedObjectID] = []
    var decisions = touched.updates.filter { !candidates.contains($0.id) }
    for id in candidates {
      if let object = context.registeredObject(for: id) {
        if !object.flags.isDisjoint(with: [.isDeleted, .isGone, .isInaccessible]) || !question.isAsked(object, in: context) {
          decisions.append(decision(id, .none))
        } else if object.flags.contains(.isFault) && !object.flags.contains(.isUpdated) && object.row == nil {
          elsewhere.append(id)
        } else if results.isGoneBelow(object, wasDeleted: touched.own[id]?.isDeleted ?? false) {
          elsewhere.append(id)
        } else {
          here.append(object)
        }
      } else if touched.own[id]?.isDeleted ?? false || id.isTemporaryID {
        decisions.append(decision(id, .none))
      } else {
        elsewhere.append(id)
      }
    }
    decisions += try ask(here)
    decisions += try fetch(elsewhere)
    return decisions
  }

  private func decision(_ id: ManagedObjectID, _ outcome: ResultsDecision.Outcome) -> ResultsDecision {
    ResultsDecision(id: id, outcome: outcome, isUpdated: touched.isUpdated(id), hasOtherChanges: touched.hasOtherChanges(id))
  }

  // MARK: Evaluation

  /// With more objects than this, their related objects are prefetched.
  private static var fewObjects: Int { 8 }

  /// Evaluates the predicate for objects in memory.
  private func ask(_ objects: [ManagedObject]) throws -> [ResultsDecision] {
    if objects.count > Self.fewObjects, !question.dependencies.related.isEmpty {
      try context.prefetch(question.dependencies.paths, for: objects)
    }
    var (met, decisions): ([ManagedObject], [ResultsDecision]) = ([], [])
    for object in objects {
      if try question.isMet(by: object) { met.append(object) } else { decisions.append(decision(object.currentID, .none)) }
    }
    let former = met.map(\.currentID)
    results.givePermanentIDs(to: met)
    for (object, id) in zip(met, former) { decisions.append(try self.decision(of: object, touchedAs: id)) }
    return decisions
  }

  private func decision(of object: ManagedObject, touchedAs id: ManagedObjectID) throws -> ResultsDecision {
    let section = question.section == nil ? 0 : results.names.number(of: try question.section(of: object))
    let item = ResultItem(id: object.currentID, values: try question.values(of: object), section: section)
    return ResultsDecision(
      id: object.currentID, outcome: .result(item), isUpdated: touched.isUpdated(id), hasOtherChanges: touched.hasOtherChanges(id))
  }

  /// Whether other objects have unsaved changes that affect results and are unknown to the stores.
  private var hasUnsavedRelated: Bool {
    if question.dependencies.related.isEmpty || context.unitOfWork.isEmpty { return false }
    return context.unitOfWork.objects.contains {
      $0.hasChanges && question.dependencies.hasRelated(ofEntity: Int($0.currentID.entityNumber))
    }
  }

  private func fetch(_ ids: [ManagedObjectID]) throws -> [ResultsDecision] {
    if ids.isEmpty { return [] }
    if hasUnsavedRelated {
      // The array retains the objects until they are evaluated.
      let objects = try context.objects(with: ids)
      let there = objects.compactMap { $0 }
      let found = Set(there.map(\.currentID))
      return try ask(there.filter { question.isAsked($0, in: context) }) + ids.filter { !found.contains($0) }.map { decision($0, .none) }
    }
    var specification = question.specification
    let isOne = FetchPredicate.comparison(
      FetchComparison(left: .evaluatedObject, op: .in, right: .constant(.list(ids.map { .object($0) }))))
    specification.predicate = specification.predicate.map { .and([$0, isOne]) } ?? isOne
    specification.sortDescriptors = []
    let objects = try context.settledObjects(of: specification)
    let found = Set(objects.map(\.currentID))
    return try objects.map { try decision(of: $0, touchedAs: $0.currentID) }
      + ids.filter { !found.contains($0) }.map { decision($0, .none) }
  }
}
