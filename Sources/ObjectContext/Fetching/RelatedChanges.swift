import ObjectModel
import ObjectQuery
import ObjectStore

/// The unsaved changes of related objects that affect the results of a fetch or their order.
///
/// A store evaluates saved rows. Changed objects are evaluated in memory anyway. This type finds the unchanged objects, in memory or not,
/// whose match or position depends on changed or deleted objects.
struct RelatedChanges {
  private let entity: CompiledEntity
  private let specification: FetchSpecification
  private let dependencies: FetchDependencies
  private let context: ManagedObjectContext
  /// The changed objects by the index of the dependency.
  private var changed: [Int: Set<ManagedObjectID>] = [:]
  private var known: [ManagedObjectID: ManagedObject] = [:]
  /// With more affected objects than this, their dependencies are prefetched with one request for each relationship.
  private static var fewObjects: Int { 8 }

  /// Finds the unsaved changes that affect a fetch; nil if there are none.
  ///
  /// - Parameter resolved: The resolved request, if the caller has one.
  init?(
    of specification: FetchSpecification, _ entity: CompiledEntity, _ resolved: ResolvedFetch?, _ context: ManagedObjectContext
  ) throws {
    guard specification.includesPendingChanges, specification.resultType != .dictionaries, context.unitOfWork.mayAffectOthers,
      specification.mayFollowRelationships(of: entity)
    else { return nil }
    // Blocks and transient keys are evaluated in memory for each object.
    let fetch = try resolved ?? FetchResolver(model: context.model, transientKeys: .allowed).resolve(specification)
    var dependencies = FetchDependencies(of: entity, model: context.model)
    dependencies.add(fetch.predicate)
    if specification.resultType != .count { for key in fetch.sortKeys { dependencies.add(key.expression) } }
    if dependencies.related.isEmpty { return nil }
    self.entity = entity
    self.specification = specification
    self.dependencies = dependencies
    self.context = context
    // Skip inserted objects: any object that refers to one has changed itself.
    for object in context.unitOfWork.updated where object.isUpdated && !object.flags.contains(.isDeleted) {
      record(object, slots: object.overlay?.dirty ?? SlotMask(), toMany: object.toManyIndexes(\.isChanged))
    }
    for object in context.unitOfWork.deleted where object.isDeleted && !object.flags.contains(.isInserted) {
      record(object, slots: nil, toMany: nil)
    }
    if changed.isEmpty { return nil }
  }

  private mutating func record(_ object: ManagedObject, slots: SlotMask?, toMany: SlotMask?) {
    let number = Int(object.currentID.entityNumber)
    for (index, dependency) in dependencies.related.enumerated()
    where dependency.entities.contains(number) && dependency.isAffected(by: slots, toMany) {
      changed[index, default: []].insert(object.currentID)
      known[object.currentID] = object
    }
  }

  /// Returns the unchanged objects of the entity that the changes affect, with their rows loaded.
  func affectedObjects() throws -> [ManagedObject] {
    var ids: Set<ManagedObjectID> = []
    for (index, changed) in changed {
      let roots = FetchRootFinder(
        dependencies.related[index], of: entity, affectedStores: specification.affectedStores, in: context, known: known)
      ids.formUnion(try roots.roots(of: changed))
    }
    ids = ids.filter { id in
      guard !id.isTemporaryID else { return false }
      return context.registeredObject(for: id)?.flags.isDisjoint(with: [.isInserted, .isUpdated, .isDeleted]) ?? true
    }
    if ids.isEmpty { return [] }
    let objects = try context.objects(with: ids).compactMap { $0 }
    if objects.count > Self.fewObjects { try context.prefetch(dependencies.paths, for: objects) }
    return objects
  }
}

extension FetchSpecification {
  /// Returns whether the predicate or the order may follow relationships. A cheap check that treats unrecognized expressions as
  /// relationships.
  fileprivate func mayFollowRelationships(of entity: CompiledEntity) -> Bool {
    func isOwn(_ name: String) -> Bool {
      switch entity.property(named: name) {
      case .attribute, .composite: true
      case .toOne, .toMany, .fetched, nil: false
      }
    }
    return predicate?.mayReach(0, isOwn) ?? false
      || resultType != .count && sortDescriptors.contains { $0.expression.mayReach(0, isOwn) }
  }
}

/// The maximum nesting depth of the cheap check.
private let maximumDepth = 64

extension FetchPredicate {
  fileprivate func mayReach(_ depth: Int, _ isOwn: (String) -> Bool) -> Bool {
    if depth > maximumDepth { return true }
    switch self {
    case .constant, .block: return false
    case .and(let items), .or(let items): return items.contains { $0.mayReach(depth + 1, isOwn) }
    case .not(let item): return item.mayReach(depth + 1, isOwn)
    case .comparison(let comparison):
      return comparison.left.mayReach(depth + 1, isOwn) || comparison.right.mayReach(depth + 1, isOwn)
    }
  }
}

extension FetchExpression {
  fileprivate func mayReach(_ depth: Int, _ isOwn: (String) -> Bool) -> Bool {
    if depth > maximumDepth { return true }
    switch self {
    case .constant, .evaluatedObject: return false
    case .keyPath(let keys): return !(keys.first.map(isOwn) ?? false)
    case .variable, .path, .subquery, .element: return true
    case .aggregate(let items), .function(_, let items): return items.contains { $0.mayReach(depth + 1, isOwn) }
    case .conditional(let condition, let first, let second):
      return condition.mayReach(depth + 1, isOwn) || first.mayReach(depth + 1, isOwn) || second.mayReach(depth + 1, isOwn)
    }
  }
}
