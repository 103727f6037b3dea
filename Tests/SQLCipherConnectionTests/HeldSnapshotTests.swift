import Dispatch
import Foundation
import Synchronization
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

private func insert(_ pool: ConnectionPool, bytes: Int = 0, count: Int = 1) throws {
  try pool.withWriter { writer in
    try writer.writeTransaction {
      let statement = try writer.statement(sql: "INSERT INTO t (a) VALUES (zeroblob(?))")
      for _ in 0..<count {
        try statement.bind(1, bytes)
        try statement.run()
      }
    }
  }
}

/// The number of rows in a snapshot.
private func count(_ snapshot: HeldSnapshot) throws -> Int64? {
  try snapshot.read { try $0.firstInteger("SELECT count(*) FROM t") }
}

/// Snapshots held in addition to a pool's readers: their stability, their end, and the log meanwhile.
final class HeldSnapshotTests: StoreTestCase {
  private func makePool(_ limits: LogLimits = LogLimits(), maximumReaders: Int = 4) throws -> ConnectionPool {
    var options = ConnectionOptions()
    options.durability = .fast
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    connection.close()
    return try ConnectionPool(path: path, key: testKey(), options: options, maximumReaders: maximumReaders, log: limits)
  }

  private func assertEnded(_ snapshot: HeldSnapshot, file: StaticString = #filePath, line: UInt = #line) {
    XCTAssertTrue(snapshot.isOver, file: file, line: line)
    XCTAssertThrowsError(try count(snapshot), file: file, line: line) { error in
      guard case .expired? = error as? HeldSnapshot.EndReason else { return XCTFail("\(error)", file: file, line: line) }
    }
  }

  private var logSize: Int { StoreFile.size(path + "-wal") ?? 0 }

  /// Waits up to a limit for a change on another thread.
  private func eventually(_ holds: () -> Bool) -> Bool {
    for _ in 0..<200 {
      if holds() { return true }
      usleep(50_000)
    }
    return holds()
  }

  func testSnapshotsKeepReadingTheirState() throws {
    let pool = try makePool()
    defer { pool.close() }
    try insert(pool)
    let snapshot = try pool.holdSnapshot()
    try insert(pool)
    XCTAssertEqual(try count(snapshot), 1)
    XCTAssertEqual(try pool.withReader { try $0.firstInteger("SELECT count(*) FROM t") }, 2)
    XCTAssertEqual(try count(snapshot), 1)
  }

  func testSnapshotsOfTheSameStateAreShared() throws {
    let pool = try makePool()
    defer { pool.close() }
    try insert(pool)
    let first = try pool.holdSnapshot()
    XCTAssertTrue(try pool.holdSnapshot() === first)
    try insert(pool)
    let second = try pool.holdSnapshot()
    XCTAssertFalse(second === first)
    let other = try Connection(opening: path, key: testKey())
    try other.execute("INSERT INTO t (a) VALUES (1)")
    other.close()
    let third = try pool.holdSnapshot()
    XCTAssertFalse(third === second)
    XCTAssertEqual(try [first, second, third].map(count), [1, 2, 3])
  }

  func testFreeConnectionsAreReused() throws {
    let pool = try makePool()
    defer { pool.close() }
    var snapshot: HeldSnapshot? = try pool.holdSnapshot()
    let former = try snapshot?.read { ObjectIdentifier($0) }
    snapshot = nil
    try insert(pool)
    snapshot = try pool.holdSnapshot()
    XCTAssertEqual(try snapshot?.read { ObjectIdentifier($0) }, former)
    XCTAssertEqual(try snapshot.map(count), 1)
  }

  func testTwentyFourSnapshotsOfThreeThousandCommitsReadTheirOwnState() throws {
    let pool = try makePool()
    defer { pool.close() }
    var snapshots: [HeldSnapshot] = []
    for number in 0..<3_000 {
      if number % 125 == 0 { snapshots.append(try pool.holdSnapshot()) }
      if number == 1_500 { try pool.withWriter { try $0.execute("CREATE TABLE u (b); ALTER TABLE t ADD COLUMN c") } }
      try insert(pool)
    }
    XCTAssertEqual(snapshots.count, 24)
    for (number, snapshot) in snapshots.enumerated() {
      XCTAssertEqual(try count(snapshot), Int64(number * 125))
      let tables = try snapshot.read { try $0.firstInteger("SELECT count(*) FROM sqlite_master WHERE type = 'table'") }
      XCTAssertEqual(tables, number * 125 <= 1_500 ? 1 : 2)
    }
    XCTAssertGreaterThan(logSize, 3_000 * 4_096)
    snapshots = []
    XCTAssertTrue(try pool.truncateLog())
    XCTAssertEqual(logSize, 0)
    XCTAssertEqual(try pool.withReader { try $0.firstInteger("SELECT count(*) FROM t") }, 3_000)
  }

