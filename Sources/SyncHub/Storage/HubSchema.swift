import SQLCipherConnection
import SyncCore

/// The tables of a hub's file.
///
/// A zone has a number in the file, with which the keys of its rows begin. A replaced record gets a new row at the end of its table, so that
/// a pull reads rows in about the order of the file.
enum HubSchema {
  /// The version of the tables.
  static let format = 2

  static let creation = """
    CREATE TABLE hub_metadata (
      id INTEGER PRIMARY KEY CHECK (id = 1), format INTEGER NOT NULL, identifier BLOB NOT NULL, incarnation INTEGER NOT NULL,
      birth INTEGER);
    CREATE TABLE account (
      id BLOB PRIMARY KEY NOT NULL, generation INTEGER NOT NULL, bundle BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE certificate (
      account BLOB NOT NULL, number INTEGER NOT NULL, digest BLOB NOT NULL, bytes BLOB NOT NULL,
      PRIMARY KEY (account, number)) WITHOUT ROWID;
    CREATE TABLE join_request (
      account BLOB NOT NULL, id BLOB NOT NULL, expiry INTEGER NOT NULL, bytes BLOB NOT NULL, answer BLOB,
      PRIMARY KEY (account, id)) WITHOUT ROWID;
    CREATE TABLE zone (
      number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, account BLOB NOT NULL, sequence INTEGER NOT NULL, head BLOB NOT NULL,
      records INTEGER NOT NULL, deleted INTEGER NOT NULL, bytes INTEGER NOT NULL, floor INTEGER NOT NULL DEFAULT 0, sum BLOB);
    CREATE TABLE commit_log (
      zone INTEGER NOT NULL, sequence INTEGER NOT NULL, device INTEGER NOT NULL, device_sequence INTEGER NOT NULL,
      digest BLOB NOT NULL, signature BLOB NOT NULL, head BLOB NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (zone, sequence)) WITHOUT ROWID;
    CREATE TABLE device (
      zone INTEGER NOT NULL, device INTEGER NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (zone, device)) WITHOUT ROWID;
    \(acknowledgments)
    CREATE TABLE staged_part (
      zone INTEGER NOT NULL, device INTEGER NOT NULL, number INTEGER NOT NULL, device_sequence INTEGER NOT NULL, digest BLOB NOT NULL,
      time INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (zone, device, number));
    CREATE TABLE record (
      id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, name BLOB NOT NULL, sequence INTEGER NOT NULL, version BLOB NOT NULL,
      deleted INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (zone, name));
    CREATE INDEX record_order ON record (zone, sequence, name);
    \(deletedRecords)
    \(chunks)
    """

  /// What devices have pulled, and when they have said so.
  private static let acknowledgments = """
    CREATE TABLE acknowledgment (
      zone INTEGER NOT NULL, device INTEGER NOT NULL, sequence INTEGER NOT NULL, time INTEGER NOT NULL,
      PRIMARY KEY (zone, device)) WITHOUT ROWID;
    """
  /// The chunks of large values, and the records that name them.
  private static let chunks = """
    CREATE TABLE chunk (
      number INTEGER PRIMARY KEY, zone INTEGER NOT NULL, id BLOB NOT NULL, unused INTEGER, UNIQUE (zone, id));
    CREATE INDEX chunk_unused ON chunk (zone, unused) WHERE unused IS NOT NULL;
    CREATE TABLE chunk_bytes (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
    CREATE TABLE chunk_reference (
      zone INTEGER NOT NULL, record BLOB NOT NULL, chunk BLOB NOT NULL, PRIMARY KEY (zone, record, chunk)) WITHOUT ROWID;
    CREATE INDEX chunk_record ON chunk_reference (zone, chunk);
    """
  private static let deletedRecords = "CREATE INDEX record_deleted ON record (zone, sequence, name) WHERE deleted;"

  /// Returns the statements that bring the tables of format 1 to this one.
  ///
  /// - Parameter time: The time of the commits, whose times were not recorded, in milliseconds since 1970.
  static func migration(at time: Int64) -> String {
    """
    ALTER TABLE zone ADD COLUMN floor INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE zone ADD COLUMN sum BLOB;
    ALTER TABLE commit_log ADD COLUMN time INTEGER NOT NULL DEFAULT \(time);
    \(acknowledgments)
    \(deletedRecords)
    \(chunks)
    UPDATE hub_metadata SET format = \(format);
    """
  }
}

