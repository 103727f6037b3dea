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

/// Finds the results that depend on changed objects, by following relationships backward.
///
/// Uses the relationship values of loaded objects where possible, and otherwise one fetch for each batch of objects.
struct FetchRootFinder {
  static var batchSize: Int { 500 }

  private let relationshipPath: [CompiledRelationship]
  private let entity: CompiledEntity
  private let affectedStores: [String]?
  private let context: ManagedObjectContext
  /// The changed objects, including some that have left the context.
  private let known: [ManagedObjectID: ManagedObject]

  /// - Parameters:
  ///   - dependency: The dependency, whose path ends at the changed objects.
  ///   - entity: The entity of the results.
  ///   - affectedStores: The stores to search; nil for all.
  ///   - known: The changed objects.
  init(
    _ dependency: FetchDependency, of entity: CompiledEntity, affectedStores: [String]?, in context: ManagedObjectContext,
    known: [ManagedObjectID: ManagedObject]
  ) {
    relationshipPath = dependency.relationshipPath
    self.entity = entity
    self.affectedStores = affectedStores
    self.context = context
    self.known = known
  }

  /// Returns the objects from which the path leads, or led, to the given objects. May include objects that are not results, but omits none.
  func roots(of ids: Set<ManagedObjectID>) throws -> Set<ManagedObjectID> {
    var ids = ids
    for (step, relationship) in relationshipPath.enumerated().reversed() where !ids.isEmpty {
      // The sources of a step belong to the destination entity of the preceding step.
      let entity = step > 0 ? context.model.entities[relationshipPath[step - 1].destinationEntity] : entity
      ids = try sources(of: relationship, from: entity, to: ids)
    }
    return ids
  }

  /// Returns the objects of an entity that are the sources of a relationship to the given objects.
  private func sources(
    of relationship: CompiledRelationship, from entity: CompiledEntity, to ids: Set<ManagedObjectID>
  ) throws -> Set<ManagedObjectID> {
    var sources: Set<ManagedObjectID> = []
    var unknown: [ManagedObjectID] = []
    for id in ids {
      if let last = lastSource(of: relationship, to: id) { sources.insert(last) }
      if let known = loadedSources(of: relationship, to: id) { sources.formUnion(known) } else { unknown.append(id) }
    }
    // The relationship may be declared by a subentity of the results' entity.
    let source = context.model.entities[relationship.sourceEntity]
    let searchedEntity = source.subtree.count < entity.subtree.count && entity.subtree.contains(source.number) ? source : entity
    for start in stride(from: 0, to: unknown.count, by: Self.batchSize) {
      let batch = unknown[start..<min(start + Self.batchSize, unknown.count)]
      let leads = FetchPredicate.comparison(
        FetchComparison(
          left: .keyPath([relationship.name]), op: .in, right: .constant(.list(batch.map { .object($0) })),
          modifier: relationship.isToMany ? .any : .direct))
      var specification = FetchSpecification(entityName: searchedEntity.name, predicate: leads)
      specification.resultType = .objectIDs
      specification.affectedStores = affectedStores
      // This fetch looks for the sources of changed objects, so it must not include related changes itself.
      let plan = try FetchMergePlan(specification, context: context, countsRelatedChanges: false)
      sources.formUnion(try context.objectIDs(of: plan))
    }
    sources.formUnion(changedSources(of: relationship, from: searchedEntity, to: ids))
    return sources
  }

  /// Returns the changed objects that may refer to deleted objects or to objects that have left the context. Their current relationship
  /// values no longer show these objects.
  private func changedSources(
    of relationship: CompiledRelationship, from entity: CompiledEntity, to ids: Set<ManagedObjectID>
  ) -> [ManagedObjectID] {
    if context.unitOfWork.isEmpty { return [] }
    let leaving = ids.filter { id in
      let object = known[id] ?? context.registeredObject(for: id)
      return !(object?.flags.isDisjoint(with: [.isDeleted, .isRemoved]) ?? true)
    }
    let deleted = Set(leaving.map(\.reference))
    if deleted.isEmpty { return [] }
    return context.unitOfWork.filter { object in
      guard object.hasChanges, entity.subtree.contains(Int(object.currentID.entityNumber)) else { return false }
      if !relationship.isToMany { return object.loadedReference(relationship.index).map(deleted.contains) ?? true }
      guard let state = object.toManyStates[relationship.index], state.isLoaded else { return true }
      return !deleted.isDisjoint(with: state.members)
    }.map(\.currentID)
  }

  /// Returns the last source of an object that has left the context with unsaved changes. No store has this value.
  private func lastSource(of relationship: CompiledRelationship, to id: ManagedObjectID) -> ManagedObjectID? {
    guard let inverse = context.model.inverse(of: relationship), !inverse.isToMany, let object = known[id],
      object.flags.contains(.isRemoved), let reference = object.loadedReference(inverse.index), !reference.isNull
    else { return nil }
    // An object that was never saved has a temporary ID in an ID space of its own.
    return context.objectID(reference, near: object)
  }

  /// Returns the sources of an object if the object's inverse relationship is loaded; nil if a fetch is needed.
  private func loadedSources(of relationship: CompiledRelationship, to id: ManagedObjectID) -> [ManagedObjectID]? {
    guard let object = context.registeredObject(for: id), object.flags.isDisjoint(with: [.isRemoved, .isInaccessible]) else {
      return id.isTemporaryID ? [] : nil
    }
    guard let inverse = context.model.inverse(of: relationship) else { return nil }
    if object.flags.contains(.isDeleted) { return formerSources(inverse, of: object) }
    if object.flags.contains(.isFault) { return nil }
    if !inverse.isToMany { return object.destination(inverse.index).map { [$0.currentID] } ?? [] }
    guard object.flags.contains(.isInserted) || object.toManyStates[inverse.index]?.isLoaded ?? false else { return nil }
    return object.toManyArray(inverse.index, as: ManagedObject.self).map(\.currentID)
  }

  /// Returns the former sources of a deleted object if its row contains them.
  private func formerSources(_ inverse: CompiledRelationship, of object: ManagedObject) -> [ManagedObjectID]? {
    guard !inverse.isToMany else { return nil }
    if object.flags.contains(.isInserted) { return [] }
    guard let image = object.image else { return nil }
    let references = [image.reference(inverse.index), object.loadedReference(inverse.index)].compactMap { $0 }
    return references.filter { !$0.isNull }.compactMap { context.objectID($0, near: object) }
  }
}
