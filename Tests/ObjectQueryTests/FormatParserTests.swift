import Foundation
import ObjectQuery
import XCTest

/// Each construct of the format language.
final class FormatParserTests: XCTestCase {
  private func parse(_ format: String, _ arguments: (any FetchConstantConvertible)?...) throws -> FetchPredicate {
    try FetchPredicate(format: format, argumentArray: arguments)
  }

  func testEveryComparisonOperatorHasItsSpellings() throws {
    let spellings: [(String, ComparisonOperator)] = [
      ("=", .equal), ("==", .equal), ("!=", .notEqual), ("<>", .notEqual), ("<", .less), ("<=", .lessOrEqual), ("=<", .lessOrEqual),
      (">", .greater), (">=", .greaterOrEqual), ("=>", .greaterOrEqual), ("contains", .contains), ("BeginsWith", .beginsWith),
      ("ENDSWITH", .endsWith), ("like", .like), ("matches", .matches),
    ]
    for (spelling, op) in spellings { XCTAssertEqual(try parse("a \(spelling) 'x'"), .compare("a", op, "x"), spelling) }
    XCTAssertEqual(try parse("a between {1, 2}"), .compare("a", .between, [1, 2]))
    XCTAssertEqual(try parse("a IN {'x', \"y\"}"), .compare("a", .in, ["x", "y"]))
    XCTAssertEqual(try parse("a IN {}"), .compare("a", .in, FetchConstant.list([])))
  }

  func testOptionsFollowTheOperator() throws {
    XCTAssertEqual(try parse("a CONTAINS[cd] 'x'"), .compare("a", .contains, "x", options: [.caseInsensitive, .diacriticInsensitive]))
    XCTAssertEqual(try parse("a ==[c] 'x'"), .compare("a", .equal, "x", options: .caseInsensitive))
    XCTAssertEqual(try parse("a <[l] 'x'"), .compare("a", .less, "x", options: .localeSensitive))
    XCTAssertEqual(try parse("a LIKE [N] 'x'"), .compare("a", .like, "x", options: .normalized))
  }

