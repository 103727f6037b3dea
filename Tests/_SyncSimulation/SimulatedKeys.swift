package import SyncCore

/// The keys of a device, which may lack some.
package final class SimulatedKeys: CommitSealing, @unchecked Sendable {
  private let hashing = SimulatedHashing()
  /// The versions that the device has sealed. It can always open them.
  private var sealed: Set<Digest> = []
  /// Returns whether the key of a record is missing.
  package var isMissing: (StoredRecord) -> Bool = { _ in false }

  package init() {}

  package struct MissingKey: Error {}

  package func seal(_ commit: Commit) throws -> SealedCommit {
    let result = hashing.seal(commit)
    for record in result.records { sealed.insert(record.version) }
    return result
  }

  package func name(of id: RecordID) -> RecordName { hashing.name(of: id) }

  package func open(_ record: StoredRecord) throws -> (id: RecordID, record: Record) {
    if !sealed.contains(record.version), isMissing(record) { throw MissingKey() }
    return try hashing.open(record)
  }
}
