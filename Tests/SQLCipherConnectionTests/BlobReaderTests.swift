import Foundation
import XCTest

@testable import SQLCipherConnection

final class BlobReaderTests: StoreTestCase {
  func testValuesOfAnySizeAreReadInChunks() throws {
    let connection = try Connection.create(path: path, key: testKey())
    defer { connection.close() }
    try connection.execute("CREATE TABLE \"a \"\"b\" (id INTEGER PRIMARY KEY, \"c d\" BLOB)")
    let insert = try connection.statement(sql: "INSERT INTO \"a \"\"b\" VALUES (?, ?)")
    for (number, count) in [0, 1, 65_535, 65_536, 65_537, 3 << 20].enumerated() {
      let value = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 * 31) })
      try insert.bind(1, number)
      try insert.bind(2, value)
      try insert.run()
      let reader = try BlobReader(connection, table: "\"a \"\"b\"", column: "\"c d\"", key: Int64(number))
      XCTAssertEqual(reader.count, count)
      var pieces: [Data] = []
      while let piece = try reader.next() { pieces.append(piece) }
      XCTAssertEqual(pieces.reduce(Data(), +), value)
      XCTAssertTrue(pieces.allSatisfy { !$0.isEmpty && $0.count <= 65_536 })
    }
    XCTAssertThrowsError(try BlobReader(connection, table: "\"a \"\"b\"", column: "\"c d\"", key: 99))
  }
}
