import Foundation
import Synchronization
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// Journals and logs that processes leave next to a store when they are killed or interfere with each other.
final class LeftoverFileTests: StoreTestCase {
  override func tearDownWithError() throws {
    DatabaseLocation.whenLocking.withLock { $0 = nil }
    try super.tearDownWithError()
  }

  /// Makes a store that contains the number 1.
  private func makeStore(key: StoreKey = cheap("one")) async throws -> StoreKeyring {
    let keyring = try await StoreKeyring.create(storePath: path, key: key)
    try keyring.withDatabaseKey { key in
      let connection = try Connection(opening: path, key: key)
      defer { connection.close() }
      try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    }
    return keyring
  }

  private func rotate(_ keyring: StoreKeyring) async throws {
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
    defer { pool.close() }
    try await keyring.rotateDataKey(pool: pool)
  }

  private func value(_ keyring: StoreKeyring) throws -> Int64? {
    try keyring.withDatabaseKey { key in
      let connection = try Connection(opening: path, key: key)
      defer { connection.close() }
      return try connection.firstInteger("SELECT a FROM t")
    }
  }

  /// Overwrites the second half of the first page, as a process does that is killed while it writes the page.
  private func tearFirstPage() throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? file.close() }
    try file.seek(toOffset: 2_048)
    try file.write(contentsOf: Data(repeating: 0x5A, count: 2_048))
  }

  // MARK: Journals

  func testOutdatedKeyringsRereadTheKeyFileIfAJournalExists() async throws {
    let keyring = try await makeStore()
    for isTorn in [false, true] {
      let behind = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
      try await rotate(keyring)
      try InterruptedStore(path, keyring.databaseKey()).put()
      if isTorn { try tearFirstPage() }
      XCTAssertEqual(try value(behind), 1)
    }
  }

  func testUnsyncedJournalsDoNotHideANewKey() async throws {
    let keyring = try await makeStore()
    let behind = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    try await rotate(keyring)
    // A process killed before its journal is valid leaves a header of zeros, followed by pages.
    try Data(repeating: 0, count: 5_000).write(to: URL(fileURLWithPath: path + "-journal"))
    XCTAssertEqual(try value(behind), 1)
  }

  func testTornFirstPagesAreRestoredFromTheJournal() async throws {
    let keyring = try await makeStore()
    try InterruptedStore(path, keyring.databaseKey()).put()
    try tearFirstPage()
    XCTAssertEqual(try value(keyring), 1)
  }

  func testWrongKeysAreReportedDespiteAJournal() async throws {
    let keyring = try await makeStore(
      key: .databaseKey(SecretBytes([UInt8](repeating: 5, count: 32))))
    try InterruptedStore(path, keyring.databaseKey()).put()
    let before = try snapshot()
    assertThrows(.unreadableStore) { try Connection(opening: path, key: testKey()) }
    XCTAssertEqual(try snapshot(), before)
  }

  func testDamagedFirstPagesAreReportedDespiteAForeignJournal() async throws {
    let keyring = try await makeStore()
    try tearFirstPage()
    let strange = Data(repeating: 7, count: 5_000)
    // The header of a journal with impossible sector and page sizes.
    let impossible = Data([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]) + Data(repeating: 0xFF, count: 9_000)
    for bytes in [strange, impossible] {
      try bytes.write(to: URL(fileURLWithPath: path + "-journal"))
      assertThrows(.storeCorrupt(.pageMAC)) { try value(keyring) }
    }
  }

  // MARK: Logs

  func testUnusedEmptyLogsDoNotBlockRotationOrCompaction() async throws {
    let keyring = try await makeStore()
    let works: [() async throws -> Void] = [
      { try await self.rotate(keyring) }, { _ = try await keyring.compact() },
    ]
    for work in works {
      try Connection(opening: path, key: keyring.databaseKey(), options: InterruptedStore.options)
        .close()
      try Data().write(to: URL(fileURLWithPath: path + "-wal"))
      try await work()
      XCTAssertEqual(try names(), ["test.store", "test.store.keys"])
      XCTAssertEqual(try value(keyring), 1)
    }
  }

  func testLogsRemovedDuringOpeningAreCreatedAgain() async throws {
    let key = try await makeStore().databaseKey()
    try Connection(opening: path, key: key, options: InterruptedStore.options).close()
    // Exclusive access removes the log between any two locks of another connection's opening.
    let path = path
    let calls = Mutex((count: 0, isInside: false))
    DatabaseLocation.whenLocking.withLock {
      $0 = { _ in
        let comesIn = calls.withLock { calls in
          guard !calls.isInside, calls.count < 6 else { return false }
          calls = (calls.count + 1, true)
          return true
        }
        guard comesIn else { return }
        // If the store is locked, it stays unchanged.
        try? Connection(opening: path, key: key, options: InterruptedStore.options).close()
        calls.withLock { $0.isInside = false }
      }
    }
    let connection = try Connection(opening: path, key: key)
    defer { connection.close() }
    XCTAssertEqual(try connection.pragma("journal_mode"), "wal")
    XCTAssertGreaterThan(calls.withLock { $0.count }, 4)
    // An idle open connection is detected.
    assertThrows(.busy) { try ExclusiveFileLock(path, operation: .destroy) }
  }
}
