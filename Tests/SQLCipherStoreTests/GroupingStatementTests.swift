import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// The SQL of groups, aggregates and expressions.
final class GroupingStatementTests: XCTestCase {
  private let model = SpecificationModels.library

  private func fetch(
    _ properties: String, by keys: String = "", having: String? = nil, order: [String] = [], entity: String = "Book"
  ) throws -> FetchSpecification {
    var fetch = FetchSpecification(entityName: entity)
    fetch.resultType = .dictionaries
    fetch.propertiesToFetch = try FetchProperty.list(format: properties)
    if !keys.isEmpty { fetch.propertiesToGroupBy = try FetchProperty.list(format: keys) }
    fetch.havingPredicate = try having.map { try FetchPredicate(format: $0) }
    fetch.sortDescriptors = try order.map { FetchSortDescriptor(expression: try FetchExpression(format: $0)) }
    return fetch
  }

  private func shape(_ fetch: FetchSpecification) throws -> FetchShape {
    FetchShape(try FetchResolver(model: model).resolve(fetch), specification: fetch)
  }

  private func sql(_ fetch: FetchSpecification) throws -> String {
    let schema = try StoreSchema(model: model, layout: TableLayout(model: model, entityNumbers: model.entities.map(\.number)))
    let resolved = try FetchResolver(model: model).resolve(fetch)
    return try SelectGenerator(schema: schema).plan(resolved, fetch, try shape(fetch), number: nil).sql
  }

