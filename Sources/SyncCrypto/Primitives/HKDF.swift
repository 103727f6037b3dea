import CLibcrypto
import StoreKeys

/// Key derivation with HKDF-SHA-256 (RFC 5869).
enum HKDF {
  /// Returns a pseudorandom key of 32 bytes.
  static func extract(_ secret: SecretBytes, salt: UnsafeRawBufferPointer) throws -> SecretBytes {
    try secret.withUnsafeBytes { secret in
      try derive([.text("mode", "EXTRACT_ONLY"), .bytes("key", secret), .bytes("salt", salt)], count: 32)
    }
  }

  static func extract(_ secret: SecretBytes, salt: [UInt8]) throws -> SecretBytes {
    try salt.withUnsafeBytes { try extract(secret, salt: $0) }
  }

  /// Returns a key for a purpose from a pseudorandom key.
  static func expand(_ key: SecretBytes, _ information: [UInt8], count: Int = 32) throws -> SecretBytes {
    try key.withUnsafeBytes { key in
      try information.withUnsafeBytes { information in
        try derive([.text("mode", "EXPAND_ONLY"), .bytes("key", key), .bytes("info", information)], count: count)
      }
    }
  }

  private static func derive(_ parameters: [AlgorithmParameter], count: Int) throws -> SecretBytes {
    guard let algorithm = EVP_KDF_fetch(nil, "HKDF", nil) else { throw failure }
    defer { EVP_KDF_free(algorithm) }
    guard let context = EVP_KDF_CTX_new(algorithm) else { throw failure }
    defer { EVP_KDF_CTX_free(context) }
    return try SecretBytes(count: count) { output in
      let isDone = withParameters(parameters + [.text("digest", "SHA256")]) {
        EVP_KDF_derive(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), count, $0) == 1
      }
      guard isDone else { throw failure }
    }
  }

  private static var failure: SyncCryptoError { .failed("HKDF") }
}
