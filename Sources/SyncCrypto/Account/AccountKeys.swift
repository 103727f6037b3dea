package import StoreKeys
package import SyncCore

/// The keys that follow from an account's recovery key.
///
/// Devices keep these in their encrypted stores instead of the recovery key, so that the printed form is needed only for recovery.
package struct AccountKeys: Equatable, Sendable {
  package let id: AccountID
  /// The key with which devices prove to a hub that they belong to the account.
  package let hubKey: SecretBytes
  /// The key that seals the account's bundle.
  let bundleKey: SecretBytes

  package init(_ recoveryKey: AccountRecoveryKey) throws {
    let key = try HKDF.extract(recoveryKey.secret, salt: Array("CipherData sync account".utf8))
    let id = try HKDF.expand(key, Array("account ID".utf8), count: 16)
    self.id = id.withUnsafeBytes { AccountID(high: $0.word(at: 0), low: $0.word(at: 8)) }
    hubKey = try HKDF.expand(key, Array("hub".utf8))
    bundleKey = try HKDF.expand(key, Array("bundle".utf8))
  }

  // MARK: Encoding

  static let encodedSize = 17 + 2 * 32
  private static let format: UInt8 = 1

  /// The encoding for the device's own encrypted store.
  package func encoded() -> SecretBytes {
    var writer = WireWriter()
    writer.write(UInt64(Self.format))
    writer.write(id)
    return SecretBytes(writer.bytes).appending(hubKey).appending(bundleKey)
  }

  package init(decoding bytes: SecretBytes) throws {
    guard let format = bytes.withUnsafeBytes(\.first) else { throw SyncCryptoError.damaged(.accountKeys) }
    guard format == Self.format else { throw SyncCryptoError.unsupportedFormat(.accountKeys, UInt64(format)) }
    guard bytes.count == Self.encodedSize else { throw SyncCryptoError.damaged(.accountKeys) }
    id = bytes.withUnsafeBytes { AccountID(high: $0.word(at: 1), low: $0.word(at: 9)) }
    hubKey = bytes.slice(17..<49)
    bundleKey = bytes.slice(49..<81)
  }
}

extension UnsafeRawBufferPointer {
  /// Returns the little-endian word at an offset. The caller has checked the size.
  fileprivate func word(at offset: Int) -> UInt64 { UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
}
