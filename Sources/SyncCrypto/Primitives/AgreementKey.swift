package import StoreKeys

/// An X25519 key pair (RFC 7748).
package struct AgreementKey: Equatable, Sendable {
  package let privateKey: SecretBytes
  package let publicKey: [UInt8]

  /// - Parameter privateKey: The private key of 32 bytes.
  package init(privateKey: SecretBytes) throws {
    self.privateKey = privateKey
    do { publicKey = try Cryptography.agreementPublicKey(for: privateKey) } catch { throw SyncCryptoError.libcrypto("X25519") }
  }

  package static func random() throws -> AgreementKey { try AgreementKey(privateKey: Random.secret()) }

  /// Returns the secret that is shared with the owner of a public key.
  ///
  /// - Throws: `invalidPublicKey` if the secret would not depend on the private key.
  func sharedSecret(with publicKey: [UInt8]) throws -> SecretBytes {
    guard publicKey.count == Self.publicKeySize else { throw SyncCryptoError.invalidPublicKey }
    do {
      return try Cryptography.sharedSecret(privateKey, publicKey).secret
    } catch {
      if case .outOfMemory = error.kind { throw SyncCryptoError.libcrypto("X25519") }
      throw SyncCryptoError.invalidPublicKey
    }
  }

  package static let publicKeySize = 32
}