/// The statements on the tables. The raw value is the number under which a connection keeps them prepared.
enum HubStatement: Int, CaseIterable {
  case table, metadata, newMetadata, newIncarnation, incarnation
  case zone, newZone, zones, zonesOfAccount, head, setHead
  case chainHead, commitTime, lastCommit, newCommit, setLastCommit, commits, log, lastCommits
  case lastPart, part, newPart, removeParts, removeOldParts
  case sum, floor, deletedRecords, removeRecord, setFloor, acknowledgment, setAcknowledgment, leastAcknowledgment
  case version, record, versions, newRecord, setRecord, records, recordsWithoutCommit, recordFigures, deviceCount
  case chunk, chunkBytes, newChunk, newChunkBytes, useChunk, releaseChunk, unusedChunks, removeChunk, removeChunkBytes
  case anyChunkReference, chunksOfRecord, newChunkReference, removeChunkReference, lostChunks
  case account, accounts, newAccount, setBundle, certificates, newCertificate
  case joinRequest, joinRequests, newJoinRequest, answer, removeJoinRequest, removeExpiredRequests

  var sql: String {
    switch self {
    // The file.
    case .table: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    case .metadata: "SELECT format, identifier, incarnation, birth FROM hub_metadata"
    case .newMetadata: "INSERT INTO hub_metadata (id, format, identifier, incarnation, birth) VALUES (1, ?, ?, ?, ?)"
    case .newIncarnation: "UPDATE hub_metadata SET incarnation = ?, birth = ?"
    case .incarnation: "SELECT incarnation FROM hub_metadata"

    // Zones.
    case .zone: "SELECT number, account FROM zone WHERE id = ?"
    case .newZone:
      """
      INSERT INTO zone (id, account, sequence, head, records, deleted, bytes, sum)
      VALUES (?, ?, 0, ?, 0, 0, 0, zeroblob(\(RecordSum.columnSize)))
      """
    case .zones: "SELECT number, id, account, sequence, head, records, deleted, bytes, sum FROM zone ORDER BY number"
    case .zonesOfAccount: "SELECT id FROM zone WHERE account = ? ORDER BY number"
    case .head: "SELECT sequence, head FROM zone WHERE number = ?"
    case .setHead:
      """
      UPDATE zone SET sequence = ?, head = ?, records = records + ?, deleted = deleted + ?, bytes = bytes + ?, sum = ? WHERE number = ?
      """
    case .sum: "SELECT sum FROM zone WHERE number = ? AND sum IS NOT NULL"
    case .floor: "SELECT floor FROM zone WHERE number = ?"
    case .setFloor:
      "UPDATE zone SET floor = ?1, records = records - ?2, deleted = deleted - ?2, bytes = bytes - ?3 WHERE number = ?4"

    // Commits.
    case .chainHead: "SELECT head FROM commit_log WHERE zone = ? AND sequence = ?"
    case .commitTime: "SELECT time FROM commit_log WHERE zone = ? AND sequence = ?"
    case .lastCommit:
      """
      SELECT l.sequence, l.device, l.device_sequence, l.digest, l.signature FROM device d
      JOIN commit_log l ON l.zone = d.zone AND l.sequence = d.sequence WHERE d.zone = ? AND d.device = ?
      """
    case .newCommit:
      """
      INSERT INTO commit_log (zone, sequence, device, device_sequence, digest, signature, head, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """
    case .setLastCommit: "INSERT OR REPLACE INTO device (zone, device, sequence) VALUES (?, ?, ?)"
    case .commits:
      """
      SELECT sequence, device, device_sequence, digest, signature FROM commit_log
      WHERE zone = ? AND sequence > ? AND sequence <= ? ORDER BY sequence
      """
    case .log: "SELECT sequence, device, device_sequence, digest, signature, head FROM commit_log WHERE zone = ? ORDER BY sequence"
    case .lastCommits: "SELECT device, sequence FROM device WHERE zone = ?"
    case .deviceCount: "SELECT count(*) FROM device WHERE zone = ?"

    // Parts of incomplete commits.
    case .lastPart:
      "SELECT device_sequence, number, digest FROM staged_part WHERE zone = ? AND device = ? ORDER BY number DESC LIMIT 1"
    case .part: "SELECT bytes FROM staged_part WHERE zone = ? AND device = ? AND number = ?"
    case .newPart: "INSERT INTO staged_part (zone, device, number, device_sequence, digest, time, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)"
    case .removeParts: "DELETE FROM staged_part WHERE zone = ? AND device = ?"
    case .removeOldParts: "DELETE FROM staged_part WHERE zone = ? AND time < ?"

    // Records.
    case .version: "SELECT version, deleted, length(body) FROM record WHERE zone = ? AND name = ?"
    case .record: "SELECT name, sequence, version, deleted, body FROM record WHERE zone = ? AND name = ?"
    case .versions:
      "SELECT name, version FROM record WHERE zone = ? AND name BETWEEN ? AND ? AND NOT deleted ORDER BY name LIMIT ?"
    case .deletedRecords:
      """
      SELECT id, sequence, length(body), name FROM record INDEXED BY record_deleted
      WHERE zone = ? AND deleted AND sequence <= ? ORDER BY sequence, name LIMIT ?
      """
    case .removeRecord: "DELETE FROM record WHERE id = ?"
    case .acknowledgment: "SELECT sequence, time FROM acknowledgment WHERE zone = ? AND device = ?"
    case .setAcknowledgment: "INSERT OR REPLACE INTO acknowledgment (zone, device, sequence, time) VALUES (?, ?, ?, ?)"
    case .leastAcknowledgment: "SELECT min(sequence) FROM acknowledgment WHERE zone = ? AND time >= ?"
    case .newRecord: "INSERT INTO record (zone, name, sequence, version, deleted, body) VALUES (?, ?, ?, ?, ?, ?)"
    // INSERT OR REPLACE would encrypt a copy of each page that it changes, to be able to undo the statement.
    case .setRecord:
      "UPDATE OR FAIL record SET sequence = ?3, version = ?4, deleted = ?5, body = ?6 WHERE zone = ?1 AND name = ?2"
    case .records:
      """
      SELECT name, sequence, version, deleted, body FROM record INDEXED BY record_order
      WHERE zone = ? AND (sequence, name) > (?, ?) AND (NOT deleted OR sequence > ?) ORDER BY sequence, name LIMIT ?
      """
    case .recordsWithoutCommit:
      """
      SELECT count(*) FROM record r LEFT JOIN commit_log l ON l.zone = r.zone AND l.sequence = r.sequence
      WHERE r.zone = ? AND l.sequence IS NULL
      """
    case .recordFigures: "SELECT count(*), total(deleted), total(length(body)) FROM record WHERE zone = ?"

    // Chunks of large values.
    case .chunk: "SELECT number FROM chunk WHERE zone = ? AND id = ?"
    case .chunkBytes: "SELECT b.bytes FROM chunk c JOIN chunk_bytes b ON b.number = c.number WHERE c.zone = ? AND c.id = ?"
    case .newChunk: "INSERT INTO chunk (zone, id, unused) VALUES (?, ?, ?)"
    case .newChunkBytes: "INSERT INTO chunk_bytes (number, bytes) VALUES (?, ?)"
    case .useChunk: "UPDATE chunk SET unused = NULL WHERE zone = ? AND id = ? AND unused IS NOT NULL"
    case .releaseChunk:
      """
      UPDATE chunk SET unused = ?3 WHERE zone = ?1 AND id = ?2
      AND NOT EXISTS (SELECT 1 FROM chunk_reference r WHERE r.zone = ?1 AND r.chunk = ?2)
      """
    case .unusedChunks: "SELECT number FROM chunk WHERE zone = ? AND unused IS NOT NULL AND unused < ? ORDER BY unused LIMIT ?"
    case .removeChunk: "DELETE FROM chunk WHERE number = ?"
    case .removeChunkBytes: "DELETE FROM chunk_bytes WHERE number = ?"
    case .anyChunkReference: "SELECT 1 FROM chunk_reference WHERE zone = ? LIMIT 1"
    case .chunksOfRecord: "SELECT chunk FROM chunk_reference WHERE zone = ? AND record = ?"
    case .newChunkReference: "INSERT INTO chunk_reference (zone, record, chunk) VALUES (?, ?, ?)"
    case .removeChunkReference: "DELETE FROM chunk_reference WHERE zone = ? AND record = ? AND chunk = ?"
    case .lostChunks:
      """
      SELECT count(DISTINCT r.chunk) FROM chunk_reference r LEFT JOIN chunk c ON c.zone = r.zone AND c.id = r.chunk
      WHERE r.zone = ? AND (c.number IS NULL OR c.number NOT IN (SELECT number FROM chunk_bytes))
      """

    // Accounts.
    case .account: "SELECT generation, bundle FROM account WHERE id = ?"
    case .accounts: "SELECT id FROM account ORDER BY id"
    case .newAccount: "INSERT INTO account (id, generation, bundle) VALUES (?, ?, ?)"
    case .setBundle: "UPDATE account SET generation = ?, bundle = ? WHERE id = ?"
    case .certificates: "SELECT digest, bytes FROM certificate WHERE account = ? ORDER BY number"
    case .newCertificate: "INSERT INTO certificate (account, number, digest, bytes) VALUES (?, ?, ?, ?)"

    // Join requests.
    case .joinRequest: "SELECT id, expiry, bytes, answer FROM join_request WHERE account = ? AND id = ? AND expiry > ?"
    case .joinRequests: "SELECT id, expiry, bytes, answer FROM join_request WHERE account = ? AND expiry > ? ORDER BY expiry, id"
    case .newJoinRequest: "INSERT OR REPLACE INTO join_request (account, id, expiry, bytes) VALUES (?, ?, ?, ?)"
    case .answer: "UPDATE join_request SET answer = ? WHERE account = ? AND id = ?"
    case .removeJoinRequest: "DELETE FROM join_request WHERE account = ? AND id = ?"
    case .removeExpiredRequests: "DELETE FROM join_request WHERE expiry <= ?"
    }
  }
}
