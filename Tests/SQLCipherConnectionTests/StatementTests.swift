import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreKeys

/// Statements: binding, columns, caches, functions and collations.
final class StatementTests: StoreTestCase {
  private func make() throws -> Connection { try Connection.create(path: path, key: testKey()) }

  func testBoundValuesRoundTrip() throws {
    let connection = try make()
    try connection.execute("CREATE TABLE t (a, b, c, d, e, f)")
    let insert = try connection.statement(0, "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)")
    try insert.bind(1, Int64.min)
    try insert.bind(2, 0.1)
    try insert.bind(3, "zwölf \u{0} 🐟")
    try insert.bind(4, Data([0, 1, 255]))
    try insert.bindNull(5)
    try insert.bind(6, Data())
    try insert.run()
    XCTAssertEqual(connection.changes, 1)
    let select = try connection.statement(1, "SELECT a, b, c, d, e, f FROM t")
    XCTAssertTrue(try select.step())
    XCTAssertEqual(select.columnCount, 6)
    XCTAssertEqual(select.int64(0), Int64.min)
    XCTAssertEqual(select.double(1), 0.1)
    XCTAssertEqual(select.text(2), "zwölf \u{0} 🐟")
    XCTAssertEqual(select.data(3), Data([0, 1, 255]))
    XCTAssertTrue(select.isNull(4))
    XCTAssertNil(select.optionalText(4))
    XCTAssertEqual((0..<6).map { select.type($0) }, [.integer, .real, .text, .blob, .null, .blob])
    XCTAssertEqual(select.columnName(2), "c")
    XCTAssertFalse(try select.step())
    select.reset()
  }

  func testNumbersUsedForAnotherStatementAreDetected() throws {
    let connection = try make()
    XCTAssertNil(connection.statements.misuse(of: 3, for: "SELECT 1"))
    let first = try connection.statement(3, "SELECT 1")
    XCTAssertNil(connection.statements.misuse(of: 3, for: "SELECT 1"))
    let misuse = try XCTUnwrap(connection.statements.misuse(of: 3, for: "SELECT 2"))
    XCTAssertTrue(misuse.contains("SELECT 1") && misuse.contains("SELECT 2"), misuse)
    XCTAssertTrue(try connection.statement(3, "SELECT 1") === first)
  }

  func testBorrowedTextNeedsNoCopy() throws {
    let connection = try make()
    let echo = try connection.statement(sql: "SELECT ?1, length(?1), typeof(?1)")
    try Array("Grüße".utf8).withUnsafeBytes { bytes in
      try echo.bindStaticText(1, bytes)
      XCTAssertTrue(try echo.step())
      XCTAssertEqual(echo.text(0), "Grüße")
      XCTAssertEqual(echo.int(1), 5)
      echo.reset()
      echo.clearBindings()
    }
    try echo.bindText(1, UnsafeRawBufferPointer(start: nil, count: 0))
    XCTAssertTrue(try echo.step())
    XCTAssertEqual(echo.text(2), "text")
    echo.reset()
  }

  func testCanceledStatementsEnd() throws {
    let connection = try make()
    var questions = 0
    // The statement never ends without cancellation.
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    XCTAssertThrowsError(
      try connection.cancelling(when: {
        questions += 1
        return questions == 5
      }) { try connection.statement(sql: endless).step() }
    ) { error in
      guard case .cancelled? = (error as? StoreAccessError)?.kind else { return XCTFail("\(error)") }
    }
    XCTAssertEqual(questions, 5)
    // Afterwards the handler is not called, and the connection works.
    let select = try connection.statement(
      sql: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 9999) SELECT max(x) FROM c")
    XCTAssertTrue(try select.step())
    XCTAssertEqual(select.int(0), 9_999)
    XCTAssertEqual(questions, 5)
  }

  func testNumberedStatementsArePreparedOnce() throws {
    let connection = try make()
    var first: Statement?
    for _ in 0..<3 {
      let statement = try connection.statement(17, "SELECT 40 + ?")
      XCTAssertTrue(first == nil || statement === first)
      first = statement
      try statement.bind(1, 2)
      XCTAssertTrue(try statement.step())
      XCTAssertEqual(statement.int(0), 42)
      statement.reset()
    }
    connection.discardStatements()
    XCTAssertFalse(try connection.statement(17, "SELECT 40 + ?") === first)
  }

  func testAdHocStatementsInUseAreNotReturnedTwice() throws {
    let connection = try make()
    let first = try connection.statement(sql: "SELECT 1")
    XCTAssertTrue(try first.step())
    let second = try connection.statement(sql: "SELECT 1")
    XCTAssertFalse(first === second)
    first.reset()
    let third = try connection.statement(sql: "SELECT 1")
    XCTAssertTrue(first === third)
    for number in 0..<200 { _ = try connection.statement(sql: "SELECT \(number) + 1000") }
    XCTAssertEqual(try connection.firstInteger("SELECT 7"), 7)
  }

