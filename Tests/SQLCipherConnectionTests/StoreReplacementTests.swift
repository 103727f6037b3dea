import Foundation
import Synchronization
import XCTest
import _TestSupport

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// A connection from another thread. `@unchecked Sendable`: no two threads use it at the same time.
private struct Holder: @unchecked Sendable { let connection: Connection }

private func values(_ connection: Connection) throws -> [Int64] {
  let statement = try connection.statement(sql: "SELECT a FROM t ORDER BY rowid")
  defer { statement.reset() }
  var result: [Int64] = []
  while try statement.step() { result.append(statement.int64(0)) }
  return result
}

/// Replaces a store with a copy while another connection opens it.
private func replace(_ path: String, by keyring: StoreKeyring) throws {
  try waitFor { try await StoreReplacement.replace(path) { try await keyring.backUp(to: $0) } }
}

/// Stores that are replaced, rotated or removed after an opening has found them and before it locks them.
final class StoreReplacementTests: StoreTestCase {
  override func tearDownWithError() throws {
    DatabaseLocation.whenLocking.withLock { $0 = nil }
    StoreKeyring.folderSync.withLock { $0 = nil }
    try super.tearDownWithError()
  }

  /// Makes a store that contains one number.
  @discardableResult
  private func makeStore(_ value: Int, named name: String = "test.store", key: StoreKey = cheap("one")) async throws -> StoreKeyring {
    let keyring = try await StoreKeyring.create(storePath: folder + "/" + name, key: key)
    let connection = try Connection(opening: folder + "/" + name, key: keyring.databaseKey())
    try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (\(value))")
    connection.close()
    return keyring
  }

  /// Runs `body` once, the next time that the store's file is open and not yet locked.
  private func stretchOnce(_ body: @escaping @Sendable () throws -> Void) {
    let path = path
    let isDone = Mutex(false)
    DatabaseLocation.whenLocking.withLock {
      $0 = { opened in
        let isFirst = isDone.withLock { isDone in
          defer { if opened == path { isDone = true } }
          return opened == path && !isDone
        }
        guard isFirst else { return }
        do { try body() } catch { XCTFail("\(error)") }
      }
    }
  }

  func testOpeningUsesTheStoreThatReplacedItBeforeTheLock() async throws {
    let keyring = try await makeStore(1)
    try await keyring.backUp(to: folder + "/backup")
    let backup = try await StoreKeyring.unlock(storePath: folder + "/backup", key: cheap("one"))
    let key = try keyring.databaseKey()
    let old = try Connection(opening: path, key: key)
    try old.execute("INSERT INTO t VALUES (2)")
    old.close()
    let path = path
    // The later store already has a log when the earlier one starts to read.
    let kept = Mutex<Holder?>(nil)
    stretchOnce {
      try replace(path, by: backup)
      let connection = try Connection(opening: path, key: key)
      try connection.execute("INSERT INTO t VALUES (3)")
      kept.withLock { $0 = Holder(connection: connection) }
    }
    let connection = try Connection(opening: path, key: key)
    XCTAssertEqual(try values(connection), [1, 3])
    try connection.execute("INSERT INTO t VALUES (4)")
    connection.close()
    kept.withLock { holder in
      holder?.connection.close()
      holder = nil
    }
    let again = try Connection(opening: path, key: key)
    XCTAssertEqual(try values(again), [1, 3, 4])
    again.close()
    XCTAssertEqual(try StoreVerification.run(path: path, key: key, level: .full), [])
  }

  func testOpeningRereadsTheKeyFileAfterAReplacement() async throws {
    try await makeStore(1)
    let other = try await makeStore(2, named: "other")
    let keyring = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    stretchOnce { [path] in try replace(path, by: other) }
    let connection = try keyring.withDatabaseKey { try Connection(opening: path, key: $0) }
    defer { connection.close() }
    XCTAssertEqual(try values(connection), [2])
  }

  func testOpeningReportsAReplacementWithAnotherPassphrase() async throws {
    try await makeStore(1)
    let other = try await makeStore(2, named: "other", key: cheap("two"))
    let keyring = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    stretchOnce { [path] in try replace(path, by: other) }
    assertThrows(.wrongKey) { try keyring.withDatabaseKey { try Connection(opening: path, key: $0) } }
  }

