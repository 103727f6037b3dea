package import SyncCore
import Synchronization

/// Seals the commits of a device, and opens the records of all devices, with the keys of a zone.
///
/// Names are keyed hashes, contents are encrypted and padded. A hub sees of a record the header of its body, its padded size, and whether
/// it is a tombstone.
package final class ZoneSealing: CommitSealing {
  private let keys: ZoneKeys
  private let signer: SigningKey
  private let hashing: ZoneHashing
  private let cipher: Mutex<RecordCipher>

  /// - Parameter signer: The signing key of the device.
  package init(_ keys: ZoneKeys, signedBy signer: SigningKey) throws {
    (self.keys, self.signer, hashing) = (keys, signer, ZoneHashing(zone: keys.zone))
    cipher = Mutex(try RecordCipher(keys))
  }

  /// Seals a commit, with a new content key each time.
  package func seal(_ commit: Commit) throws -> SealedCommit {
    let records = try cipher.withLock { try $0.seal(commit) }
    var sealed = SealedCommit(commit, records: records, digest: .zero)
    sealed.digest = try hashing.digest(of: sealed)
    sealed.signature = try signer.signature(
      of: hashing.signedBytes(device: sealed.device, deviceSequence: sealed.deviceSequence, digest: sealed.digest))
    return sealed
  }

  package func open(_ record: StoredRecord) throws -> (id: RecordID, record: Record) {
    try cipher.withLock { try $0.open(record) }
  }

  /// Returns the name of a record on hubs.
  package func name(of id: RecordID) throws -> RecordName { try cipher.withLock { try $0.name(of: id) } }
}
