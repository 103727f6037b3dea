/// The raw key of a database, which needs no derivation: 32 random bytes, a salt of 16 bytes, and the page format.
package struct DatabaseKey: Sendable, CustomStringConvertible {
  /// The size of the key, in bytes. ``saltSize`` is that of the salt.
  package static let keySize = 32
  package static let saltSize = 16

  /// The encryption key, 32 bytes.
  package let key: SecretBytes
  /// The first 16 bytes of the file.
  package let salt: [UInt8]
  package let format: SQLCipherFormat
  /// Whether a slot's tag has proved that the key is correct. A page that fails its check is then damaged.
  package let isProven: Bool

  package init(key: SecretBytes, salt: [UInt8], format: SQLCipherFormat = .portable, isProven: Bool = false) throws(StoreAccessError) {
    guard key.count > 0 else { throw StoreAccessError(.invalidKey(.empty), path: nil, operation: .key) }
    guard key.count == Self.keySize else {
      throw StoreAccessError(.invalidKey(.length(expected: Self.keySize, found: key.count)), path: nil, operation: .key)
    }
    guard salt.count == Self.saltSize else {
      throw StoreAccessError(.invalidKey(.length(expected: Self.saltSize, found: salt.count)), path: nil, operation: .key)
    }
    self.key = key
    self.salt = salt
    self.format = format
    self.isProven = isProven
  }

  /// Returns a new random key and salt.
  package static func random(format: SQLCipherFormat = .portable) throws(StoreAccessError) -> DatabaseKey {
    try DatabaseKey(
      key: Cryptography.randomSecret(keySize), salt: Cryptography.randomBytes(saltSize), format: format, isProven: true)
  }

  /// Derives the key from a passphrase as SQLCipher does. This is done once, so that each connection opens with the raw key.
  package init(sqlcipherPassphrase passphrase: SecretBytes, salt: [UInt8], format: SQLCipherFormat) throws(StoreAccessError) {
    guard passphrase.count > 0 else { throw StoreAccessError(.invalidKey(.empty), path: nil, operation: .key) }
    let isRawShape = passphrase.withUnsafeBytes { [67, 99].contains($0.count) && $0[0] == UInt8(ascii: "x") && $0[1] == UInt8(ascii: "'") }
    guard !isRawShape else {
      throw StoreAccessError(.invalidKey(.malformed(.passphraseLikeRawKey)), path: nil, operation: .key)
    }
    try self.init(key: format.stretched(passphrase, salt: salt), salt: salt, format: format)
  }

  package var description: String { "<redacted>, \(format)" }

  /// Returns `x'<64 hex><32 hex>'`, which `sqlite3_key` accepts as raw key and salt, in a single buffer that is wiped.
  package func sqlcipherText() -> SecretBytes {
    SecretBytes(count: 3 + 2 * (Self.keySize + Self.saltSize)) { buffer in
      buffer[0] = UInt8(ascii: "x")
      buffer[1] = UInt8(ascii: "'")
      var position = 2
      func append(_ byte: UInt8) {
        for nibble in [byte >> 4, byte & 15] {
          buffer[position] = nibble < 10 ? 48 + nibble : 87 + nibble
          position += 1
        }
      }
      key.withUnsafeBytes { for byte in $0 { append(byte) } }
      for byte in salt { append(byte) }
      buffer[position] = UInt8(ascii: "'")
    }
  }
}

// MARK: - Key derivation and page layout

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
