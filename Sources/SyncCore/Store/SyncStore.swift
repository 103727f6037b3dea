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
  /// Returns the versions of the records with an entry, in the order of their IDs, also of deleted ones.
  func baseVersions(after id: RecordID?, maximumCount: Int) throws -> [BaseVersion]
  /// Returns records that must be sent although no pending save changes them (``RecordEntry/isUnsent``), in the order of their IDs.
  func unsentRecords(after id: RecordID?, maximumCount: Int) throws -> [RecordID]

  /// Returns saves after a number, in their order: as many whole saves as have a maximum number of changes together. If the first save has
  /// more changes, returns that one with its first changes.
  func pendingSaves(after number: Int64, maximumChangeCount: Int) throws -> [PendingSave]
  /// Returns changes of a save, of which each object has at most one, in an order that never changes.
  ///
  /// Objects are changed by ``PendingChange/init(_:entity:_:replacing:rules:first:)``, if their entities have attributes with rules, and by
  /// ``PendingChange/versioned(_:replacing:in:settled:first:)``, if functions merge attributes of theirs or of their records. Links are
  /// changed by ``PendingChange/addition(of:_:_:)`` and ``PendingChange/removal(of:_:from:)``. Which additions a removal concerns
  /// is determined once, before anything is imported that was not there when the link was removed. A link need not be removed when one of
  /// its ends is deleted. Which versions a save replaces is determined once too.
  ///
  /// Objects whose entities have ``SyncModel/Entity/updateWins`` are deleted by ``PendingChange/deletion(of:entity:from:references:)``. What a
  /// deletion has seen is determined once too, at the same time as removals of links. The links that such a deletion removes, and that were
  /// there before synchronization began, must have entries, because they exist again if the object does. An object that is inserted under
  /// the record of a deleted one is changed by ``PendingChange/reinsertion(of:entity:_:in:_:first:revival:)``.
  ///
  /// - Parameter position: The number of changes to skip.
  func changes(of save: Int64, from position: Int, maximumCount: Int) throws -> [PendingChange]
  /// Returns the changes that saves after a number have made to a record, each of them applied to those before (``Record/applying(_:)``).
  func pendingChanges(of id: RecordID, after number: Int64) throws -> Record?
  /// Replaces the stamps of saves, and those of the additions of links and of what deletions have seen in the changes of all pending saves
  /// (``PendingChange/restamped(_:)``).
  func restamp(_ stamps: [Int64: Stamp], additions: (Stamp) -> Stamp) throws
  /// Gives new records to objects that pending saves have inserted, because the zone has other objects under the same IDs.
  ///
  /// From then on, the pending saves change and refer to the new records, and the former ones have no objects. Links of these objects are
  /// others too, with the records that follow from the new ends (``PendingChange/renewed(_:_:linkID:)``). An object that is inserted later
  /// gets the ID of none of the records with an entry, apart from the one that it had before its deletion. A new record follows from the
  /// former one and the save that inserted the object, so that another state of the store gives the same one to the same object.
  /// - Returns: The new records, by the former ones.
  func renewRecords(_ ids: [RecordID]) throws -> [RecordID: RecordID]

  /// Returns the object of a record.
  func object(of id: RecordID) throws -> SyncedObject?
  /// Returns the objects of those records that have one.
  func objects(of ids: [RecordID]) throws -> [RecordID: SyncedObject]
  /// Returns whether a link exists, whose record may be unknown.
  func contains(_ link: Link, _ id: RecordID) throws -> Bool
  /// Inserts and updates objects, and deletes those of the records for which there is nil.
  ///
  /// All objects that the new ones refer to are in the store or among the changes, in any order. Nothing refers to a deleted object, except
  /// objects that are deleted in the same transaction.
  func setObjects(_ changes: [(id: RecordID, object: SyncedObject?)]) throws
  /// Returns the records whose state or object refers to a record, whether or not their objects exist. It may return others too.
  func referrers(of id: RecordID) throws -> [RecordID]
  /// Returns the same, of records that refer by one relationship.
  func referrers(of id: RecordID, through property: PropertyID) throws -> [RecordID]

  /// Returns the record of a link.
  func id(of link: Link) -> RecordID
  /// Returns the records whose objects have unique values.
  func records(with key: UniqueKey) throws -> [RecordID]
  /// Makes pending saves refer to other records, and those that are made later too: also by changes of links, which are others then
  /// (``PendingChange/renewed(_:_:linkID:)``).
  ///
  /// - Parameter successors: The records to refer to, by those that were merged into them.
  /// - Returns: The records whose changes are others.
  func redirect(_ successors: [RecordID: RecordID]) throws -> [RecordID]

  /// Keeps values that have lost. If the journal has an equal entry already, does nothing.
  func addToJournal(_ entry: JournalEntry) throws

  /// Notes that an object shows a value that could not be merged with others.
  func noteUnmerged(_ value: UnmergedValue) throws

  /// Whether records can have large values, so that ``sendable(_:of:)`` must be called.
  var hasAssets: Bool { get throws }
  /// Returns a state of a record in which large values of this device are replaced by references to their uploaded chunks.
  ///
  /// The bytes of a value that was replaced before it was sent do not exist anymore: the reference is replaced by the present value.
  /// - Returns: Nil if a value must be uploaded before the record can be sent.
  func sendable(_ state: Record, of id: RecordID) throws -> Record?

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

  /// Keeps a record that cannot be opened, in place of an earlier one of the same name; nil removes it.
  func setQuarantined(_ record: StoredRecord?, _ name: RecordName) throws
  func quarantined(_ name: RecordName) throws -> StoredRecord?
  /// Returns the quarantined records, in the order of their names.
  func quarantined(after name: RecordName?, maximumCount: Int) throws -> [StoredRecord]
}

