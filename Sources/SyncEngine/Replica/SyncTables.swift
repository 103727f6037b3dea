package import ObjectModel
package import ObjectStore
package import SQLCipherStore

/// The tables in a store that synchronization owns, and the statements over them.
///
/// They are written in the transactions of synchronization only: a save of the application writes nothing but its history.
package final class SyncTables: SideTableOwner {
  package static let shared = SyncTables()

  package let sideTables = SideTables(
    name: "sync", format: 1,
    tables: [
      // The state of the zone and of the device, as JSON.
      .init("cipherdata_sync_state", "(name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID"),
      // The records of the zone, with the key of the object. A record outlives its object, as its tombstone.
      .init(
        "cipherdata_sync_record",
        "(id BLOB PRIMARY KEY NOT NULL, entity INTEGER, key INTEGER, unsent INTEGER NOT NULL, entry BLOB NOT NULL) WITHOUT ROWID",
        indexes: ["(id) WHERE unsent"]),
      // The records that others refer to, by which property, in states that are not part of pending saves.
      .init(
        "cipherdata_sync_reference",
        "(destination BLOB NOT NULL, property INTEGER NOT NULL, source BLOB NOT NULL, PRIMARY KEY (destination, property, source)) "
          + "WITHOUT ROWID"),
      // The stamps of pending saves, by the numbers of their transactions, and those of what they have added to relationships
      // and counters.
      .init(
        "cipherdata_sync_stamp",
        "(number INTEGER PRIMARY KEY NOT NULL, time INTEGER NOT NULL, device INTEGER NOT NULL, addition_time INTEGER NOT NULL, "
          + "addition_device INTEGER NOT NULL, first_time INTEGER NOT NULL)"),
      // The links that pending saves have removed, with the additions that were known then, and the objects that they have deleted
      // although edits can win, with what was known of these.
      .init(
        "cipherdata_sync_removal",
        "(number INTEGER NOT NULL, id BLOB NOT NULL, change BLOB NOT NULL, PRIMARY KEY (number, id)) WITHOUT ROWID"),
      // The changes of pending saves, by their positions, if they are too many for the memory. `start` is the position of their save.
      .init(
        "cipherdata_sync_pending",
        "(position INTEGER PRIMARY KEY NOT NULL, start INTEGER NOT NULL, id BLOB NOT NULL, object INTEGER, change BLOB NOT NULL, "
          + "UNIQUE (id, start))"),
      // The records that these changes refer to.
      .init(
        "cipherdata_sync_pending_reference",
        "(position INTEGER NOT NULL, destination BLOB NOT NULL, PRIMARY KEY (position, destination)) WITHOUT ROWID",
        indexes: ["(destination)"]),
      // The records that objects had in the transactions before one that inserted them again.
      .init(
        "cipherdata_sync_former",
        "(id BLOB PRIMARY KEY NOT NULL, entity INTEGER NOT NULL, key INTEGER NOT NULL, number INTEGER NOT NULL) WITHOUT ROWID"),
      // The large values of records: where their bytes are. `sealed` is the key and the chunks that the device has made.
      .init(
        "cipherdata_sync_asset",
        "(id BLOB NOT NULL, property INTEGER NOT NULL, digest BLOB NOT NULL, size INTEGER NOT NULL, location INTEGER NOT NULL, "
          + "used INTEGER NOT NULL, sealed BLOB, PRIMARY KEY (id, property)) WITHOUT ROWID"),
      // Where members are in ordered relationships. `property` is the reference to the object that has the list, which is the owner.
      .init(
        "cipherdata_sync_position",
        "(record BLOB NOT NULL, property INTEGER NOT NULL, owner BLOB NOT NULL, key BLOB NOT NULL, PRIMARY KEY (record, property)) "
          + "WITHOUT ROWID", indexes: ["(owner, property, key)"]),
      // The commit, or the part of one, that is being sent.
      .init("cipherdata_sync_outbox", "(id INTEGER PRIMARY KEY NOT NULL, through INTEGER NOT NULL, next BLOB, bytes BLOB NOT NULL)"),
      // Records that cannot be opened.
      .init(
        "cipherdata_sync_quarantine",
        "(name BLOB PRIMARY KEY NOT NULL, sequence INTEGER NOT NULL, version BLOB NOT NULL, deleted INTEGER NOT NULL, body BLOB NOT NULL) "
          + "WITHOUT ROWID"),
      // Pulled records until the pull is complete, in the order of their arrival.
      .init(
        "cipherdata_sync_staged",
        "(position INTEGER PRIMARY KEY NOT NULL, name BLOB NOT NULL, sequence INTEGER NOT NULL, version BLOB NOT NULL, "
          + "deleted INTEGER NOT NULL, body BLOB NOT NULL)"),
      // Values that have lost, with the digest of the entry, and the record of the object that has got them again.
      .init(
        "cipherdata_sync_journal",
        "(number INTEGER PRIMARY KEY NOT NULL, record BLOB NOT NULL, time INTEGER NOT NULL, digest BLOB NOT NULL UNIQUE, "
          + "restored BLOB, entry BLOB NOT NULL)",
        indexes: ["(record)"]),
      // The work of the past, as JSON.
      .init("cipherdata_sync_event", "(number INTEGER PRIMARY KEY NOT NULL, event BLOB NOT NULL)"),
    ])

  private init() {}

  /// Returns nil: the history contains the changes of the application.
  package func makeConsumer(
    _ origin: TransactionOrigin, model: CompiledModel, in transaction: StoreTransaction
  ) throws -> (any SideTableConsumer)? { nil }

  package func willReduce(_ reduction: TrackingReduction, in transaction: StoreTransaction) throws {
    var isSynchronized = false
    try transaction.query(SyncStatement.state, .text(ReplicaState.name)) { _ in isSynchronized = true }
    if !isSynchronized { return }
    switch reduction {
    case .history(let settings): if settings?.level != .values { throw SyncError(.needed("the store's history with values")) }
    case .stableIDs: throw SyncError(.needed("the stable IDs of objects"))
    case .stableIDsOfDeletedObjects: throw SyncError(.needed("the stable IDs of deleted objects"))
    }
  }
}

