import Foundation
import ObjectModel
import ObjectStore
import SyncCore

/// Writes objects that follow from records, as one save on behalf of other devices.
struct ObjectImport {
  private let replica: StoreReplica
  private var model: CompiledModel { replica.schema.model }
  /// The objects to write, with the object that each record had last.
  private var objects: [(id: RecordID, object: SyncedObject, known: ObjectReference?)] = []
  private(set) var deleted: Set<ObjectReference> = []
  private var addedLinks: [Link] = []
  private var removedLinks: [Link] = []

  init(_ replica: StoreReplica) { self.replica = replica }

  /// Adds an object to insert, or to update if it exists.
  mutating func set(_ object: SyncedObject, of id: RecordID, _ known: ObjectReference?) {
    // Entities of other versions of the model have no objects here.
    guard let number = replica.schema.number(of: object.entity), !model.entities[number].isAbstract else { return }
    objects.append((id, object, known))
  }

  mutating func delete(_ object: ObjectReference) { deleted.insert(object) }

  mutating func add(_ link: Link) { addedLinks.append(link) }
  mutating func remove(_ link: Link) { removedLinks.append(link) }

  /// Saves the objects.
  ///
  /// - Parameter reference: Returns the object that the record of another destination has.
  /// - Returns: The inserted objects.
  func finish(_ reference: (RecordID) throws -> ObjectReference?) throws -> [(id: RecordID, object: ObjectReference)] {
    var rows = EditedRows(replica)
    try rows.read(Array(deleted) + objects.compactMap(\.known))
    let references = try assignKeys()
    var inserted: [(id: RecordID, object: ObjectReference)] = []
    for (object, own) in zip(objects, references) where !rows.exists(own) {
      rows.insert(own)
      inserted.append((object.id, own))
    }
    let ownReferences = Dictionary(zip(objects.map(\.id), references)) { first, _ in first }
    var inverses = InverseEdits()
    for (object, own) in zip(objects, references) {
      for property in replica.schema.entities[own.entity].properties {
        guard let value = object.object.values[property.id] else { continue }
        if property.kind == .bytes {
          try rows.setBinary(value, property, of: own, record: object.id)
          continue
        }
        var slot = replica.schema.slot(for: value, property, ofEntity: own.entity)
        if let id = value.reference {
          slot = .null
          if property.kind == .reference, let destination = try ownReferences[id] ?? reference(id),
            isDestination(destination, own, property)
          {
            slot = .int(destination.rawValue)
          }
        }
        guard let slot else { continue }
        let former = try rows.set(slot, property, of: own)
        if property.inverseSlot != nil, former != slot { inverses.move(own, property, from: former, to: slot) }
      }
    }
    for object in deleted { try inverses.remove(object, rows.row(object), replica.schema) }
    try inverses.apply(to: &rows, deleted: deleted)
    try rows.releaseUniqueValues(deleted: deleted)
    try save(rows, linkChanges { try ownReferences[$0] ?? reference($0) }, inserted)
    return inserted
  }

  /// Returns the changes of links, those of a source together. Links of deleted objects are removed with them.
  private func linkChanges(
    _ reference: (RecordID) throws -> ObjectReference?
  ) throws -> [SaveChangesRequest.RelationshipChange] {
    struct Source: Hashable {
      let relationship: Int
      let object: ObjectReference
    }
    var changes: [Source: (added: [ObjectReference], removed: [ObjectReference])] = [:]
    for (links, isAddition) in [(addedLinks, true), (removedLinks, false)] {
      for link in links {
        guard let link = try replica.stored(link, reference), deleted.isDisjoint(with: [link.ends.source, link.ends.destination]) else {
          continue
        }
        let source = Source(relationship: replica.schema.links[link.relationship].relationship.id, object: link.ends.source)
        if isAddition {
          changes[source, default: ([], [])].added.append(link.ends.destination)
        } else {
          changes[source, default: ([], [])].removed.append(link.ends.destination)
        }
      }
    }
    return changes.sorted { ($0.key.relationship, $0.key.object.rawValue) < ($1.key.relationship, $1.key.object.rawValue) }.map {
      SaveChangesRequest.RelationshipChange(
        source: $0.object, relationshipID: $0.relationship, added: $1.added, removed: $1.removed)
    }
  }

  private func isDestination(_ object: ObjectReference, _ source: ObjectReference, _ property: SyncSchema.Property) -> Bool {
    guard let relationship = model.entities[source.entity].slots[property.slot].relationship else { return false }
    return model.entities[relationship.destinationEntity].subtree.contains(object.entity)
  }

