import Dispatch
import Synchronization
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// Readers that a caller reuses without a lock, and callers that wait for readers.
final class PooledReaderTests: StoreTestCase {
  private func makePool(maximumReaders: Int = 4) throws -> ConnectionPool {
    var options = ConnectionOptions()
    options.durability = .fast
    return try ConnectionPool(path: makePath(), key: testKey(), options: options, maximumReaders: maximumReaders)
  }

  private func makePath() throws -> String {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (a INTEGER)")
    connection.close()
    return path
  }

  func testLastUsedReaderIsReturnedWithItsSnapshot() throws {
    let pool = try makePool()
    let first = try pool.takeSnapshot(nil)
    XCTAssertEqual(try count(first), 0)
    pool.returnReader(first)
    let second = try pool.takeSnapshot(first)
    XCTAssertTrue(second === first)
    XCTAssertFalse(second.connection.isInAutocommit)
    pool.returnReader(second)
    pool.close()
  }

  func testCommitsEndTheSnapshot() throws {
    let pool = try makePool()
    var reader = try pool.takeSnapshot(nil)
    XCTAssertEqual(try count(reader), 0)
    pool.returnReader(reader)
    try insert(pool)
    reader = try pool.takeSnapshot(reader)
    XCTAssertEqual(try count(reader), 1)
    pool.returnReader(reader)
    pool.close()
  }

  func testRenewedSnapshotsShowWritesOfAnotherPool() throws {
    let pool = try makePool()
    let other = try ConnectionPool(path: path, key: testKey())
    var reader = try pool.takeSnapshot(nil)
    XCTAssertEqual(try count(reader), 0)
    pool.returnReader(reader)
    try insert(other)
    reader = try pool.takeSnapshot(reader, isRenewed: true)
    XCTAssertEqual(try count(reader), 1)
    pool.returnReader(reader)
    other.close()
    pool.close()
  }

  func testReadersInUseAreNotBorrowedTwice() throws {
    let pool = try makePool(maximumReaders: 2)
    let first = try pool.takeSnapshot(nil)
    let second = try pool.takeSnapshot(first)
    XCTAssertFalse(first === second)
    pool.returnReader(first)
    pool.returnReader(second)
    pool.close()
  }

  func testIdleReadersCanBeTakenByAnyCaller() throws {
    let pool = try makePool(maximumReaders: 1)
    let reader = try pool.takeSnapshot(nil)
    pool.returnReader(reader)
    // The last user of a reader does not reserve it.
    XCTAssertEqual(try pool.withReader { try $0.firstInteger("SELECT count(*) FROM t") }, 0)
    try pool.withExclusiveAccess { _ in
      XCTAssertEqual(try names(), ["test.store"])
      return ((), nil)
    }
    let next = try pool.takeSnapshot(reader)
    XCTAssertFalse(next === reader, "its connection was closed")
    pool.returnReader(next)
    pool.close()
    assertThrows(.closed) { try pool.takeSnapshot(next) }
  }

  func testSnapshotsOfIdleReadersExpire() throws {
    let pool = try makePool(maximumReaders: 1)
    try insert(pool)
    let reader = try pool.takeSnapshot(nil)
    XCTAssertEqual(try count(reader), 1)
    pool.returnReader(reader)
    try pool.returnReader(pool.takeSnapshot(reader))
    try insert(pool)
    // With a busy timeout it succeeds only when the snapshot has ended.
    XCTAssertEqual(try pool.withWriter { try $0.firstInteger("PRAGMA wal_checkpoint(TRUNCATE)") }, 0)
    XCTAssertEqual(StoreFile.size(path + "-wal"), 0)
    pool.close()
  }

  func testErrorsEndTheSnapshotAndReturnTheReader() throws {
    let pool = try makePool(maximumReaders: 1)
    let reader = try pool.takeSnapshot(nil)
    pool.returnReaderAfterError(reader)
    let next = try pool.takeSnapshot(reader)
    XCTAssertTrue(next === reader)
    XCTAssertFalse(next.connection.isInAutocommit)
    pool.returnReader(next)
    pool.close()
  }

  func testManyThreadsShareFewReaders() throws {
    let pool = try makePool(maximumReaders: 2)
    let reads = Atomic<Int>(0)
    DispatchQueue.concurrentPerform(iterations: 6) { thread in
      var last: PooledReader?
      for number in 0..<400 {
        do {
          switch (thread + number) % 100 {
          case 7: try insert(pool)
          case 13: try pool.withExclusiveAccess { _ in ((), nil) }
          case 20..<30: _ = try pool.withReader { try $0.firstInteger("SELECT count(*) FROM t") }
          default:
            let reader = try pool.takeSnapshot(last)
            last = reader
            do {
              _ = try count(reader)
              pool.returnReader(reader)
              reads.add(1, ordering: .relaxed)
            } catch {
              pool.returnReaderAfterError(reader)
              throw error
            }
          }
        } catch {
          XCTFail("\(error)")
        }
      }
    }
    XCTAssertGreaterThan(reads.load(ordering: .relaxed), 1_000)
    pool.close()
    XCTAssertEqual(try names(), ["test.store"])
  }

  func testExclusiveAccessIsNotStarvedByContinuousReaders() throws {
    let pool = try makePool(maximumReaders: 1)
    let isOver = Atomic<Bool>(false)
    let reading = DispatchGroup()
    DispatchQueue.global().async(group: reading) {
      var last: PooledReader?
      while !isOver.load(ordering: .relaxed) {
        guard let reader = try? pool.takeSnapshot(last) else { return XCTFail("no reader") }
        last = reader
        XCTAssertEqual(try? count(reader), 0)
        pool.returnReader(reader)
      }
    }
    for _ in 0..<50 { try pool.withExclusiveAccess { _ in ((), nil) } }
    isOver.store(true, ordering: .relaxed)
    reading.wait()
    pool.close()
  }
}

private func insert(_ pool: ConnectionPool) throws {
  try pool.withWriter { writer in try writer.writeTransaction { try writer.execute("INSERT INTO t VALUES (1)") } }
}

private func count(_ reader: PooledReader) throws -> Int64? { try reader.connection.firstInteger("SELECT count(*) FROM t") }
