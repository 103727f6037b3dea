import Foundation
package import ObjectContext
package import ObjectModel
import ObjectQuery
import ObjectStore

/// An exporter that writes all objects of a store as JSON lines. The order depends only on the objects' values (without a key, on the order
/// of insertion). ``GraphImporter`` recreates the same graph from the lines. Memory holds the IDs of one entity's objects and one batch of
/// objects.
package final class GraphExporter {
  let context: ManagedObjectContext
  let model: CompiledModel
  let identities: IdentityTable
  let plan: ExportPlan
  private let batchSize: Int
  private let includesStableIDs: Bool
  /// The entity whose objects are exported; nil for all.
  private var chosen: CompiledEntity?
  /// The relationships with references that were left out, and the numbers of references: to objects that have no key and are not in the
  /// file.
  package private(set) var omitted: [(relationship: CompiledRelationship, count: Int)] = []

  /// Creates an exporter for a context, which must not be used elsewhere.
  ///
  /// - Parameter includesStableIDs: Whether lines contain the objects' stable IDs.
  /// - Throws: ``StoreError`` if `includesStableIDs` is set and the store has none.
  package init(from context: ManagedObjectContext, batchSize: Int = 500, includesStableIDs: Bool = false) throws {
    if includesStableIDs, try !context.hasStableIDs { throw StoreError(.identityOff, operation: .export) }
    self.includesStableIDs = includesStableIDs
    self.context = context
    model = context.persistentStoreCoordinator.compiledModel
    identities = IdentityTable(model)
    plan = ExportPlan(model)
    self.batchSize = batchSize
  }

  /// Writes the objects of an entity and its subentities, or of all entities.
  ///
  /// References to objects that are not written contain the object's key, or else its stable ID. Without both, they are left out and
  /// counted in ``omitted``. A to-many relationship is left out as a whole, because an import removes members that are not listed.
  ///
  /// - Parameters:
  ///   - entity: The entity; `nil` for all.
  ///   - write: Receives each line, without a line terminator.
  package func export(entity: CompiledEntity?, write: (JSONValue) throws -> Void) throws {
    chosen = entity
    omitted = []
    if let entity {
      // Objects of a chosen entity have lines, regardless of their owners.
      try forEachBatch(of: Array(entity.subtree), ownerless: nil) { objects in
        for object in objects { try writeWhole(line(object), write) }
      }
    } else {
      for root in plan.roots {
        try forEachBatch(of: Array(model.entities[root].subtree), ownerless: ownerPath(of: root)) { objects in
          for object in objects { try writeWhole(line(object), write) }
        }
      }
    }
    for root in plan.roots where mayContain(root) {
      for number in model.entities[root].subtree where plan.links(of: model.entities[number]).contains(where: \.isDeferred) {
        try forEachBatch(of: [number], ownerless: nil) { objects in
          for object in objects where contains(object) { try writeWhole(deferredLine(object), write) }
        }
      }
    }
  }

  /// Writes a line after checking for errors: a value that could not be read would look like a missing one.
  private func writeWhole(_ line: JSONValue?, _ write: (JSONValue) throws -> Void) throws {
    if let error = context.pendingError { throw error }
    if let line { try write(line) }
  }

  /// Returns the name of the relationship from the objects of a root to their owners; `nil` if they have none.
  private func ownerPath(of root: Int) -> String? {
    plan.owners[root].flatMap { model.inverse(of: $0)?.name }
  }

  /// Passes the objects of each entity in batches to a closure, without those of subentities.
  private func forEachBatch(of entities: [Int], ownerless path: String?, _ body: ([ManagedObject]) throws -> Void) throws {
    for number in entities where !model.entities[number].isAbstract {
      let entity = model.entities[number]
      var request = FetchRequest<ManagedObjectID>(entityName: entity.name)
      request.includesSubentities = false
      if let path { request.predicate = .compare(path, .equal, nil) }
      let constraint = identities.constraints(of: entity).first { !$0.hasRelationships }
      request.sortDescriptors = constraint?.slots.map { FetchSortDescriptor(entity.slots[$0].name) } ?? []
      var ids = try context.fetch(request)
      if constraint == nil { ids.sort { $0.key < $1.key } }
      for start in stride(from: 0, to: ids.count, by: batchSize) {
        try body(context.objects(with: Array(ids[start..<min(start + batchSize, ids.count)]), entityName: entity.name))
        context.releaseAllObjects()
      }
    }
  }

  // MARK: Objects of the file

  /// Returns whether the file can contain objects of a root entity: as lines, or nested in their owners.
  private func mayContain(_ root: Int) -> Bool {
    guard let chosen else { return true }
    var next: Int? = root
    while let current = next, current != chosen.root { next = plan.owners[current].map { model.entities[$0.sourceEntity].root } }
    return next != nil
  }

  /// Returns whether the file contains an object: as a line, or nested in its owner.
  private func contains(_ object: ManagedObject) -> Bool {
    guard let chosen else { return true }
    var next: ManagedObject? = object
    while let current = next, !current.compiledEntity.isKind(of: chosen) { next = owner(of: current)?.object }
    return next != nil
  }

  /// Returns the object that an object is nested in if both are exported, and the relationship to it.
  private func owner(of object: ManagedObject) -> (object: ManagedObject, relationship: CompiledRelationship)? {
    guard let inverse = plan.owners[object.compiledEntity.root].flatMap({ model.inverse(of: $0) }),
      let owner: ManagedObject = object.toOne(inverse.index)
    else { return nil }
    return (owner, inverse)
  }

  private func omit(_ count: Int, from relationship: CompiledRelationship) {
    if let index = omitted.firstIndex(where: { $0.relationship.id == relationship.id }) {
      omitted[index].count += count
    } else {
      omitted.append((relationship, count))
    }
  }

  // MARK: Lines

  /// Returns the complete line of an object.
  func line(_ object: ManagedObject) throws -> JSONValue {
    var members = [("$entity", JSONValue.string(object.compiledEntity.name))] + (try members(of: object))
    // The owners of a chosen entity's objects are not in the file.
    if chosen != nil, let (owner, relationship) = owner(of: object) {
      if let reference = try reference(to: owner, over: relationship) {
        members.append((relationship.name, reference))
      } else {
        omit(1, from: relationship)
      }
    }
    return .object(members)
  }

  /// Returns the line that adds an object's late relationships; `nil` if all are empty.
  private func deferredLine(_ object: ManagedObject) throws -> JSONValue? {
    var members: [(String, JSONValue)] = []
    for link in plan.links(of: object.compiledEntity) where link.isDeferred {
      if let value = try value(of: link, in: object) { members.append((link.relationship.name, value)) }
    }
    guard !members.isEmpty, let reference = try identification(of: object) else { return nil }
    return .object([("$entity", .string(object.compiledEntity.name))] + reference + members)
  }

  private func members(of object: ManagedObject) throws -> [(String, JSONValue)] {
    let entity = object.compiledEntity
    var members: [(String, JSONValue)] = []
    if plan.namedRoots.contains(entity.root), key(of: object) == nil { members.append(("$id", name(of: object))) }
    members += try stableIDMember(of: object) ?? []
    for slot in entity.slots {
      guard let type = slot.attributeType, !slot.isTransient else { continue }
      let value = object.slotValue(slot.index)
      // A missing value is omitted, unless the import would set a default value.
      if value.isNull && slot.defaultValue.isNull { continue }
      members.append((slot.name, ValueCoding.json(value, type: type)))
    }
    for link in plan.links(of: entity) where !link.isDeferred {
      if let value = try value(of: link, in: object) { members.append((link.relationship.name, value)) }
    }
    return members
  }

  private func value(of link: ExportPlan.Link, in object: ManagedObject) throws -> JSONValue? {
    let relationship = link.relationship
    if !relationship.isToMany {
      guard let destination: ManagedObject = object.toOne(relationship.index) else { return nil }
      let value = try nested(destination, link)
      if value == nil { omit(1, from: relationship) }
      return value
    }
    let all = object.toManyArray(relationship.index, as: ManagedObject.self)
    let members = try all.compactMap { try nested($0, link) }
    if members.count < all.count {
      omit(all.count, from: relationship)
      return nil
    }
    if members.isEmpty { return nil }
    if relationship.isOrdered { return .array(members) }
    // Unordered members are sorted by their serialized text.
    let texts = members.map { value in
      var bytes: [UInt8] = []
      value.append(to: &bytes)
      return (bytes, value)
    }
    return .array(texts.sorted { $0.0.lexicographicallyPrecedes($1.0) }.map(\.1))
  }

  private func nested(_ object: ManagedObject, _ link: ExportPlan.Link) throws -> JSONValue? {
    guard link.isOwning else { return try reference(to: object, over: link.relationship) }
    return .object(head(of: object, link.relationship) + (try members(of: object)))
  }

  /// Returns the entity of a nested object if it differs from the relationship's destination entity.
  private func head(of object: ManagedObject, _ relationship: CompiledRelationship) -> [(String, JSONValue)] {
    let entity = object.compiledEntity
    return entity.number == relationship.destinationEntity ? [] : [("$entity", .string(entity.name))]
  }

  private func reference(to object: ManagedObject, over relationship: CompiledRelationship) throws -> JSONValue? {
    try identification(of: object).map { .object(head(of: object, relationship) + $0) }
  }

  /// Returns what identifies an object: the values of its key, its identifier in the file, or its stable ID. Nil if it has none of them.
  private func identification(of object: ManagedObject) throws -> [(String, JSONValue)]? {
    let entity = object.compiledEntity
    guard let constraint = key(of: object) else {
      return contains(object) ? [("$ref", name(of: object))] : try stableIDMember(of: object)
    }
    var members: [(String, JSONValue)] = []
    for index in constraint.slots {
      let slot = entity.slots[index]
      if let relationship = slot.relationship, let destination: ManagedObject = object.toOne(index) {
        guard let reference = try reference(to: destination, over: relationship) else { return try stableIDMember(of: object) }
        members.append((slot.name, reference))
      } else {
        members.append((slot.name, ValueCoding.json(object.slotValue(index), type: slot.attributeType ?? .undefined)))
      }
    }
    return members
  }

  /// Returns the stable ID of an object as a member; nil if stable IDs are not exported.
  private func stableIDMember(of object: ManagedObject) throws -> [(String, JSONValue)]? {
    guard includesStableIDs, let id = try object.stableID else { return nil }
    return [("$stableID", .string(id.uuidString))]
  }

  private func key(of object: ManagedObject) -> IdentityConstraint? {
    identities.key(of: object)?.constraint
  }

  private func name(of object: ManagedObject) -> JSONValue {
    .string("\(model.entities[object.compiledEntity.root].name)/\(object.objectID.key)")
  }
}

extension ManagedObjectContext {
  /// Releases all objects and the coordinator's cached rows, which no other context uses.
  func releaseAllObjects() {
    reset()
    for store in persistentStoreCoordinator.persistentStores { store.cache.removeAll() }
  }

  /// Returns the objects of IDs in their order, fetched together. IDs of deleted objects are omitted.
  package func objects(with ids: [ManagedObjectID], entityName: String) throws -> [ManagedObject] {
    var request = FetchRequest<ManagedObject>(entityName: entityName)
    request.predicate = .comparison(
      FetchComparison(left: .evaluatedObject, op: .in, right: .constant(.list(ids.map(FetchConstant.object)))))
    let byID = Dictionary(try fetch(request).map { ($0.objectID, $0) }, uniquingKeysWith: { first, _ in first })
    return ids.compactMap { byID[$0] }
  }
}