  func testPoolRunsCheckpointsWhileASnapshotIsHeld() throws {
    let pool = try makePool()
    defer { pool.close() }
    func automatic() throws -> String? { try pool.withWriter { try $0.pragma("wal_autocheckpoint") } }
    XCTAssertEqual(try automatic(), "1000")
    var snapshot: HeldSnapshot? = try pool.holdSnapshot()
    XCTAssertEqual(try automatic(), "0")
    try insert(pool, bytes: 4_000, count: 2_500)
    XCTAssertGreaterThan(logSize, 2_500 * 4_096)
    XCTAssertEqual(try snapshot.map(count), 0)
    snapshot = nil
    XCTAssertEqual(try automatic(), "1000")
    // No reader blocks the next commits, and the log restarts.
    try insert(pool)
    usleep(200_000)
    try insert(pool)
    let size = logSize
    try insert(pool, bytes: 4_000, count: 500)
    XCTAssertEqual(logSize, size)
  }

  func testGrowingLogsAreReportedOnce() throws {
    final class SizeRecorder: Sendable { let sizes = Mutex<[Int]>([]) }
    let reported = SizeRecorder()
    var limits = LogLimits()
    limits.warningSize = 1 << 20
    limits.onWarning = { size, _ in reported.sizes.withLock { $0.append(size) } }
    let pool = try makePool(limits)
    defer { pool.close() }
    try insert(pool, bytes: 4_000, count: 500)
    XCTAssertEqual(reported.sizes.withLock { $0.count }, 0, "it is not held")
    let snapshot = try pool.holdSnapshot()
    for _ in 0..<20 { try insert(pool, bytes: 4_000, count: 50) }
    XCTAssertEqual(reported.sizes.withLock { $0.count }, 1)
    XCTAssertGreaterThanOrEqual(reported.sizes.withLock { $0[0] }, 1 << 20)
    withExtendedLifetime(snapshot) {}
  }

  func testOldestSnapshotEndsWhenTheLogExceedsItsLimit() throws {
    final class Counter: Sendable { let value = Mutex(0) }
    let counter = Counter()
    var limits = LogLimits()
    limits.maximumSize = 2 << 20
    limits.onEnding = { _ in counter.value.withLock { $0 += 1 } }
    let pool = try makePool(limits)
    defer { pool.close() }
    var snapshots: [HeldSnapshot] = []
    for _ in 0..<3 {
      snapshots.append(try pool.holdSnapshot())
      try insert(pool)
    }
    try insert(pool, bytes: 4_000, count: 300)
    XCTAssertEqual(snapshots.map(\.isOver), [false, false, false])
    try insert(pool, bytes: 4_000, count: 400)
    XCTAssertEqual(snapshots.map(\.isOver), [true, false, false])
    assertEnded(snapshots[0])
    XCTAssertEqual(try count(snapshots[1]), 1)
    try insert(pool)
    XCTAssertEqual(snapshots.map(\.isOver), [true, true, false])
    try insert(pool)
    XCTAssertEqual(snapshots.map(\.isOver), [true, true, true])
    XCTAssertEqual(counter.value.withLock { $0 }, 3)
    // Without a reader that blocks it, the log restarts. A new snapshot stays valid, however soon it is taken.
    let snapshot = try pool.holdSnapshot()
    for _ in 0..<20 { try insert(pool) }
    XCTAssertFalse(snapshot.isOver)
    XCTAssertEqual(try count(snapshot), 705)
  }

  func testSnapshotsDoNotEndWithoutALogLimit() throws {
    var limits = LogLimits()
    limits.maximumSize = nil
    limits.warningSize = 1
    let pool = try makePool(limits)
    defer { pool.close() }
    let snapshot = try pool.holdSnapshot()
    for _ in 0..<5 { try insert(pool, bytes: 4_000, count: 300) }
    XCTAssertEqual(try count(snapshot), 0)
  }

  func testLogIsTruncatedWhenTheLastSnapshotEnds() throws {
    var limits = LogLimits()
    limits.warningSize = 1 << 20
    let pool = try makePool(limits)
    defer { pool.close() }
    var snapshots = [try pool.holdSnapshot()]
    try insert(pool, bytes: 4_000, count: 500)
    snapshots.append(try pool.holdSnapshot())
    // A reader's reusable snapshot blocks the log only briefly.
    _ = try pool.withReader(reusingSnapshot: true) { try $0.firstInteger("SELECT count(*) FROM t") }
    snapshots.removeFirst()
    usleep(300_000)
    XCTAssertGreaterThan(logSize, 1 << 20)
    snapshots = []
    XCTAssertTrue(eventually { logSize == 0 })
    try insert(pool)
    XCTAssertEqual(try pool.withReader { try $0.firstInteger("SELECT count(*) FROM t") }, 501)
  }

