package import Foundation
package import ObjectModel
import ObjectStore
import SyncCore

/// What the hub has not accepted yet, in terms of the model.
package struct PendingReport: Hashable, Sendable {
  package enum ChangeType: String, Hashable, Sendable {
    case insert, update, delete
  }

  /// The change of an object.
  package struct Change: Hashable, Sendable {
    /// The object; nil if the store does not have it.
    package var objectID: ManagedObjectID?
    /// The stable ID of the object; nil if it has none anymore.
    package var stableID: UUID?
    /// The name of the entity; nil if the model does not have it.
    package var entityName: String?
    package var type: ChangeType
    /// The names of the properties with new values, sorted; empty for a deleted object.
    package var propertyNames: [String]
    /// The size of the new values in bytes, before they are sealed.
    package var size: Int64
    /// Whether it waits until the record on the hub, which cannot be opened, can be.
    package var isBlocked = false
    /// Whether it is the required version of the model, and not an object.
    package var isModelRequirement: Bool { stableID == ModelRequirement.id.uuid }
  }

  /// A save of the application.
  package struct Save: Hashable, Sendable {
    /// The number of its transaction in the history.
    package var number: Int64
    package var date: Date
    package var author: String?
    /// Whether a commit with it was made, and the hub has not accepted that yet.
    package var isBeingSent: Bool
    /// The number of changed objects, and the size of their new values in bytes.
    package var changeCount = 0
    package var size: Int64 = 0
    /// The changes, as far as they are listed.
    package var changes: [Change] = []

    /// Adds a further change of an object.
    fileprivate mutating func extend(_ change: Change) {
      size += change.size
      guard let index = changes.lastIndex(where: { $0.objectID == change.objectID }) else { return }
      changes[index].propertyNames = Set(changes[index].propertyNames + change.propertyNames).sorted()
      changes[index].size += change.size
      if change.type == .delete { (changes[index].type, changes[index].propertyNames) = (.delete, []) }
    }
  }

  package var zone: UUID
  /// The saves, the oldest first.
  package var saves: [Save] = []
  /// The objects to send apart from saves: those that were there before, those that a restored hub lacks, and those that are blocked.
  package var objectCount = 0
  /// Those objects, as far as they are listed.
  package var objects: [Change] = []
  /// Whether objects from before the synchronization have not been read yet, which are not among ``objects``.
  package var isReadingObjects = false
  /// The size of the commit that is being sent, in bytes; 0 without one.
  package var sendingBytes = 0

  /// Whether changes are left out, because there are more than were requested.
  package var hasMore: Bool { saves.reduce(0) { $0 + $1.changeCount - $1.changes.count } + objectCount > objects.count }
  package var isEmpty: Bool { saves.isEmpty && objectCount == 0 && !isReadingObjects }
}

extension StoreReplica {
  /// Returns what the hub has not accepted yet. Waits for no other process, and needs no writable store.
  ///
  /// - Parameter maximumCount: The maximum number of changes of objects to list. All are counted.
  /// - Throws: ``SyncError`` with `notSynchronized` if the store is not synchronized.
  package func pendingReport(maximumCount: Int) throws -> PendingReport {
    try snapshot {
      let state = try knownState()
      var report = PendingReport(zone: RecordID(high: state.zoneID.high, low: state.zoneID.low).uuid)
      let frozen = try outbox()
      report.sendingBytes = frozen.map { CommitCoding.encode($0.commit).count } ?? 0
      report.isReadingObjects = state.baseline != nil
      let unreadable = try UnreadableNames(self)
      var listed = 0
      try reader.forEachUnsentChange(after: state.consumedThrough) { transaction in
        report.saves.append(
          PendingReport.Save(
            number: transaction.transactionNumber, date: transaction.timestamp, author: transaction.author,
            isBeingSent: frozen.map { transaction.transactionNumber <= $0.through } ?? false))
      } body: { change, isFirst in
        var change = change
        let last = report.saves.count - 1
        if !isFirst { return report.saves[last].extend(change) }
        report.saves[last].changeCount += 1
        report.saves[last].size += change.size
        if listed >= maximumCount { return }
        listed += 1
        change.isBlocked = try change.stableID.map { try unreadable.contains(RecordID($0)) } ?? false
        report.saves[last].changes.append(change)
      }
      report.objectCount = try unsentCount()
      for id in try unsentRecords(after: nil, maximumCount: max(0, maximumCount - listed)) {
        guard let row = try row(of: id) else { continue }
        var change = self.change(of: row, id)
        change.isBlocked = try unreadable.contains(id)
        report.objects.append(change)
      }
      return report
    }
  }

