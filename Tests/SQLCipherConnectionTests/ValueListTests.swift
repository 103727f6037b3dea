import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreKeys

/// Lists of values as table-valued parameters.
final class ValueListTests: StoreTestCase {
  private func make() throws -> Connection {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.registerValueLists(name: "items")
    return connection
  }

  private func texts(_ connection: Connection, _ sql: String, _ list: [UInt8]) throws -> [String] {
    let statement = try connection.statement(sql: sql)
    defer { statement.reset() }
    try list.withUnsafeBytes { try statement.bindBlob(1, $0) }
    var result: [String] = []
    while try statement.step() { result.append(statement.text(0)) }
    return result
  }

  private func list(_ numbers: some Sequence<Int64>) -> [UInt8] {
    var list = ValueList()
    for number in numbers { list.append(number) }
    return list.bytes
  }

  func testListValuesAreRowsOfTheirType() throws {
    let connection = try make()
    var list = ValueList(capacity: 4)
    list.append(Int64.min)
    list.append(0.5)
    for text in ["zwölf", ""] { Array(text.utf8).withUnsafeBytes { list.append(text: $0) } }
    [UInt8](0...2).withUnsafeBytes { list.append(blob: $0) }
    [UInt8]().withUnsafeBytes { list.append(blob: $0) }
    XCTAssertEqual(
      try texts(connection, "SELECT quote(v) FROM items(?)", list.bytes),
      ["-9223372036854775808", "0.5", "'zwölf'", "''", "X'000102'", "X''"])
    XCTAssertEqual(try texts(connection, "SELECT rowid FROM items(?) WHERE v = ''", list.bytes), ["4"])
  }

  func testAListMayBeReadSeveralTimesWithinOneStatementAndAfterIt() throws {
    let connection = try make()
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    try connection.execute("INSERT INTO t VALUES (1), (2), (3), (4)")
    let sql = "SELECT t.id FROM t WHERE id IN (SELECT v FROM items(?1)) AND (SELECT count(*) FROM items(?1) WHERE v < t.id) = 1"
    XCTAssertEqual(try texts(connection, sql, list([1, 3, 4])), ["3"])
    XCTAssertEqual(try texts(connection, sql, list([])), [])
    let joined = "SELECT t.id FROM items(?) AS l CROSS JOIN t ON t.id = l.v"
    XCTAssertEqual(try texts(connection, joined, list([4, 9, 2, 4])), ["4", "2", "4"])
    XCTAssertEqual(try texts(connection, "SELECT sum(v) FROM items(?)", list(0..<100_000)), ["4999950000"])
  }

  func testMissingListsAreEmpty() throws {
    let connection = try make()
    XCTAssertEqual(try connection.statement(sql: "SELECT count(*) FROM items(NULL)").firstNumber(), 0)
    XCTAssertEqual(try connection.statement(sql: "SELECT count(*) FROM items").firstNumber(), 0)
  }

  func testInvalidListBytesFailTheStatement() throws {
    let connection = try make()
    let whole = list([7, 8])
    // Truncated within a value, of an unknown type, and with lengths beyond the end of the list.
    var lists = (1..<whole.count).filter { $0 != 9 }.map { Array(whole[..<$0]) }
    lists += [[0], [5, 0, 0], whole + [9], [3], [3, 0, 0, 0], [3, 1, 0, 0, 0], [4, 255, 255, 255, 255, 0], [3, 0, 0, 0, 128, 65]]
    for list in lists {
      XCTAssertThrowsError(try texts(connection, "SELECT v FROM items(?)", list), "\(list)")
    }
    var random = SystemRandomNumberGenerator()
    for _ in 0..<1_000 {
      let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in UInt8.random(in: 0...5, using: &random) }
      _ = try? texts(connection, "SELECT v FROM items(?)", bytes)
    }
    XCTAssertEqual(try texts(connection, "SELECT v FROM items(?)", whole), ["7", "8"], "the connection is usable")
  }

  func testRegisteringANameTwiceHasNoEffect() throws {
    let connection = try make()
    try connection.registerValueLists(name: "items")
    XCTAssertEqual(try texts(connection, "SELECT v FROM items(?)", list(7...7)), ["7"])
  }

  func testListTablesCannotBeCreatedInAFile() throws {
    XCTAssertThrowsError(try make().execute("CREATE VIRTUAL TABLE mine USING items"))
  }
}

extension Statement {
  fileprivate func firstNumber() throws -> Int64 {
    defer { reset() }
    return try step() ? int64(0) : -1
  }
}