/// The statements over the tables of synchronization.
///
/// INSERT OR REPLACE, and UPDATE without OR FAIL, encrypt a copy of each page that they change, to be able to undo the statement. That takes
/// more time than everything else.
enum SyncStatement {
  static let state = "SELECT value FROM cipherdata_sync_state WHERE name = ?"
  static let setState = "UPDATE OR FAIL cipherdata_sync_state SET value = ?2 WHERE name = ?1"
  static let newState = "INSERT INTO cipherdata_sync_state VALUES (?, ?)"
  static let removeState = "DELETE FROM cipherdata_sync_state WHERE name = ?"

  static let record = "SELECT entity, key, entry FROM cipherdata_sync_record WHERE id = ?"
  static let newRecord = "INSERT INTO cipherdata_sync_record VALUES (?, ?, ?, ?, ?)"
  static let setRecord = "UPDATE OR FAIL cipherdata_sync_record SET entity = ?2, key = ?3, unsent = ?4, entry = ?5 WHERE id = ?1"
  static let setObject = "UPDATE OR FAIL cipherdata_sync_record SET entity = ?, key = ? WHERE id = ?"
  static let recordsAfter = "SELECT id FROM cipherdata_sync_record WHERE id > ? ORDER BY id LIMIT ?"
  static let entriesAfter = "SELECT id, entry FROM cipherdata_sync_record WHERE id > ? ORDER BY id LIMIT ?"
  static let unsentAfter = "SELECT id FROM cipherdata_sync_record WHERE unsent AND id > ? ORDER BY id LIMIT ?"
  static let unsentCount = "SELECT count(*) FROM cipherdata_sync_record WHERE unsent"

  static let referrers = "SELECT source FROM cipherdata_sync_reference WHERE destination = ?"
  static let referrersThrough = "SELECT source FROM cipherdata_sync_reference WHERE destination = ? AND property = ?"
  static let addReference = "INSERT OR IGNORE INTO cipherdata_sync_reference VALUES (?, ?, ?)"
  static let removeReference = "DELETE FROM cipherdata_sync_reference WHERE destination = ? AND property = ? AND source = ?"

