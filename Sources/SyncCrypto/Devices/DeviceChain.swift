package import SyncCore

/// The verified certificates of an account's devices.
package struct DeviceChain: Hashable, Sendable {
  package let account: AccountID
  /// The public key of the account, which has signed all certificates.
  package let accountKey: [UInt8]
  package private(set) var certificates: [DeviceCertificate] = []
  /// The end of the chain.
  package private(set) var head = Head()
  private var positions: [DeviceID: Int] = [:]

  /// A number of certificates, and the digest of the last one.
  package struct Head: Hashable, Sendable {
    package var count: Int64
    package var digest: Digest

    package init(count: Int64 = 0, digest: Digest = .zero) { (self.count, self.digest) = (count, digest) }
  }

  /// Creates an empty chain.
  package init(account: AccountID, accountKey: [UInt8]) { (self.account, self.accountKey) = (account, accountKey) }

  /// Verifies the certificates of a chain.
  ///
  /// - Parameter known: The latest head that the caller knows. The chain must contain it: a hub that shows a shorter chain or another one
  ///   is noticed.
  package init(account: AccountID, accountKey: [UInt8], verifying certificates: [DeviceCertificate], containing known: Head) throws {
    self.init(account: account, accountKey: accountKey)
    var containsKnown = known == head
    for certificate in certificates {
      try append(certificate)
      if head == known { containsKnown = true }
    }
    guard containsKnown else { throw SyncCryptoError.brokenCertificateChain(certificates.count) }
  }

  /// Adds a certificate.
  ///
  /// - Throws: If it does not continue the chain, or was not signed by the account.
  package mutating func append(_ certificate: DeviceCertificate) throws {
    let position = certificates.count
    guard certificate.account == account, certificate.position == Int64(position), certificate.previous == head.digest,
      positions[certificate.device] == nil
    else { throw SyncCryptoError.brokenCertificateChain(position) }
    guard try certificate.isSigned(by: accountKey) else { throw SyncCryptoError.invalidSignature(.certificate) }
    head = Head(count: Int64(position + 1), digest: try certificate.digest())
    positions[certificate.device] = position
    certificates.append(certificate)
  }

  /// Returns a certificate that continues the chain. A hub accepts it only if the chain was not continued meanwhile.
  ///
  /// - Parameter signer: The account's signing key.
  package func certificate(
    for device: DeviceID, _ keys: DevicePublicKeys, name: String, created: Int64, signedBy signer: SigningKey
  ) throws -> DeviceCertificate {
    try DeviceCertificate(
      device, keys, name: name, created: created, account: account, position: head.count, previous: head.digest, signedBy: signer)
  }

  /// The certificate of a device.
  package subscript(device: DeviceID) -> DeviceCertificate? { positions[device].map { certificates[$0] } }
}
