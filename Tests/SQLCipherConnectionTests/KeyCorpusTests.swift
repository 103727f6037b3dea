import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreKeys

/// Right, wrong, missing and malformed keys on real files: the exact error, and no changed byte.
final class KeyCorpusTests: StoreTestCase {
  private enum File: String, CaseIterable {
    case slots
    case bare
    case passphrase
    case plain
  }

  private let rawKey = SecretBytes([UInt8](repeating: 3, count: 32))
  private let dataKey = SecretBytes([UInt8](repeating: 5, count: 32))

  private func path(_ file: File) -> String { folder + "/" + file.rawValue }

  private func makeFiles() async throws {
    let slots = try await StoreKeyring.create(storePath: path(.slots), key: .raw(rawKey))
    _ = try await slots.addSlot(cheap("pass\u{0}word"))
    _ = try await StoreKeyring.create(storePath: path(.bare), key: .databaseKey(dataKey))
    _ = try await StoreKeyring.create(storePath: path(.passphrase), key: .sqlcipherPassphrase("interop"))
    try PlaintextExchange.exportPlaintext(from: path(.slots), key: slots.databaseKey(), to: path(.plain))
  }

  /// Opens as an application does: unlock, then connect and read.
  private func open(_ path: String, _ key: StoreKey?) async throws {
    let keyring = try await StoreKeyring.unlock(storePath: path, key: key)
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    defer { connection.close() }
    _ = try connection.firstInteger("SELECT count(*) FROM sqlite_master")
  }

  func testEachKeyAndFileCombinationHasItsError() async throws {
    try await makeFiles()
    let before = try snapshot()
    let wrong = SecretBytes([UInt8](repeating: 4, count: 32))
    let hex = String(repeating: "ab", count: 32)
    let cases: [(File, StoreKey?, StoreAccessError.Kind?)] = [
      (.slots, .raw(rawKey), nil),
      (.slots, cheap("pass\u{0}word"), nil),
      (.slots, cheap("pass\u{0}wore"), .wrongKey),
      (.slots, cheap("pass"), .wrongKey),
      (.slots, .raw(wrong), .wrongKey),
      (.slots, nil, .keyRequired),
      (.slots, cheap(""), .invalidKey(.empty)),
      (.slots, cheap("x"), .wrongKey),
      (.slots, cheap("x'\(hex)'"), .wrongKey),
      (.slots, .raw(SecretBytes([])), .invalidKey(.empty)),
      (.slots, .raw(SecretBytes([UInt8](repeating: 3, count: 31))), .invalidKey(.length(expected: 32, found: 31))),
      (.slots, .raw(SecretBytes([UInt8](repeating: 3, count: 33))), .invalidKey(.length(expected: 32, found: 33))),
      (.slots, .databaseKey(wrong), .unreadableStore),
      (.slots, .sqlcipherPassphrase("interop"), .unreadableStore),
      (.bare, .databaseKey(dataKey), nil),
      (.bare, .databaseKey(wrong), .unreadableStore),
      (.bare, .databaseKey(SecretBytes([])), .invalidKey(.empty)),
      (.bare, .databaseKey(SecretBytes([UInt8](repeating: 5, count: 48))), .invalidKey(.length(expected: 32, found: 48))),
      (.bare, .raw(dataKey), .keyFileMissing),
      (.bare, cheap("any"), .keyFileMissing),
      (.bare, nil, .keyRequired),
      (.passphrase, .sqlcipherPassphrase("interop"), nil),
      (.passphrase, .sqlcipherPassphrase("Interop"), .unreadableStore),
      (.passphrase, .sqlcipherPassphrase("interop", .sqlcipher3), .unreadableStore),
      (.passphrase, .sqlcipherPassphrase(""), .invalidKey(.empty)),
      (
        .passphrase, .sqlcipherPassphrase("x'\(hex)'"),
        .invalidKey(.malformed(.passphraseLikeRawKey))
      ),
      (.plain, .raw(rawKey), .notEncrypted),
      (.plain, .databaseKey(dataKey), .notEncrypted),
      (.plain, .sqlcipherPassphrase("interop"), .notEncrypted),
      (.plain, nil, .notEncrypted),
    ]
    for (index, (file, key, expected)) in cases.enumerated() {
      do {
        try await open(path(file), key)
        XCTAssertNil(expected, "case \(index)")
      } catch let error as StoreAccessError {
        XCTAssertEqual(error.kind, expected, "case \(index): \(error)")
        XCTAssertNotNil(error.description)
      }
      // Neither contents nor names changed: no log or index is left over.
      XCTAssertEqual(try snapshot(), before, "case \(index)")
      XCTAssertEqual(try names().count, before.count, "case \(index)")
    }
  }