/// The version of a record that was pulled last.
package struct BaseVersion: Hashable, Sendable {
  package let id: RecordID
  /// The version; nil if the record has no base.
  package let version: Digest?
  package let isDeleted: Bool

  package init(_ id: RecordID, _ version: Digest?, isDeleted: Bool) { (self.id, self.version, self.isDeleted) = (id, version, isDeleted) }
}

extension SyncStore {
  /// Adds a change to the held state of a record.
  package func hold(_ change: Record, of id: RecordID) throws {
    var entry = try entry(of: id) ?? RecordEntry()
    entry.held = entry.held.applying(change)
    try setEntry(entry, of: id)
  }

  package func baseVersions(after id: RecordID?, maximumCount: Int) throws -> [BaseVersion] {
    try records(after: id, maximumCount: maximumCount).map { id in
      let base = try entry(of: id)?.base
      return BaseVersion(id, base?.version, isDeleted: base?.record.isDeleted ?? false)
    }
  }

  package func objects(of ids: [RecordID]) throws -> [RecordID: SyncedObject] {
    var objects: [RecordID: SyncedObject] = [:]
    for id in ids { objects[id] = try object(of: id) }
    return objects
  }

  package func contains(_ link: Link, _ id: RecordID) throws -> Bool { try object(of: id) != nil }

  package var hasAssets: Bool { false }

  package func sendable(_ state: Record, of id: RecordID) throws -> Record? { state }

  package func referrers(of id: RecordID, through property: PropertyID) throws -> [RecordID] { try referrers(of: id) }
}

/// An object in a store: its attributes and to-one relationships; or a link, with its ends (``Link``).
package struct SyncedObject: Hashable, Sendable {
  package let entity: EntityID
  package var values: [PropertyID: FieldValue]

  package init(entity: EntityID, _ values: [PropertyID: FieldValue]) { (self.entity, self.values) = (entity, values) }

  /// Creates the object of a link.
  package init(_ link: Link) { self.init(entity: link.relationship, link.values) }

  /// Whether the object is a link.
  package var isLink: Bool { values[.linkSource] != nil }
}

/// The changes of one save that was not yet accepted by the hub.
package struct PendingSave: Hashable, Sendable {
  /// The number of the save, in ascending order.
  package let number: Int64
  package var stamp: Stamp
  package var changes: [PendingChange]
  /// The number of changes that the save has. If it has more than ``changes``, those are the first ones.
  package var changeCount: Int

  package init(number: Int64, stamp: Stamp, changes: [PendingChange], changeCount: Int? = nil) {
    (self.number, self.stamp, self.changes, self.changeCount) = (number, stamp, changes, changeCount ?? changes.count)
  }
}

/// A commit, or a part of one, that is sent until the hub answers.
package struct FrozenCommit: Hashable, Sendable {
  /// Where the next part of a commit begins.
  package enum NextPart: Hashable, Codable, Sendable {
    /// At a change of the save ``through``.
    case changes(from: Int)
    /// At the first unsent record after one.
    case records(after: RecordID?)
  }

  package let commit: SealedCommit
  /// The number of the last save in it.
  package let through: Int64
  /// Where the next part begins; nil if this is the last one.
  package let next: NextPart?

  package init(_ commit: SealedCommit, through: Int64, next: NextPart? = nil) {
    (self.commit, self.through, self.next) = (commit, through, next)
  }
}