  static let stamps =
    "SELECT number, time, device, addition_time, addition_device, first_time FROM cipherdata_sync_stamp WHERE number > ? ORDER BY number"
  static let setStamp = "INSERT OR REPLACE INTO cipherdata_sync_stamp VALUES (?, ?, ?, ?, ?, ?)"
  static let removeStamps = "DELETE FROM cipherdata_sync_stamp WHERE number <= ?"

  static let removal = "SELECT change FROM cipherdata_sync_removal WHERE number = ? AND id = ?"
  static let setRemoval = "INSERT OR REPLACE INTO cipherdata_sync_removal VALUES (?, ?, ?)"
  static let removeRemovals = "DELETE FROM cipherdata_sync_removal WHERE number <= ?"

  static let addPending = "INSERT OR IGNORE INTO cipherdata_sync_pending VALUES (?, ?, ?, ?, ?)"
  static let setPending = "UPDATE OR FAIL cipherdata_sync_pending SET object = coalesce(?2, object), change = ?3 WHERE position = ?1"
  static let renewPending = "UPDATE OR FAIL cipherdata_sync_pending SET id = ?2, object = ?3 WHERE position = ?1"
  static let removePendingObject = "UPDATE OR FAIL cipherdata_sync_pending SET object = NULL WHERE id = ?"
  static let pending = "SELECT change FROM cipherdata_sync_pending WHERE position >= ? AND position < ? ORDER BY position"
  static let pendingOfRecord = "SELECT position, change FROM cipherdata_sync_pending WHERE id = ? ORDER BY start"
  static let pendingObject =
    "SELECT object FROM cipherdata_sync_pending WHERE id = ? AND object IS NOT NULL ORDER BY start DESC LIMIT 1"
  static let pendingRecordsAfter = "SELECT DISTINCT id FROM cipherdata_sync_pending WHERE id > ? ORDER BY id LIMIT ?"
  static let addPendingReference = "INSERT OR IGNORE INTO cipherdata_sync_pending_reference VALUES (?, ?)"
  static let pendingReferrers =
    "SELECT DISTINCT id FROM cipherdata_sync_pending_reference JOIN cipherdata_sync_pending USING (position) WHERE destination = ?"
  static let removePending = [
    "DELETE FROM cipherdata_sync_pending WHERE position < ?", "DELETE FROM cipherdata_sync_pending_reference WHERE position < ?",
  ]
  /// Without a condition, SQLite removes whole pages.
  static let emptyPending = ["DELETE FROM cipherdata_sync_pending", "DELETE FROM cipherdata_sync_pending_reference"]

  static let formerRecords = "SELECT id, entity, key, number FROM cipherdata_sync_former ORDER BY number"
  static let addFormerRecord = "INSERT OR REPLACE INTO cipherdata_sync_former VALUES (?, ?, ?, ?)"
  static let renewFormerRecord = "UPDATE cipherdata_sync_former SET id = ? WHERE id = ?"
  static let removeFormerRecords = "DELETE FROM cipherdata_sync_former WHERE number <= ?"

  static let anyAsset = "SELECT 1 FROM cipherdata_sync_asset LIMIT 1"
  static let asset =
    "SELECT id, property, digest, size, location, used, sealed FROM cipherdata_sync_asset WHERE id = ? AND property = ?"
  static let assets = "SELECT id, property, digest, size, location, used, NULL FROM cipherdata_sync_asset ORDER BY used DESC, id, property"
  static let setAsset = "INSERT OR REPLACE INTO cipherdata_sync_asset VALUES (?, ?, ?, ?, ?, ?, ?)"
  static let removeAsset = "DELETE FROM cipherdata_sync_asset WHERE id = ? AND property = ?"
  static let removeAssets = "DELETE FROM cipherdata_sync_asset WHERE id = ?"

