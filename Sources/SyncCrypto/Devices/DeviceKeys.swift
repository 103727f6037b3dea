package import StoreKeys
import SyncCore

/// The key pairs of a device.
package struct DeviceKeys: Equatable, Sendable {
  /// Signs the device's commits.
  package let signing: SigningKey
  /// Receives keys that are wrapped for the device.
  package let agreement: AgreementKey

  package static func random() throws -> DeviceKeys { DeviceKeys(signing: try .random(), agreement: try .random()) }

  private init(signing: SigningKey, agreement: AgreementKey) { (self.signing, self.agreement) = (signing, agreement) }

  package var publicKeys: DevicePublicKeys { DevicePublicKeys(signing: signing.publicKey, agreement: agreement.publicKey) }

  // MARK: Encoding

  private static let format: UInt8 = 1
  private static let encodedSize = 1 + 2 * 32

  /// The encoding for the device's own encrypted store.
  package func encoded() -> SecretBytes { SecretBytes(joining: [SecretBytes([Self.format]), signing.seed, agreement.privateKey]) }

  package init(decoding bytes: SecretBytes) throws {
    guard let format = bytes.withUnsafeBytes(\.first) else { throw SyncCryptoError.damaged(.deviceKeys) }
    guard format == Self.format else { throw SyncCryptoError.unsupportedFormat(.deviceKeys, UInt64(format)) }
    guard bytes.count == Self.encodedSize else { throw SyncCryptoError.damaged(.deviceKeys) }
    signing = try SigningKey(seed: bytes.slice(1..<33))
    agreement = try AgreementKey(privateKey: bytes.slice(33..<65))
  }
}

/// The public keys of a device.
package struct DevicePublicKeys: Hashable, Sendable {
  package let signing: [UInt8]
  package let agreement: [UInt8]
}

extension WireWriter {
  mutating func write(_ keys: DevicePublicKeys) {
    write(keys.signing)
    write(keys.agreement)
  }
}

extension WireReader {
  mutating func readDevicePublicKeys() throws -> DevicePublicKeys {
    DevicePublicKeys(
      signing: try readBytes(count: SigningKey.publicKeySize), agreement: try readBytes(count: AgreementKey.publicKeySize))
  }
}
