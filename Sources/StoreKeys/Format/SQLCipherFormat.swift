/// The encryption and size of a database's pages.
public struct SQLCipherFormat: Sendable, Hashable, CustomStringConvertible {
  /// SQLCipher 3's encryption (AES-256-CBC, HMAC-SHA1) with pages of 4096 bytes, which SQLCipher 3 and 4 can open. This is the default.
  ///
  /// With a random key, the passphrase derivation of version 3 is irrelevant. In SQLCipher's shell, open such a file with `PRAGMA key`,
  /// then in version 4 `PRAGMA cipher_compatibility = 3`, then `PRAGMA cipher_page_size = 4096`.
  public static let portable = SQLCipherFormat(version: 3, pageSize: 4096)

  /// The default format of SQLCipher 3, with pages of 1024 bytes. Scans are four to five times slower, but a version 3 shell opens the file
  /// without further settings.
  public static let sqlcipher3 = SQLCipherFormat(version: 3, pageSize: 1024)

  /// The default format of SQLCipher 4 (HMAC-SHA512, pages of 4096 bytes). SQLCipher 3 cannot open it.
  public static let sqlcipher4 = SQLCipherFormat(version: 4, pageSize: 4096)

  /// The version of SQLCipher that introduced the encryption: 3 or 4.
  public let version: Int
  /// The size of a page, in bytes.
  public let pageSize: Int

  package init(version: Int, pageSize: Int) {
    self.version = version
    self.pageSize = pageSize
  }

  /// A description such as `SQLCipher 3, 4096-byte pages`.
  public var description: String { "SQLCipher \(version), \(pageSize)-byte pages" }
}
