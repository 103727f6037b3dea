import Foundation
import Synchronization
import XCTest

@testable import SQLCipherConnection
@testable import StoreKeys

/// A pool distinguishes commits of other connections from its own at any time.
final class RemoteCommitTests: StoreTestCase {
  private func makePool() throws -> ConnectionPool {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    connection.close()
    return try ConnectionPool(path: path, key: testKey())
  }

  private func insert(_ connection: Connection) throws {
    try connection.writeTransaction { try connection.execute("INSERT INTO t (a) VALUES (1)") }
  }

  func testOnlyRemoteCommitsAreReported() throws {
    let pool = try makePool()
    let reported = Mutex(0)
    try pool.observeRemoteCommits { reported.withLock { $0 += 1 } }
    for _ in 0..<3 { try pool.withWriter(insert) }
    pool.checkForRemoteCommits()
    XCTAssertEqual(reported.withLock { $0 }, 0)
    let other = try Connection(opening: path, key: testKey())
    try insert(other)
    try insert(other)
    XCTAssertEqual(reported.withLock { $0 }, 0, "no request was made")
    pool.checkForRemoteCommits()
    pool.checkForRemoteCommits()
    XCTAssertEqual(reported.withLock { $0 }, 1)
    // Alternating, with the pool's commit last.
    try insert(other)
    try pool.withWriter(insert)
    pool.checkForRemoteCommits()
    XCTAssertEqual(reported.withLock { $0 }, 2)
  }

  /// A listener once gained two nested closures with each commit, which exhausted memory and finally the stack.
  func testObserversAreCalledAsSoonAfterManyCommitsAsAfterTheFirst() throws {
    let pool = try makePool()
    let depths = Mutex<[Int]>([])
    try pool.observeRemoteCommits {
      let depth = Thread.callStackReturnAddresses.count
      depths.withLock { $0.append(depth) }
    }
    let other = try Connection(opening: path, key: testKey())
    for _ in 0..<20 {
      try insert(other)
      pool.checkForRemoteCommits()
    }
    let found = depths.withLock { $0 }
    XCTAssertEqual(found.count, 20)
    XCTAssertEqual(Set(found).count, 1, "\(found)")
  }

  func testChecksWhileTheWriterIsInUseReportWhenItIsReturned() throws {
    let pool = try makePool()
    let reported = Mutex(0)
    try pool.observeRemoteCommits { reported.withLock { $0 += 1 } }
    try insert(try Connection(opening: path, key: testKey()))
    let writer = try pool.takeWriter()
    try insert(writer)
    pool.checkForRemoteCommits()
    XCTAssertEqual(reported.withLock { $0 }, 0)
    pool.returnWriter(writer)
    XCTAssertEqual(reported.withLock { $0 }, 1)
  }

  func testReadsAfterANotificationSeeTheCommit() throws {
    let pool = try makePool()
    let counts = Mutex<[Int64]>([])
    try pool.observeRemoteCommits {
      let count = try? pool.withReader(reusingSnapshot: true) { try $0.firstInteger("SELECT count(*) FROM t") }
      counts.withLock { $0.append((count ?? nil) ?? -1) }
    }
    let other = try Connection(opening: path, key: testKey())
    for _ in 0..<5 {
      // Leaves a reusable snapshot.
      _ = try pool.withReader(reusingSnapshot: true) { try $0.firstInteger("SELECT count(*) FROM t") }
      try insert(other)
      pool.checkForRemoteCommits()
    }
    XCTAssertEqual(counts.withLock { $0 }, [1, 2, 3, 4, 5])
  }

  func testChecksDuringExclusiveAccessReportAfterwards() throws {
    let pool = try makePool()
    let reported = Mutex(0)
    try pool.observeRemoteCommits { reported.withLock { $0 += 1 } }
    _ = try pool.withExclusiveAccess { _ in
      pool.checkForRemoteCommits()
      XCTAssertEqual(reported.withLock { $0 }, 0)
      return ((), nil)
    }
    XCTAssertEqual(reported.withLock { $0 }, 1, "the commits in between are unknown")
  }

  func testConcurrentWritersAndChecksMissNoCommits() throws {
    let pool = try makePool()
    let other = Mutex(0)
    let reported = Mutex<Int64>(0)
    try pool.observeRemoteCommits { [path] in
      _ = path
      let count = try? pool.withReader { try $0.firstInteger("SELECT count(*) FROM t WHERE a = 2") }
      reported.withLock { $0 = max($0, (count ?? nil) ?? 0) }
    }
    let path = path
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      do {
        if thread == 0 {
          let connection = try Connection(opening: path, key: testKey())
          for _ in 0..<100 {
            try connection.writeTransaction { try connection.execute("INSERT INTO t (a) VALUES (2)") }
            pool.checkForRemoteCommits()
          }
          other.withLock { $0 = 100 }
        } else {
          for _ in 0..<100 {
            try pool.withWriter { connection in try connection.writeTransaction { try connection.execute("INSERT INTO t (a) VALUES (1)") } }
            if thread == 1 { pool.checkForRemoteCommits() }
          }
        }
      } catch {
        XCTFail("\(error)")
      }
    }
    XCTAssertEqual(other.withLock { $0 }, 100)
    XCTAssertEqual(reported.withLock { $0 }, 100, "the last commit was reported")
  }
}
