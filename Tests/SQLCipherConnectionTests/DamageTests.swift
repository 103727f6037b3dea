import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// Damaged files: no wrong values, no crashes, and reading changes nothing.
final class DamageTests: StoreTestCase {
  private static let pageSize = 4096

  /// Makes a store of about 300 pages: rows that fit a page, and values on overflow pages.
  private func makeStore() throws -> [Int64: String] {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX i ON t (substr(text, 1, 8))")
    var expected: [Int64: String] = [:]
    let insert = try connection.statement(0, "INSERT INTO t VALUES (?, ?)")
    try connection.writeTransaction {
      for id in Int64(1)...800 {
        let text = String(repeating: "row \(id * 7919 % 10007) ", count: id % 10 == 0 ? 1_500 : 24)
        expected[id] = text
        try insert.bind(1, id)
        try insert.bind(2, text)
        try insert.run()
      }
    }
    connection.close()
    return expected
  }

  /// Reads everything as the library does. Returns true if all was correct, false if damage was reported.
  private func readAll(_ expected: [Int64: String], exactly: Bool = true) throws -> Bool {
    try damage(reading: expected, exactly: exactly) == nil
  }

  /// Reads everything as the library does, and returns the reported damage, if any.
  private func damage(reading expected: [Int64: String], exactly: Bool = true) throws -> StoreAccessError.Kind? {
    do {
      let reader = try Connection(opening: path, key: testKey(isProven: true))
      defer { reader.close() }
      try reader.readTransaction {
        var seen = 0
        let select = try reader.statement(0, "SELECT id, text FROM t ORDER BY id")
        var values: [(Int64, String)] = []
        while try select.step() { values.append((select.int64(0), select.text(1))) }
        select.reset()
        // Cached pages may be used only if the sentinel matches, which `readTransaction` checks elsewhere.
        try reader.checkSentinel()
        for (id, text) in values {
          XCTAssertEqual(expected[id], text)
          seen += 1
        }
        if exactly { XCTAssertEqual(seen, expected.count) }
        let find = try reader.statement(1, "SELECT id FROM t WHERE substr(text, 1, 8) = 'row 7919'")
        _ = try find.step()
        find.reset()
      }
      return nil
    } catch let error as StoreAccessError {
      guard case .storeCorrupt = error.kind else { throw error }
      return error.kind
    }
  }

  func testAFlippedBitOnAnyPageIsNeverReadAsAValue() throws {
    let expected = try makeStore()
    let size = try XCTUnwrap(StoreFile.size(path))
    let pages = size / Self.pageSize
    XCTAssertGreaterThan(pages, 280)
    var reported = 0
    var tried = 0
    // Body, initialization vector and authentication code, in SQLCipher 3's layout of the end of a page.
    for (place, offset) in [("body", 700), ("vector", 4096 - 48 + 3), ("code", 4096 - 48 + 16 + 5)] {
      for page in 0..<pages {
        try flip(page * Self.pageSize + offset)
        tried += 1
        if let damage = try damage(reading: expected) {
          reported += 1
          XCTAssertEqual(damage, .storeCorrupt(.pageMAC), "\(place) of page \(page + 1)")
        }
        try flip(page * Self.pageSize + offset)
        if testRun?.totalFailureCount ?? 0 > 0 { return XCTFail("\(place) of page \(page + 1)") }
      }
    }
    // Index pages that no query reads can remain undetected; nearly all others are read.
    XCTAssertGreaterThan(Double(reported), 0.9 * Double(tried))
    XCTAssertTrue(try readAll(expected))
  }

  func testAFlippedBitInTheLogFailsAuthentication() throws {
    let expected = try makeStore()
    let key = try testKey(isProven: true)
    let writer = try Connection(opening: path, key: key)
    defer { writer.close() }
    // Every page is in the log, which later connections do not verify again.
    try writer.execute("UPDATE t SET text = text || ' '")
    let reader = try Connection(opening: path, key: key)
    defer { reader.close() }
    try reader.readTransaction { XCTAssertEqual(try reader.firstInteger("SELECT count(*) FROM t"), Int64(expected.count)) }
    let log = path + "-wal"
    let frame = 24 + Self.pageSize
    let count = (try XCTUnwrap(StoreFile.size(log)) - 32) / frame
    XCTAssertGreaterThan(count, 280)
    for index in 0..<count { try flip(32 + index * frame + 24 + 700, of: log) }
    assertThrows(.storeCorrupt(.pageMAC)) {
      try reader.readTransaction { try reader.firstInteger("SELECT sum(length(text)) FROM t") }
    }
    for index in 0..<count { try flip(32 + index * frame + 24 + 700, of: log) }
  }