  /// Returns the change that an unsent record is.
  private func change(of row: RecordCache.Row, _ id: RecordID) -> PendingReport.Change {
    let state = row.entry.state
    let number = state.flatMap { schema.number(of: $0.entity) }
    let isDeleted = row.entry.isOrphan || state?.isDeleted ?? false
    let isNew = row.entry.base.map { $0.record.isDeleted } ?? true
    let fields = isDeleted ? [] : row.entry.held?.fields ?? []
    return PendingReport.Change(
      objectID: row.object.map(store.space.objectID), stableID: id.uuid, entityName: number.map { schema.model.entities[$0].name },
      type: isDeleted ? .delete : isNew ? .insert : .update,
      propertyNames: number.map { number in
        fields.filter { $0.value != .null }.compactMap { propertyName($0.property, ofEntity: number) }.sorted()
      } ?? [],
      size: fields.reduce(0) { $0 + $1.value.valueSize })
  }
}

extension FieldValue {
  /// The size of the value in bytes; of a large value, that of its content.
  fileprivate var valueSize: Int64 {
    switch self {
    case .null, .superseded: 0
    case .asset(let asset): asset.size
    default: Int64(resolved.approximateSize)
    }
  }
}

extension HistoryChangeReader {
  /// Reads the changes of objects that the transactions after a number have made, as far as they are sent.
  ///
  /// - Parameters:
  ///   - begin: Called with each transaction that has such changes, before the first one.
  ///   - body: Receives each change, and whether it is the first one of the object in the transaction.
  fileprivate func forEachUnsentChange(
    after number: Int64, begin: (PersistentHistoryTransaction) throws -> Void,
    body: (_ change: PendingReport.Change, _ isFirst: Bool) throws -> Void
  ) throws {
    guard let names = try history.historyIDs(), var reader = try historyReader(after: number) else { return }
    var objects = RowKeySet()
    var isBegun = false
    while let fragment = try reader.next() {
      if fragment.isFirst { (objects, isBegun) = (RowKeySet(), false) }
      let changes = fragment.changes.filter { isSent($0, names) }
      let ids = try history.stableIDs(of: changes.map(\.changedObjectID.reference))
      for (change, id) in zip(changes, ids) {
        if !isBegun { try begin(fragment.transaction) }
        isBegun = true
        try body(pendingChange(change, id, names), objects.insert(change.changedObjectID.reference.rawValue))
      }
    }
  }

  private func pendingChange(_ change: PersistentHistoryChange, _ id: UUID?, _ ids: HistoryIDs) -> PendingReport.Change {
    let entity = schema.model.entities[change.changedObjectID.reference.entity]
    var (names, size): (Set<String>, Int64) = ([], 0)
    if change.changeType != .delete {
      for (name, value) in change.newValues?.values ?? [:] where isSent(name, change, entity, ids) {
        if change.changeType == .insert, value.isNull { continue }
        names.insert(name)
        size += value.valueSize
      }
      for link in change.links {
        names.insert(link.relationship)
        size += 16
      }
      names.formUnion(change.orders.keys)
    }
    return PendingReport.Change(
      objectID: change.changedObjectID, stableID: id, entityName: entity.name,
      type: change.changeType == .insert ? .insert : change.changeType == .delete ? .delete : .update, propertyNames: names.sorted(),
      size: size)
  }
}

extension RecordedValues.Value {
  fileprivate var isNull: Bool {
    switch self {
    case .attribute(.null), .object(nil): true
    default: false
    }
  }

  /// The size of the value in bytes.
  fileprivate var valueSize: Int64 {
    switch self {
    case .attribute(let slot): Int64(FieldValue(slot).valueSize)
    case .object(let id): id == nil ? 0 : 16
    case .large(let size, _): size
    }
  }
}
