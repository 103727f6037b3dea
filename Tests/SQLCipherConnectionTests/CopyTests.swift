import Foundation
import Synchronization
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// Backup, rotation of the data key, plaintext export and import, and the files after a failure.
final class CopyTests: StoreTestCase {
  private let plainHeader = Data("SQLite format 3\u{0}".utf8)

  private func makeStore(_ key: StoreKey = cheap("one"), rows: Int = 200) async throws -> StoreKeyring {
    let keyring = try await StoreKeyring.create(storePath: path, key: key)
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    try connection.execute(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX "odd ""name" ON t (text);
      CREATE TABLE log (n); CREATE TRIGGER on_insert AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.id); END;
      CREATE VIEW v AS SELECT count(*) AS n FROM t; PRAGMA user_version = 77; PRAGMA application_id = 99
      """)
    let insert = try connection.statement(0, "INSERT INTO t (text) VALUES (?)")
    try connection.writeTransaction {
      for row in 0..<rows {
        try insert.bind(1, "MARKER-\(row)-" + String(repeating: "x", count: row % 40 == 0 ? 9_000 : 20))
        try insert.run()
      }
    }
    return keyring
  }

  private func check(_ connection: Connection, rows: Int64 = 200, file: StaticString = #filePath, line: UInt = #line) throws {
    XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM t"), rows, file: file, line: line)
    XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM log"), rows, file: file, line: line)
    XCTAssertEqual(try connection.firstInteger("SELECT n FROM v"), rows, file: file, line: line)
    XCTAssertEqual(try connection.firstInteger("PRAGMA user_version"), 77, file: file, line: line)
    XCTAssertEqual(try connection.firstInteger("PRAGMA application_id"), 99, file: file, line: line)
    XCTAssertEqual(try connection.firstText("PRAGMA integrity_check"), "ok", file: file, line: line)
  }

  private func open(_ path: String, _ key: StoreKey) async throws -> Connection {
    let keyring = try await StoreKeyring.unlock(storePath: path, key: key)
    return try Connection(opening: path, key: keyring.databaseKey())
  }

  private func assertNoPlaintext(except allowed: Set<String> = [], file: StaticString = #filePath, line: UInt = #line) throws {
    for (name, data) in try snapshot() where !allowed.contains(name) {
      XCTAssertFalse(data.starts(with: plainHeader), name, file: file, line: line)
      XCTAssertNil(data.range(of: Data("MARKER-".utf8)), name, file: file, line: line)
      XCTAssertNil(data.range(of: Data("CREATE TABLE".utf8)), name, file: file, line: line)
    }
  }

  // MARK: - Backup

  func testABackupHasTheSameKeysAndContents() async throws {
    let keyring = try await makeStore()
    let copy = folder + "/copy.store"
    try await keyring.backUp(to: copy)
    try check(try await open(copy, cheap("one")))
    await assertThrowsAsync(.wrongKey) { try await open(copy, cheap("two")) }
    await assertThrowsAsync(.fileExists) { try await keyring.backUp(to: copy) }
    try assertNoPlaintext()
    XCTAssertEqual(try names().filter { $0.hasPrefix(".") }, [])
  }

  func testBackupsForAnotherKeyOpenOnlyWithThatKey() async throws {
    let keyring = try await makeStore()
    let copy = folder + "/copy.store"
    _ = try await keyring.backUp(to: copy, key: cheap("two"))
    try check(try await open(copy, cheap("two")))
    await assertThrowsAsync(.wrongKey) { try await open(copy, cheap("one")) }
    try check(try await open(path, cheap("one")))
    try assertNoPlaintext()
  }

  func testBackupsInAnotherFormatAreRewritten() async throws {
    let keyring = try await makeStore()
    let copy = folder + "/copy.store"
    _ = try await keyring.backUp(to: copy, key: .sqlcipherPassphrase("other", .sqlcipher3))
    try check(try await open(copy, .sqlcipherPassphrase("other", .sqlcipher3)))
    await assertThrowsAsync(.unreadableStore) { try await open(copy, .sqlcipherPassphrase("other", .portable)) }
    try assertNoPlaintext()
  }

  func testABackupTakenWhileOthersWriteIsOneSnapshot() async throws {
    let keyring = try await makeStore()
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
    let copy = folder + "/copy.store"
    let writes = Mutex(0)
    try await keyring.backUp(to: copy) { _, _ in
      do {
        try pool.withWriter { writer in try writer.writeTransaction { try writer.execute("INSERT INTO t (text) VALUES ('later')") } }
        writes.withLock { $0 += 1 }
      } catch {
        XCTFail("\(error)")
      }
      return true
    }
    XCTAssertGreaterThan(writes.withLock { $0 }, 0)
    try check(try await open(copy, cheap("one")))
    pool.close()
  }

  func testCanceledBackupsLeaveNothing() async throws {
    let keyring = try await makeStore()
    let before = try names()
    await assertThrowsAsync(.cancelled) { try await keyring.backUp(to: folder + "/copy.store") { _, _ in false } }
    XCTAssertEqual(try names(), before)
  }

  // MARK: - Rotation

  func testRotationChangesTheDataKeyAndKeepsEverySlot() async throws {
    let keyring = try await makeStore()
    let (recovery, _) = try await keyring.addRecoveryKey()
    let removed = try await keyring.addSlot(cheap("gone"))
    let oldKeyFile = try Data(contentsOf: URL(fileURLWithPath: path + ".keys"))
    try await keyring.removeSlot(removed.id)
    let oldKey = try keyring.databaseKey().key
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
    XCTAssertEqual(try pool.withReader(reusingSnapshot: true) { try $0.firstInteger("SELECT count(*) FROM t") }, 200)

    try await keyring.rotateDataKey(pool: pool)
    XCTAssertNotEqual(try keyring.databaseKey().key, oldKey)
    try pool.withReader { try check($0) }
    try pool.withWriter { writer in try writer.writeTransaction { try writer.execute("INSERT INTO t (text) VALUES ('after')") } }
    pool.close()

    XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
    try check(try await open(path, cheap("one")), rows: 201)
    try check(try await open(path, try XCTUnwrap(StoreKey.recoveryKey(recovery))), rows: 201)
    await assertThrowsAsync(.unreadableStore) { try await open(path, .databaseKey(oldKey)) }
    // The old key file and the removed passphrase yield the old data key, which opens nothing anymore.
    try oldKeyFile.write(to: URL(fileURLWithPath: path + ".keys"))
    await assertThrowsAsync(.keyFileOutdated) { try await open(path, cheap("gone")) }
    try assertNoPlaintext()
  }

  func testRotationRequiresExclusiveAccess() async throws {
    let keyring = try await makeStore()
    var options = ConnectionOptions()
    options.busyTimeoutMilliseconds = 20
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey(), options: options)
    let other = try Connection(opening: path, key: keyring.databaseKey())
    let before = try keyring.databaseKey().key
    await assertThrowsAsync(.busy) { try await keyring.rotateDataKey(pool: pool) }
    XCTAssertEqual(try keyring.databaseKey().key, before)
    try check(other)
    other.close()
    try await keyring.rotateDataKey(pool: pool)
    try pool.withReader { try check($0) }
    pool.close()
  }

  func testCanceledRotationsKeepTheOldStore() async throws {
    let keyring = try await makeStore()
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
    await assertThrowsAsync(.cancelled) { try await keyring.rotateDataKey(pool: pool) { _, _ in false } }
    try pool.withReader { try check($0) }
    pool.close()
    XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
    try check(try await open(path, cheap("one")))
  }

  func testAnInterruptedRotationIsFinishedByTheNextOpening() async throws {
    for isSwapped in [false, true] {
      let keyring = try await makeStore()
      let old = try keyring.databaseKey()
      let next = try DatabaseKey.random()
      try keyring.edit { file, keys in try file.addGeneration(next, keys: &keys) }
      let source = try Connection(opening: path, key: old)
      let copy = StoreFile.rotationPath(for: path)
      try StoreFile.createExclusively(copy)
      try DatabaseCopy.backUp(source, old, to: copy, key: next, options: ConnectionOptions())
      source.close()
      if isSwapped { XCTAssertEqual(rename(copy, path), 0) }

      let second = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
      XCTAssertEqual(try second.candidates.count, 2)
      XCTAssertEqual(try second.databaseKey().key, isSwapped ? next.key : old.key)
      XCTAssertEqual(try second.candidates.count, 1)
      XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
      try check(try await open(path, cheap("one")))
      for name in try names() { try FileManager.default.removeItem(atPath: folder + "/" + name) }
    }
  }

  func testASQLCipherPassphraseChangesByRotation() async throws {
    let keyring = try await makeStore(.sqlcipherPassphrase("one"))
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
    let next = try StoreKeyring.sqlcipherKey(
      SecretBytes(utf8: "two"), salt: Cryptography.randomBytes(16), format: .portable)
    try await keyring.rotateDataKey(pool: pool, newKey: next)
    pool.close()
    try check(try await open(path, .sqlcipherPassphrase("two")))
    await assertThrowsAsync(.unreadableStore) { try await open(path, .sqlcipherPassphrase("one")) }
  }

  // MARK: - Plaintext

  func testPlaintextExportsAreCompleteAndCanBeEncryptedAgain() async throws {
    let keyring = try await makeStore()
    let plain = folder + "/plain.sqlite"
    try PlaintextExchange.exportPlaintext(from: path, key: keyring.databaseKey(), to: plain)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: plain))
    XCTAssertTrue(bytes.starts(with: plainHeader))
    XCTAssertNotNil(bytes.range(of: Data("MARKER-".utf8)))
    let attributes = try FileManager.default.attributesOfItem(atPath: plain)
    XCTAssertEqual(attributes[.posixPermissions] as? Int, 0o600)
    assertThrows(.fileExists) { try PlaintextExchange.exportPlaintext(from: path, key: keyring.databaseKey(), to: plain) }
    assertThrows(.notEncrypted) { try Connection(opening: plain, key: keyring.databaseKey()) }

    for (name, key) in [("a", cheap("two")), ("b", .sqlcipherPassphrase("three", .sqlcipher3))] {
      let again = folder + "/\(name).store"
      _ = try await PlaintextExchange.importPlaintext(from: plain, to: again, key: key)
      try check(try await open(again, key))
    }
    XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: plain)), bytes)
    try assertNoPlaintext(except: ["plain.sqlite"])
  }

  /// SQLCipher's export prepares its statements once. It failed with "database schema has changed" after another process had made a table,
  /// as updating the statistics does.
  func testExportsIncludeSchemaChangesOfOtherConnections() async throws {
    let keyring = try await makeStore()
    let key = try keyring.databaseKey()
    let plain = folder + "/plain.sqlite"
    // The open connection keeps the log.
    let other = try Connection(opening: path, key: key)
    try PlaintextExchange.exportPlaintext(from: path, key: key, to: plain) { source in
      XCTAssertEqual(try source.firstInteger("SELECT count(*) FROM t"), 200)
      try other.execute("CREATE TABLE later (x); INSERT INTO later VALUES (5); ANALYZE")
      return []
    }
    let copy = try PlaintextExchange.openPlaintext(plain)
    try check(copy)
    XCTAssertEqual(try copy.firstInteger("SELECT x FROM later"), 5)
    XCTAssertGreaterThan(try copy.firstInteger("SELECT count(*) FROM sqlite_stat1") ?? 0, 0)
  }

  func testBackupsWithAKeyFileNameClashLeaveNothing() async throws {
    let keyring = try await makeStore()
    let copy = folder + "/copy"
    // A file takes the key file's name while the database is copied.
    func isInTheWay() -> ProgressHandler {
      { _, _ in
        try? FileManager.default.createDirectory(atPath: copy + ".keys/x", withIntermediateDirectories: true)
        return true
      }
    }
    do {
      try await keyring.backUp(to: copy, progress: isInTheWay())
      XCTFail("a backup without its key file succeeds")
    } catch is StoreAccessError {}
    XCTAssertEqual(try names(), ["copy.keys", "test.store", "test.store.keys"])
    do {
      _ = try await keyring.backUp(to: folder + "/copy", key: cheap("two"), progress: isInTheWay())
      XCTFail("a backup without its key file succeeds")
    } catch is StoreAccessError {}
    XCTAssertEqual(try names(), ["copy.keys", "test.store", "test.store.keys"])
  }

  func testOnlyPlaintextDatabasesAreImported() async throws {
    let keyring = try await makeStore()
    _ = keyring
    let before = try snapshot()
    await assertThrowsAsync(.unsupportedFormat(.notPlain)) {
      try await PlaintextExchange.importPlaintext(from: path, to: folder + "/new.store", key: cheap("two"))
    }
    await assertThrowsAsync(.notAStore(.stub)) {
      try await PlaintextExchange.importPlaintext(from: path + ".keys", to: folder + "/new.store", key: cheap("two"))
    }
    await assertThrowsAsync(.noSuchFile) {
      try await PlaintextExchange.importPlaintext(from: folder + "/none", to: folder + "/new.store", key: cheap("two"))
    }
    XCTAssertEqual(try snapshot(), before)
  }
}
