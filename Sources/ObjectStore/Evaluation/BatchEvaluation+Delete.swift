package import ObjectModel
import ObjectQuery

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