  func testStatementsOutliveTheirConnection() throws {
    let connection = try make()
    let statement = try connection.statement(sql: "SELECT 5")
    connection.close()
    XCTAssertTrue(try statement.step())
    XCTAssertEqual(statement.int(0), 5)
  }

  func testSQLErrorsHaveAMessageAndAPosition() throws {
    let connection = try make()
    let error = try XCTUnwrap(catching { _ = try connection.statement(sql: "SELECT a FROM nowhere") })
    guard case .noSuchTable(let name) = error.kind else { return XCTFail("\(error)") }
    XCTAssertEqual(name, "nowhere")
    XCTAssertEqual(error.sql, "SELECT a FROM nowhere")
    XCTAssertEqual(error.operation, .prepare)
    XCTAssertNotNil(catching { _ = try connection.statement(sql: "SELECT 1; SELECT 2") })
    XCTAssertNotNil(catching { _ = try connection.statement(sql: " -- nothing") })
    XCTAssertNil(catching { _ = try connection.statement(sql: "SELECT 1;\n ") })
  }

  func testConstraintErrorsHaveTheExtendedCodeButNoValue() throws {
    let connection = try make()
    try connection.execute("CREATE TABLE t (a UNIQUE)")
    let insert = try connection.statement(0, "INSERT INTO t VALUES (?)")
    try insert.bind(1, "TOPSECRET")
    try insert.run()
    try insert.bind(1, "TOPSECRET")
    let error = try XCTUnwrap(assertThrows(.constraint) { try insert.run() })
    XCTAssertEqual(error.extendedCode, 2067)
    XCTAssertFalse("\(error)".contains("TOPSECRET"))
    XCTAssertFalse(insert.isBusy)
  }

  func testFunctionsReceiveTheirArgumentsWithoutCopies() throws {
    let connection = try make()
    try connection.registerFunction(name: "shout", argumentCount: 1) { call in
      if call.isNull(0) { return call.setResultNull() }
      call.setResult(String(decoding: call.text(0), as: UTF8.self).uppercased())
    }
    try connection.registerFunction(name: "total_of", argumentCount: -1) { call in
      call.setResult((0..<call.count).reduce(Int64(0)) { $0 + call.int64($1) })
    }
    try connection.registerFunction(name: "refuse", argumentCount: 0) { $0.setError("refused") }
    XCTAssertEqual(try connection.firstText("SELECT shout('größe')"), "GRÖSSE")
    XCTAssertNil(try connection.firstText("SELECT shout(NULL)"))
    XCTAssertEqual(try connection.firstInteger("SELECT total_of(1, 2, 39)"), 42)
    assertThrows(.sql("refused")) { try connection.firstInteger("SELECT refuse()") }
  }

  func testErrorsNameTheParameterAndTheFunction() throws {
    let connection = try make()
    let select = try connection.statement(0, "SELECT ?")
    XCTAssertThrowsError(try select.bind(7, "TOPSECRET")) { error in
      XCTAssertEqual((error as? StoreAccessError)?.subject, .parameter(7))
      XCTAssertTrue("\(error)".hasPrefix("bind a value (parameter 7): "), "\(error)")
      XCTAssertFalse("\(error)".contains("TOPSECRET"))
    }
    let name = String(repeating: "f", count: 300)
    XCTAssertThrowsError(try connection.registerFunction(name: name, argumentCount: 0) { _ in }) { error in
      XCTAssertEqual((error as? StoreAccessError)?.subject, .name(name))
      XCTAssertTrue("\(error)".hasPrefix("register a function (\(name)): "), "\(error)")
    }
  }

  func testACollationOrders() throws {
    let connection = try make()
    try connection.registerCollation(name: "by_length") { Int32($0.count) - Int32($1.count) }
    try connection.execute("CREATE TABLE t (a TEXT COLLATE by_length); INSERT INTO t VALUES ('aaa'), ('z'), ('mm')")
    XCTAssertEqual(try connection.firstText("SELECT group_concat(a) FROM (SELECT a FROM t ORDER BY a)"), "z,mm,aaa")
  }

  func testNamesAreQuoted() throws {
    let connection = try make()
    for name in ["order", "a\"b", "ünï", "x y", "'", "]", "[", "`", "--", "a;b"] {
      let quoted = try Identifier.quoted(name)
      try connection.execute("CREATE TABLE \(quoted) (\(quoted)); DROP TABLE \(quoted)")
      XCTAssertEqual(try connection.firstText("SELECT " + Identifier.literal(name)), name)
    }
    XCTAssertThrowsError(try Identifier.quoted("a\u{0}b"))
    XCTAssertThrowsError(try Identifier.quoted(""))
  }

  private func catching(_ body: () throws -> Void) -> StoreAccessError? {
    do {
      try body()
      return nil
    } catch {
      return error as? StoreAccessError
    }
  }
}
