import Foundation
import ObjectModel
import ObjectStore
package import SyncCore

extension StoreReplica {
  /// Returns the object that a record has, or had last.
  func reference(of id: RecordID) throws -> ObjectReference? { try row(of: id)?.object ?? pending().object(of: id) }

  package func object(of id: RecordID) throws -> SyncedObject? {
    guard let reference = try reference(of: id) else { return try links(of: [id])[id] }
    return try readRows([reference]).first.map { try object($0, of: id) }
  }

  package func objects(of ids: [RecordID]) throws -> [RecordID: SyncedObject] {
    var (records, others): ([ObjectReference: RecordID], [RecordID]) = ([:], [])
    for id in ids { if let reference = try reference(of: id) { records[reference] = id } else { others.append(id) } }
    var objects = try links(of: others)
    if records.isEmpty { return objects }
    let rows = try readRows(Array(records.keys))
    var identities = RecordIdentities(history)
    for row in rows { addReferences(of: row, to: &identities) }
    try identities.load()
    for row in rows { if let id = records[row.reference] { objects[id] = try object(row, of: id, identities) } }
    return objects
  }

  /// Adds the destinations of a row.
  func addReferences(of row: RowImage, to identities: inout RecordIdentities) {
    for property in schema.entities[row.entityNumber].properties where property.kind == .reference && !row.isNull(property.slot) {
      identities.add(row.reference(property.slot))
    }
  }

  /// Returns the synchronized values of a row.
  ///
  /// - Parameter id: The record of the row's object.
  func object(_ row: RowImage, of id: RecordID) throws -> SyncedObject {
    var identities = RecordIdentities(history)
    addReferences(of: row, to: &identities)
    try identities.load()
    return try object(row, of: id, identities)
  }

  func object(_ row: RowImage, of id: RecordID, _ identities: RecordIdentities) throws -> SyncedObject {
    let entity = schema.entities[row.entityNumber]
    var values: [PropertyID: FieldValue] = [:]
    for property in entity.properties {
      if property.kind == .bytes {
        values[property.id] = try binaryValue(property, of: row, id)
      } else if row.isNull(property.slot) {
        values[property.id] = .null
      } else if property.kind == .reference {
        values[property.id] = .reference(try identities.record(of: row.reference(property.slot)))
      } else {
        values[property.id] = FieldValue(try row.slot(property.slot, kind: property.kind))
      }
    }
    values.merge(try positions(of: id, entity.id, values)) { $1 }
    return SyncedObject(entity: entity.id, values)
  }

  /// Returns the rows of objects that exist.
  func readRows(_ objects: [ObjectReference]) throws -> RowList {
    try coordinator.readRows(of: objects.map(store.space.objectID), from: store, scope: scope, isPassing: true)
  }

  var scope: RequestScope {
    var scope = RequestScope(objectIDSpace: store.space)
    scope.changeSource = .sync
    return scope
  }

  // MARK: Writing

  /// Inserts, updates and deletes a batch of objects.
  ///
  /// - Throws: `CancellationError` if the task was canceled. The transaction is rolled back, and the next round repeats it.
  package func setObjects(_ changes: [(id: RecordID, object: SyncedObject?)]) throws {
    try Task.checkCancellation()
    var objects = ObjectImport(self)
    for (id, object) in changes {
      if let object {
        try setPositions(of: object, id)
        if let link = object.link(schema.syncModel) { objects.add(link) } else { objects.set(object, of: id, try reference(of: id)) }
      } else if let reference = try reference(of: id) {
        objects.delete(reference)
        try removeAssetEntries(of: id)
        try removePositions(of: id)
      } else if let link = try link(of: id) {
        objects.remove(link)
        try removePositions(of: id)
      }
    }
    let inserted = try objects.finish(reference(of:))
    for (id, reference) in inserted { try setObject(reference, of: id) }
    running.changedCount += changes.count
    if importHandling.handler != nil { try collect(changes, inserted: inserted.map(\.object), deleted: objects.deleted) }
  }

  /// Collects the changed objects for the application.
  private func collect(
    _ changes: [(id: RecordID, object: SyncedObject?)], inserted: [ObjectReference], deleted: Set<ObjectReference>
  ) throws {
    for object in inserted { running.imported.addInserted(object) }
    for object in deleted { running.imported.addDeleted(object) }
    for (id, object) in changes {
      if let reference = try reference(of: id) {
        if object != nil { running.imported.addUpdated(reference) }
      } else if let link = try object?.link(schema.syncModel) ?? link(of: id) {
        for end in [link.source, link.destination] {
          if let reference = try reference(of: end) { running.imported.addUpdated(reference) }
        }
      }
    }
  }
}
