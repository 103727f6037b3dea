import Dispatch
import Foundation
import Synchronization
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// Transactions and the pool: commit, rollback, savepoints, snapshots and their reuse, waiting, interruption.
final class TransactionTests: StoreTestCase {
  private struct Stop: Error {}

  private func make() throws -> Connection {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (a INTEGER)")
    return connection
  }

  func testWritesCommitOrRollBackAtomically() throws {
    let connection = try make()
    let commits = CommitCounter()
    connection.commits = commits
    try connection.writeTransaction { try connection.execute("INSERT INTO t VALUES (1)") }
    XCTAssertThrowsError(
      try connection.writeTransaction {
        try connection.execute("INSERT INTO t VALUES (2)")
        throw Stop()
      })
    XCTAssertTrue(connection.isInAutocommit)
    XCTAssertEqual(try connection.firstInteger("SELECT sum(a) FROM t"), 1)
    XCTAssertEqual(commits.value, 1)
  }

  func testSavepointsRollBackOnlyTheirPart() throws {
    let connection = try make()
    try connection.writeTransaction {
      try connection.execute("INSERT INTO t VALUES (1)")
      try connection.beginSavepoint()
      try connection.execute("INSERT INTO t VALUES (2)")
      try connection.beginSavepoint()
      try connection.execute("INSERT INTO t VALUES (4)")
      try connection.releaseSavepoint()
      connection.rollBackToSavepoint()
      try connection.beginSavepoint()
      try connection.execute("INSERT INTO t VALUES (8)")
      try connection.releaseSavepoint()
    }
    XCTAssertEqual(try connection.firstInteger("SELECT sum(a) FROM t"), 9)
  }

  func testWritesSeeTheUserVersionInTheFile() throws {
    let (connection, other) = (try make(), try Connection(opening: path, key: testKey()))
    func seen() throws -> Int { try connection.writeTransaction { try connection.userVersionOfWrite() } }
    for number in 0..<6 {
      for row in 0..<3 {
        XCTAssertEqual(try seen(), number)
        try connection.writeTransaction { try connection.execute("INSERT INTO t VALUES (\(row))") }
      }
      try other.writeTransaction { try other.setUserVersion(Int32(number + 1)) }
    }
    // A rolled-back table never existed.
    XCTAssertThrowsError(
      try connection.writeTransaction {
        try connection.setUserVersion(40)
        XCTAssertEqual(try connection.userVersionOfWrite(), 40)
        throw Stop()
      })
    XCTAssertEqual(try seen(), 6)
  }

  func testUserVersionIsNotReadAgainWithoutOtherWrites() throws {
    let connection = try make()
    func write(_ number: Int) throws {
      try connection.writeTransaction {
        _ = try connection.userVersionOfWrite()
        try connection.execute("INSERT INTO t VALUES (\(number))")
      }
    }
    for number in 0..<3 { try write(number) }
    let first = try XCTUnwrap(connection.knownVersion)
    for number in 0..<10 { try write(number) }
    // The cached version was used: no page was read.
    XCTAssertEqual(connection.knownVersion?.reads, first.reads)
  }

  func testAReaderSeesOneSnapshot() throws {
    let pool = try ConnectionPool(path: makePath(), key: testKey())
    try pool.withReader { reader in
      XCTAssertEqual(try reader.firstInteger("SELECT count(*) FROM t"), 0)
      try pool.withWriter { writer in try writer.writeTransaction { try writer.execute("INSERT INTO t VALUES (1)") } }
      XCTAssertEqual(try reader.firstInteger("SELECT count(*) FROM t"), 0)
    }
    XCTAssertEqual(try pool.withReader { try $0.firstInteger("SELECT count(*) FROM t") }, 1)
    pool.close()
    assertThrows(.closed) { try pool.withReader { _ in } }
    assertThrows(.closed) { try pool.withWriter { _ in } }
    XCTAssertEqual(try names(), ["test.store"])
  }

  func testASnapshotIsReusedUntilTheWriterCommits() throws {
    let pool = try ConnectionPool(path: makePath(), key: testKey(), maximumReaders: 1)
    try pool.withReader(reusingSnapshot: true) { XCTAssertEqual(try $0.firstInteger("SELECT count(*) FROM t"), 0) }
    // To the pool, this is another process's commit, which is not visible while the snapshot is young.
    try pool.withReader(reusingSnapshot: true) { XCTAssertFalse($0.isInAutocommit) }
    try pool.withWriter { writer in try writer.writeTransaction { try writer.execute("INSERT INTO t VALUES (1)") } }
    XCTAssertEqual(try pool.withReader(reusingSnapshot: true) { try $0.firstInteger("SELECT count(*) FROM t") }, 1)
    XCTAssertEqual(try pool.withReader(reusingSnapshot: false) { try $0.firstInteger("SELECT count(*) FROM t") }, 1)
    pool.close()
  }

  func testIdleSnapshotsExpire() throws {
    let pool = try ConnectionPool(path: makePath(), key: testKey(), maximumReaders: 1)
    try pool.withWriter { writer in try writer.writeTransaction { try writer.execute("INSERT INTO t VALUES (1)") } }
    try pool.withReader(reusingSnapshot: true) { _ = try $0.firstInteger("SELECT count(*) FROM t") }
    try pool.withWriter { writer in try writer.writeTransaction { try writer.execute("INSERT INTO t VALUES (2)") } }
    // A truncating checkpoint waits for readers of older snapshots; with a busy timeout it succeeds only when the snapshot has ended.
    let result = try pool.withWriter { try $0.firstInteger("PRAGMA wal_checkpoint(TRUNCATE)") }
    XCTAssertEqual(result, 0)
    XCTAssertEqual(StoreFile.size(path + "-wal"), 0)
    pool.close()
  }