  func testAnErrorInAReadDoesNotEndASnapshot() throws {
    let pool = try makePool()
    defer { pool.close() }
    let snapshot = try pool.holdSnapshot()
    try insert(pool)
    struct Stop: Error {}
    XCTAssertThrowsError(try snapshot.read { _ in throw Stop() })
    XCTAssertThrowsError(try snapshot.read { try $0.execute("SELECT nothing FROM nowhere") })
    XCTAssertThrowsError(
      try snapshot.read { connection in
        try connection.cancelling(when: { true }) {
          _ = try connection.firstInteger(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT sum(i) FROM n")
        }
      })
    XCTAssertFalse(snapshot.isOver)
    XCTAssertEqual(try count(snapshot), 0)
  }

  func testAPageThatFailsItsCheckEndsASnapshot() throws {
    let pool = try makePool()
    defer { pool.close() }
    try insert(pool, bytes: 3_000, count: 200)
    _ = try pool.truncateLog()
    let snapshot = try pool.holdSnapshot()
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: 4_096 * 150 + 100)
    try file.write(contentsOf: Data(repeating: 0x55, count: 64))
    try file.close()
    assertThrows(.storeCorrupt(.pageMAC)) { try snapshot.read { try $0.firstInteger("SELECT sum(length(hex(a))) FROM t") } }
    XCTAssertTrue(snapshot.isOver)
    XCTAssertThrowsError(try count(snapshot)) { error in
      guard case .lost? = error as? HeldSnapshot.EndReason else { return XCTFail("\(error)") }
    }
    XCTAssertFalse(try pool.holdSnapshot().isOver)
  }

  func testClosingEndsSnapshotsAndWaitsForReaders() throws {
    let pool = try makePool()
    let snapshot = try pool.holdSnapshot()
    let isReading = DispatchSemaphore(value: 0)
    final class Flag: Sendable { let isSet = Atomic<Bool>(false) }
    let flag = Flag()
    DispatchQueue.global().async {
      try? snapshot.read { connection in
        isReading.signal()
        usleep(200_000)
        _ = try connection.firstInteger("SELECT count(*) FROM t")
        flag.isSet.store(true, ordering: .sequentiallyConsistent)
      }
    }
    isReading.wait()
    pool.close()
    XCTAssertTrue(flag.isSet.load(ordering: .sequentiallyConsistent))
    assertEnded(snapshot)
    XCTAssertThrowsError(try pool.holdSnapshot())
  }

  func testExclusiveAccessEndsSnapshotsAndNewOnesBeginAfterwards() throws {
    let pool = try makePool()
    defer { pool.close() }
    try insert(pool)
    let snapshot = try pool.holdSnapshot()
    try pool.withExclusiveAccess { key in
      // No other connection has the file open.
      var options = ConnectionOptions()
      options.journalMode = .delete
      options.busyTimeoutMilliseconds = 0
      try Connection(opening: path, key: key, options: options).close()
      return ((), nil)
    }
    assertEnded(snapshot)
    XCTAssertEqual(try count(try pool.holdSnapshot()), 1)
  }

  func testRotationSucceedsWhileASnapshotIsHeld() async throws {
    let keyring = try await StoreKeyring.create(storePath: path, key: cheap("one"))
    let pool = try ConnectionPool(path: path, key: keyring.databaseKey())
    defer { pool.close() }
    try pool.withWriter { try $0.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)") }
    let snapshot = try pool.holdSnapshot()
    try await keyring.rotateDataKey(pool: pool)
    assertEnded(snapshot)
    XCTAssertEqual(try count(try pool.holdSnapshot()), 0)
  }

  func testCompanionsAreReleasedWithTheirSnapshot() throws {
    final class Probe {}
    let pool = try makePool()
    defer { pool.close() }
    weak var companion: Probe?
    func make() -> Probe {
      let made = Probe()
      companion = made
      return made
    }
    let snapshot = try pool.holdSnapshot { make() }
    XCTAssertNotNil(companion)
    snapshot.expire(waits: false)
    XCTAssertNil(companion)
  }

  func testThreadsReadBeginAndEndSnapshotsConcurrently() throws {
    let pool = try makePool()
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      do {
        for number in 0..<60 {
          if thread < 2 {
            try insert(pool)
          } else {
            let snapshot = try pool.holdSnapshot()
            let first = try count(snapshot)
            if number % 7 == 0 { usleep(1_000) }
            if try count(snapshot) != first { failures.withLock { $0.append("\(thread): \(number)") } }
            if thread == 7, number % 20 == 19 { try pool.withExclusiveAccess { _ in ((), nil) } }
          }
        }
      } catch HeldSnapshot.EndReason.expired {
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    XCTAssertEqual(failures.withLock { $0 }, [])
    XCTAssertEqual(try pool.withReader { try $0.firstInteger("SELECT count(*) FROM t") }, 120)
    pool.close()
  }

  func testSecondProcessWritesDuringASnapshot() throws {
    let pool = try makePool()
    defer { pool.close() }
    try insert(pool)
    let snapshot = try pool.holdSnapshot()
    let child = try ChildProcess("write", [path, "300"])
    let (output, status) = child.finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertEqual(try count(snapshot), 1)
    let newer = try pool.holdSnapshot()
    XCTAssertFalse(newer === snapshot)
    XCTAssertEqual(try count(newer), 301)
    try insert(pool)
    XCTAssertEqual(try count(snapshot), 1)
  }
}
