import StoreKeys
package import SyncCore

/// The keys that the devices of an account share. A hub stores it sealed.
package struct AccountBundle: Equatable, Sendable {
  /// The number of the bundle, which increases with each change.
  package var generation: UInt64
  /// The key that certifies devices.
  package var signingKey: SigningKey
  package var zones: [ZoneKeys]
  /// When the account was created, in milliseconds since 1970.
  package var created: Int64

  package init(generation: UInt64, signingKey: SigningKey, zones: [ZoneKeys], created: Int64) {
    (self.generation, self.signingKey, self.zones, self.created) = (generation, signingKey, zones, created)
  }

  /// Creates the bundle of a new account.
  package static func random(zones: [ZoneKeys], created: Int64) throws -> AccountBundle {
    AccountBundle(generation: 1, signingKey: try .random(), zones: zones, created: created)
  }

  /// Returns the keys of a zone.
  package func keys(of zone: ZoneID) throws -> ZoneKeys {
    guard let keys = zones.first(where: { $0.zone == zone }) else { throw SyncCryptoError.unknownZone(zone) }
    return keys
  }
}

// MARK: - Encoding

extension AccountBundle {
  private static let format: UInt64 = 1

  /// The encoding: the number of bytes of the public part in 4 bytes, the public part, and all secrets of 32 bytes in a row. So secrets
  /// are only ever in memory that is wiped.
  func encoded() -> SecretBytes {
    var writer = WireWriter()
    writer.write(Self.format)
    writer.write(generation)
    writer.write(created)
    writer.write(UInt64(zones.count))
    for keys in zones {
      writer.write(keys.zone)
      writer.write(UInt64(keys.epochs.count))
    }
    let size = UInt32(truncatingIfNeeded: writer.bytes.count)
    var parts = [SecretBytes((0..<4).map { UInt8(truncatingIfNeeded: size >> UInt32(8 * $0)) }), SecretBytes(writer.bytes)]
    parts.append(signingKey.seed)
    for keys in zones { parts += keys.epochs }
    return SecretBytes(joining: parts)
  }

  init(decoding bytes: SecretBytes) throws {
    let size = bytes.withUnsafeBytes { $0.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) } }
    guard bytes.count >= 4, size <= bytes.count - 4 else { throw SyncCryptoError.damaged(.bundle) }
    var reader = WireReader(bytes.withUnsafeBytes { Array($0[4..<4 + size]) })
    var position = 4 + size
    func nextSecret() throws -> SecretBytes {
      guard position + ZoneKeys.keySize <= bytes.count else { throw SyncCryptoError.damaged(.bundle) }
      defer { position += ZoneKeys.keySize }
      return bytes.slice(position..<position + ZoneKeys.keySize)
    }
    self = try SyncCrypto.decoding(.bundle) {
      let format = try reader.readUnsigned()
      guard format == Self.format else { throw WireError.unsupportedVersion(format) }
      var bundle = AccountBundle(
        generation: try reader.readUnsigned(), signingKey: try SigningKey(seed: nextSecret()), zones: [], created: 0)
      bundle.created = try reader.readSigned()
      for _ in 0..<(try reader.readCount()) {
        let zone = try reader.readZoneID()
        // Each key takes 32 bytes, so a wrong number ends with an error before much is allocated.
        var epochs: [SecretBytes] = []
        for _ in 0..<(try reader.readUnsigned()) { epochs.append(try nextSecret()) }
        bundle.zones.append(try ZoneKeys(zone: zone, epochs: epochs))
      }
      guard reader.isAtEnd, position == bytes.count else { throw WireError.invalid }
      return bundle
    }
  }
}

// MARK: - Sealing

extension AccountBundle {
  private static let headerSize = 26

  /// Seals the bundle for a hub:
  ///
  /// ```
  ///  0  format, 1 byte
  ///  1  cipher suite, 1 byte
  ///  2  account, 16 bytes
  /// 18  generation, 8 bytes
  /// 26  random nonce, 12 bytes
  /// 38  ciphertext and tag
  /// ```
  package func sealed(with keys: AccountKeys) throws -> [UInt8] {
    var writer = WireWriter()
    writer.write(Self.format)
    writer.write(UInt64(CipherSuite.standard))
    writer.write(keys.id)
    writer.writeFixed(generation)
    let nonce = try Random.bytes(GCMCipher.nonceSize)
    let ciphertext = try GCMCipher.seal(
      encoded(), key: keys.bundleKey, nonce: nonce, authenticating: Self.associatedData(writer.bytes))
    return writer.bytes + nonce + ciphertext
  }

  /// Opens a sealed bundle.
  ///
  /// The caller compares the generation with the latest one that it knows: a hub can return an older bundle.
  ///
  /// - Throws: `wrongRecoveryKey` if the bundle belongs to another account.
  package init(opening bytes: [UInt8], with keys: AccountKeys) throws {
    var reader = WireReader(bytes)
    let (account, generation) = try SyncCrypto.decoding(.bundle) {
      let format = try reader.readByte()
      guard format == Self.format else { throw WireError.unsupportedVersion(UInt64(format)) }
      let suite = try reader.readByte()
      guard suite == CipherSuite.standard else { throw SyncCryptoError.unsupportedSuite(.bundle, UInt64(suite)) }
      return (try reader.readAccountID(), try reader.readFixed())
    }
    guard account == keys.id else { throw SyncCryptoError.wrongRecoveryKey }
    let nonceEnd = Self.headerSize + GCMCipher.nonceSize
    guard bytes.count > nonceEnd,
      let secret = try GCMCipher.open(
        bytes[nonceEnd...], key: keys.bundleKey, nonce: Array(bytes[Self.headerSize..<nonceEnd]),
        authenticating: Self.associatedData(Array(bytes[..<Self.headerSize])))
    else { throw SyncCryptoError.damaged(.bundle) }
    try self.init(decoding: secret)
    guard self.generation == generation else { throw SyncCryptoError.damaged(.bundle) }
  }

  private static func associatedData(_ header: [UInt8]) -> [UInt8] { Array("CipherData sync bundle".utf8) + header }
}