  /// Returns the objects, with new keys for those that are not known yet. An object that existed before gets its former key again.
  private func assignKeys() throws -> [ObjectReference] {
    let unknown = objects.filter { $0.known == nil }.map { object in
      ManagedObjectID(
        space: replica.coordinator.temporarySpace.number,
        entityNumber: UInt32(replica.schema.number(of: object.object.entity) ?? 0), key: -1)
    }
    var ids = try replica.store.incrementalStore.obtainPermanentIDs(for: unknown, in: replica.scope).makeIterator()
    return try objects.map { object in
      if let known = object.known { return known }
      guard let id = ids.next() else { throw SyncError(.transactionEnded, path: replica.path) }
      return id.reference
    }
  }

  private func save(
    _ rows: EditedRows, _ links: [SaveChangesRequest.RelationshipChange], _ inserted: [(id: RecordID, object: ObjectReference)]
  ) throws {
    var request = SaveChangesRequest()
    try rows.write(to: &request, deleted: deleted)
    request.relationshipChanges = links
    if request.isEmpty { return }
    try replica.coordinator.save(request, to: replica.store, scope: replica.scope)
    // An object that existed before still has its stable ID.
    let former = Set(objects.compactMap(\.known))
    let again = inserted.filter { former.contains($0.object) }
    let known = try replica.history.stableIDs(of: again.map(\.object))
    let wrong = zip(again, known).filter { $0.id.uuid != $1 }.map(\.0)
    let others = inserted.filter { !former.contains($0.object) } + wrong
    try replica.history.setStableIDs(others.map { ($0.object, $0.id.uuid) })
  }
}

/// The second sides of one-to-one relationships, which follow from the first ones.
private struct InverseEdits {
  private var removed: [(destination: ObjectReference, slot: Int, source: ObjectReference)] = []
  private var added: [(destination: ObjectReference, slot: Int, source: ObjectReference)] = []

  mutating func move(_ source: ObjectReference, _ property: SyncSchema.Property, from former: Slot, to new: Slot) {
    guard let slot = property.inverseSlot else { return }
    if case .int(let value) = former { removed.append((ObjectReference(rawValue: value), slot, source)) }
    if case .int(let value) = new { added.append((ObjectReference(rawValue: value), slot, source)) }
  }

  mutating func remove(_ source: ObjectReference, _ row: RowImage?, _ schema: SyncSchema) throws {
    guard let row else { return }
    for property in schema.entities[source.entity].properties where property.inverseSlot != nil && !row.isNull(property.slot) {
      move(source, property, from: .int(row.reference(property.slot).rawValue), to: .null)
    }
  }

  func apply(to rows: inout EditedRows, deleted: Set<ObjectReference>) throws {
    try rows.read((removed + added).map(\.destination))
    // Removals first: another object may be the new source.
    for edit in removed where !deleted.contains(edit.destination) && rows.exists(edit.destination) {
      if try rows.value(edit.slot, of: edit.destination) == .int(edit.source.rawValue) {
        rows.set(.null, inSlot: edit.slot, of: edit.destination)
      }
    }
    for edit in added where rows.exists(edit.destination) { rows.set(.int(edit.source.rawValue), inSlot: edit.slot, of: edit.destination) }
  }
}

/// Rows with changed values.
private struct EditedRows {
  private let replica: StoreReplica
  private var rows: [ObjectReference: RowImage] = [:]
  private var edits: [ObjectReference: [Int: Slot]] = [:]
  private var inserted: [ObjectReference] = []
  private var insertedSet: Set<ObjectReference> = []

  init(_ replica: StoreReplica) { self.replica = replica }

  mutating func read(_ objects: [ObjectReference]) throws {
    let unknown = Set(objects).filter { rows[$0] == nil && !insertedSet.contains($0) }
    if unknown.isEmpty { return }
    for row in try replica.readRows(Array(unknown)) { rows[row.reference] = row }
  }

  func row(_ object: ObjectReference) -> RowImage? { rows[object] }
  func exists(_ object: ObjectReference) -> Bool { rows[object] != nil || insertedSet.contains(object) }

  mutating func insert(_ object: ObjectReference) {
    guard insertedSet.insert(object).inserted else { return }
    inserted.append(object)
    edits[object] = [:]
  }

  /// Returns the value of a slot that holds a number or a reference.
  func value(_ slot: Int, of object: ObjectReference) throws -> Slot {
    if let edited = edits[object]?[slot] { return edited }
    guard let row = rows[object], !row.isNull(slot) else { return .null }
    return .int(row.reference(slot).rawValue)
  }

  /// Sets a value unless it is the same.
  ///
  /// - Returns: The former value.
  mutating func set(_ value: Slot, _ property: SyncSchema.Property, of object: ObjectReference) throws -> Slot {
    var former = Slot.null
    if let row = rows[object] {
      former = row.isNull(property.slot) ? .null : try row.slot(property.slot, kind: property.kind)
      if former == value { return former }
    }
    edits[object, default: [:]][property.slot] = value
    return former
  }

