extension SQLCipherFormat {
  /// Derives a key from a passphrase as SQLCipher does.
  package func stretched(_ passphrase: SecretBytes, salt: [UInt8]) throws(StoreAccessError) -> SecretBytes {
    try Cryptography.pbkdf2(passphrase, salt: salt, rounds: version == 3 ? 64_000 : 256_000, hash: hash)
  }

  /// The hash function of the passphrase derivation and of authentication codes.
  var hash: Cryptography.Hash { version == 3 ? .sha1 : .sha512 }
  /// The number of reserved bytes at the end of a page: initialization vector, authentication code, and padding to a multiple of 16.
  package var reservedBytes: Int { version == 3 ? 48 : 80 }
}
