import Foundation
import ObjectModel

/// Converts the changes of a request to history records, in the order in which they are read back.
package struct HistoryRecorder {
  /// Returns the recorded value of an external value, or nil if the value is in the row.
  package typealias LargeValues = (_ row: RowImage, _ slot: Int) throws -> HistoryValue?

  package let ids: HistoryIDs
  package let level: HistoryLevel
  private var encoder = HistoryEncoder()
  /// A cache of encoded property lists. Most rows of a request share one.
  private var lists: [ListKey: [UInt8]] = [:]
  private var lastList: (key: ListKey, bytes: [UInt8])?

  private struct ListKey: Hashable {
    let entity: Int
    let slots: SlotMask
  }

  package init(ids: HistoryIDs, level: HistoryLevel) {
    self.ids = ids
    self.level = level
  }

  /// Returns the encoded chunks in order and resets the recorder.
  package mutating func takeChunks() -> [[UInt8]] {
    defer { encoder = HistoryEncoder() }
    return encoder.finish()
  }

  /// Returns the complete chunks in order, so that a large request need not keep them. Records in the last chunk remain.
  package mutating func takeCompleteChunks() -> [[UInt8]] { encoder.takeComplete() }

  /// The number of complete chunks.
  package var completeChunkCount: Int { encoder.completeCount }

  /// Adds a change.
  ///
  /// - Parameter large: Returns the recorded values of external values.
  package mutating func add(_ change: RowChange, large: LargeValues) throws {
    switch change {
    case .insert(let row): try addInserted(row, large)
    case .update(let row): try addUpdated(row, large)
    case .delete(let row): try addDeleted(row, large)
    case .links(let links): add(links)
    case .order(let order): add(order.change, of: order.relationship.id, order.source)
    // A stage of a migration is one record, see `addMigration`.
    case .schema: break
    case .unspecified: addUnspecifiedChange()
    }
  }

  // MARK: Objects

  private mutating func addInserted(_ change: ChangedRow, _ large: LargeValues) throws {
    guard let object = ids.object(change.reference) else { return }
    guard level == .values, let row = change.new else { return encoder.addInserted(entity: object.entity, key: object.key) }
    encoder.add(.insertedWithValues(object, try values(of: row, besides: SlotMask(), large)))
  }

  private mutating func addUpdated(_ change: ChangedRow, _ large: LargeValues) throws {
    let reference = change.reference
    guard let object = ids.object(reference) else { return }
    if change.isDerived { return addDerived(object, change.slots, reference.entity) }
    defer { addOwnDerived(object, change.slots, reference.entity) }
    guard level == .values, let old = change.old, let new = change.new else {
      return encoder.addUpdated(object, encodedProperties: list(of: change.slots, reference.entity))
    }
    let (entity, known) = (ids.model.entities[reference.entity], ids.slots(of: reference.entity))
    var changes: [HistoryChange] = []
    for slot in change.slots.slots(below: new.slotCount) where known[slot] > 0 && !entity.slots[slot].isDerived {
      let kind = entity.kinds[slot]
      changes.append(
        HistoryChange(property: known[slot], old: try value(old, slot, kind, large), new: try value(new, slot, kind, large)))
    }
    encoder.add(.updatedWithValues(object, changes))
  }

  private mutating func addDeleted(_ change: ChangedRow, _ large: LargeValues) throws {
    guard let object = ids.object(change.reference) else { return }
    guard let row = change.old else {
      return encoder.add(.deleted(object, tombstone: [], others: nil, listsLinks: true))
    }
    let preserved = ids.preservedSlots(of: change.reference.entity)
    encoder.add(
      .deleted(
        object, tombstone: try values(of: row, in: preserved, large),
        others: level == .values ? try values(of: row, besides: preserved, large) : nil, listsLinks: true))
  }

  /// Adds derived attributes that an update of other attributes has changed.
  private mutating func addOwnDerived(_ object: HistoryObject, _ slots: SlotMask, _ number: Int) {
    let entity = ids.model.entities[number]
    guard entity.hasDerivedSlots else { return }
    let derived = SlotMask(slots: entity.derivedSlots.slots(below: entity.slots.count).filter(slots.contains))
    if !derived.isEmpty { addDerived(object, derived, number) }
  }

  /// Adds changed derived values of an object.
  private mutating func addDerived(_ object: HistoryObject, _ slots: SlotMask, _ entity: Int) {
    let known = ids.slots(of: entity)
    encoder.add(.derived(object, properties: slots.slots(below: known.count).compactMap { known[$0] > 0 ? known[$0] : nil }))
  }

  private mutating func add(_ links: ChangedLinks) {
    let id = ids.relationship(links.relationship.id)
    guard id > 0, let source = ids.object(links.source) else { return }
    let (added, removed) = (links.addedMembers.compactMap(ids.object), links.removedMembers.compactMap(ids.object))
    if !removed.isEmpty { encoder.add(.linked(relationship: id, isRemoval: true, source, members: removed)) }
    if !added.isEmpty { encoder.add(.linked(relationship: id, isRemoval: false, source, members: added)) }
  }

  /// Adds a change of the order of an object's members. Without values, only that the order has changed is recorded.
  private mutating func add(_ order: OrderChange, of relationship: Int, _ source: ObjectReference) {
    let id = ids.relationship(relationship)
    guard id > 0, let object = ids.object(source) else { return }
    guard level == .values else { return encoder.add(.ordered(relationship: id, object, members: nil)) }
    encoder.add(
      .moved(
        relationship: id, object,
        runs: order.runs.map { HistoryRun(after: $0.after.flatMap(ids.object), members: $0.members.compactMap(ids.object)) }))
  }

  /// Adds a record that any object may have been changed.
  ///
  /// - Parameters:
  ///   - from: The checksum of the model before a migration. Empty if the model is unchanged.
  ///   - to: The checksum of the model after it.
  package mutating func addUnspecifiedChange(from: String = "", to: String = "") { encoder.add(.whole(from: from, to: to)) }

  /// Adds what a migration changed.
  package mutating func addMigration(from: String, to: String, _ changes: [HistorySchemaChange]) {
    encoder.add(.migrated(from: from, to: to, changes: changes))
  }

  // MARK: Values

  private mutating func list(of slots: SlotMask, _ entity: Int) -> [UInt8] {
    let key = ListKey(entity: entity, slots: slots)
    if let lastList, lastList.key == key { return lastList.bytes }
    let bytes: [UInt8]
    if let known = lists[key] {
      bytes = known
    } else {
      let (description, ids) = (ids.model.entities[entity], ids.slots(of: entity))
      bytes = HistoryEncoder.encoded(
        slots.slots(below: ids.count).compactMap { ids[$0] > 0 && !description.slots[$0].isDerived ? ids[$0] : nil })
      lists[key] = bytes
    }
    lastList = (key, bytes)
    return bytes
  }

  /// Returns the values of the given slots of a row that are not null.
  private func values(of row: RowImage, in slots: SlotMask, _ large: LargeValues) throws -> [HistoryAssignment] {
    try values(of: row, large) { slots.contains($0) }
  }

  /// Returns the values of all other slots of a row that are not null and not derived.
  private func values(of row: RowImage, besides slots: SlotMask, _ large: LargeValues) throws -> [HistoryAssignment] {
    let entity = ids.model.entities[row.entityNumber]
    return try values(of: row, large) { !slots.contains($0) && !entity.slots[$0].isDerived }
  }

  private func values(of row: RowImage, _ large: LargeValues, where isIncluded: (Int) -> Bool) throws -> [HistoryAssignment] {
    let (entity, known) = (ids.model.entities[row.entityNumber], ids.slots(of: row.entityNumber))
    var result: [HistoryAssignment] = []
    for slot in 0..<row.slotCount where known[slot] > 0 && isIncluded(slot) && !row.isNull(slot) {
      result.append(HistoryAssignment(property: known[slot], value: try value(row, slot, entity.kinds[slot], large)))
    }
    return result
  }

  private func value(_ row: RowImage, _ slot: Int, _ kind: SlotKind, _ large: LargeValues) throws -> HistoryValue {
    if row.isNull(slot) { return .null }
    switch kind {
    case .int: return .int(row.int(slot))
    case .real: return .real(bits: row.real(slot).bitPattern)
    case .text: return .text(row.string(slot))
    case .bytes: return try large(row, slot) ?? .bytes(try row.data(slot))
    case .reference: return ids.object(row.reference(slot)).map { .reference($0) } ?? .null
    case .none: return .null
    }
  }
}

extension ChangeNeeds {
  /// Creates the needs of a history.
  package convenience init(ofHistory ids: HistoryIDs, level: HistoryLevel) {
    let model = ids.model
    self.init(
      entities: model.entities.map { entity in
        var needs = OfEntity()
        needs.isIncluded = ids.entity(entity.number) > 0
        needs.includesOldRow = level == .values
        needs.includesNewRow = level == .values
        needs.includesDeletedRow = level == .values || !ids.preservedSlots(of: entity.number).isEmpty
        return needs
      },
      relationships: model.relationships.map { ids.relationship($0.id) > 0 })
  }
}
