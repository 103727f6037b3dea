import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// A correct key for a file of another page format than the stated one.
final class OtherFormatTests: StoreTestCase {
  private var formats: [SQLCipherFormat] { [.portable, .sqlcipher3] + (LibraryVersion.isSQLCipher4 ? [.sqlcipher4] : []) }

  private func open(_ key: StoreKey) async throws {
    let keyring = try await StoreKeyring.unlock(storePath: path, key: key)
    try keyring.withDatabaseKey { try Connection(opening: path, key: $0).close() }
  }

  private func fill(_ keyring: StoreKeyring) throws {
    let connection = try keyring.withDatabaseKey { try Connection(opening: path, key: $0) }
    try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (randomblob(20000))")
    connection.close()
  }

  func testSQLCipherPassphrasesReportTheMatchingFormat() async throws {
    for written in formats {
      _ = try await StoreKeyring.create(storePath: path, key: .sqlcipherPassphrase("one", written))
      for named in formats {
        if named == written {
          try await open(.sqlcipherPassphrase("one", named))
        } else {
          let before = try snapshot()
          let error = await assertThrowsAsync(.otherFormat(written)) { try await open(.sqlcipherPassphrase("one", named)) }
          XCTAssertTrue(error?.description.contains("open it as \(written)") ?? false)
          XCTAssertEqual(try snapshot(), before)
        }
      }
      // A wrong passphrase is wrong in any format. An empty store with small pages would be shorter than a page of the other formats.
      let keyring = try await StoreKeyring.unlock(storePath: path, key: .sqlcipherPassphrase("one", written))
      try fill(keyring)
      for named in formats { await assertThrowsAsync(.unreadableStore) { try await open(.sqlcipherPassphrase("two", named)) } }
      try StoreRemoval.destroy(path)
    }
  }

  func testEmptyPassphrasesAreValidInAnyFormat() async throws {
    let unknown = SQLCipherFormat(version: 5, pageSize: 4096)
    await assertThrowsAsync(.invalidKey(.empty)) {
      _ = try await StoreKeyring.create(storePath: path, key: .sqlcipherPassphrase("", unknown))
    }
    _ = try await StoreKeyring.create(storePath: path, key: .sqlcipherPassphrase("one"))
    for format in [.portable, unknown] {
      await assertThrowsAsync(.invalidKey(.empty)) { try await open(.sqlcipherPassphrase("", format)) }
    }
  }

  func testDataKeysDetectTheFormat() async throws {
    let secret = SecretBytes([UInt8](repeating: 7, count: 32))
    for written in formats {
      try fill(try await StoreKeyring.create(storePath: path, key: .databaseKey(secret), format: written))
      try await open(.databaseKey(secret))
      await assertThrowsAsync(.unreadableStore) { try await open(.databaseKey(SecretBytes([UInt8](repeating: 8, count: 32)))) }
      try StoreRemoval.destroy(path)
    }
  }
}
