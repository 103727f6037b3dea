import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The libraries that the store uses in this process.
package struct LibraryInformation: Sendable {
  /// SQLCipher's version; empty if another library is linked in its place.
  package let sqlcipher: String
  /// The version of the SQLite in SQLCipher.
  package let sqlite: String
  /// SQLCipher's cryptography provider and its version.
  package let provider: String
  /// The cryptography library for keys and large values.
  package let libcrypto: String
  /// The reason why encrypted stores do not work in this process, or `nil` if they do.
  package let problem: String?

  package init() throws {
    problem = LibraryVersion.problem
    sqlite = LibraryVersion.sqliteName
    libcrypto = Cryptography.libraryName
    guard problem == nil else {
      (sqlcipher, provider) = ("", "")
      return
    }
    (sqlcipher, provider) = try StoreError.mapping {
      let parts = [try LibraryVersion.answer(to: "cipher_provider"), try LibraryVersion.answer(to: "cipher_provider_version")]
      return (try LibraryVersion.answer(to: "cipher_version") ?? "", parts.compactMap { $0 }.joined(separator: " "))
    }
  }
}

extension SQLCipherStoreFile {
  /// The names of the pragmas that describe how a connection is configured.
  package static let settingNames = [
    "cipher_provider", "cipher_provider_version", "page_size", "journal_mode", "synchronous", "temp_store", "secure_delete",
    "cell_size_check", "trusted_schema",
    "mmap_size", "auto_vacuum", "encoding",
  ]

  /// Returns the settings of a connection to the store, by pragma. Pragmas that the linked library does not support are omitted. The file
  /// is not changed.
  package func settings() async throws -> [(name: String, value: String)] {
    try await read { connection in
      try Self.settingNames.compactMap { name in try connection.pragma(name).map { (name, $0) } }
    }
  }
}
