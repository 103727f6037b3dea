import StoreKeys

/// Random bytes from libcrypto's generator.
enum Random {
  /// Returns bytes that need not be secret.
  static func bytes(_ count: Int) throws -> [UInt8] {
    do { return try Cryptography.randomBytes(count) } catch { throw SyncCryptoError.libcrypto("random bytes") }
  }

  static func secret(_ count: Int = 32) throws -> SecretBytes {
    do { return try Cryptography.randomSecret(count) } catch { throw SyncCryptoError.libcrypto("random bytes") }
  }

  static func word() throws -> UInt64 { try bytes(8).reduce(0) { $0 << 8 | UInt64($1) } }
}