  func testGroupsUseSQLGroupBy() throws {
    XCTAssertEqual(
      try sql(try fetch("author.name, count(*) AS n, max(title)", by: "author.name", having: "n > 2 AND author.name != nil", order: ["n"])),
      #"SELECT t1."name", count(*), max(t0."title") FROM "Book" AS t0 LEFT JOIN "Author" AS t1 ON t1."_pk" = t0."author" "#
        + #"GROUP BY t1."name" HAVING count(*) > ? AND t1."name" IS NOT NULL ORDER BY count(*), t1."name""#)
    XCTAssertEqual(
      try sql(try fetch("author, count(distinct pages)", by: "author")),
      #"SELECT t0."author", (CASE WHEN t0."author" IS NOT NULL THEN 0 END), count(DISTINCT t0."pages") FROM "Book" AS t0 GROUP BY t0."author""#
    )
  }

  func testGroupsByDestinationValuesCombineGroupsOfEachDestination() throws {
    XCTAssertEqual(
      try sql(try fetch("author.name, count(*) AS n, sum(pages)", by: "author.name", order: ["n"])),
      #"SELECT t2."name", sum(g1.p1), coalesce(sum(g1.p2), 0) FROM "#
        + #"(SELECT t0."author" AS "author", count(*) AS p1, sum(t0."pages") AS p2 FROM "Book" AS t0 GROUP BY +t0."author") AS g1 "#
        + #"LEFT JOIN "Author" AS t2 ON t2."_pk" = g1."author" GROUP BY t2."name" ORDER BY sum(g1.p1), t2."name""#)
  }

  func testASelectedCountOfMembersIsNotCountedAgainForTheOrder() throws {
    let sql = try sql(try fetch("name, books.@count", order: ["books.@count", "name"], entity: "Author"))
    XCTAssertTrue(sql.hasSuffix(#" ORDER BY 2, t0."name", t0."_pk""#), sql)
  }

  func testIntegersAreSummedBySQLiteAndOthersExactly() throws {
    XCTAssertEqual(
      try sql(try fetch("sum(pages)")),
      #"SELECT coalesce(sum(t0."pages"), 0) FROM "Book" AS t0"#)
    XCTAssertEqual(
      try sql(try fetch("average(pages)")),
      #"SELECT cd_integer_average(sum(t0."pages") >> 32, sum(t0."pages") & 4294967295, count(t0."pages")) FROM "Book" AS t0"#)
    XCTAssertEqual(
      try sql(try fetch("average(price), median(rating)")), #"SELECT cd_average(t0."price"), cd_median(t0."rating") FROM "Book" AS t0"#)
  }

  func testAConditionOnTheOnlyGroupIsSelected() throws {
    XCTAssertEqual(
      try sql(try fetch("min(pages)", having: "count(*) > 3", order: ["max(pages)"])),
      #"SELECT min(t0."pages"), (count(*) > ?) AND count(*) >= 0 FROM "Book" AS t0"#)
    XCTAssertEqual(try sql(try fetch("5 AS five", order: ["count(*)"])), #"SELECT ?, count(*) >= 0 FROM "Book" AS t0"#)
  }

  func testCountsCountRows() throws {
    func count(_ fetch: FetchSpecification) throws -> String {
      var fetch = fetch
      fetch.resultType = .count
      return try sql(fetch)
    }
    XCTAssertEqual(
      try count(try fetch("pages", by: "pages", having: "count(*) > 1", order: ["pages"])),
      #"SELECT count(*) FROM (SELECT t0."pages" FROM "Book" AS t0 GROUP BY t0."pages" HAVING count(*) > ?)"#)
    var distinct = try fetch("pages", order: ["pages"])
    XCTAssertEqual(try count(distinct), #"SELECT count(*) FROM "Book" AS t0"#, "there is one row an object")
    distinct.returnsDistinctResults = true
    distinct.fetchLimit = 5
    XCTAssertEqual(try count(distinct), #"SELECT count(*) FROM (SELECT DISTINCT t0."pages" FROM "Book" AS t0 LIMIT ?)"#)
    XCTAssertEqual(try count(try fetch("count(*)", having: "count(*) > 1")), #"SELECT (count(*) > ?) AND count(*) >= 0 FROM "Book" AS t0"#)
  }

  func testDistinctRowsHaveADefiniteOrder() throws {
    var distinct = try fetch("title, pages", order: ["pages"])
    distinct.returnsDistinctResults = true
    XCTAssertEqual(
      try sql(distinct), #"SELECT DISTINCT t0."title", t0."pages" FROM "Book" AS t0 ORDER BY t0."pages", t0."title""#)
  }

  func testNumericConstantIsNotAColumnPosition() throws {
    // All objects of the table belong to one entity: its number is a constant.
    let number = try XCTUnwrap(model.entity(named: "Book")).number
    XCTAssertEqual(
      try sql(try fetch("count(*)", by: "entity", order: ["entity"])),
      #"SELECT count(*) FROM "Book" AS t0 GROUP BY (\#(number) + 0) ORDER BY (\#(number) + 0)"#)
  }

  func testConstantsAreBoundAndShareAPlan() throws {
    func shape(_ title: String, _ factor: Int, _ least: Int) throws -> FetchShape {
      var fetch = try fetch(
        "pages * \(factor) AS many, count(*) AS n", by: "pages * \(factor)", having: "n > \(least) AND max(title) == '\(title)'",
        order: ["TERNARY(n > \(least), 100, 200)"])
      XCTAssertFalse(try sql(fetch).contains(title))
      XCTAssertFalse(try sql(fetch).contains("\(factor)"))
      fetch.predicate = .compare("title", .equal, title)
      return try self.shape(fetch)
    }
    XCTAssertEqual(try shape("abc", 77, 88), try shape("xyz", 55, 66))
    XCTAssertNotEqual(try shape("abc", 77, 88), try shape("abc", 77, 77), "two equal constants are one")
  }

  func testAGroupedKeyWithAnIndexIsNotSorted() throws {
    let store = try TestStore()
    let open = try store.open()
    try open.insert("Tag", ["name": .text("a")])
    let fetch = try fetch("name, count(*) AS n", by: "name", having: "n > 0", order: ["name"], entity: "Tag")
    let statements = try store.statements { XCTAssertEqual(try open.dictionaries(fetch).rows, [[.text("a"), .int(1)]]) }
    XCTAssertEqual(statements.count, 1)
    let request = PersistentStoreRequest.fetch(fetch)
    guard case .fetch = request else { return }
    let explanation = try open.store.explain(fetch, in: open.scope)
    XCTAssertFalse("\(explanation)".contains("TEMP B-TREE"), "\(explanation)")
  }
}
