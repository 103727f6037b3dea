import ObjectQuery
import XCTest

/// Errors in a predicate's text are reported with their position.
final class FormatErrorTests: XCTestCase {
  private func error(_ format: String, _ arguments: (any FetchConstantConvertible)?...) throws -> PredicateFormatError {
    var thrown: (any Error)?
    XCTAssertThrowsError(try FetchPredicate(format: format, argumentArray: arguments), format) { thrown = $0 }
    return try XCTUnwrap(thrown as? PredicateFormatError, format)
  }

  func testAnErrorIsShownWithACaretBelowIt() throws {
    let error = try error("name == 'é' AND\n  age >> AND")
    XCTAssertEqual(error.line, 2)
    XCTAssertEqual(error.column, 10)
    XCTAssertEqual(error.position, 25)
    XCTAssertTrue(error.description.hasSuffix("\n  age >> AND\n         ^"), error.description)
  }

  func testCaretAlignsWithTabsAndWideCharacters() throws {
    XCTAssertTrue(try error("\tname == 5x").description.hasSuffix("\n\tname == 5x\n\t         ^"))
    XCTAssertTrue(try error("日本 == 5x").description.hasSuffix("\n日本 == 5x\n         ^"))
    XCTAssertTrue(try error("e\u{301} == 5x").description.hasSuffix("\n      ^"))
    let error = try error("a == 1 AND\r\n\t\u{1F600} == 2\r\nOR b == 3")
    XCTAssertEqual(error.line, 2)
    XCTAssertEqual(error.column, 2)
    XCTAssertEqual(error.lineText, "\t\u{1F600} == 2")
    XCTAssertTrue(error.description.hasSuffix("\n\t^"), error.description)
  }

  func testSetOperationsAreRejectedWithAdvice() throws {
    for word in ["UNION", "INTERSECT", "minus"] {
      let error = try error("tags \(word) books == 1")
      XCTAssertEqual(error.position, 5)
      XCTAssertTrue(error.message.contains("AND NOT"), error.message)
    }
  }

  func testErrorsNameTheExpectedToken() throws {
    let mistakes: [(String, Int, String)] = [
      ("", 0, "Expected a value"), ("name", 4, "comparison operator"), ("name ==", 7, "Expected a value"),
      ("name = = 1", 7, "Expected a value"),
      ("(name == 1", 10, "Expected )"), ("name == 1)", 9, "AND, OR or the end"), ("name == 'x", 8, "no end"),
      ("a == 1 b == 2", 7, "AND, OR or the end"),
      ("a IN {1, 2", 10, "Expected , or }"), ("a ==[x] 1", 5, "c, d, n or l"), ("a == 1 == 2", 7, "another =="),
      ("NOT a", 5, "comparison operator"),
      ("in == 1", 0, "#in"), ("a == 5x", 6, "number"), ("a.1 == 2", 2, "Expected a key"), ("a ; b", 2, "no meaning"),
      ("a == %z", 5, "percent"),
      ("SUBQUERY(a, b, c == 1).@count > 0", 12, "variable"), ("CAST('x', 'Date') == a", 5, "cannot be cast"),
      ("ANY a.b", 7, "comparison operator"),
      ("a == CAST(1, 'Foo')", 13, "types"), ("(a == 1) + 2 == 3", 0, "not a condition"), ("$ == 1", 1, "variable"),
      ("a == \"\\u12\"", 8, "hexadecimal"), ("a == %5d", 5, "widths"), ("a == %0$@", 5, "number of an argument"), ("a[b] == 1", 2, "FIRST"),
      ("a[1.5] == 1", 2, "index"), ("a == 0b12", 8, "too large"), ("a == 0o", 7, "octal"), ("a[-x] == 1", 2, "index"),
      ("FUNCTION(a) == 1", 9, "FUNCTION(operand"), ("$'a == 1", 1, "no end"),
      ("a == 99999999999999999999999999999999999999999999e999", 5, "too large"),
      ("a SEARCH '\"x'", 9, "at character 1 of the query"), ("a == 1 AND b SEARCH 'x OR'", 20, "next to OR"),
      ("a SEARCH", 8, "Expected a value"),
    ]
    for (text, position, message) in mistakes {
      let error = try error(text)
      XCTAssertEqual(error.position, position, "\(text): \(error)")
      XCTAssertTrue(error.message.contains(message), "\(text): \(error)")
    }
  }

  func testArgumentsMustFitThePlaceholders() throws {
    XCTAssertTrue(try error("a == %@").message.contains("more placeholders"))
    XCTAssertTrue(try error("a == 1", 5).message.contains("1 arguments were given"))
    XCTAssertTrue(try error("a == %d", "secret").message.contains("Argument 1 has to be an integer"))
    XCTAssertTrue(try error("%K == 1", 5).message.contains("key path"))
    XCTAssertTrue(try error("a == %c", "xy").message.contains("a character"))
    XCTAssertTrue(try error("a == %2$@", 1).message.contains("more placeholders"))
    XCTAssertTrue(try error("a == %1$@", 1, 2).message.contains("2 arguments were given, but the format takes 1"))
    XCTAssertTrue(try error("a[%@] == 1", "secret").message.contains("not an index"))
    XCTAssertFalse(try error("a == %d", "secret").description.contains("secret"))
  }

  func testNestingIsBoundedWithoutExhaustingTheStack() throws {
    let count = 50_000
    for (open, close) in [("(", ")"), ("NOT (", ")"), ("NOT ", ""), ("!", "")] {
      let text = String(repeating: open, count: count) + "a == 1" + String(repeating: close, count: count)
      XCTAssertTrue(try error(text).message.contains("nested deeper"), open)
    }
    for (open, close) in [
      ("-", "a"), ("~", "a"), ("{", "1"), ("CAST(", "a"), ("TERNARY(", "a"), ("SUBQUERY(", "a"), ("max({", "a"), ("coalesce(1, ", "a"),
      ("abs(", "a"), ("a ** ", "a"), ("a.b[0].", "c"),
    ] {
      let text = String(repeating: open, count: count) + close + " == 1"
      XCTAssertTrue(try error(text).message.contains("nested deeper"), open)
    }
    XCTAssertTrue(try error("a == 1" + String(repeating: " + 1", count: count)).message.contains("nested deeper"))
    // A long predicate is not a deep one.
    let long = try FetchPredicate(format: "a == 1" + String(repeating: " OR a == 1", count: 5000))
    guard case .or(let items) = long else { return XCTFail("no OR") }
    XCTAssertEqual(items.count, 5001)
  }
}