  func testAuthenticPagesOfAnInvalidDatabaseAreDistinguishedFromDamagedOnes() throws {
    _ = try makeStore()
    let key = try testKey(isProven: true)
    var options = ConnectionOptions()
    options.isForExport = true  // otherwise SQLCipher 4 protects its schema
    let writer = try Connection(opening: path, key: key, options: options)
    // Written with the key, but not by the library.
    try writer.execute("PRAGMA writable_schema = 1; UPDATE sqlite_master SET rootpage = 3 WHERE name = 't'")
    writer.close()
    assertThrows(.storeCorrupt(.structure)) {
      let reader = try Connection(opening: path, key: key)
      defer { reader.close() }
      try reader.readTransaction { try reader.firstInteger("SELECT sum(length(text)) FROM t") }
    }
  }

  private func flip(_ offset: Int, of path: String? = nil) throws {
    let path = path ?? self.path
    let descriptor = open(path, O_RDWR)
    defer { _ = Foundation.close(descriptor) }
    var byte: UInt8 = 0
    XCTAssertEqual(pread(descriptor, &byte, 1, off_t(offset)), 1)
    byte ^= 1 << UInt8(offset & 7)
    XCTAssertEqual(pwrite(descriptor, &byte, 1, off_t(offset)), 1)
  }

