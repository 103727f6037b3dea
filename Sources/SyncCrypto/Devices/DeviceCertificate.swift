package import SyncCore

/// The statement of an account that a device belongs to it.
///
/// Certificates form a chain: each contains the digest of the one before, so that a hub can neither drop nor reorder any unnoticed.
package struct DeviceCertificate: Hashable, Sendable {
  package let account: AccountID
  /// The position in the chain, from 0.
  package let position: Int64
  /// The digest of the certificate before; zero for the first.
  package let previous: Digest
  package let device: DeviceID
  package let keys: DevicePublicKeys
  /// The device's name for people.
  package let name: String
  /// When the device was added, in milliseconds since 1970.
  package let created: Int64
  /// The signature by the account's signing key.
  package private(set) var signature: [UInt8]

  /// Creates a certificate, signed by the account.
  init(
    _ device: DeviceID, _ keys: DevicePublicKeys, name: String, created: Int64, account: AccountID, position: Int64, previous: Digest,
    signedBy signer: SigningKey
  ) throws {
    (self.account, self.position, self.previous) = (account, position, previous)
    (self.device, self.keys, self.name, self.created) = (device, keys, name, created)
    signature = []
    signature = try signer.signature(of: signedBytes)
  }

  /// Returns whether the owner of a public key has signed the certificate.
  func isSigned(by publicKey: [UInt8]) throws -> Bool { try SigningKey.isValid(signature, of: signedBytes, by: publicKey) }

  func digest() throws -> Digest { try SHA256.digest(of: encoded()) }

  // MARK: Encoding

  private static let format: UInt64 = 1

  package func encoded() -> [UInt8] {
    var writer = WireWriter()
    write(to: &writer)
    writer.write(signature)
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws {
    var reader = WireReader(bytes)
    self = try SyncCrypto.decoding(.certificate) {
      let certificate = try DeviceCertificate(from: &reader)
      // Other encodings of the same values would have other digests.
      guard certificate.encoded() == bytes else { throw WireError.invalid }
      return certificate
    }
  }

  private init(from reader: inout WireReader) throws {
    let format = try reader.readUnsigned()
    guard format == Self.format else { throw WireError.unsupportedVersion(format) }
    account = try reader.readAccountID()
    position = try reader.readSigned()
    previous = try reader.readDigest()
    device = DeviceID(try reader.readFixed())
    keys = try reader.readDevicePublicKeys()
    name = try reader.readText()
    created = try reader.readSigned()
    signature = try reader.readBytes(count: SigningKey.signatureSize)
  }

  private func write(to writer: inout WireWriter) {
    writer.write(Self.format)
    writer.write(account)
    writer.write(position)
    writer.write(previous)
    writer.writeFixed(device.value)
    writer.write(keys)
    writer.write(name)
    writer.write(created)
  }

  private var signedBytes: [UInt8] {
    var writer = WireWriter()
    writer.write("CipherData sync device certificate")
    write(to: &writer)
    return writer.bytes
  }
}
