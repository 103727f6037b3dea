/// What synchronization needs of a store: the state of a zone and of its records, the saves that were not yet sent, and the objects.
///
/// Everything is read and written in transactions: ``transaction(_:)`` runs its closure completely or not at all, also if the process ends
/// meanwhile. While it runs, nothing else writes to the store.
package protocol SyncStore: AnyObject {
  /// Runs a closure as one transaction.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result

  func zone() throws -> ZoneState
  func setZone(_ zone: ZoneState) throws

  /// Returns what is known of a record, or nil if it never was in the zone.
  func entry(of id: RecordID) throws -> RecordEntry?
  func setEntry(_ entry: RecordEntry, of id: RecordID) throws
  /// Returns the records with an entry, in the order of their IDs.
  func records(after id: RecordID?, maximumCount: Int) throws -> [RecordID]
  /// Returns records that must be sent although no pending save changes them (``RecordEntry/isUnsent``), in the order of their IDs.
  func unsentRecords(after id: RecordID?, maximumCount: Int) throws -> [RecordID]

  /// Returns the saves after a number, in their order, whole, and at least one if there is one.
  func pendingSaves(after number: Int64, maximumChangeCount: Int) throws -> [PendingSave]
  /// Returns the join of the changes that saves after a number have made to a record.
  func pendingChanges(of id: RecordID, after number: Int64) throws -> Record?
  /// Replaces the stamps of saves.
  func restamp(_ stamps: [Int64: Stamp]) throws

  /// Returns the object of a record.
  func object(of id: RecordID) throws -> SyncedObject?
  /// Inserts and updates objects, and deletes those of the records for which there is nil.
  ///
  /// All objects that the new ones refer to are in the store or among the changes, in any order. Nothing refers to a deleted object, except
  /// objects that are deleted in the same transaction.
  func setObjects(_ changes: [(id: RecordID, object: SyncedObject?)]) throws
  /// Returns the records whose state or object refers to a record, whether or not their objects exist. It may return others too.
  func referrers(of id: RecordID) throws -> [RecordID]

  /// The commit that is being sent.
  func outbox() throws -> FrozenCommit?
  func setOutbox(_ commit: FrozenCommit?) throws

  /// Keeps pulled records until the pull is complete.
  func stage(_ records: [StoredRecord]) throws
  /// Returns staged records in the order in which they were staged.
  ///
  /// - Parameter position: The number of staged records to skip.
  func stagedRecords(after position: Int, maximumCount: Int) throws -> [StoredRecord]
  func removeStagedRecords() throws
}

/// An object in a store: its attributes and to-one relationships.
package struct SyncedObject: Hashable, Sendable {
  package let entity: EntityID
  package var values: [PropertyID: FieldValue]

  package init(entity: EntityID, _ values: [PropertyID: FieldValue]) { (self.entity, self.values) = (entity, values) }
}

/// The changes of one save that was not yet accepted by the hub.
package struct PendingSave: Hashable, Sendable {
  /// The number of the save, in ascending order.
  package let number: Int64
  package var stamp: Stamp
  package var changes: [PendingChange]

  package init(number: Int64, stamp: Stamp, changes: [PendingChange]) {
    (self.number, self.stamp, self.changes) = (number, stamp, changes)
  }
}

/// The change of an object in a save.
package struct PendingChange: Hashable, Sendable {
  package let id: RecordID
  package let entity: EntityID
  /// The values that were set; nil if the object was deleted.
  package let values: [PropertyID: FieldValue]?

  package init(_ id: RecordID, entity: EntityID, _ values: [PropertyID: FieldValue]?) {
    (self.id, self.entity, self.values) = (id, entity, values)
  }

  /// Returns the change as a part of the record's state.
  package func record(_ stamp: Stamp) -> Record {
    values.map { Record(entity: entity, $0, stamp) } ?? Record(entity: entity, .deleted(stamp))
  }
}

/// A commit that is sent until the hub answers.
package struct FrozenCommit: Hashable, Sendable {
  package let commit: SealedCommit
  /// The number of the last save in it.
  package let through: Int64

  package init(_ commit: SealedCommit, through: Int64) { (self.commit, self.through) = (commit, through) }
}
