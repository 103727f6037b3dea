import CLibcrypto
package import StoreKeys

/// An Ed25519 key pair (RFC 8032).
package final class SigningKey: Sendable {
  /// The private key.
  package let seed: SecretBytes
  package let publicKey: [UInt8]
  // libcrypto only reads a key while it signs, so threads can share it.
  private nonisolated(unsafe) let pair: OpaquePointer

  /// - Parameter seed: The private key of 32 bytes.
  package init(seed: SecretBytes) throws {
    let pair = seed.withUnsafeBytes {
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count)
    }
    guard let pair else { throw Self.failure }
    var (publicKey, count) = ([UInt8](repeating: 0, count: Self.publicKeySize), Self.publicKeySize)
    guard EVP_PKEY_get_raw_public_key(pair, &publicKey, &count) == 1, count == Self.publicKeySize else {
      EVP_PKEY_free(pair)
      throw Self.failure
    }
    (self.seed, self.publicKey, self.pair) = (seed, publicKey, pair)
  }

  deinit { EVP_PKEY_free(pair) }

  package static func random() throws -> SigningKey { try SigningKey(seed: Random.secret()) }

  package func signature(of message: [UInt8]) throws -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { throw Self.failure }
    defer { EVP_MD_CTX_free(context) }
    var (signature, count) = ([UInt8](repeating: 0, count: Self.signatureSize), Self.signatureSize)
    guard EVP_DigestSignInit(context, nil, nil, nil, pair) == 1,
      EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == Self.signatureSize
    else { throw Self.failure }
    return signature
  }

  /// Returns whether a signature of a message was made with the private key of a public key.
  package static func isValid(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) throws -> Bool {
    guard publicKey.count == publicKeySize, signature.count == signatureSize else { return false }
    guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, publicKey, publicKey.count),
      let context = EVP_MD_CTX_new()
    else { throw failure }
    defer {
      EVP_MD_CTX_free(context)
      EVP_PKEY_free(key)
    }
    guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { throw failure }
    let isValid = EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    if !isValid { ERR_clear_error() }
    return isValid
  }

  package static let (publicKeySize, signatureSize) = (32, 64)
  private static var failure: SyncCryptoError { .failed("Ed25519") }
}

extension SigningKey: Equatable {
  package static func == (one: SigningKey, other: SigningKey) -> Bool { one.seed == other.seed }
}
