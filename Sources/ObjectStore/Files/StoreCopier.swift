import Foundation
import ObjectModel
import ObjectQuery

/// Copies all rows and links of a store into an empty one of another type. Objects get new keys. The IDs of all objects and the mapping of
/// their keys stay in memory, at least 32 bytes an object.
final class StoreCopier {
  let model: CompiledModel
  let source: PersistentStore
  let destination: PersistentStore
  private let progress: StoreMoveProgress
  /// The mapping from old to new keys, by root entity.
  private var keys: [Int: [Int64: Int64]] = [:]
  private var done = 0
  /// The source's stable IDs, if it has any.
  private var identities: (any IdentityStore)?

  private static let pageSize = 1_000

  init(
    model: CompiledModel, from source: PersistentStore, to destination: PersistentStore,
    progress: StoreMoveProgress
  ) {
    self.model = model
    self.source = source
    self.destination = destination
    self.progress = progress
  }

  /// Copies everything. The caller runs it in one transaction of the destination.
  func run() throws {
    if let source = source.incrementalStore as? any IdentityStore, try source.tracksObjectIdentity(),
      let destination = destination.incrementalStore as? any IdentityStore
    {
      identities = source
      try destination.setTracksObjectIdentity(true)
    }
    var objects: [Int: [ManagedObjectID]] = [:]
    for root in model.entities where root.parent == nil && root.subtree.contains(where: source.entityNumbers.contains) {
      objects[root.number] = try obtainKeys(of: root)
    }
    let roots = objects.keys.sorted()
    // Each object is visited three times: for its row, for its links, and for orders that require the links of others.
    let total = 3 * objects.values.reduce(0) { $0 + $1.count }
    for root in roots { try forEachPage(of: objects[root, default: []], total) { try copyRows($0) } }
    for isLast in [false, true] {
      for root in roots { try forEachPage(of: objects[root, default: []], total) { try copyLinks($0, isLast: isLast) } }
    }
  }

  private func forEachPage(
    of ids: [ManagedObjectID], _ total: Int, _ body: (ArraySlice<ManagedObjectID>) throws -> Void
  ) throws {
    var start = 0
    while start < ids.count {
      let end = min(ids.count, start + Self.pageSize)
      try body(ids[start..<end])
      done += end - start
      start = end
      try progress.report(done, of: total)
    }
  }

  private var sourceScope: RequestScope { RequestScope(objectIDSpace: source.space) }
  private var destinationScope: RequestScope {
    var scope = RequestScope(objectIDSpace: destination.space)
    scope.changeSource = .transfer
    return scope
  }

  /// Returns the IDs of a tree's objects after obtaining new keys for all of them. References may lead to any object, so this precedes
  /// copying.
  private func obtainKeys(of root: CompiledEntity) throws -> [ManagedObjectID] {
    var specification = FetchSpecification(entityName: root.name)
    specification.resultType = .objectIDs
    guard case .objectIDs(let ids) = try source.incrementalStore.execute(.fetch(specification), in: sourceScope) else {
      throw StoreError(.resultTypeMismatch, operation: .copyStore)
    }
    var found: [Int64: Int64] = [:]
    found.reserveCapacity(ids.count)
    let new = try destination.incrementalStore.obtainPermanentIDs(
      for: ids.map { ManagedObjectID(space: destination.space.number, entityNumber: $0.entityNumber, key: -$0.key) }, in: destinationScope)
    guard new.count == ids.count else {
      throw StoreError(.wrongNumberOfIDs(given: new.count, asked: ids.count), operation: .copyStore)
    }
    for (old, new) in zip(ids, new) { found[old.key] = new.key }
    keys[root.number] = found
    return ids
  }

  /// Returns the reference in the new store, or nil if the object was deleted.
  private func moved(_ reference: ObjectReference) -> ObjectReference? {
    guard let key = keys[model.entities[reference.entity].root]?[reference.key] else { return nil }
    return ObjectReference(entity: reference.entity, key: key)
  }

