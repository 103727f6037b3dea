// FetchRoots: from objects that were changed back to the results that depend on them.
import ObjectModel
import ObjectQuery
import ObjectStore

/// The way back from objects to the results that depend on them: by what living objects know, and for the others by one fetch for some hundred of them.
struct FetchRoots {
  /// The objects that one fetch asks about.
  static var batchSize: Int { 500 }

  private let way: [CompiledRelationship]
  private let entity: CompiledEntity
  private let affectedStores: [String]?
  private let context: ManagedObjectContext
  /// Objects that were changed, some of which have left the context.
  private let known: [ManagedObjectID: ManagedObject]

  /// - Parameters:
  ///   - dependency: The path that the objects are at the end of.
  ///   - entity: The entity of the results.
  ///   - affectedStores: The stores that are asked; nil for all.
  ///   - context: The context.
  ///   - known: Objects that were changed.
  init(
    _ dependency: FetchDependency, of entity: CompiledEntity, affectedStores: [String]?, in context: ManagedObjectContext,
    known: [ManagedObjectID: ManagedObject]
  ) {
    way = dependency.way
    self.entity = entity
    self.affectedStores = affectedStores
    self.context = context
    self.known = known
  }

  /// The objects that lead, or have led, to others. Some may be no results; none is missing.
  func roots(of ids: Set<ManagedObjectID>) throws -> Set<ManagedObjectID> {
    var ids = ids
    for (step, relationship) in way.enumerated().reversed() where !ids.isEmpty {
      // What a step starts from is where the one before ends.
      let entity = step > 0 ? context.model.entities[way[step - 1].destinationEntity] : entity
      ids = try sources(of: relationship, from: entity, to: ids)
    }
    return ids
  }

  /// The objects of an entity that a relationship leads from to others.
  private func sources(
    of relationship: CompiledRelationship, from entity: CompiledEntity, to ids: Set<ManagedObjectID>
  ) throws -> Set<ManagedObjectID> {
    var sources: Set<ManagedObjectID> = []
    var unknown: [ManagedObjectID] = []
    for id in ids {
      if let last = lastSource(of: relationship, to: id) { sources.insert(last) }
      if let known = knownSources(of: relationship, to: id) { sources.formUnion(known) } else { unknown.append(id) }
    }
    // A relationship may be declared below the entity that results are of.
    let source = context.model.entities[relationship.sourceEntity]
    let asked = source.subtree.count < entity.subtree.count && entity.subtree.contains(source.number) ? source : entity
    for start in stride(from: 0, to: unknown.count, by: Self.batchSize) {
      let batch = unknown[start..<min(start + Self.batchSize, unknown.count)]
      let leads = FetchPredicate.comparison(
        FetchComparison(
          left: .keyPath([relationship.name]), op: .in, right: .constant(.list(batch.map { .object($0) })),
          modifier: relationship.isToMany ? .any : .direct))
      var specification = FetchSpecification(entityName: asked.name, predicate: leads)
      specification.resultType = .objectIDs
      specification.affectedStores = affectedStores
      // What leads to changed objects is what is looked for here: related changes count for nothing.
      let plan = try FetchMergePlan(specification, context: context, countsRelatedChanges: false)
      sources.formUnion(try context.objectIDs(of: plan))
    }
    sources.formUnion(changedSources(of: relationship, from: asked, to: ids))
    return sources
  }

  /// The objects with unsaved changes that may lead to objects that are to be deleted, or have left: asked themselves, they show none of these.
  private func changedSources(
    of relationship: CompiledRelationship, from entity: CompiledEntity, to ids: Set<ManagedObjectID>
  ) -> [ManagedObjectID] {
    if context.unitOfWork.isEmpty { return [] }
    let leaving = ids.filter { id in
      let object = known[id] ?? context.registeredObject(for: id)
      return !(object?.flags.isDisjoint(with: [.isDeleted, .isGone]) ?? true)
    }
    let deleted = Set(leaving.map(\.reference))
    if deleted.isEmpty { return [] }
    return context.unitOfWork.filter { object in
      guard object.hasChanges, entity.subtree.contains(Int(object.currentID.entityNumber)) else { return false }
      if !relationship.isToMany { return object.referenceValueAtHand(relationship.index).map(deleted.contains) ?? true }
      guard let state = object.toManyStates[relationship.index], state.isLoaded else { return true }
      return !deleted.isDisjoint(with: state.members)
    }.map(\.currentID)
  }

  /// The object that led to one which has left the context, with unsaved changes of which no store knows.
  private func lastSource(of relationship: CompiledRelationship, to id: ManagedObjectID) -> ManagedObjectID? {
    guard let inverse = context.model.inverse(of: relationship), !inverse.isToMany, let object = known[id],
      object.flags.contains(.isGone), let reference = object.referenceValueAtHand(inverse.index), !reference.isNull
    else { return nil }
    // An object that was never saved has a temporary ID, whose space is not that of the store.
    return context.objectID(reference, near: object)
  }

  /// The objects that lead to one, where it knows them itself.
  private func knownSources(of relationship: CompiledRelationship, to id: ManagedObjectID) -> [ManagedObjectID]? {
    guard let object = context.registeredObject(for: id), object.flags.isDisjoint(with: [.isGone, .isInaccessible]) else {
      return id.isTemporaryID ? [] : nil
    }
    guard let inverse = context.model.inverse(of: relationship) else { return nil }
    if object.flags.contains(.isDeleted) { return formerSources(inverse, of: object) }
    if object.flags.contains(.isFault) { return nil }
    if !inverse.isToMany { return object.destination(inverse.index).map { [$0.currentID] } ?? [] }
    guard object.flags.contains(.isInserted) || object.toManyStates[inverse.index]?.isLoaded ?? false else { return nil }
    return object._toManyArray(inverse.index, as: ManagedObject.self).map(\.currentID)
  }

  /// The objects that have led to a deleted one, where its row says which.
  private func formerSources(_ inverse: CompiledRelationship, of object: ManagedObject) -> [ManagedObjectID]? {
    guard !inverse.isToMany else { return nil }
    if object.flags.contains(.isInserted) { return [] }
    guard let image = object.image else { return nil }
    let references = [image.reference(inverse.index), object.referenceValueAtHand(inverse.index)].compactMap { $0 }
    return references.filter { !$0.isNull }.compactMap { context.objectID($0, near: object) }
  }
}
