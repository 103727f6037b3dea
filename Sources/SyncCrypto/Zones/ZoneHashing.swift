package import SyncCore

/// Computes the digests of a zone's commits. Hubs can do so too: it needs no key.
package struct ZoneHashing: CommitHashing {
  package let zone: ZoneID

  package init(zone: ZoneID) { self.zone = zone }

  package func head(after head: Digest, adding commit: Digest) throws -> Digest {
    var writer = WireWriter()
    writer.write(head)
    writer.write(commit)
    return try SHA256.digest(of: writer.bytes)
  }

  package func digest(of bytes: [UInt8]) throws -> Digest { try SHA256.digest(of: bytes) }

  /// Returns the digest of a commit: of the zone, the commit's header, and the names and versions of its records.
  package func digest(of commit: SealedCommit) throws -> Digest {
    try SHA256.digest(of: prefix("CipherData sync commit") + CommitCoding.encodeForDigest(commit))
  }

  /// Returns what a device signs of a commit. The device and the commit's number are part of it although the digest depends on them,
  /// because the log of a zone shows digests without the commits.
  func signedBytes(device: DeviceID, deviceSequence: Int64, digest: Digest) -> [UInt8] {
    var writer = WireWriter()
    writer.writeFixed(device.value)
    writer.write(deviceSequence)
    writer.write(digest)
    return prefix("CipherData sync commit signature") + writer.bytes
  }

  private func prefix(_ purpose: String) -> [UInt8] {
    var writer = WireWriter()
    writer.write(purpose)
    writer.writeFixed(zone.high)
    writer.writeFixed(zone.low)
    return writer.bytes
  }
}
