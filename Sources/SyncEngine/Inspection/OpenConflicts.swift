package import Foundation
package import ObjectModel
import ObjectStore
import SyncCore

/// What devices disagree about, and what waits for a decision.
package struct OpenConflicts: Sendable {
  /// A record of the hub that cannot be opened.
  package struct UnreadableRecord: Hashable, Sendable {
    /// The stable ID of its object, and the object; nil if the store does not have the record.
    package let stableID: UUID?
    package let objectID: ManagedObjectID?
    package let entityName: String?
    /// The properties with values that are sent as soon as the record can be opened, sorted.
    package let pendingNames: [String]
  }

  /// The entries of the journal whose winner is still what the object has.
  package let values: [JournalItem]
  /// The records that cannot be opened, those of known objects first.
  package let unreadable: [UnreadableRecord]
}

extension StoreReplica {
  /// Returns the open conflicts. Waits for no other process, and needs no writable store.
  ///
  /// - Throws: ``SyncError`` with `notSynchronized` if the store is not synchronized.
  package func openConflicts() throws -> OpenConflicts {
    let values = try openJournalItems()
    return try snapshot {
      let names = try UnreadableNames(self)
      let known = try names.records(in: self)
      var unreadable = try known.map { id in
        let row = try row(of: id)
        let number = (row?.entry.state).flatMap { schema.number(of: $0.entity) }
        return OpenConflicts.UnreadableRecord(
          stableID: id.uuid, objectID: (row?.object).map(store.space.objectID), entityName: number.map { schema.model.entities[$0].name },
          pendingNames: number.map { number in
            (row?.entry.held?.fields ?? []).compactMap { propertyName($0.property, ofEntity: number) }.sorted()
          } ?? [])
      }
      for _ in known.count..<max(known.count, names.count) {
        unreadable.append(OpenConflicts.UnreadableRecord(stableID: nil, objectID: nil, entityName: nil, pendingNames: []))
      }
      return OpenConflicts(values: values, unreadable: unreadable)
    }
  }

  /// Returns the entries of the journal that are still undecided: they were not restored, and nothing was set since.
  private func openJournalItems() throws -> [JournalItem] {
    var (entries, names): ([StoredJournalEntry], [DeviceID: String]) = ([], [:])
    var references: [RecordID: ObjectReference] = [:]
    try snapshot {
      entries = try storedJournal()
      names = try authorNames()
      for entry in entries { references[entry.entry.id] = try row(of: entry.entry.id)?.object }
    }
    // Objects cannot be read in a snapshot.
    let rows = try readRows(Array(Set(references.values)))
    let stableIDs = try history.stableIDs(of: rows.map(\.reference))
    var found: [RecordID: RowImage] = [:]
    for (row, id) in zip(rows, stableIDs) { if let id { found[RecordID(id)] = row } }
    return try snapshot {
      var items: [JournalItem] = []
      for stored in entries {
        let id = stored.entry.id
        let present = try found[id].map { try object($0, of: id) }
        guard stored.entry.isOpen(present, schema), let item = try item(stored, names) else { continue }
        items.append(item)
      }
      return items
    }
  }
}

extension JournalEntry {
  /// Returns whether the object still is as it was left by what has won.
  ///
  /// - Parameter object: The object; nil if it is deleted.
  fileprivate func isOpen(_ object: SyncedObject?, _ schema: SyncSchema) -> Bool {
    switch reason {
    case .deletion, .destinationDeleted: return object == nil
    case .destinationTaken, .cycle: return object.map { object in losing.fields.contains { object.values[$0.property] == .null } } ?? false
    case .laterChange, .duplicate, .failedMerge:
      guard let object, let winning, let number = schema.number(of: object.entity) else { return false }
      return winning.fields.contains { field in
        guard let value = object.values[field.property], let property = schema.entities[number].property(field.property) else {
          return false
        }
        return value == field.value.resolved || schema.isShown(field.value, as: value, property, ofEntity: number)
      }
    }
  }
}
