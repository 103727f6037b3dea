import Foundation
import XCTest
import _TestSupport

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// Processes killed while they save, rotate and create: acknowledged changes are present, and every store opens again.
final class CrashTests: StoreTestCase {
  /// The number of rounds per crash. The environment can increase it.
  private var rounds: Int { ProcessInfo.processInfo.environment["CIPHERDATA_CRASH_ROUNDS"].flatMap(Int.init) ?? 8 }
  private var random = SeededGenerator(seed: 20_251)

  func testAcknowledgedSavesSurviveAKill() throws {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    connection.close()
    var expected: Int64 = 0
    for round in 0..<rounds {
      let child = try ChildProcess("save until killed", [path])
      let acknowledged = child.kill(after: Int(random.next() % 20) + 1, microseconds: UInt32(random.next() % 5_000))
      XCTAssertGreaterThan(acknowledged, 0)
      let connection = try Connection(opening: path, key: testKey(isProven: true))
      let count = try XCTUnwrap(connection.firstInteger("SELECT count(*) FROM t"))
      XCTAssertGreaterThanOrEqual(count, expected + Int64(2 * acknowledged), "round \(round)")
      XCTAssertEqual(count % 2, 0, "round \(round)")
      XCTAssertEqual(try connection.firstText("PRAGMA integrity_check"), "ok", "round \(round)")
      expected = count
      connection.close()
    }
    XCTAssertEqual(try StoreVerification.run(path: path, key: testKey(), level: .full), [])
  }

  func testKilledRotationsLeaveAStoreThatOpens() async throws {
    let keyring = try await StoreKeyring.create(storePath: path, key: cheap("one"))
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    try connection.execute(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY, a);
      WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000) INSERT INTO t SELECT x, hex(randomblob(50)) FROM n
      """)
    connection.close()
    for round in 0..<rounds {
      let child = try ChildProcess("rotate until killed", [path])
      _ = child.kill(after: 1 + round % 2, microseconds: UInt32(random.next() % 60_000))
      let keyring = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
      let key = try keyring.databaseKey()
      let connection = try Connection(opening: path, key: key)
      XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM t"), 2_000, "round \(round)")
      connection.close()
      XCTAssertEqual(try StoreVerification.run(path: path, key: key, level: .full), [], "round \(round)")
      XCTAssertEqual(try keyring.candidates.count, 1)
    }
  }

  func testKilledReplacementsLeaveOneOfTheTwoStores() async throws {
    let sources = [folder + "/0.store", folder + "/1.store"]
    for (number, source) in sources.enumerated() {
      let keyring = try await StoreKeyring.create(storePath: source, key: cheap("\(number)"))
      let connection = try Connection(opening: source, key: keyring.databaseKey())
      try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (\(number))")
      connection.close()
    }
    for round in 0..<3 * rounds {
      let child = try ChildProcess("replace until killed", [path] + sources)
      _ = child.kill(after: 1 + round % 3, microseconds: UInt32(random.next() % 30_000))
      // The key identifies the store; the database, key file and other files belong together.
      var found: Int64?
      for number in 0..<2 {
        do {
          let keyring = try await StoreKeyring.unlock(storePath: path, key: cheap("\(number)"))
          let connection = try Connection(opening: path, key: keyring.databaseKey())
          found = try connection.firstInteger("SELECT a FROM t")
          XCTAssertEqual(found, Int64(number), "round \(round)")
          connection.close()
        } catch let error as StoreAccessError where error.kind == .wrongKey {}
      }
      let mark = try String(contentsOfFile: StoreFile.supportPath(for: path) + "/mark", encoding: .utf8)
      XCTAssertEqual(mark, found.map { "\($0)" }, "round \(round)")
      XCTAssertFalse(StoreFile.exists(StoreReplacement.folder(for: path)), "round \(round)")
    }
  }

  func testKilledCreationsLeaveACompleteStoreOrNone() async throws {
    for round in 0..<rounds {
      let stores = folder + "/\(round)"
      try FileManager.default.createDirectory(atPath: stores, withIntermediateDirectories: true)
      let child = try ChildProcess("create until killed", [stores])
      let acknowledged = child.kill(after: 2, microseconds: UInt32(random.next() % 30_000))
      let names = try FileManager.default.contentsOfDirectory(atPath: stores).filter { $0.hasSuffix(".store") && !$0.hasPrefix(".") }
      XCTAssertGreaterThanOrEqual(names.count, acknowledged)
      for name in names {
        let keyring = try await StoreKeyring.unlock(storePath: stores + "/" + name, key: cheap("one"))
        try Connection(opening: stores + "/" + name, key: keyring.databaseKey()).close()
      }
    }
  }
}
