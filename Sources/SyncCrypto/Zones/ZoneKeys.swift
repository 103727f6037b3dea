package import StoreKeys
package import SyncCore

/// The algorithms of a zone, by the number that sealed content contains.
enum CipherSuite {
  /// AES-256-GCM, HKDF-SHA-256, HMAC-SHA-256 and Ed25519.
  static let standard: UInt8 = 1
}

/// The keys of a zone: one for each epoch, from which all others are derived.
///
/// A new epoch begins when a device or a person must not read what is written from then on. Records of earlier epochs remain as they are.
package struct ZoneKeys: Equatable, Sendable {
  package let zone: ZoneID
  /// The keys of epochs 1, 2 and so on, 32 bytes each. There is at least one.
  package private(set) var epochs: [SecretBytes]

  static let keySize = 32

  /// - Throws: `damaged(.bundle)` if there is no key, or one has another size.
  package init(zone: ZoneID, epochs: [SecretBytes]) throws {
    guard !epochs.isEmpty, epochs.count <= UInt32.max, epochs.allSatisfy({ $0.count == Self.keySize }) else {
      throw SyncCryptoError.damaged(.bundle)
    }
    (self.zone, self.epochs) = (zone, epochs)
  }

  /// Creates the keys of a new zone.
  package static func random(zone: ZoneID) throws -> ZoneKeys { try ZoneKeys(zone: zone, epochs: [Random.secret(keySize)]) }

  package var currentEpoch: UInt32 { UInt32(epochs.count) }

  /// Begins a new epoch.
  package mutating func addEpoch() throws { epochs.append(try Random.secret(Self.keySize)) }

  // MARK: Derived keys

  /// The key of record names.
  ///
  /// It follows from the key of the first epoch, whatever the current one is: the name of a record must not change with the epoch.
  func nameKey() throws -> SecretBytes { try derivedKey(epoch: 1, purpose: "record names", []) }

  /// Returns the key that seals the records of a commit.
  func contentKey(of commit: RecordHeader.CommitID) throws -> SecretBytes {
    var context = WireWriter()
    context.writeFixed(commit.device.value)
    context.writeFixed(UInt64(bitPattern: commit.deviceSequence))
    context.writeFixed(commit.batch.high)
    context.writeFixed(commit.batch.low)
    return try derivedKey(epoch: commit.epoch, purpose: "content", context.bytes)
  }

  private func derivedKey(epoch: UInt32, purpose: String, _ context: [UInt8]) throws -> SecretBytes {
    guard epoch >= 1, epoch <= currentEpoch else { throw SyncCryptoError.unknownEpoch(UInt64(epoch)) }
    let key = try HKDF.extract(epochs[Int(epoch) - 1], salt: Array("CipherData sync zone".utf8))
    var information = WireWriter()
    information.write(purpose)
    information.write(UInt64(CipherSuite.standard))
    information.writeFixed(zone.high)
    information.writeFixed(zone.low)
    information.write(UInt64(epoch))
    return try HKDF.expand(key, information.bytes + context)
  }
}