  func testOpeningUsesTheSaltOfTheReplacement() async throws {
    for key in [StoreKey.databaseKey(SecretBytes([UInt8](repeating: 5, count: 32))), .sqlcipherPassphrase("one", .portable)] {
      try await makeStore(1, key: key)
      let other = try await makeStore(2, named: "other", key: key)
      let keyring = try await StoreKeyring.unlock(storePath: path, key: key)
      stretchOnce { [path] in try replace(path, by: other) }
      let connection = try keyring.withDatabaseKey { try Connection(opening: path, key: $0) }
      XCTAssertEqual(try values(connection), [2])
      connection.close()
      for name in ["test.store", "other"] { try StoreRemoval.destroy(folder + "/" + name) }
    }
  }

  func testOpeningDuringARotationNeedsNoKeyProvider() async throws {
    try await makeStore(1)
    let keyring = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    // This releases the passphrase from memory.
    try keyring.withDatabaseKey { try Connection(opening: path, key: $0).close() }
    XCTAssertNil(keyring.state.withLock { $0.given.map { _ in true } })
    for _ in 0..<3 {
      let rotating = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
      stretchOnce { [path] in
        try waitFor {
          let pool = try ConnectionPool(path: path, key: rotating.databaseKey())
          try await rotating.rotateDataKey(pool: pool)
          pool.close()
        }
      }
      let connection = try keyring.withDatabaseKey { try Connection(opening: path, key: $0) }
      XCTAssertEqual(try values(connection), [1])
      connection.close()
    }
    // Neither does an edit of the slots.
    let rotating = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    let pool = try ConnectionPool(path: path, key: rotating.databaseKey())
    try await rotating.rotateDataKey(pool: pool)
    pool.close()
    _ = try await keyring.addSlot(cheap("two"), label: "two")
    XCTAssertEqual(try StoreKeyring.slots(at: path).map(\.label), ["", "two"])
  }

  func testOpeningFailsAfterARemovalBeforeTheLock() async throws {
    let keyring = try await makeStore(1)
    let path = path
    stretchOnce { try StoreRemoval.destroy(path) }
    assertThrows(.noSuchFile) { try keyring.withDatabaseKey { try Connection(opening: path, key: $0) } }
    XCTAssertEqual(try names(), [])
  }

  func testLockingAfterARotationLocksTheNewStore() async throws {
    let keyring = try await makeStore(1)
    let path = path
    // A connection opens the rotated store just before the old one is locked. Locking must fail.
    let kept = Mutex<Holder?>(nil)
    stretchOnce {
      try waitFor {
        let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
        try await keyring.rotateDataKey(pool: pool)
        pool.close()
        let connection = try Connection(opening: path, key: keyring.databaseKey())
        kept.withLock { $0 = Holder(connection: connection) }
      }
    }
    assertThrows(.busy) { try ExclusiveFileLock(path, operation: .destroy) }
    XCTAssertEqual(try kept.withLock { try $0.map { try values($0.connection) } }, [1])
    kept.withLock { $0?.connection.close() }
  }

