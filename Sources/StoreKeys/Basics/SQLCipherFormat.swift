/// How a database's pages are encrypted and laid out.
public struct SQLCipherFormat: Sendable, Hashable, CustomStringConvertible {
  /// SQLCipher 3's encryption (AES-256-CBC, HMAC-SHA1) with pages of 4096 bytes: SQLCipher 3 and 4 open it. It is the default.
  ///
  /// With a random key the passphrase derivation of version 3 does not matter. SQLCipher's shell opens such a file with `PRAGMA key`, for
  /// version 4 then `PRAGMA cipher_compatibility = 3`, then `PRAGMA cipher_page_size = 4096`.
  public static let portable = SQLCipherFormat(version: 3, pageSize: 4096)

  /// SQLCipher 3's own default, with pages of 1024 bytes: slower (four to five times in a scan), but a version 3 shell opens it as it is.
  public static let sqlcipher3 = SQLCipherFormat(version: 3, pageSize: 1024)

  /// SQLCipher 4's own default (HMAC-SHA512, pages of 4096 bytes); SQLCipher 3 cannot open it.
  public static let sqlcipher4 = SQLCipherFormat(version: 4, pageSize: 4096)

  /// The version of SQLCipher whose encryption this is: 3 or 4.
  public let version: Int
  /// The number of bytes of a page.
  public let pageSize: Int

  package init(version: Int, pageSize: Int) {
    self.version = version
    self.pageSize = pageSize
  }

  /// For example `SQLCipher 3, 4096-byte pages`.
  public var description: String { "SQLCipher \(version), \(pageSize)-byte pages" }
}
