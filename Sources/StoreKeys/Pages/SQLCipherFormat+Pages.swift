extension SQLCipherFormat {
  /// The key of a passphrase as SQLCipher itself stretches it.
  package func stretched(_ passphrase: SecretBytes, salt: [UInt8]) throws(StoreAccessError) -> SecretBytes {
    try Cryptography.pbkdf2(passphrase, salt: salt, rounds: version == 3 ? 64_000 : 256_000, hash: hash)
  }

  /// The hash of the passphrase derivation and of a page's code.
  var hash: Cryptography.Hash { version == 3 ? .sha1 : .sha512 }
  /// The bytes at the end of a page: initialization vector, code, padding to 16.
  package var reservedBytes: Int { version == 3 ? 48 : 80 }
}
