public import ObjectModel
public import ObjectStore
import XCTest

/// Builds a save request as a context does.
public final class PendingSave {
  private let open: OpenStore
  private let inserted = RowWriter()
  /// The request so far, without the new rows.
  public var request = SaveChangesRequest()

  init(_ open: OpenStore) { self.open = open }

  /// Inserts an object. Omitted properties get their default values.
  @discardableResult public func insert(_ entityName: String, _ values: [String: Slot]) throws -> ManagedObjectID {
    let objectID = try open.newID(entityName)
    try insert(objectID, values)
    return objectID
  }

  /// Inserts an object with an ID that was obtained before.
  public func insert(_ objectID: ManagedObjectID, _ values: [String: Slot]) throws {
    let entity = open.model.entities[Int(objectID.entityNumber)]
    try check(values.keys, of: entity)
    inserted.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: objectID.key, version: 1)
    for slot in entity.slots where slot.kind != .none { inserted.set(values[slot.name] ?? slot.defaultValue, at: slot.index) }
    inserted.endRow()
  }

  /// Changes an object based on its current row in the store.
  public func update(_ objectID: ManagedObjectID, _ values: [String: Slot]) throws {
    try update(XCTUnwrap(open.row(objectID), "There is no row of \(objectID)."), values)
  }

  /// Changes an object based on the given row.
  public func update(_ row: RowImage, _ values: [String: Slot]) throws {
    let entity = open.model.entities[row.entityNumber]
    try check(values.keys, of: entity)
    let writer = RowWriter(rowCapacity: 1)
    var changed = SlotMask()
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: row.key, version: row.version + 1)
    for slot in entity.slots where slot.kind != .none {
      if let value = values[slot.name] {
        writer.set(value, at: slot.index)
        changed.insert(slot.index)
      } else {
        writer.copy(slot.index, kind: slot.kind, from: row)
      }
    }
    request.updated.append(SaveChangesRequest.Update(row: writer.endRow(), changedSlots: changed, oldVersion: row.version))
  }

  /// Deletes an object based on its current row in the store.
  public func delete(_ objectID: ManagedObjectID) throws {
    delete(try XCTUnwrap(open.row(objectID), "There is no row of \(objectID)."))
  }

  /// Deletes an object based on the given row.
  public func delete(_ row: RowImage) {
    request.deleted.append(SaveChangesRequest.VersionedReference(reference: row.reference, version: row.version))
  }

  /// Checks an object's version in the given row.
  public func lock(_ row: RowImage) {
    request.locked.append(SaveChangesRequest.VersionedReference(reference: row.reference, version: row.version))
  }

  /// Changes a to-many relationship. As the contract requires, membership of a many-to-many relationship is recorded for the one with the
  /// lower number.
  public func change(
    _ objectID: ManagedObjectID, _ name: String, add: [ManagedObjectID] = [], remove: [ManagedObjectID] = [],
    order: [ManagedObjectID]? = nil
  ) throws {
    let relationship = try open.relationship(objectID.entityName, name)
    var added = add.map(\.reference)
    var removed = remove.map(\.reference)
    if let inverse = open.model.inverse(of: relationship) {
      if inverse.isToMany, inverse.id < relationship.id {
        for (member, isAdded) in added.map({ ($0, true) }) + removed.map({ ($0, false) }) {
          append(member, inverse, added: isAdded ? [objectID.reference] : [], removed: isAdded ? [] : [objectID.reference], order: nil)
        }
      }
      if !inverse.isToMany || inverse.id < relationship.id { (added, removed) = ([], []) }
    }
    if !added.isEmpty || !removed.isEmpty || order != nil {
      append(objectID.reference, relationship, added: added, removed: removed, order: order?.map(\.reference))
    }
  }

  private func append(
    _ source: ObjectReference, _ relationship: CompiledRelationship, added: [ObjectReference], removed: [ObjectReference],
    order: [ObjectReference]?
  ) {
    request.relationshipChanges.append(
      SaveChangesRequest.RelationshipChange(
        source: source, relationshipID: relationship.id, added: added, removed: removed, order: order))
  }

  private func check(_ names: some Sequence<String>, of entity: CompiledEntity) throws {
    for name in names where !entity.slots.contains(where: { $0.name == name }) {
      throw StoreError(.invalidRequest, "\(entity.name) has no attribute or to-one relationship \(name).")
    }
  }

  /// Sends the save to the store.
  public func commit() throws {
    request.inserted = inserted.finish()
    guard case .saved = try open.store.execute(.save(request), in: open.scope) else { return XCTFail("A save must answer “saved”.") }
  }
}