  /// Sets a binary attribute unless its value is the same. A large value gets a placeholder, until it is downloaded.
  mutating func setBinary(_ value: FieldValue, _ property: SyncSchema.Property, of object: ObjectReference, record id: RecordID) throws {
    let row = rows[object]
    if let row, try replica.binaryValue(property, of: row, id) == value { return }
    if let asset = value.asset {
      let slot = replica.schema.model.entities[object.entity].slots[property.slot]
      if !(row?.isPlaceholder(property.slot) ?? false) { edits[object, default: [:]][property.slot] = replica.placeholder(slot) }
      try replica.setAssetEntry(
        AssetEntry(id: id, property: property.id, asset: asset.content, location: .hub, used: replica.wall()))
    } else if let slot = replica.schema.slot(for: value, property, ofEntity: object.entity) {
      edits[object, default: [:]][property.slot] = slot
      try replica.removeAssetEntry(of: id, property.id)
    }
  }

  /// Sets unique values of other rows to null that edited rows get. These rows get others, or are deleted, by a later batch of the import.
  mutating func releaseUniqueValues(deleted: Set<ObjectReference>) throws {
    if replica.schema.constraints.isEmpty { return }
    let model = replica.schema.model
    for (_, constraint) in replica.schema.constraints.sorted(by: { $0.key < $1.key }) {
      let subtree = model.entities[constraint.entity].subtree
      let slots = constraint.slots.map(\.index)
      var values: [[Slot]] = []
      var claimed: Set<[Slot]> = []
      for (object, edits) in edits.sorted(by: { $0.key.rawValue < $1.key.rawValue })
      where subtree.contains(object.entity) && !deleted.contains(object) {
        if slots.allSatisfy({ edits[$0] == nil }) { continue }
        let row = rows[object]
        let found = try constraint.slots.map { slot -> Slot in
          let value =
            try edits[slot.index] ?? row.map { try $0.isNull(slot.index) ? .null : $0.slot(slot.index, kind: slot.kind) }
            ?? slot.defaultValue
          guard slot.kind == .reference, case .int(let reference) = value else { return value }
          return .int(ObjectReference(rawValue: reference).key)
        }
        if found.contains(.null) { continue }
        if claimed.insert(found).inserted {
          values.append(found)
        } else {
          // Never so by the protocol. An import must not fail because of it.
          for slot in slots { self.edits[object]?[slot] = .null }
        }
      }
      let holders = try replica.holders(of: values, under: constraint).filter { !deleted.contains($0) }
      try read(holders)
      for holder in holders where slots.allSatisfy({ edits[holder]?[$0] == nil }) {
        for slot in slots { edits[holder, default: [:]][slot] = .null }
      }
    }
  }

  mutating func set(_ value: Slot, inSlot slot: Int, of object: ObjectReference) { edits[object, default: [:]][slot] = value }

  /// Adds the rows to a request.
  func write(to request: inout SaveChangesRequest, deleted: Set<ObjectReference>) throws {
    let insertion = RowWriter(rowCapacity: inserted.count)
    for object in inserted {
      let entity = replica.schema.model.entities[object.entity]
      let values = edits[object] ?? [:]
      insertion.beginRow(
        entityNumber: object.entity, slotCount: entity.slots.count, key: object.key, version: RowImage.firstVersion)
      for slot in entity.slots where !slot.isTransient && !slot.isDerived {
        insertion.set(values[slot.index] ?? slot.defaultValue, at: slot.index)
      }
      insertion.endRow()
    }
    request.inserted = insertion.finish()
    let writer = RowWriter()
    for (object, values) in edits.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where !values.isEmpty && !deleted.contains(object) {
      guard let row = rows[object] else { continue }
      let kinds = replica.schema.model.entities[object.entity].kinds
      writer.beginRow(entityNumber: object.entity, slotCount: row.slotCount, key: object.key, version: row.version + 1)
      for (slot, kind) in kinds.enumerated() {
        if let value = values[slot] { writer.set(value, at: slot) } else { writer.copy(slot, kind: kind, from: row) }
      }
      var update = SaveChangesRequest.Update(row: writer.endRow(), changedSlots: SlotMask(slots: values.keys), oldVersion: row.version)
      update.previousRow = row
      request.updated.append(update)
    }
    for object in deleted.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let row = rows[object] else { continue }
      var deletion = SaveChangesRequest.VersionedReference(reference: object, version: row.version)
      deletion.previousRow = row
      request.deleted.append(deletion)
    }
  }
}
