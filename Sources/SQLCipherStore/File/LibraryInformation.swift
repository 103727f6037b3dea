import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The libraries under the store.
package struct LibraryInformation: Sendable {
  /// SQLCipher's version; empty where something else answers in its place.
  package let sqlcipher: String
  /// SQLite's version inside it.
  package let sqlite: String
  /// Who encrypts for SQLCipher, with its version.
  package let provider: String
  /// The library that keys and large values are protected with.
  package let libcrypto: String
  /// Why no encrypted store works in this process; nil where nothing stands in the way.
  package let problem: String?

  /// Asks the libraries.
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
  /// The settings of every connection that are worth a look, as SQLite tells them.
  package static let settingNames = [
    "cipher_provider", "cipher_provider_version", "page_size", "journal_mode", "synchronous", "temp_store", "secure_delete",
    "cell_size_check", "trusted_schema",
    "mmap_size", "auto_vacuum", "encoding",
  ]

  /// What a connection is set to, by the names of SQLite's pragmas; those that this library does not know are left out. The file is not changed.
  package func settings() async throws -> [(name: String, value: String)] {
    try await read { connection in
      try Self.settingNames.compactMap { name in try connection.pragma(name).map { (name, $0) } }
    }
  }
}
