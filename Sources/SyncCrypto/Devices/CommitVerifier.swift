package import SyncCore

/// Verifies that devices of the account have made the commits of a zone.
package struct CommitVerifier: Sendable {
  private let hashing: ZoneHashing
  private let devices: DeviceChain

  package init(zone: ZoneID, devices: DeviceChain) { (hashing, self.devices) = (ZoneHashing(zone: zone), devices) }

  /// Verifies an entry in the log of the zone.
  ///
  /// - Throws: `unknownDevice` if the chain of certificates does not contain the device, `invalidSignature` if another device or zone has
  ///   signed the commit, or the entry was changed.
  package func verify(_ entry: CommitEntry) throws {
    try verify(entry.device, entry.deviceSequence, entry.digest, entry.signature)
  }

  /// Verifies a commit: its digest and its signature.
  package func verify(_ commit: SealedCommit) throws {
    guard try hashing.digest(of: commit) == commit.digest else { throw SyncCryptoError.damaged(.commit) }
    try verify(commit.device, commit.deviceSequence, commit.digest, commit.signature)
  }

  private func verify(_ device: DeviceID, _ deviceSequence: Int64, _ digest: Digest, _ signature: [UInt8]) throws {
    guard let certificate = devices[device] else { throw SyncCryptoError.unknownDevice(device) }
    let message = hashing.signedBytes(device: device, deviceSequence: deviceSequence, digest: digest)
    guard try SigningKey.isValid(signature, of: message, by: certificate.keys.signing) else {
      throw SyncCryptoError.invalidSignature(.commit)
    }
  }
}
