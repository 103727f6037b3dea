import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreKeys

/// Verification: an intact store has no findings, every kind of damage has one.
final class VerificationTests: StoreTestCase {
  private func makeStore() throws {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute(
      """
      CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p(id), text TEXT);
      CREATE INDEX i ON c (text);
      WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300)
      INSERT INTO c SELECT x, NULL, hex(randomblob(20)) || CASE WHEN x % 50 = 0 THEN hex(zeroblob(5000)) ELSE '' END FROM n
      """)
    connection.close()
  }

  private func findings(_ level: VerificationLevel = .full) throws -> [VerificationFinding] {
    try StoreVerification.run(path: path, key: testKey(isProven: true), level: level)
  }

  private func change(_ body: (inout Data) -> Void) throws {
    let url = URL(fileURLWithPath: path)
    var data = try Data(contentsOf: url)
    body(&data)
    try data.write(to: url)
  }

  func testASoundStoreHasNoFindings() throws {
    try makeStore()
    let before = try snapshot()
    XCTAssertEqual(try findings(), [])
    XCTAssertEqual(try findings(.quick), [])
    XCTAssertEqual(try snapshot(), before)
    // Some pages are in the log only, and a reader prevents its checkpoint.
    let connection = try Connection(opening: path, key: testKey())
    let reader = try Connection(opening: path, key: testKey())
    try reader.beginRead()
    XCTAssertEqual(try reader.firstInteger("SELECT count(*) FROM c"), 300)
    try connection.execute("UPDATE c SET text = text || 'x'; INSERT INTO c SELECT id + 1000, NULL, text FROM c")
    XCTAssertEqual(try findings(), [])
    reader.close()
  }

  func testEveryDamagedPageIsNamed() throws {
    try makeStore()
    for page in [2, 5, 20, 40] { try change { $0[(page - 1) * 4096 + 1000] ^= 1 } }
    let pages = try findings().filter { if case .page = $0 { true } else { false } }
    XCTAssertEqual(pages, [.page(2), .page(5), .page(20), .page(40)])
  }

  func testDamagedFirstPagesAreFindings() throws {
    try makeStore()
    try change { $0[1000] ^= 1 }
    let found = try findings()
    XCTAssertTrue(found.contains(.page(1)), "\(found)")
    XCTAssertTrue(found.contains { if case .unreadable = $0 { true } else { false } })
  }

  func testExchangedPagesAreFound() throws {
    try makeStore()
    try change { data in
      let second = Data(data[4096..<8192])
      data.replaceSubrange(4096..<8192, with: Data(data[8192..<12288]))
      data.replaceSubrange(8192..<12288, with: second)
    }
    let found = try findings()
    XCTAssertTrue(found.contains(.page(2)))
    XCTAssertTrue(found.contains(.page(3)))
  }

  /// The first page's authentication code does not cover the salt, and the store is still readable.
  func testAnotherSaltIsFound() throws {
    try makeStore()
    for offset in [0, 7, 15] {
      try change { $0[offset] ^= 1 }
      XCTAssertEqual(try findings(), [.salt])
      try change { $0[offset] ^= 1 }
    }
    XCTAssertEqual(try findings(), [])
  }

  func testAWrongSizeIsFound() throws {
    try makeStore()
    try change { $0.append(Data(repeating: 7, count: 100)) }
    XCTAssertEqual(try findings(), [.partialPage(bytes: 100)])
    try change { $0.removeLast(100) }
    try change { $0.append(Data(repeating: 7, count: 4096)) }
    XCTAssertEqual(try findings(), [.surplusPages(1)])
    try change { $0.removeLast(3 * 4096) }
    XCTAssertFalse(try findings().isEmpty)
  }

  func testADamagedLogIsFound() throws {
    try makeStore()
    let reader = try Connection(opening: path, key: testKey())
    try reader.beginRead()
    _ = try reader.firstInteger("SELECT count(*) FROM c")
    let writer = try Connection(opening: path, key: testKey())
    try writer.execute("UPDATE c SET text = text || 'x'")
    let descriptor = open(path + "-wal", O_RDWR)
    defer { _ = Foundation.close(descriptor) }
    var byte: UInt8 = 0
    let place = off_t(32 + 24 + 1000)
    XCTAssertEqual(pread(descriptor, &byte, 1, place), 1)
    byte ^= 1
    XCTAssertEqual(pwrite(descriptor, &byte, 1, place), 1)
    XCTAssertFalse(try findings().isEmpty)
    byte ^= 1
    XCTAssertEqual(pwrite(descriptor, &byte, 1, place), 1)
    XCTAssertEqual(try findings(), [])
  }

  func testADanglingForeignKeyIsFound() throws {
    try makeStore()
    try Connection(opening: path, key: testKey()).execute("UPDATE c SET p = 99 WHERE id = 7")
    let expected = [VerificationFinding.foreignKey(table: "c", row: 7, parent: "p")]
    XCTAssertEqual(try findings(), expected)
    XCTAssertEqual(try findings(.quick), expected)
  }

  func testVerificationReportsProgressAndCanBeCanceled() throws {
    try makeStore()
    assertThrows(.cancelled) {
      try StoreVerification.run(path: path, key: testKey(), level: .full, progress: { _, _ in false })
    }
    assertThrows(.noSuchFile) { try StoreVerification.run(path: folder + "/none", key: testKey(), level: .full) }
  }
}