  private func copyRows(_ ids: ArraySlice<ManagedObjectID>) throws {
    let rows = try source.incrementalStore.newValuesForObjects(with: Array(ids), in: sourceScope)
    let writer = RowWriter(rowCapacity: rows.count)
    for row in rows {
      guard let reference = moved(row.reference) else { continue }
      let entity = model.entities[row.entityNumber]
      writer.beginRow(entityNumber: row.entityNumber, slotCount: entity.slots.count, key: reference.key, version: RowImage.firstVersion)
      for slot in entity.slots where slot.kind != .none {
        if slot.kind == .reference {
          if !row.isNull(slot.index), let target = moved(row.reference(slot.index)) { writer.setReference(target, at: slot.index) }
        } else {
          writer.copy(slot.index, kind: slot.kind, from: row)
        }
      }
      writer.endRow()
    }
    var request = SaveChangesRequest()
    request.inserted = writer.finish()
    // External values would still refer to files of the source.
    if !destination.incrementalStore.acceptsExternalData { request = try request.withBytesInRows(model) }
    _ = try destination.incrementalStore.execute(.save(request), in: destinationScope)
    try copyStableIDs(of: rows)
  }

  private func copyStableIDs(of rows: RowList) throws {
    guard let identities, let destination = destination.incrementalStore as? any IdentityStore else { return }
    let references = rows.references
    var ids: [(object: ObjectReference, id: UUID)] = []
    for (reference, id) in zip(references, try identities.stableIDs(of: references)) {
      if let id, let object = moved(reference) { ids.append((object, id)) }
    }
    try destination.setStableIDs(ids)
  }

  /// Copies members of join tables, and orders. The last pass copies the orders of relationships whose membership was copied with their
  /// inverse.
  private func copyLinks(_ ids: ArraySlice<ManagedObjectID>, isLast: Bool) throws {
    var request = SaveChangesRequest()
    for relationship in model.relationships where relationship.isToMany && !relationship.isTransient {
      let inverse = model.inverse(of: relationship)
      let isSecond = inverse.map { $0.isToMany && relationship.id > $0.id } ?? false
      let ownsMembership = !isSecond && inverse?.isToMany ?? true
      guard isSecond == isLast, ownsMembership || relationship.isOrdered else { continue }
      let subtree = model.entities[relationship.sourceEntity].subtree
      let owners = ids.filter { subtree.contains(Int($0.entityNumber)) }
      guard !owners.isEmpty else { continue }
      let values = try source.incrementalStore.newValues(forRelationship: relationship, forObjectsWith: owners, in: sourceScope)
      for (position, owner) in owners.enumerated() {
        let members = values[position].compactMap(moved)
        guard !members.isEmpty, let reference = moved(owner.reference) else { continue }
        request.relationshipChanges.append(
          SaveChangesRequest.RelationshipChange(
            source: reference, relationshipID: relationship.id, added: ownsMembership ? members : [],
            order: relationship.isOrdered ? members : nil))
      }
    }
    if !request.isEmpty { _ = try destination.incrementalStore.execute(.save(request), in: destinationScope) }
  }
}

/// Reports the progress of moving a store, as a fraction that reaches 1 only when the new store has replaced the old one.
struct StoreMoveProgress: Sendable {
  /// The number of units. The last one is for the steps after the copy: committing, opening, and replacing.
  private static let units = 1_000

  private let handler: (@Sendable (_ done: Int, _ total: Int) -> Bool)?

  init(_ handler: (@Sendable (_ done: Int, _ total: Int) -> Bool)?) { self.handler = handler }

  /// The handler for copying a file, or nil if the progress is not observed.
  var ofCopy: (@Sendable (_ done: Int, _ total: Int) -> Bool)? {
    guard let handler else { return nil }
    return { done, total in handler(Self.share(done, of: total), Self.units) }
  }

  /// Reports the progress of copying rows.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/cancelled`` if the handler returns false; `CancellationError` if the task is canceled.
  func report(_ done: Int, of total: Int) throws {
    try Task.checkCancellation()
    if let handler, !handler(Self.share(done, of: total), Self.units) { throw StoreError(.copyCancelled, operation: .copyStore) }
  }

  /// Reports completion. The operation can no longer be canceled.
  func finish() { _ = handler?(Self.units, Self.units) }

  private static func share(_ done: Int, of total: Int) -> Int {
    guard total > 0 else { return 0 }
    return min(Int(Double(done) / Double(total) * Double(units - 1)), units - 1)
  }
}
