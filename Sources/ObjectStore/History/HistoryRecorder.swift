import Foundation
package import ObjectModel

/// Converts the writes of a request to history records, in the order in which they are read back.
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

  // MARK: Requirements

  /// Returns whether recording a deletion requires the deleted row.
  package func needsPreviousRow(ofDeleted entity: Int) -> Bool { level == .values || !ids.preservedSlots(of: entity).isEmpty }

  /// Whether recording an update requires the previous row.
  package var needsPreviousRows: Bool { level == .values }

  // MARK: Saves

  /// Adds the changes of a save.
  ///
  /// - Parameters:
  ///   - previousRows: The previous rows that recording requires.
  ///   - large: Returns the recorded values of external values.
  package mutating func add(
    _ request: SaveChangesRequest, previousRows: [ObjectReference: RowImage], large: LargeValues
  ) throws {
    let changes = request.relationshipChanges
    var own: [ObjectReference: [SaveChangesRequest.RelationshipChange]] = [:]
    if !changes.isEmpty, !request.updated.isEmpty {
      let updated = Set(request.updated.map(\.row.reference))
      own = Dictionary(grouping: changes.lazy.filter { updated.contains($0.source) }, by: \.source)
    }
    for deleted in request.deleted { try addDeleted(deleted.reference, previousRows[deleted.reference], large) }
    for update in request.updated {
      let row = update.row
      try addUpdated(row, update.changedSlots, previous: previousRows[row.reference], large)
      for change in own[row.reference] ?? [] { add(change) }
    }
    for row in request.inserted { try addInserted(row, large) }
    for change in changes where own[change.source] == nil { add(change) }
  }

  /// Adds the rows that were written in addition to the request.
  package mutating func add(_ outcome: SaveOutcome, of request: SaveChangesRequest?) {
    if outcome.isEmpty { return }
    var known: Set<ObjectReference> = []
    if let request {
      known.formUnion(request.inserted.references)
      known.formUnion(request.updated.map(\.row.reference))
    }
    for reference in outcome.refreshed.references + outcome.outdated where known.insert(reference).inserted { addDerived(reference) }
  }

  // MARK: Objects

  /// Adds an inserted object with its values.
  package mutating func addInserted(_ row: RowImage, _ large: LargeValues) throws {
    guard let object = ids.object(row.reference) else { return }
    guard level == .values else { return encoder.addInserted(entity: object.entity, key: object.key) }
    encoder.add(.insertedWithValues(object, try values(of: row, besides: SlotMask(), large)))
  }

  /// Adds an inserted object without its values.
  package mutating func addInserted(_ reference: ObjectReference) {
    if let object = ids.object(reference) { encoder.addInserted(entity: object.entity, key: object.key) }
  }

  /// Adds an updated object with its values.
  package mutating func addUpdated(_ row: RowImage, _ slots: SlotMask, previous: RowImage?, _ large: LargeValues) throws {
    guard level == .values, let previous, let object = ids.object(row.reference) else { return addUpdated(row.reference, slots) }
    let (entity, known) = (ids.model.entities[row.entityNumber], ids.slots(of: row.entityNumber))
    var changes: [HistoryChange] = []
    for slot in slots.slots(below: row.slotCount) where known[slot] > 0 && !entity.slots[slot].isDerived {
      changes.append(
        HistoryChange(
          property: known[slot], old: try value(previous, slot, entity.kinds[slot], large),
          new: try value(row, slot, entity.kinds[slot], large)))
    }
    encoder.add(.updatedWithValues(object, changes))
  }

  /// Adds an updated object without its values.
  package mutating func addUpdated(_ reference: ObjectReference, _ slots: SlotMask) {
    guard let object = ids.object(reference) else { return }
    encoder.addUpdated(object, encodedProperties: list(of: slots, reference.entity))
  }

  /// Adds an updated object with changes that the caller has determined.
  package mutating func addUpdated(_ reference: ObjectReference, _ changes: [HistoryChange]) {
    if let object = ids.object(reference) { encoder.add(.updatedWithValues(object, changes)) }
  }

  package mutating func addDeleted(_ reference: ObjectReference, _ previous: RowImage?, _ large: LargeValues) throws {
    guard let object = ids.object(reference) else { return }
    guard let previous else { return encoder.add(.deleted(object, tombstone: [], others: nil)) }
    let preserved = ids.preservedSlots(of: reference.entity)
    let tombstone = try values(of: previous, in: preserved, large)
    encoder.add(
      .deleted(object, tombstone: tombstone, others: level == .values ? try values(of: previous, besides: preserved, large) : nil))
  }

  /// Adds an object of which only derived values were changed.
  package mutating func addDerived(_ reference: ObjectReference) {
    guard let object = ids.object(reference) else { return }
    let (entity, known) = (ids.model.entities[reference.entity], ids.slots(of: reference.entity))
    encoder.add(.derived(object, properties: entity.derivedSlots.slots(below: known.count).compactMap { known[$0] > 0 ? known[$0] : nil }))
  }

  /// Adds a change of a relationship's members and their order.
  package mutating func add(_ change: SaveChangesRequest.RelationshipChange) {
    let id = ids.relationship(change.relationshipID)
    guard id > 0, let source = ids.object(change.source) else { return }
    // Membership that is stored in the members' to-one slots is recorded by their updates.
    let relationship = ids.model.relationships[change.relationshipID]
    if ids.model.inverse(of: relationship)?.isToMany ?? true {
      let (added, removed) = (change.added.compactMap(ids.object), change.removed.compactMap(ids.object))
      if !removed.isEmpty { encoder.add(.linked(relationship: id, isRemoval: true, source, members: removed)) }
      if !added.isEmpty { encoder.add(.linked(relationship: id, isRemoval: false, source, members: added)) }
    }
    if let order = change.order {
      encoder.add(.ordered(relationship: id, source, members: level == .values ? order.compactMap(ids.object) : nil))
    }
  }

  /// Adds a change of the order of an object's members. Without values, only that the order has changed is recorded.
  package mutating func add(_ order: OrderChange, of relationship: Int, _ source: ObjectReference) {
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

  /// Returns the recorded value of a slot.
  package func value(_ row: RowImage, _ slot: Int, _ large: LargeValues) throws -> HistoryValue {
    try value(row, slot, ids.model.entities[row.entityNumber].kinds[slot], large)
  }

  private func value(_ row: RowImage, _ slot: Int, _ kind: SlotKind, _ large: LargeValues) throws -> HistoryValue {
    if row.isNull(slot) { return .null }
    switch kind {
    case .int: return .int(row.int(slot))
    case .real: return .real(bits: row.real(slot).bitPattern)
    case .text: return .text(row.string(slot))
    case .bytes: return try large(row, slot) ?? .bytes(Data(row.bytes(slot)))
    case .reference: return ids.object(row.reference(slot)).map { .reference($0) } ?? .null
    case .none: return .null
    }
  }
}