  static let position = "SELECT owner, key FROM cipherdata_sync_position WHERE record = ? AND property = ?"
  static let setPosition = "INSERT OR REPLACE INTO cipherdata_sync_position VALUES (?, ?, ?, ?)"
  static let removePosition = "DELETE FROM cipherdata_sync_position WHERE record = ? AND property = ?"
  static let removePositions = "DELETE FROM cipherdata_sync_position WHERE record = ?"
  static let firstPosition = "SELECT min(key) FROM cipherdata_sync_position WHERE owner = ? AND property = ?"
  static let lastPosition = "SELECT max(key) FROM cipherdata_sync_position WHERE owner = ? AND property = ?"
  static let nextPosition = "SELECT min(key) FROM cipherdata_sync_position WHERE owner = ? AND property = ? AND key > ?"
  static let renewPositions = [
    "INSERT OR REPLACE INTO cipherdata_sync_position SELECT ?2, property, owner, key FROM cipherdata_sync_position WHERE record = ?1",
    "UPDATE cipherdata_sync_position SET owner = ?2 WHERE owner = ?1",
  ]

  static let outbox = "SELECT through, next, bytes FROM cipherdata_sync_outbox"
  static let setOutbox = "INSERT INTO cipherdata_sync_outbox VALUES (1, ?, ?, ?)"
  static let removeOutbox = "DELETE FROM cipherdata_sync_outbox"

  static let setQuarantined = "INSERT OR REPLACE INTO cipherdata_sync_quarantine VALUES (?, ?, ?, ?, ?)"
  static let removeQuarantined = "DELETE FROM cipherdata_sync_quarantine WHERE name = ?"
  static let quarantined = "SELECT name, sequence, version, deleted, body FROM cipherdata_sync_quarantine WHERE name = ?"
  static let quarantinedAfter =
    "SELECT name, sequence, version, deleted, body FROM cipherdata_sync_quarantine WHERE name > ? ORDER BY name LIMIT ?"
  static let quarantinedCount = "SELECT count(*) FROM cipherdata_sync_quarantine"

  static let stage =
    "INSERT INTO cipherdata_sync_staged (name, sequence, version, deleted, body) VALUES (?, ?, ?, ?, ?)"
  static let staged =
    "SELECT name, sequence, version, deleted, body FROM cipherdata_sync_staged WHERE position > ? ORDER BY position LIMIT ?"
  static let removeStaged = "DELETE FROM cipherdata_sync_staged"

  static let addJournalEntry =
    "INSERT OR IGNORE INTO cipherdata_sync_journal (number, record, time, digest, entry) "
    + "SELECT max(?1, coalesce(max(number), 0)) + 1, ?2, ?3, ?4, ?5 FROM cipherdata_sync_journal"
  static let journal =
    "SELECT number, time, restored, entry FROM cipherdata_sync_journal WHERE number BETWEEN coalesce(?1, 0) AND "
    + "coalesce(?1, 9223372036854775807) AND (?2 OR restored IS NULL) "
    + "ORDER BY number"
  static let journalOfRecord =
    "SELECT number, entry FROM cipherdata_sync_journal WHERE record = ? AND restored IS NULL ORDER BY number"
  static let lastJournalEntry = "SELECT coalesce(max(number), 0) FROM cipherdata_sync_journal"
  static let setRestored = "UPDATE OR FAIL cipherdata_sync_journal SET restored = ?2 WHERE number = ?1"
  static let restored =
    "SELECT restored FROM cipherdata_sync_journal WHERE record = ? AND restored IS NOT NULL ORDER BY number DESC LIMIT 1"
  static let removeJournal = "DELETE FROM cipherdata_sync_journal WHERE time < ?"

  static let addEvent = "INSERT INTO cipherdata_sync_event (event) VALUES (?)"
  static let events = "SELECT event FROM cipherdata_sync_event ORDER BY number"
  static let lastEvent = "SELECT number, event FROM cipherdata_sync_event ORDER BY number DESC LIMIT 1"
  static let removeEvent = "DELETE FROM cipherdata_sync_event WHERE number = ?"
  static let removeEvents = "DELETE FROM cipherdata_sync_event WHERE number <= (SELECT max(number) FROM cipherdata_sync_event) - ?"
}