  func testUnreadableFormatsAreReported() async throws {
    let key = StoreKey.sqlcipherPassphrase("interop", .sqlcipher4)
    if LibraryVersion.isSQLCipher4 {
      _ = try await StoreKeyring.create(storePath: path, key: key)
      try await open(path, key)
      await assertThrowsAsync(.unreadableStore) { try await open(path, .sqlcipherPassphrase("interop")) }
      let copy = folder + "/slots"
      _ = try await StoreKeyring.create(storePath: copy, key: .raw(rawKey), format: .sqlcipher4)
      try await open(copy, .raw(rawKey))
    } else {
      do {
        _ = try await StoreKeyring.create(storePath: path, key: key)
        XCTFail("SQLCipher 3 cannot write this")
      } catch let error as StoreAccessError {
        guard case .unsupportedFormat = error.kind else { return XCTFail("\(error)") }
      }
      XCTAssertEqual(try names(), [])
    }
  }

  func testWrongKeysLeaveTheLogOfACrashUnchanged() async throws {
    try await makeFiles()
    let key = try DatabaseKey(key: dataKey, salt: try BareDatabaseFile(path(.bare)).salt(), isProven: true)
    let connection = try Connection(opening: path(.bare), key: key)
    try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (42)")
    // The state after a crash: the file and its log, without an index.
    let crashed = folder + "/crashed"
    try FileManager.default.copyItem(atPath: path(.bare), toPath: crashed)
    try FileManager.default.copyItem(atPath: path(.bare) + "-wal", toPath: crashed + "-wal")
    connection.close()
    let before = try snapshot()
    let names = try names()
    for wrong in [StoreKey.databaseKey(rawKey), .sqlcipherPassphrase("interop")] {
      await assertThrowsAsync(.unreadableStore) { try await open(crashed, wrong) }
    }
    XCTAssertEqual(try snapshot(), before)
    XCTAssertEqual(try self.names(), names)
    let right = try Connection(opening: crashed, key: key)
    XCTAssertEqual(try right.firstInteger("SELECT a FROM t"), 42)
  }

  func testConnectionSettingsAreApplied() throws {
    var options = ConnectionOptions()
    options.enforcesForeignKeys = true
    options.durability = .fast
    options.cacheSizeKiB = 65_536
    let connection = try Connection.create(path: path, key: testKey(), options: options)
    let expected = [
      "journal_mode": "wal", "synchronous": "1", "temp_store": "2", "cache_size": "-65536", "cell_size_check": "1", "foreign_keys": "1",
      "page_size": "4096", "secure_delete": "1", "wal_autocheckpoint": "1000",
    ]
    for (name, value) in expected { XCTAssertEqual(try connection.pragma(name), value, name) }
    if let size = try connection.pragma("mmap_size") { XCTAssertEqual(size, "0") }
    if LibraryVersion.hasTrustedSchema { XCTAssertEqual(try connection.pragma("trusted_schema"), "0") }
    connection.close()
    let again = try Connection(opening: path, key: testKey())
    XCTAssertEqual(try again.pragma("synchronous"), "2")
    XCTAssertEqual(try again.pragma("cache_size"), "-16384")
  }
}