  func testLiterals() throws {
    let literals: [(String, FetchConstant)] = [
      ("1", .int(1)), ("-9223372036854775808", .int(.min)), ("0x1F", .int(31)), ("0o17", .int(15)), ("-0B101", .int(-5)),
      ("1.5", .real(1.5)), ("-2e3", .real(-2000)),
      ("TRUE", .bool(true)), ("yes", .bool(true)), ("False", .bool(false)), ("no", .bool(false)), ("nil", .null), ("NULL", .null),
      (#"'it\'s'"#, .string("it's")), (#""tab\tand \u00e9""#, .string("tab\tand é")), ("{1, {2}}", .list([.int(1), .list([.int(2)])])),
      ("CAST(5, 'NSDate')", .date(Date(timeIntervalSinceReferenceDate: 5))),
      ("CAST('2001-01-01T00:00:05Z', 'Date')", .date(Date(timeIntervalSinceReferenceDate: 5))),
      ("CAST('2001-01-02', 'Date')", .date(Date(timeIntervalSinceReferenceDate: 86_400))),
      ("CAST('1.10', 'NSDecimalNumber')", .decimal(Decimal(string: "1.1") ?? 0)),
      ("123456789012345678.25", .decimal(Decimal(string: "123456789012345678.25") ?? 0)),
    ]
    for (text, constant) in literals { XCTAssertEqual(try parse("a == \(text)"), .compare("a", .equal, constant), text) }
  }

  func testNumbersAreWrittenAsInC() throws {
    let literals: [(String, FetchConstant)] = [
      (".5", .real(0.5)), ("-.5", .real(-0.5)), ("5.", .real(5)), ("-5.", .real(-5)), ("0.", .real(0)), ("1e3", .real(1000)),
      ("1E+3", .real(1000)),
      ("25e-1", .real(2.5)), (".5e1", .real(5)), ("5.e2", .real(500)), ("5.5E-1", .real(0.55)), ("0x1F", .int(31)), ("-0xff", .int(-255)),
      ("007", .int(7)),
      ("{.5, 5., 1}", .list([.real(0.5), .real(5), .int(1)])),
      (".123456789012345678901", .decimal(Decimal(string: "0.123456789012345678901") ?? 0)),
    ]
    for (text, constant) in literals { XCTAssertEqual(try parse("a == \(text)"), .compare("a", .equal, constant), text) }
    for (format, other) in [
      ("a > .5 AND b < 5. AND c == 1", "a > 0.5 AND b < 5.0 AND c == 1"), ("NOT .5 > a", "NOT 0.5 > a"),
      ("a+.5==5.-b", "a + 0.5 == 5.0 - b"),
      ("a BETWEEN{.5,5.}", "a BETWEEN {0.5, 5.0}"), ("max(.5, 5.) == 5.", "max(0.5, 5.0) == 5.0"),
      ("a ** .5 == 5. %% 2", "a ** 0.5 == 5.0 %% 2"),
      ("a IN {5.}AND b == (.5)", "a IN {5.0} AND b == (0.5)"),
    ] { XCTAssertEqual(try parse(format), try parse(other), format) }
    for format in [
      "a.5 == 1", "a == 5.5.5", "a == 5..5", "a == .", "a == .e3", "a == 1e", "a == 0x", "a == 1_000", "a == 5L", "a[1.] == 2",
      "SELF.5 == 1",
    ] {
      XCTAssertThrowsError(try parse(format), format) { XCTAssertTrue($0 is PredicateFormatError, "\($0)") }
    }
  }

  func testPlusSignsOfNumbersAreRejected() throws {
    for format in ["a == +5", "a == +.5", "+a == 5", "a == +(5)", "a + +5 == 1", "a IN {+5}"] {
      XCTAssertThrowsError(try parse(format), format) { error in
        XCTAssertTrue("\(error)".contains("leave out the sign of a positive number"), "\(error)")
        XCTAssertTrue(error is PredicateFormatError, format)
      }
    }
    XCTAssertEqual(try parse("a == 1+5"), try parse("a == 1 + 5"))
    XCTAssertEqual(try parse("a == - -5"), try parse("a == -(-5)"))
  }

  func testPlaceholdersTakeArguments() throws {
    XCTAssertEqual(try parse("%K == %@", "author.name", "x"), .compare("author.name", .equal, "x"))
    XCTAssertEqual(try parse("author.%K == %@", "name", nil), .compare("author.name", .equal, nil))
    XCTAssertEqual(try parse("a IN %@", ["x", "y"]), .compare("a", .in, ["x", "y"]))
    XCTAssertEqual(
      try parse("a == %d AND b == %ld OR c < %f", 1, 2, 2.5),
      .or([.and([.compare("a", .equal, 1), .compare("b", .equal, 2)]), .compare("c", .less, 2.5)]))
    XCTAssertEqual(try parse("a == '%@'"), .compare("a", .equal, "%@"))
    XCTAssertEqual(try parse("a == %f", 3), .compare("a", .equal, 3.0))
  }

  func testEveryPrintfFormTakesItsArgument() throws {
    for form in ["%d", "%i", "%u", "%x", "%X", "%o", "%ld", "%lld", "%lu", "%llu", "%hd", "%qd", "%zu", "%D"] {
      XCTAssertEqual(try parse("a == \(form)", 7), .compare("a", .equal, 7), form)
    }
    for form in ["%f", "%g", "%e", "%F", "%G", "%E", "%a", "%Lf", "%lf"] {
      XCTAssertEqual(try parse("a == \(form)", 0.5), .compare("a", .equal, 0.5), form)
    }
    XCTAssertEqual(try parse("a == %s", "x"), .compare("a", .equal, "x"))
    XCTAssertEqual(try parse("a == %c OR a == %c", 120, "y"), .or([.compare("a", .equal, "x"), .compare("a", .equal, "y")]))
    XCTAssertEqual(
      try parse("%2$K == %1$@ AND b == %1$@", "x", "a"), .and([.compare("a", .equal, "x"), .compare("b", .equal, "x")]))
    XCTAssertEqual(try parse("%K.@count > %@", "books", 3), .compare("books.@count", .greater, 3))
    XCTAssertEqual(
      try parse("ANY %K.name LIKE[c] %@", "tags", "x*"), .compare("tags.name", .like, "x*", modifier: .any, options: .caseInsensitive))
    XCTAssertEqual(try parse("books[%d].title == 'x'", 2), try parse("books[2].title == 'x'"))
  }

  func testKeysMayBeSpelledLikeKeywords() throws {
    XCTAssertEqual(try parse("#in == 1"), .compare("in", .equal, 1))
    XCTAssertEqual(
      try parse("a.any.#'two words' == 1"),
      .comparison(
        FetchComparison(left: .keyPath(["a", "any", "two words"]), op: .equal, right: .constant(.int(1)))))
  }

  func testAndBindsTighterThanOrAndNotTighterThanBoth() throws {
    let (a, b, c) = (FetchPredicate.compare("a", .equal, 1), FetchPredicate.compare("b", .equal, 2), FetchPredicate.compare("c", .equal, 3))
    XCTAssertEqual(try parse("a == 1 OR b == 2 AND c == 3"), .or([a, .and([b, c])]))
    XCTAssertEqual(try parse("(a == 1 || b == 2) && c == 3"), .and([.or([a, b]), c]))
    XCTAssertEqual(try parse("NOT a == 1 AND !b == 2"), .and([.not(a), .not(b)]))
    XCTAssertEqual(try parse("a == 1 and b == 2 and c == 3"), .and([a, b, c]))
    XCTAssertEqual(try parse("(a == 1 and b == 2) and c == 3"), .and([.and([a, b]), c]))
    XCTAssertEqual(try parse("truepredicate AND a == 1"), .and([.constant(true), a]))
  }

  func testModifiersCollectionsAndSubqueries() throws {
    XCTAssertEqual(try parse("ANY tags.name == 'x'"), .compare("tags.name", .equal, "x", modifier: .any))
    XCTAssertEqual(try parse("SOME tags.name == 'x'"), .compare("tags.name", .equal, "x", modifier: .any))
    XCTAssertEqual(try parse("NONE tags.name == 'x'"), .compare("tags.name", .equal, "x", modifier: .none))
    XCTAssertEqual(try parse("ALL tags.name == 'x'"), .compare("tags.name", .equal, "x", modifier: .all))
    XCTAssertEqual(try parse("books.@count > 1"), .compare("books.@count", .greater, 1))
    XCTAssertEqual(try parse("books.@sum.pages > 1"), .compare("books.@sum.pages", .greater, 1))
    let condition = FetchComparison(left: .path(.variable("b"), ["pages"]), op: .greater, right: .constant(.int(9)))
    let subquery = FetchExpression.subquery(collection: .keyPath("books"), variable: "b", predicate: .comparison(condition))
    XCTAssertEqual(
      try parse("SUBQUERY(books, $b, $b.pages > 9).@count > 0"),
      .comparison(FetchComparison(left: .path(subquery, ["@count"]), op: .greater, right: .constant(.int(0)))))
  }

  func testExpressions() throws {
    func expression(_ text: String) throws -> FetchExpression { try FetchExpression(format: text) }
    let (a, b) = (FetchExpression.keyPath("a"), FetchExpression.keyPath("b"))
    XCTAssertEqual(try expression("a + b * 2"), .function("add:to:", [a, .function("multiply:by:", [b, .constant(.int(2))])]))
    XCTAssertEqual(try expression("(a + b) - 2"), .function("from:subtract:", [.function("add:to:", [a, b]), .constant(.int(2))]))
    XCTAssertEqual(try expression("a ** b ** 2"), .function("raise:toPower:", [a, .function("raise:toPower:", [b, .constant(.int(2))])]))
    XCTAssertEqual(try expression("a %% 2"), .function("modulus:by:", [a, .constant(.int(2))]))
    XCTAssertEqual(try expression("modulus:by:(a, 2)"), .function("modulus:by:", [a, .constant(.int(2))]))
    XCTAssertEqual(try expression("-a"), .function("from:subtract:", [.constant(.int(0)), a]))
    XCTAssertEqual(try expression("abs(a)"), .function("abs:", [a]))
    XCTAssertEqual(try expression("now()"), .function("now", []))
    XCTAssertEqual(try expression("FUNCTION(a, 'uppercase:')"), .function("uppercase:", [a]))
    XCTAssertEqual(try expression("FUNCTION(a, 'add:to:', b)"), .function("add:to:", [a, b]))
    XCTAssertEqual(try expression("FUNCTION('now')"), .function("now", []))
    XCTAssertEqual(try expression("coalesce(a, b, 1)"), .function("coalesce", [a, b, .constant(.int(1))]))
    XCTAssertEqual(try expression("CAST(a, 'Int')"), .function("castObject:toType:", [a, .constant(.string("Int"))]))
    XCTAssertEqual(try expression("CAST('7', 'Int')"), .constant(.int(7)))
    XCTAssertEqual(try expression("CAST(1.5, 'NSString')"), .constant(.string("1.5")))
    XCTAssertEqual(try expression("books[-1]"), .element(.keyPath("books"), .at(-1)))
    XCTAssertEqual(
      try expression("books[LAST].chapters[0].title"),
      .path(.element(.path(.element(.keyPath("books"), .last), ["chapters"]), .at(0)), ["title"]))
    XCTAssertEqual(try expression("$'two words'"), .variable("two words"))
    XCTAssertEqual(try expression("books[FIRST].title"), .path(.element(.keyPath("books"), .first), ["title"]))
    XCTAssertEqual(try expression("books[SIZE]"), .element(.keyPath("books"), .size))
    XCTAssertEqual(try expression("{a, 1}"), .aggregate([a, .constant(.int(1))]))
    XCTAssertEqual(try expression("TERNARY(a > 1, a, b)"), .conditional(.compare("a", .greater, 1), a, b))
    XCTAssertEqual(
      try parse("SELF IN %@", ["x"]),
      .comparison(
        FetchComparison(left: .evaluatedObject, op: .in, right: .constant(.list([.string("x")])))))
  }

  func testVariablesAreSubstitutedByValues() throws {
    let template = try parse("name == $name AND age IN {$low, 5} AND SUBQUERY(books, $b, $b.pages > $low).@count > 0")
    let predicate = template.withSubstitutionVariables(["name": "x", "low": 1, "b": 7])
    XCTAssertEqual(predicate, try parse("name == 'x' AND age IN {1, 5} AND SUBQUERY(books, $b, $b.pages > 1).@count > 0"))
  }

  func testVariablesAreSubstitutedByExpressions() throws {
    let template = try parse(
      "$key BEGINSWITH $start AND $who.name == 'x' AND name IN $list AND books[0] == $book AND $who.books.@count > 1")
    let predicate = template.withSubstitutionExpressions(["key": .keyPath("author.name"), "who": .keyPath("author.mentor")])
      .withSubstitutionVariables(["start": "A", "list": ["x", "y"], "book": nil])
    XCTAssertEqual(
      predicate,
      try parse(
        "author.name BEGINSWITH 'A' AND author.mentor.name == 'x' AND name IN {'x', 'y'} AND books[0] == nil AND author.mentor.books.@count > 1"
      ))
    XCTAssertEqual(
      try parse("$x.name == 1").withSubstitutionExpressions(["x": .evaluatedObject]), try parse("SELF.name == 1"))
  }

  func testDatesAreReadFromText() throws {
    func seconds(_ text: String) throws -> Double? {
      guard case .constant(.date(let date)) = try FetchExpression(format: "CAST(\"\(text)\", 'Date')") else { return nil }
      return date.timeIntervalSinceReferenceDate
    }
    XCTAssertEqual(try seconds("2001-01-01"), 0)
    XCTAssertEqual(try seconds("2001-01-01T00:01Z"), 60)
    XCTAssertEqual(try seconds("2001-01-01T02:00:00+02:00"), 0)
    XCTAssertEqual(try seconds("2001-01-01T02:00:00.250+0200"), 0.25)
    XCTAssertEqual(try seconds("2000-02-29T00:00:00Z"), -26_524_800)
    XCTAssertEqual(try seconds("1970-01-01T00:00:00Z"), -978_307_200)
    XCTAssertEqual(try seconds("0001-01-01"), -63_113_904_000)
    XCTAssertEqual(try seconds("2100-03-01"), 3_129_235_200)
    for text in ["", "2001", "2001-13-01", "2001-02-29", "2001-01-01T", "2001-01-01T25:00Z", "2001-01-01T00:00", "2001-01-01T00:00Zx", "x"]
    {
      XCTAssertThrowsError(try seconds(text), text)
    }
  }

  func testParsedPredicatesEvaluate() throws {
    let library = try Library()
    try library.add("Author", 1, ["name": "Ada Lovelace"])
    try library.add("Book", 10, ["title": "Élan", "pages": 100, "price": Decimal(9)], toOne: ["author": 1])
    try library.add("Book", 11, ["title": "Zen", "pages": 50])
    let questions: [(String, [Int])] = [
      ("title BEGINSWITH[cd] 'e'", [10]), ("author.name ENDSWITH 'lace' AND pages >= 100", [10]), ("NOT (author != nil)", [11]),
      ("pages BETWEEN {50, 60} OR title LIKE '?lan'", [10, 11]), ("pages * 2 + 1 == 101", [11]), ("price < 9.5", [10]),
      ("title MATCHES[c] 'z.*'", [11]), ("pages %% 3 == 1", [10]), ("title IN {'Zen', nil}", [11]),
      ("title BETWEEN[cd] {'D', 'ELB'}", [10]), ("ANY author.books.pages > 60", [10]),
    ]
    for (text, answer) in questions { XCTAssertEqual(try library.fetch("Book", FetchPredicate(format: text)), answer, text) }
  }
}
