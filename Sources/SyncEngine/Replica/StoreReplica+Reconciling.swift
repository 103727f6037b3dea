import Foundation
import ObjectModel
import ObjectStore
import SyncCore

extension StoreReplica {
  /// The number of objects that are compared at once.
  private static let batch = 500

  /// Finds the changes of the application that the history does not contain, by comparing all objects with their records: part of the
  /// history was deleted before it was sent, or a migration has replaced all objects.
  ///
  /// The changes become held states of the records, as if they had been made at once now. Everything else of the pending saves stays.
  func reconcile() throws {
    var state = try knownState()
    let stamp = Stamp(state.zone.clock.stamp(at: wall()), state.zone.device)
    try setReplicaState(state)
    var progress = BaselineProgress()
    baselineKeys = nil
    defer { baselineKeys = nil }
    while true {
      let rows = try nextRows(&progress, Self.batch)
      if rows.isEmpty { break }
      var identities = RecordIdentities(history)
      for row in rows { identities.add(row.reference) }
      try identities.load()
      for row in rows { try reconcile(row, try identities.record(of: row.reference), stamp) }
    }
    while true {
      let links = try nextLinks(&progress, Self.batch)
      // In a batch, each link of a relationship without a direction can be returned in the other one.
      if links.isEmpty, progress.isComplete(schema) { break }
      for link in links { try reconcile(link.link, stamp) }
    }
    try reconcileDeletions(stamp)
    try reconcileLists(stamp)
  }

  private func reconcile(_ row: RowImage, _ id: RecordID, _ stamp: Stamp) throws {
    let object = try object(row, of: id)
    let record = try knownRecord(of: id)
    guard let known = record?.mapValues({ schema.syncModel.shownValue(of: $0, of: object.entity) }) else {
      try addBaseline(object, of: id)
      return try setObject(row.reference, of: id)
    }
    if try self.row(of: id)?.object != row.reference { try setObject(row.reference, of: id) }
    // A deletion is final. The object is deleted by the next update.
    if known.isDeleted { return }
    var changes: [PropertyID: FieldValue] = [:]
    for (property, value) in object.values where known[property]?.value != value {
      // A relationship is nil as long as its destination has no object.
      // The record has a value of another type.
      if let other = known[property]?.value, let property = schema.entities[row.entityNumber].property(property),
        schema.isShown(other, as: value, property, ofEntity: row.entityNumber)
      {
        continue
      }
      // This program may not have the function by which the application shows another value.
      if let field = record?[property], schema.syncModel.mergeFailure(of: field, of: object.entity) == .missing { continue }
      if value == .null, let destination = known[property]?.value.reference, try self.object(of: destination) == nil { continue }
      changes[property] = value
    }
    if changes.isEmpty { return }
    let former = Dictionary(known.fields.lazy.map { ($0.property, $0.value) }) { first, _ in first }
    let change = PendingChange(
      id, entity: object.entity, changes, replacing: former, rules: schema.syncModel.merging(of: object.entity), first: stamp
    ).versioned(schema.syncModel, replacing: former, in: record, settled: try entry(of: id)?.state, first: stamp)
    try hold(change.record(stamp), of: id)
  }

  private func reconcile(_ link: Link, _ stamp: Stamp) throws {
    guard let known = try knownRecord(of: link.recordID) else {
      try Baseline.add(linkObject(link), of: link.recordID, in: self)
      return
    }
    if known.isDeleted || known.hasAddition { return }
    let positions = try positions(of: link.recordID, link.relationship, link.values)
    try hold(PendingChange.addition(of: link, link.recordID, stamp).positioned(positions).record(stamp), of: link.recordID)
  }

  /// Removes the links of records that the store does not contain, although it has the objects.
  private func reconcileRemovals(among ids: [RecordID], _ stamp: Stamp) throws {
    if schema.links.isEmpty { return }
    let links = try ids.compactMap { id in try row(of: id)?.object == nil ? try link(of: id).map { (id, $0) } : nil }
    let existing = try self.links(of: links.map(\.0))
    for (id, link) in links where existing[id] == nil {
      guard let known = try knownRecord(of: id), known.hasAddition, try object(of: link.source) != nil,
        try object(of: link.destination) != nil
      else { continue }
      try hold(PendingChange.removal(of: link, id, from: known).record(stamp), of: id)
    }
  }

  /// Gives positions to members that the rows have in another order than the records.
  private func reconcileLists(_ stamp: Stamp) throws {
    if schema.lists.isEmpty { return }
    var progress = BaselineProgress()
    while true {
      let rows = try nextRows(&progress, Self.batch)
      if rows.isEmpty { return }
      for list in try disorderedLists(among: rows) {
        for (member, key) in try reposition(list, by: stamp.device) {
          guard let known = try knownRecord(of: member.id), !known.isDeleted else { continue }
          try hold(Record(entity: known.entity, [member.property: .position(key)], stamp), of: member.id)
        }
      }
    }
  }

  private func reconcileDeletions(_ stamp: Stamp) throws {
    var last: RecordID?
    while true {
      let records = try records(after: last, maximumCount: Self.batch)
      guard let final = records.last else { return }
      try reconcileRemovals(among: records, stamp)
      for id in records {
        guard let object = try row(of: id)?.object, let known = try knownRecord(of: id), !known.isDeleted else { continue }
        if try !readRows([object]).isEmpty, try history.stableIDs(of: [object]) == [id.uuid] { continue }
        if try successor(of: id) != id { continue }
        // An object without a required destination is hidden, and not deleted.
        let isHidden = try known.fields.contains { field in
          guard schema.syncModel.isRequired(field.property, of: known.entity), let destination = field.value.reference else { return false }
          return try self.object(of: destination) == nil
        }
        if !isHidden { try hold(deletion(of: id, known, stamp), of: id) }
      }
      last = final
    }
  }

  private func deletion(of id: RecordID, _ known: Record, _ stamp: Stamp) throws -> Record {
    guard schema.syncModel.updateWins(known.entity) else { return Record(entity: known.entity, .deleted(stamp)) }
    let references = try denyingReferences(to: id, schema.syncModel, after: zone().settledThrough) { _ in false }
    return PendingChange.deletion(of: id, entity: known.entity, from: known, references: references).record(stamp)
  }

  /// Returns the state of a record, with all pending saves.
  func knownRecord(of id: RecordID) throws -> Record? {
    (try entry(of: id)?.state).applying(try pending().changes(of: id))
  }
}