  func testBrokenFilesAreNotOpenedAsStores() throws {
    let expected = try makeStore()
    let good = try Data(contentsOf: URL(fileURLWithPath: path))
    let page = Self.pageSize
    var random = Data(capacity: good.count)
    var state: UInt64 = 42
    for _ in 0..<64 * page {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      random.append(UInt8(truncatingIfNeeded: state >> 56))
    }
    func with(_ change: (inout Data) -> Void) -> Data {
      var data = good
      change(&data)
      return data
    }
    let files: [(String, Data, StoreAccessError.Kind?)] = [
      ("no bytes", Data(), .notAStore(.empty)),
      ("1 byte", good.prefix(1), .notAStore(.stub)),
      ("15 bytes", good.prefix(15), .notAStore(.stub)),
      ("16 bytes", good.prefix(16), .notAStore(.stub)),
      ("100 bytes", good.prefix(100), .notAStore(.stub)),
      ("511 bytes", good.prefix(511), .notAStore(.stub)),
      ("512 bytes", good.prefix(512), .notAStore(.stub)),
      ("one page less one byte", good.prefix(page - 1), .notAStore(.stub)),
      ("one page", good.prefix(page), nil),
      ("one page less", good.dropLast(page), nil),
      ("ten pages less", good.dropLast(10 * page), nil),
      ("100 bytes less", good.dropLast(100), nil),
      ("100 bytes more", good + random.prefix(100), nil),
      ("one page more", good + random.prefix(page), nil),
      ("first page random", with { $0.replaceSubrange(0..<page, with: random.prefix(page)) }, .storeCorrupt(.pageMAC)),
      ("first page zero", with { $0.replaceSubrange(0..<page, with: Data(count: page)) }, .storeCorrupt(.pageMAC)),
      ("second page random", with { $0.replaceSubrange(page..<2 * page, with: random.prefix(page)) }, nil),
      ("second page zero", with { $0.replaceSubrange(page..<2 * page, with: Data(count: page)) }, nil),
      ("middle page zero", with { $0.replaceSubrange(100 * page..<101 * page, with: Data(count: page)) }, nil),
      ("last page zero", with { $0.replaceSubrange($0.count - page..<$0.count, with: Data(count: page)) }, nil),
      (
        "pages exchanged",
        with {
          let second = Data($0[page..<2 * page])
          $0.replaceSubrange(page..<2 * page, with: Data($0[2 * page..<3 * page]))
          $0.replaceSubrange(2 * page..<3 * page, with: second)
        }, nil
      ),
      (
        "first and second page exchanged", Data(good[page..<2 * page]) + Data(good[..<page]) + Data(good[(2 * page)...]),
        .storeCorrupt(.pageMAC)
      ),
      ("shifted by one byte", Data([0]) + good, .keyFileOutdated),
      ("all random", random, .keyFileOutdated),
      ("all zero", Data(count: 10 * page), .storeCorrupt(.pageMAC)),
      ("text", Data(String(repeating: "not a database\n", count: 1_000).utf8), .keyFileOutdated),
    ]
    for (name, data, expectedKind) in files {
      try data.write(to: URL(fileURLWithPath: path))
      if let expectedKind {
        let error = assertThrows(expectedKind) { try Connection(opening: path, key: testKey(isProven: true)) }
        if error?.kind != expectedKind { XCTFail(name) }
      } else {
        // Either every value is right, or damage is reported.
        _ = try readAll(expected, exactly: false)
      }
      XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: path)), data, name)
      XCTAssertEqual(try names(), ["test.store"], name)
    }
  }

  func testOlderPagesOfTheSameStoreAreNotDetected() throws {
    // The documented limit of protection: every page is authentic, and nothing identifies the newest version.
    _ = try makeStore()
    let old = try Data(contentsOf: URL(fileURLWithPath: path))
    let writer = try Connection(opening: path, key: testKey())
    try writer.execute("UPDATE t SET text = 'row 0 is new' WHERE id = 3")
    writer.close()
    var replayed = try Data(contentsOf: URL(fileURLWithPath: path))
    let changed = (1..<old.count / Self.pageSize).filter { page in
      let range = page * Self.pageSize..<(page + 1) * Self.pageSize
      return old[range] != replayed[range]
    }
    for page in changed {
      let range = page * Self.pageSize..<(page + 1) * Self.pageSize
      replayed.replaceSubrange(range, with: old[range])
    }
    try replayed.write(to: URL(fileURLWithPath: path))
    let reader = try Connection(opening: path, key: testKey(isProven: true))
    XCTAssertNotEqual(try reader.readTransaction { try reader.firstText("SELECT text FROM t WHERE id = 3") }, "row 0 is new")
    reader.close()
    XCTAssertEqual(try StoreVerification.run(path: path, key: testKey(isProven: true), level: .full), [])
  }

  func testNonregularFilesAreRejected() throws {
    let things = folder + "/things"
    try FileManager.default.createDirectory(atPath: things, withIntermediateDirectories: true)
    XCTAssertEqual(mkfifo(things + "/pipe", 0o600), 0)
    symlink("loop", things + "/loop")
    symlink("nowhere", things + "/dangling")
    assertThrows(.notAStore(.notARegularFile)) { try Connection(opening: things, key: testKey()) }
    assertThrows(.notAStore(.notARegularFile)) { try Connection(opening: things + "/pipe", key: testKey()) }
    assertThrows(.notAStore(.notARegularFile)) { try Connection(opening: "/dev/null", key: testKey()) }
    assertThrows(.notAStore(.notARegularFile)) { try Connection(opening: things + "/loop", key: testKey()) }
    assertThrows(.noSuchFile) { try Connection(opening: things + "/dangling", key: testKey()) }
    assertThrows(.noSuchFile) { try Connection(opening: things + "/missing", key: testKey()) }
    assertThrows(.noSuchFile) { try Connection(opening: things + "/none/missing", key: testKey()) }
    assertThrows(.noSuchFile) { try Connection(opening: "", key: testKey()) }
    assertThrows(.noSuchFile) { try Connection(opening: path + "\u{0}x", key: testKey()) }
    assertThrows(.notAStore(.notARegularFile)) { try Connection(opening: things + "/pipe/x", key: testKey()) }
    XCTAssertEqual(try names(), ["things"])
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: things).sorted(), ["dangling", "loop", "pipe"])
  }

  func testForeignLogsAreNeverCheckpointed() throws {
    let expected = try makeStore()
    let other = try Connection.create(path: folder + "/other", key: testKey(9))
    try other.execute("CREATE TABLE x (a); INSERT INTO x VALUES (zeroblob(20000))")
    let log = try Data(contentsOf: URL(fileURLWithPath: folder + "/other-wal"))
    other.close()
    let good = try Data(contentsOf: URL(fileURLWithPath: path))
    let random = Data((0..<9_000).map { UInt8(truncatingIfNeeded: $0 &* 37) })
    for (name, wrong) in [("another store's", log), ("random", random), ("cut", log.prefix(5_000)), ("empty", Data())] {
      try wrong.write(to: URL(fileURLWithPath: path + "-wal"))
      let isRight = try readAll(expected)
      XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: path)), good, name)
      if name == "another store's" { XCTAssertFalse(isRight) }
      unlink(path + "-wal")
      unlink(path + "-shm")
    }
    XCTAssertTrue(try readAll(expected))
  }

  func testLogWithoutAStoreDoesNotCreateOne() throws {
    _ = try makeStore()
    try Data(count: 5_000).write(to: URL(fileURLWithPath: path + "-wal"))
    unlink(path)
    assertThrows(.noSuchFile) { try Connection(opening: path, key: testKey()) }
    assertThrows(.fileExists) { try Connection.create(path: path, key: testKey()) }
    XCTAssertEqual(try names(), ["test.store-wal"])
  }
}
