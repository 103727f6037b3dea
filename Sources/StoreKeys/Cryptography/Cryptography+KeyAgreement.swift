import CLibcrypto

extension Cryptography {
  /// The length in bytes of an X25519 key, private or public.
  static let agreementKeySize = 32

  static func agreementPublicKey(for privateKey: SecretBytes) throws(StoreAccessError) -> [UInt8] {
    guard let pair = makePrivateKey(privateKey) else { throw agreementFailure() }
    defer { EVP_PKEY_free(pair) }
    var publicKey = [UInt8](repeating: 0, count: agreementKeySize)
    var count = agreementKeySize
    guard EVP_PKEY_get_raw_public_key(pair, &publicKey, &count) == 1, count == agreementKeySize else { throw agreementFailure() }
    return publicKey
  }

  /// Returns the shared secret of a private key and a peer's public key, and the public key of the private key.
  static func sharedSecret(
    _ privateKey: SecretBytes, _ publicKey: [UInt8]
  ) throws(StoreAccessError) -> (secret: SecretBytes, publicKey: [UInt8]) {
    guard let own = makePrivateKey(privateKey) else { throw agreementFailure() }
    defer { EVP_PKEY_free(own) }
    var ownPublicKey = [UInt8](repeating: 0, count: agreementKeySize)
    var ownCount = agreementKeySize
    guard EVP_PKEY_get_raw_public_key(own, &ownPublicKey, &ownCount) == 1, ownCount == agreementKeySize else { throw agreementFailure() }
    guard let peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nil, publicKey, publicKey.count) else { throw agreementFailure() }
    defer { EVP_PKEY_free(peer) }
    guard let context = EVP_PKEY_CTX_new(own, nil) else { throw agreementFailure() }
    defer { EVP_PKEY_CTX_free(context) }
    let secret = try SecretBytes(count: agreementKeySize) { (output) throws(StoreAccessError) in
      var count = agreementKeySize
      // libcrypto rejects public keys that would make the secret zero.
      guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, peer) == 1,
        EVP_PKEY_derive(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), &count) == 1, count == agreementKeySize
      else { throw agreementFailure() }
    }
    return (secret, ownPublicKey)
  }

  /// Returns a SHA-256 digest, for checksums.
  static func sha256(_ bytes: [UInt8]) throws(StoreAccessError) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    guard EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1 else {
      throw failure("SHA-256")
    }
    return digest
  }

  private static func makePrivateKey(_ bytes: SecretBytes) -> OpaquePointer? {
    bytes.withUnsafeBytes {
      EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count)
    }
  }

  private static func agreementFailure() -> StoreAccessError {
    failure("X25519")
  }
}
