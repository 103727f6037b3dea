import ObjectQuery
import XCTest

/// Properties of dictionary results, from text and as values.
final class FetchPropertyTests: XCTestCase {
  private func expression(_ format: String) throws -> FetchExpression { try FetchExpression(format: format) }

  func testAListOfPropertiesIsParsedWithNames() throws {
    let properties = try FetchProperty.list(
      format: "count(name) AS n, sum(installedSize), section, median( price )  as #in, author.name as who")
    XCTAssertEqual(
      properties,
      [
        .expression(.function("count:", [.keyPath("name")]), as: "n"),
        .expression(.function("sum:", [.keyPath("installedSize")]), as: "sum(installedSize)"), "section",
        .expression(.function("median:", [.keyPath("price")]), as: "in"), .expression(.keyPath("author.name"), as: "who"),
      ])
    XCTAssertEqual(properties.map(\.name), ["n", "sum(installedSize)", "section", "in", "who"])
    XCTAssertEqual(properties[2].expression, .keyPath("section"))
  }

  func testPropertiesTakeArgumentsAndQuotedNames() throws {
    XCTAssertEqual(
      try FetchProperty.list(format: "price * %d AS \"twice the price\", books.@count", 2),
      [.expression(.function("multiply:by:", [.keyPath("price"), .constant(.int(2))]), as: "twice the price"), "books.@count"])
    XCTAssertThrowsError(try FetchProperty.list(format: "price * %d"))
    XCTAssertThrowsError(try FetchProperty.list(format: "price", 1))
  }

  func testCountAppliesToAllObjectsOrDistinctValues() throws {
    XCTAssertEqual(try expression("count(*)"), .function("count:", [.evaluatedObject]))
    XCTAssertEqual(try expression("count(SELF)"), .function("count:", [.evaluatedObject]))
    let different = FetchExpression.function("count:", [.function("distinct:", [.keyPath("name")])])
    for format in [
      "count(distinct name)", "count(DISTINCT name)", "count(distinct(name))", "count:(distinct:(name))", "count(distinct #name)",
    ] {
      XCTAssertEqual(try expression(format), different, format)
    }
    XCTAssertEqual(try expression("avg(price)"), try expression("average(price)"))
  }

  func testDistinctCanBeAKey() throws {
    XCTAssertEqual(try expression("count(distinct)"), .function("count:", [.keyPath("distinct")]))
    XCTAssertEqual(try expression("count(distinct.name)"), .function("count:", [.keyPath("distinct.name")]))
    XCTAssertEqual(
      try expression("sum(distinct + 1)"), .function("sum:", [.function("add:to:", [.keyPath("distinct"), .constant(.int(1))])]))
  }

  func testAggregatesArePrintedSoThatTheyParseAgain() throws {
    for format in ["count(*)", "count(distinct author.name)", "sum(price * quantity) + 1", "avg(price)", "median(books.@count)"] {
      let parsed = try expression(format)
      XCTAssertEqual(try expression(parsed.description), parsed, parsed.description)
    }
  }

  func testPropertyListErrorsHavePositions() {
    for (format, message) in [
      ("name,", "Expected a value, a key path or a condition, not the end"), ("count(name) AS", "Expected a name after AS, not the end"),
      ("name section", "Expected after the property: AS and a name, a comma, or the end, not section"),
      ("", "Expected a value, a key path or a condition, not the end"),
      ("count(distinct name", "Expected ) to close the function's arguments, not the end"),
    ] {
      XCTAssertThrowsError(try FetchProperty.list(format: format)) { error in
        XCTAssertTrue("\(error)".contains(message), "\(error)")
      }
    }
  }

  func testDictionaryRequestsAreBuiltInOneExpression() throws {
    let count = try expression("count(name)")
    let request = FetchRequest<[String: Any]>(entityName: "Package")
      .selecting("section", .expression(count, as: "n")).grouped(by: "section").having(.compare("n", .greater, 200))
      .having(.compare("section", .notEqual, nil)).sorted(by: count, ascending: false).sorted(by: "section").distinct()
    XCTAssertEqual(request.propertiesToFetch, ["section", .expression(ExpressionDescription(name: "n", expression: count))])
    XCTAssertEqual(request.propertiesToGroupBy, ["section"])
    XCTAssertEqual(request.havingPredicate, .and([.compare("n", .greater, 200), .compare("section", .notEqual, nil)]))
    XCTAssertEqual(request.sortDescriptors, [FetchSortDescriptor(expression: count, ascending: false), FetchSortDescriptor("section")])
    XCTAssertEqual(request.sortDescriptors.map(\.keyPath), [nil, "section"])
    XCTAssertTrue(request.returnsDistinctResults)
  }
}