  func testReadersOfStoresWithoutALogDetectAReplacement() async throws {
    let keyring = try await makeStore(1)
    try await keyring.backUp(to: folder + "/backup")
    let backup = try await StoreKeyring.unlock(storePath: folder + "/backup", key: cheap("one"))
    var options = ConnectionOptions()
    options.journalMode = .delete
    try Connection(opening: path, key: keyring.databaseKey(), options: options).close()
    options.isReadOnly = true
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey(), options: options)
    defer { pool.close() }
    XCTAssertEqual(try pool.withReader { try values($0) }, [1])
    try await StoreReplacement.replace(path) { try await backup.backUp(to: $0) }
    for _ in 0..<3 { assertThrows(.exchanged) { try pool.withReader { try values($0) } } }
    let again = try ConnectionPool(path: path, key: keyring.databaseKey(), options: options)
    defer { again.close() }
    XCTAssertEqual(try again.withReader { try values($0) }, [1])
  }

  func testLocksOfReplacedLargeValueFoldersAreReacquired() async throws {
    let keyring = try await makeStore(1)
    let external = try ExternalFolder(storePath: path, key: keyring.databaseKey())
    let old = try XCTUnwrap(try external.lockForWriting())
    XCTAssertEqual(rename(external.path, external.path + ".old"), 0)
    XCTAssertEqual(mkdir(external.path, 0o700), 0)
    let new = try XCTUnwrap(try external.lockForRemoving())
    XCTAssertNil(try external.lockForRemoving())
    withExtendedLifetime((old, new)) {}
  }

  // MARK: - Outdated key files

  func testOutdatedKeyFilesAreReported() async throws {
    let keyring = try await makeStore(1)
    let old = try Data(contentsOf: URL(fileURLWithPath: path + ".keys"))
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
    try await keyring.rotateDataKey(pool: pool)
    pool.close()
    let new = try Data(contentsOf: URL(fileURLWithPath: path + ".keys"))
    try old.write(to: URL(fileURLWithPath: path + ".keys"))
    let before = try snapshot()
    let stale = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    let error = assertThrows(.keyFileOutdated) { try stale.withDatabaseKey { try Connection(opening: path, key: $0) } }
    XCTAssertTrue(error?.description.contains("restore the matching key file") ?? false)
    // A new key in such a file would unlock nothing.
    do {
      _ = try await stale.addRecoveryKey()
      XCTFail("a recovery key was made that opens nothing")
    } catch let error as StoreAccessError {
      XCTAssertEqual(error.kind, .keyFileOutdated)
    }
    XCTAssertEqual(try snapshot(), before)
    // With the right file in place, the same keyring opens the store.
    try new.write(to: URL(fileURLWithPath: path + ".keys"))
    let connection = try stale.withDatabaseKey { try Connection(opening: path, key: $0) }
    XCTAssertEqual(try values(connection), [1])
    connection.close()
  }

  func testDamagedFirstPagesAreReportedAsDamage() async throws {
    let keyring = try await makeStore(1)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    // The key file contains the salt too, so the page equals the written one whatever its first bytes are.
    bytes[3] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
    let connection = try keyring.withDatabaseKey { try Connection(opening: path, key: $0) }
    XCTAssertEqual(try values(connection), [1])
    connection.close()
    bytes[3] ^= 1
    bytes[700] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
    assertThrows(.storeCorrupt(.pageMAC)) { try keyring.withDatabaseKey { try Connection(opening: path, key: $0) } }
  }

  func testOpeningDuringExclusiveAccessIsBusyRatherThanReadOnly() async throws {
    let keyring = try await makeStore(1)
    let lock = try ExclusiveFileLock(path, operation: .open)
    var options = ConnectionOptions()
    options.busyTimeoutMilliseconds = 20
    assertThrows(.busy) { try keyring.withDatabaseKey(options: options) { try Connection(opening: path, key: $0, options: options) } }
    withExtendedLifetime(lock) {}
  }

  func testReplacementsFinishKilledReplacements() async throws {
    try await makeStore(1)
    let (second, third) = (try await makeStore(2, named: "second"), try await makeStore(3, named: "third"))
    let waiting = folder + "/.test.store.replacement"
    try await StoreReplacement.replace(path) { place in
      try await second.backUp(to: place)
      // The state that a process leaves if it is killed as soon as its store takes effect.
      XCTAssertEqual(mkdir(waiting, 0o700), 0)
      try await third.backUp(to: waiting + "/store")
      XCTAssertEqual(mkdir(waiting + "/.store_SUPPORT", 0o700), 0)
    }
    let keyring = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    let connection = try keyring.withDatabaseKey { try Connection(opening: path, key: $0) }
    XCTAssertEqual(try values(connection), [2])
    connection.close()
    XCTAssertEqual(try names().filter { $0.hasPrefix(".") }, [])
  }

  // MARK: - Interrupted rotations

  /// Leaves the key file as a rotation does that is killed near its end; the store already has the new key.
  private func interruptRotation(_ keyring: StoreKeyring) async throws {
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
    struct Stop: Error {}
    StoreKeyring.folderSync.withLock { $0 = { _ in throw Stop() } }
    do {
      try await keyring.rotateDataKey(pool: pool)
      XCTFail("the folder was not synced, and no error says so")
    } catch is Stop {}
    StoreKeyring.folderSync.withLock { $0 = nil }
    // The pool continues with the new key.
    XCTAssertEqual(try pool.withReader { try values($0) }, [1])
    pool.close()
  }

  func testKeysOfInterruptedRotationsAreFoundDespiteAnInterruptedTransaction() async throws {
    let keyring = try await makeStore(1)
    try await interruptRotation(keyring)
    let salt = try BareDatabaseFile(path).salt()
    let key = try XCTUnwrap(keyring.candidates.first { $0.salt == salt })
    try InterruptedStore(path, key).put()
    var options = ConnectionOptions()
    options.isReadOnly = true
    let again = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    let reader = try again.withDatabaseKey(options: options) { try Connection.reading(path, key: $0, options: options) }
    XCTAssertEqual(try values(reader), [1])
    reader.close()
  }

  /// The end of a rotation removed every key but its own, including that of the next rotation. Nothing opened the store anymore.
  func testLateRotationEndsKeepTheKeyOfTheNextRotation() async throws {
    try await makeStore(1)
    let path = path
    @Sendable func rotate() async throws {
      let keyring = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
      let key = try keyring.withDatabaseKey {
        try Connection(opening: path, key: $0).close(); return $0
      }
      let failure = try keyring.rotate(
        from: key, to: .random(format: key.format), largeValues: { _ in [] }, options: ConnectionOptions(), onOpen: { _ in }, progress: nil)
      if let failure { throw failure }
    }
    let second = Mutex<Task<Void, any Error>?>(nil)
    let calls = Mutex(0)
    let (isReplaced, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    // The store has the caller's key, which is not in the key file yet.
    StoreKeyring.folderSync.withLock {
      $0 = { _ in
        let call = calls.withLock { calls in
          calls += 1
          return calls
        }
        switch call {
        case 1:
          second.withLock { $0 = Task.detached { try await rotate() } }
          isReplaced.wait()
        case 2:
          isReplaced.signal()
          mayEnd.wait()
        default: break
        }
      }
    }
    try await rotate()
    mayEnd.signal()
    try await second.withLock { $0 }?.value
    StoreKeyring.folderSync.withLock { $0 = nil }
    XCTAssertEqual(calls.withLock { $0 }, 2)
    let keyring = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    let connection = try keyring.withDatabaseKey { try Connection(opening: path, key: $0) }
    XCTAssertEqual(try values(connection), [1])
    connection.close()
    XCTAssertEqual(try KeyFile(parsing: KeyFileStorage.read(path + ".keys"), path: path).generations.count, 1)
  }

  func testOldDataKeyIsKeptIfTheFolderSyncFails() async throws {
    let keyring = try await makeStore(1)
    let old = try Data(contentsOf: URL(fileURLWithPath: path))
    try await interruptRotation(keyring)
    XCTAssertEqual(try KeyFile(parsing: KeyFileStorage.read(path + ".keys"), path: path).generations.count, 2)
    // A power loss restores the old file.
    let new = try Data(contentsOf: URL(fileURLWithPath: path))
    for file in [old, new] {
      let keys = try Data(contentsOf: URL(fileURLWithPath: path + ".keys"))
      try file.write(to: URL(fileURLWithPath: path))
      for suffix in StoreFile.companionSuffixes { unlink(path + suffix) }
      let found = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
      let connection = try found.withDatabaseKey { try Connection(opening: path, key: $0) }
      XCTAssertEqual(try values(connection), [1])
      connection.close()
      XCTAssertEqual(try found.candidates.count, 1)
      try keys.write(to: URL(fileURLWithPath: path + ".keys"))
    }
  }

  func testOutdatedKeyringsFinishRotationsByGenerationNumber() async throws {
    try await interruptRotation(try await makeStore(1))
    // Both have read the key file with two generations; one completes it.
    let first = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    let second = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    XCTAssertEqual(try second.candidates.count, 2)
    let key = try first.databaseKey()
    XCTAssertEqual(try second.databaseKey().key, key.key)
    XCTAssertEqual(try second.candidates.count, 1)
    // A third one is a whole rotation behind.
    try await interruptRotation(first)
    let third = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    let pool = try ConnectionPool(path: path, key: first.databaseKey())
    try await first.rotateDataKey(pool: pool)
    pool.close()
    XCTAssertEqual(try third.candidates.count, 2)
    let connection = try third.withDatabaseKey { try Connection(opening: path, key: $0) }
    XCTAssertEqual(try values(connection), [1])
    connection.close()
  }
}