  func testAnErrorInAReaderEndsItsTransaction() throws {
    let pool = try ConnectionPool(path: makePath(), key: testKey(), maximumReaders: 1)
    for reuse in [true, false] {
      XCTAssertThrowsError(try pool.withReader(reusingSnapshot: reuse) { _ in throw Stop() })
      try pool.withReader(reusingSnapshot: reuse) { XCTAssertFalse($0.isInAutocommit) }
    }
    XCTAssertThrowsError(try pool.withWriter { _ in try pool.withWriter { _ in } })
    pool.close()
  }

  func testExclusiveAccessHasNoOtherConnection() throws {
    let pool = try ConnectionPool(path: makePath(), key: testKey())
    try pool.withReader(reusingSnapshot: true) { _ = try $0.firstInteger("SELECT count(*) FROM t") }
    try pool.withExclusiveAccess { _ in
      XCTAssertEqual(try names(), ["test.store"])
      return ((), nil)
    }
    XCTAssertEqual(try pool.withReader { try $0.firstInteger("SELECT count(*) FROM t") }, 0)
    pool.close()
  }

  func testManyThreadsShareThePool() throws {
    var options = ConnectionOptions()
    options.durability = .fast
    let pool = try ConnectionPool(path: makePath(), key: testKey(), options: options, maximumReaders: 3)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for number in 0..<40 {
        do {
          if number % 4 == 0 {
            try pool.withWriter { writer in try writer.writeTransaction { try writer.execute("INSERT INTO t VALUES (1)") } }
          } else {
            try pool.withReader(reusingSnapshot: number % 2 == 0) { _ = try $0.firstInteger("SELECT sum(a) FROM t") }
          }
        } catch {
          XCTFail("\(error)")
        }
      }
    }
    XCTAssertEqual(try pool.withReader { try $0.firstInteger("SELECT sum(a) FROM t") }, 80)
    pool.close()
  }

  func testOtherWritersAreReportedAsBusy() throws {
    let connection = try make()
    var options = ConnectionOptions()
    options.busyTimeoutMilliseconds = 20
    let other = try Connection(opening: path, key: testKey(), options: options)
    try connection.writeTransaction {
      assertThrows(.busy) { try other.writeTransaction {} }
    }
    try other.writeTransaction { try other.execute("INSERT INTO t VALUES (1)") }
  }

  func testWaitingWritersAreNotStarvedByABusyWriter() throws {
    let connection = try make()
    let isOver = Atomic<Bool>(false)
    let (began, writing) = (DispatchSemaphore(value: 0), DispatchGroup())
    DispatchQueue.global().async(group: writing) { [path] in
      defer { began.signal() }
      do {
        let other = try Connection(opening: path, key: testKey())
        try other.writeTransaction { began.signal() }
        while !isOver.load(ordering: .relaxed) {
          try other.writeTransaction { usleep(50_000) }
          usleep(300)
        }
      } catch { XCTFail("\(error)") }
    }
    began.wait()
    defer {
      isOver.store(true, ordering: .relaxed)
      writing.wait()
    }
    for number in 0..<8 { try connection.writeTransaction { try connection.execute("INSERT INTO t VALUES (\(number))") } }
    XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM t"), 8)
  }

  func testALongStatementCanBeInterrupted() throws {
    let connection = try make()
    let interrupter = connection.interrupter
    try connection.registerFunction(name: "stop_me", argumentCount: 1) { call in
      if call.int64(0) == 1_000 { interrupter.interrupt() }
      call.setResult(argument: 0)
    }
    assertThrows(.cancelled) {
      try connection.firstInteger(
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000000) SELECT max(stop_me(x)) FROM n")
    }
    XCTAssertEqual(try connection.firstInteger("SELECT 1"), 1)
  }

  private func makePath() throws -> String {
    try make().close()
    return path
  }
}

final class ReadOnlyTests: StoreTestCase {
  func testAReadOnlyConnectionReadsAndWritesNothing() throws {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (42)")
    connection.close()
    var options = ConnectionOptions()
    options.isReadOnly = true
    let before = try snapshot()
    let pool = try ConnectionPool(path: path, key: testKey(), options: options)
    XCTAssertEqual(try pool.withReader { try $0.firstInteger("SELECT a FROM t") }, 42)
    assertThrows(.readOnly) { try pool.withWriter { writer in try writer.execute("INSERT INTO t VALUES (43)") } }
    pool.close()
    XCTAssertEqual(try snapshot()["test.store"], before["test.store"])
  }

  func testClosedConnectionsThrow() throws {
    let connection = try Connection.create(path: path, key: testKey())
    let interrupter = connection.interrupter
    connection.close()
    connection.close()
    interrupter.interrupt()
    assertThrows(.closed) { try connection.execute("SELECT 1") }
    assertThrows(.closed) { try connection.statement(0, "SELECT 1") }
    assertThrows(.closed) { try connection.statement(sql: "SELECT 1") }
    assertThrows(.closed) { try connection.beginRead() }
    assertThrows(.closed) { try connection.registerFunction(name: "f", argumentCount: 0) { _ in } }
    XCTAssertEqual(connection.changes, 0)
    XCTAssertTrue(connection.isInAutocommit)
    XCTAssertEqual(try names(), ["test.store"])
  }
}
