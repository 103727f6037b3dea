import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// With synced commits, the log grows by many pages at a time, and its contents are the same.
final class LogPreallocationTests: StoreTestCase {
  private let frame = WriteAheadLog.frameHeaderSize + 4_096

  private func make(_ durability: ConnectionOptions.Durability) throws -> Connection {
    try Connection.create(path: path, key: testKey()).execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)")
    var options = ConnectionOptions()
    options.durability = durability
    return try Connection(opening: path, key: testKey(), options: options)
  }

  private func commit(_ connection: Connection, bytes: Int = 100) throws {
    try connection.writeTransaction { try connection.execute("INSERT INTO t (b) VALUES (zeroblob(\(bytes)))") }
  }

  private var logSize: Int { StoreFile.size(path + "-wal") ?? 0 }
  private var pages: Int { get throws { try WriteAheadLog.extent(path + "-wal", pageSize: 4_096).pages } }

  func testLogFilesOfSyncedCommitsRarelyGrow() throws {
    let connection = try make(.full)
    var sizes: [Int] = []
    for _ in 0..<300 {
      try commit(connection)
      sizes.append(logSize)
    }
    XCTAssertGreaterThanOrEqual(try pages, 300)
    // Two commits without preallocation, then 64 KiB twice, then 256 KiB at a time.
    XCTAssertLessThanOrEqual(Set(sizes).count, 12)
    XCTAssertLessThan(logSize, 300 * frame + 262_144 + 2 * frame)
  }

  func testFewCommitsPreallocateNoSpace() throws {
    let connection = try make(.full)
    for _ in 0..<2 { try commit(connection) }
    XCTAssertEqual(logSize, WriteAheadLog.headerSize + (try pages) * frame)
  }

  func testUnsyncedCommitsPreallocateNoSpace() throws {
    let connection = try make(.fast)
    for _ in 0..<50 { try commit(connection) }
    XCTAssertEqual(logSize, WriteAheadLog.headerSize + (try pages) * frame)
  }

  func testLongTransactionsPreallocateOnce() throws {
    let connection = try make(.full)
    for _ in 0..<3 { try commit(connection) }
    try commit(connection, bytes: 2_000_000)
    XCTAssertEqual(logSize, WriteAheadLog.headerSize + (try pages) * frame)
  }

  func testFileCopiesContainAllCommits() throws {
    let connection = try make(.full)
    for number in 1...40 {
      try commit(connection)
      guard number % 5 == 0 else { continue }
      // As after a crash: without the log's index, which records where the log ends.
      let copy = folder + "/copy\(number)"
      for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix) }
      let opened = try Connection(opening: copy, key: testKey())
      XCTAssertEqual(try opened.firstInteger("SELECT count(*) FROM t"), Int64(number))
      XCTAssertEqual(try opened.pragma("integrity_check"), "ok")
    }
  }

  func testWritersUseSpacePreallocatedByOthers() throws {
    let first = try make(.full)
    var options = ConnectionOptions()
    options.durability = .full
    let second = try Connection(opening: path, key: testKey(), options: options)
    var sizes: [Int] = []
    for _ in 0..<100 {
      try commit(first)
      try commit(second)
      sizes.append(logSize)
    }
    XCTAssertEqual(try first.firstInteger("SELECT count(*) FROM t"), 200)
    XCTAssertLessThanOrEqual(Set(sizes).count, 12)
    XCTAssertEqual(try first.pragma("integrity_check"), "ok")
    XCTAssertEqual(try WriteAheadLog.extent(path + "-wal", pageSize: 4_096).commits, 200)
  }

  func testTruncatedLogsArePreallocatedAgain() throws {
    let connection = try make(.full)
    for _ in 0..<20 { try commit(connection) }
    XCTAssertTrue(connection.checkpoint(.truncate))
    XCTAssertEqual(logSize, 0)
    var sizes: [Int] = []
    for _ in 0..<40 {
      try commit(connection)
      sizes.append(logSize)
    }
    XCTAssertLessThanOrEqual(Set(sizes).count, 6)
    XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM t"), 60)
  }

  /// Tests the rule alone, independent of a file.
  func testPreallocationStartsAfterThreeGrowingSyncsAndRunsOncePerSync() {
    var preallocation = LogPreallocation()
    var end = Int64(0)
    func write(_ count: Int64) -> Int64 {
      defer { end += count }
      return preallocation.recordWrite(end..<end + count, size: end)
    }
    XCTAssertEqual(write(100), 0)
    XCTAssertEqual(write(100), 0)
    for _ in 0..<2 {
      preallocation.recordSync()
      XCTAssertEqual(write(100), 0)
    }
    preallocation.recordSync()
    XCTAssertEqual(write(100), 65_536)
    preallocation.recordPreallocation(true, to: end + 65_536)
    XCTAssertEqual(write(65_536), 0, "it is filled")
    XCTAssertEqual(write(100_000), 0, "once between two syncs")
    preallocation.recordSync()
    XCTAssertEqual(write(100), 166_136, "as much as the log has")
    // The disk had no space: three more commits without preallocation.
    preallocation.recordPreallocation(false, to: 0)
    for _ in 0..<3 {
      preallocation.recordSync()
      XCTAssertEqual(write(1_000_000), 0)
    }
    preallocation.recordSync()
    XCTAssertEqual(write(100), 262_144, "no more than this")
  }
}
