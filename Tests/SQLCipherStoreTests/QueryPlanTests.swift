import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// The SQL of fetches, the use of indexes, and lists of any length.
final class QueryPlanTests: XCTestCase {
  private func sql(_ fetch: FetchSpecification, _ model: CompiledModel = SpecificationModels.library, findsTopRows: Bool = false) throws
    -> String
  {
    let schema = try StoreSchema(model: model, layout: TableLayout(model: model, entityNumbers: model.entities.map(\.number)))
    let resolved = try FetchResolver(model: model).resolve(fetch)
    let shape = FetchShape(resolved, specification: fetch)
    return try SelectGenerator(schema: schema, findsTopRows: findsTopRows).plan(resolved, fetch, shape, number: nil).sql
  }

  private func condition(_ predicate: FetchPredicate) throws -> String {
    var fetch = FetchSpecification(entityName: "Book", predicate: predicate)
    fetch.resultType = .count
    return try sql(fetch).replacing("SELECT count(*) FROM \"Book\" AS t0", with: "")
  }

  func testPositionsAndFunctionsHaveTheExpectedSQL() throws {
    let cases: [(String, String)] = [
      (
        "chapters[2].title == 'x'",
        #" WHERE (SELECT t1."title" FROM "Chapter" AS t1 WHERE t1."book" = t0."_pk" AND t1."_pk" = (SELECT p2."_pk" FROM "Chapter" AS p2"#
          + #" WHERE p2."book" = t0."_pk" ORDER BY p2."book_order", p2."_pk" LIMIT 1 OFFSET ?)) = ?"#
      ),
      ("noindex:(isbn) == 'x'", #" WHERE +t0."isbn" = ?"#), ("noindex:(isbn) BEGINSWITH 'x'", #" WHERE cd_begins(+t0."isbn", ?)"#),
      ("coalesce(pages, 0) == 5", #" WHERE coalesce(t0."pages", ?) = ?"#), ("random() < 0.5", " WHERE cd_random() < ?"),
      ("pages == 1 OR pages == 2 OR pages == 3", #" WHERE t0."pages" IN (?, ?, ?, ?)"#),
    ]
    for (format, expected) in cases { XCTAssertEqual(try condition(FetchPredicate(format: format)), expected, format) }
    let place = FetchSpecification(entityName: "Book", predicate: try FetchPredicate(format: "chapters[0].title == 'x'"))
    let other = FetchSpecification(entityName: "Book", predicate: try FetchPredicate(format: "chapters[7].title == 'y'"))
    // Offsets are bound values, so that one plan serves all.
    XCTAssertEqual(try sql(place), try sql(other))
  }

  func testConditionsAreFlatAndNeverUnknown() throws {
    let same = FetchPredicate.comparison(FetchComparison(left: .keyPath("title"), op: .equal, right: .keyPath("isbn")))
    let cases: [(FetchPredicate, String)] = [
      (.compare("title", .equal, "x"), #" WHERE t0."title" = ?"#),
      (.compare("title", .notEqual, "x"), #" WHERE t0."title" IS NOT ?"#),
      (.compare("title", .equal, nil), #" WHERE t0."title" IS NULL"#),
      (same, #" WHERE t0."title" IS t0."isbn""#),
      (.compare("pages", .less, 3), #" WHERE t0."pages" < ?"#),
      (!.compare("pages", .less, 3), #" WHERE (t0."pages" < ?) IS NOT 1"#),
      (.compare("pages", .in, [1, 2, 3]), #" WHERE t0."pages" IN (?, ?, ?, ?)"#),
      (.compare("pages", .between, [1, 2]), #" WHERE (t0."pages" >= ? AND t0."pages" <= ?)"#),
      (.compare("title", .beginsWith, "x"), #" WHERE (t0."title" >= ? AND t0."title" < ?)"#),
      (.compare("title", .contains, "x", options: .caseInsensitive), #" WHERE cd_contains(cd_fold(t0."title", 1), ?)"#),
      (.compare("author.name", .equal, "x"), #" JOIN "Author" AS t1 ON t1."_pk" = t0."author" WHERE t1."name" = ?"#),
      (.compare("author.name", .notEqual, "x"), #" LEFT JOIN "Author" AS t1 ON t1."_pk" = t0."author" WHERE t1."name" IS NOT ?"#),
      (.compare("author", .equal, nil), #" WHERE t0."author" IS NULL"#),
      (
        .compare("chapters.pages", .greater, 3, modifier: .any),
        #" WHERE EXISTS (SELECT 1 FROM "Chapter" AS t1 WHERE t1."book" = t0."_pk" AND t1."pages" > ?)"#
      ),
      (
        .compare("tags.name", .equal, "x", modifier: .any),
        #" WHERE t0."_pk" IN (SELECT j1."source" FROM "Book_tags" AS j1 JOIN "Tag" AS t2 ON t2."_pk" = j1."target""#
          + #" WHERE j1."source" IS NOT NULL AND t2."name" = ?)"#
      ),
      (
        .compare("tags.@count", .greater, 2),
        #" WHERE t0."_pk" IN (SELECT j1."source" FROM "Book_tags" AS j1 WHERE j1."source" IS NOT NULL"#
          + #" GROUP BY j1."source" HAVING count(*) > ?)"#
      ),
      (.compare("tags.@count", .greaterOrEqual, 0), ""),
      (.compare("tags.@count", .less, 0), " WHERE 0"),
      (
        .compare("tags.@count", .greater, 2) && .compare("isbn", .equal, "x"),
        #" WHERE (SELECT count(*) FROM "Book_tags" AS j1 WHERE j1."source" = t0."_pk") > ? AND t0."isbn" = ?"#
      ),
      (.compare("tags.@count", .equal, 0), #" WHERE NOT EXISTS (SELECT 1 FROM "Book_tags" AS j1 WHERE j1."source" = t0."_pk")"#),
    ]
    for (predicate, expected) in cases { XCTAssertEqual(try condition(predicate), expected) }
  }

  func testOrderByARelationshipUsesOneJoin() throws {
    var fetch = FetchSpecification(entityName: "Chapter", predicate: .compare("book.title", .equal, "x") || .compare("pages", .less, 3))
    fetch.sortDescriptors = [
      FetchSortDescriptor("book.title", comparison: .caseInsensitive), FetchSortDescriptor("title", ascending: false),
    ]
    fetch.fetchLimit = 10
    XCTAssertEqual(
      try sql(fetch),
      #"SELECT t0."_pk", t0."_version", t0."title", t0."pages", t0."book" FROM "Chapter" AS t0 "#
        + #"LEFT JOIN "Book" AS t1 ON t1."_pk" = t0."book" WHERE (t1."title" = ? OR t0."pages" < ?) "#
        + #"ORDER BY t1."title" COLLATE cd_caseInsensitive, t0."title" DESC, t0."_pk" LIMIT ?"#)
  }

  func testLimitedOrderAvoidsSortingAllRows() throws {
    var fetch = FetchSpecification(entityName: "Book", predicate: .compare("pages", .greater, 3))
    fetch.fetchLimit = 10
    fetch.sortDescriptors = [FetchSortDescriptor("rating"), FetchSortDescriptor("author.name", ascending: false)]
    XCTAssertEqual(
      try sql(fetch, findsTopRows: true),
      #"SELECT t0."_pk", t0."rating", t1."name" FROM "Book" AS t0 LEFT JOIN "Author" AS t1 ON t1."_pk" = t0."author" WHERE t0."pages" > ?"#)
    fetch.sortDescriptors = [FetchSortDescriptor("isbn")]
    XCTAssertTrue(try sql(fetch, findsTopRows: true).hasSuffix(#"ORDER BY t0."isbn", t0."_pk" LIMIT ?"#), "an index has that order")
    fetch.sortDescriptors = [FetchSortDescriptor("author.name", comparison: .localized)]
    XCTAssertTrue(try sql(fetch, findsTopRows: true).contains("COLLATE"))
  }

  func testUnlimitedRowsAreSortedByTheReaderWithoutAnIndex() throws {
    var fetch = FetchSpecification(entityName: "Book", predicate: .compare("pages", .greater, 3))
    fetch.sortDescriptors = [FetchSortDescriptor("rating"), FetchSortDescriptor("title", ascending: false)]
    XCTAssertTrue(try sql(fetch).hasSuffix(#"WHERE t0."pages" > ?"#))
    fetch.sortDescriptors = [FetchSortDescriptor("isbn")]
    XCTAssertTrue(try sql(fetch).hasSuffix(#"ORDER BY t0."isbn", t0."_pk""#), "an index has that order")
    fetch.sortDescriptors = [FetchSortDescriptor("author.name")]
    XCTAssertTrue(try sql(fetch).hasSuffix(#"ORDER BY t1."name", t0."_pk""#), "the rows do not have it")
    fetch.sortDescriptors = [FetchSortDescriptor("title", comparison: .caseInsensitive)]
    XCTAssertTrue(try sql(fetch).contains("ORDER BY"))
    fetch.sortDescriptors = [FetchSortDescriptor("title")]
    fetch.resultType = .objectIDs
    XCTAssertTrue(try sql(fetch).contains("ORDER BY"), "no rows are read")
  }

  func testComparedAndSelectedCountIsComputedOnce() throws {
    var fetch = FetchSpecification(entityName: "Author", predicate: .compare("books.@count", .greater, 2))
    fetch.resultType = .objectIDs
    fetch.sortDescriptors = [FetchSortDescriptor("books.@count", ascending: false)]
    XCTAssertEqual(
      try sql(fetch),
      #"SELECT t0."_pk" FROM "Author" AS t0 JOIN (SELECT t1."author" AS owner, count(*) AS number FROM "Book" AS t1 "#
        + #"GROUP BY t1."author" HAVING count(*) > ?) AS c2 ON c2.owner = t0."_pk" WHERE 1 "#
        + #"ORDER BY c2.number DESC, t0."_pk""#)
    fetch.predicate = .compare("books.@count", .greater, 2) || .compare("name", .equal, "x")
    XCTAssertFalse(try sql(fetch).contains("JOIN"), "not every author has to have books")
  }

  func testSubentitiesUseARangeOfNumbers() throws {
    var fetch = FetchSpecification(entityName: "Video")
    fetch.resultType = .objectIDs
    XCTAssertEqual(
      try sql(fetch, SpecificationModels.assets), #"SELECT t0."_pk", t0."_entity" FROM "Asset" AS t0 WHERE t0."_entity" BETWEEN 5 AND 6"#)
    fetch.includesSubentities = false
    XCTAssertEqual(
      try sql(fetch, SpecificationModels.assets), #"SELECT t0."_pk" FROM "Asset" AS t0 WHERE t0."_entity" = 5"#)
    fetch.entityName = "Asset"
    fetch.includesSubentities = true
    XCTAssertEqual(try sql(fetch, SpecificationModels.assets), #"SELECT t0."_pk", t0."_entity" FROM "Asset" AS t0"#)
  }

  func testIndexesAreUsed() throws {
    let store = try TestStore()
    let open = try store.open()
    try open.insert("Tag", ["name": .text("a")])
    let predicates: [FetchPredicate] = [
      .compare("isbn", .equal, "x"), .compare("isbn", .beginsWith, "x"), .compare("isbn", .in, ["a", "b"]),
      .compare("isbn", .greater, "x"), .compare("tags.name", .equal, "x", modifier: .any), .compare("author.name", .equal, "x"),
    ]
    let path = store.url.path
    let keyring = try waitFor { try await StoreKeyring.unlock(storePath: path, key: TestStore.key) }
    let connection = try Connection(opening: path, key: try keyring.databaseKey())
    defer { connection.close() }
    try SQLFunctions.register(on: connection)
    for predicate in predicates {
      let fetch = FetchSpecification(entityName: "Book", predicate: predicate)
      let statement = try connection.statement(sql: "EXPLAIN QUERY PLAN " + (try sql(fetch)))
      var plan: [String] = []
      while try statement.step() { plan.append(statement.text(3)) }
      XCTAssertTrue(plan.contains { $0.contains("Book") || $0.contains("t0") } || !plan.isEmpty)
      if predicate != .compare("author.name", .equal, "x") {
        XCTAssertFalse(plan.contains { $0.hasPrefix("SCAN TABLE Book AS t0") && !$0.contains("USING") }, "\(predicate): \(plan)")
      }
    }
  }

  func testListsOfAnyLengthWork() throws {
    let store = try TestStore()
    let open = try store.open()
    let ids = try open.newIDs("Tag", count: 3_000)
    try open.save { save in
      for (index, id) in ids.enumerated() { try save.insert(id, ["name": .text("tag \(index)")]) }
      try save.insert("Book", ["title": .text("b"), "pages": .int(7)])
    }
    for count in [1, 2, 255, 256, 257, 300, 999, 1_000, 2_999] {
      let names = (0..<count).map { "tag \($0)" } + ["none"]
      XCTAssertEqual(try open.count(FetchSpecification(entityName: "Tag", predicate: .compare("name", .in, names))), count)
      XCTAssertEqual(try open.count(FetchSpecification(entityName: "Tag", predicate: !.compare("name", .in, names))), 3_000 - count)
      let objects = FetchPredicate.comparison(
        FetchComparison(left: .evaluatedObject, op: .in, right: .constant(.list(ids.prefix(count).map { .object($0) }))))
      XCTAssertEqual(try open.count(FetchSpecification(entityName: "Tag", predicate: objects)), count)
    }
    // Together, the lists have more members than a statement has parameters.
    let lists = (0..<8).map { list in FetchPredicate.compare("name", .in, (0..<200).map { "tag \(list * 200 + $0)" }) }
    XCTAssertEqual(try open.count(FetchSpecification(entityName: "Tag", predicate: .or(lists))), 1_600)
  }

  func testLongChainsOfConditionsWork() throws {
    let store = try TestStore()
    let open = try store.open()
    try open.insert("Tag", ["name": .text("tag 700")])
    let many = FetchPredicate.or((0..<900).map { .compare("name", .equal, "tag \($0)") })
    XCTAssertEqual(try open.count(FetchSpecification(entityName: "Tag", predicate: many)), 1)
    let all = FetchPredicate.and((0..<900).map { .compare("name", .notEqual, "x \($0)") })
    XCTAssertEqual(try open.count(FetchSpecification(entityName: "Tag", predicate: all)), 1)
  }

  func testTenThousandConditionsWork() throws {
    let store = try TestStore()
    let open = try store.open()
    try open.save { save in
      for number in 0..<50 {
        try save.insert("Book", ["title": .text("b\(number)"), "pages": .int(Int64(number * 300)), "year": .int(Int64(number))])
      }
    }
    // Different conditions, so that they cannot be combined into a list.
    func conditions(_ count: Int) -> [FetchPredicate] {
      (0..<count).map { number in
        switch number % 3 {
        case 0: .compare("pages", .equal, number) && .compare("year", .less, 1_000 + number)
        case 1: .compare("title", .beginsWith, "x\(number)")
        default: .compare("rating", .greater, Double(number) + 0.5)
        }
      }
    }
    for count in [1_000, 10_000] {
      let expected = (0..<50).filter { $0 * 300 < count }.count
      XCTAssertEqual(try open.count(FetchSpecification(entityName: "Book", predicate: .or(conditions(count)))), expected)
      let none = FetchPredicate.and(conditions(count).map { !$0 })
      XCTAssertEqual(try open.count(FetchSpecification(entityName: "Book", predicate: none)), 50 - expected)
    }
    // The index is used as with parameters.
    var fetch = FetchSpecification(
      entityName: "Book", predicate: .compare("title", .equal, "b7") && .and(conditions(1_000).map { !$0 }) && .compare("year", .equal, 7))
    fetch.fetchLimit = 5
    let part = try open.store.explain(fetch, in: open.scope)
    XCTAssertEqual(part.statements.last?.plan.first?.index?.origin, .uniqueness)
    XCTAssertEqual(try open.texts("title", fetch), ["b7"])
  }

  func testEquivalentQueriesShareAPlanAndStatement() throws {
    let cache = SelectPlanCache(numbers: 10..<1_010)
    let model = SpecificationModels.library
    let schema = try StoreSchema(model: model, layout: TableLayout(model: model, entityNumbers: model.entities.map(\.number)))
    func plan(_ predicate: FetchPredicate) throws -> SelectPlan {
      let fetch = FetchSpecification(entityName: "Book", predicate: predicate)
      let resolved = try FetchResolver(model: model).resolve(fetch)
      let shape = FetchShape(resolved, specification: fetch)
      return try cache.plan(for: shape) { try SelectGenerator(schema: schema).plan(resolved, fetch, shape, number: $0) }
    }
    let first = try plan(.compare("pages", .equal, 1))
    XCTAssertTrue(try first === plan(.compare("pages", .equal, 2)))
    XCTAssertFalse(try first === plan(.compare("year", .equal, 2)))
    XCTAssertEqual(first.number, 10)
  }

  func testDeepPredicatesNeverOverflowTheParser() throws {
    let store = try TestStore()
    let open = try store.open()
    try open.insert("Book", ["title": .text("b"), "pages": .int(7)])
    let leaf = FetchPredicate.compare("pages", .equal, 7)
    var answered: [String: Int] = [:]
    func ask(_ kind: String, _ depth: Int, _ predicate: FetchPredicate) {
      do {
        _ = try open.count(FetchSpecification(entityName: "Book", predicate: predicate))
        answered[kind] = max(answered[kind] ?? 0, depth)
      } catch let error as StoreError {
        XCTAssertEqual(error.code, .nestingTooDeep, "\(kind) \(depth): \(error)")
      } catch {
        XCTAssertTrue("\(error)".contains("nested") || "\(error)".contains("deep"), "\(kind) \(depth): \(error)")
      }
    }
    var (mixed, negated, text) = (leaf, leaf, FetchExpression.keyPath("title"))
    for depth in 1...45 {
      mixed = depth % 2 == 0 ? .or([.compare("year", .equal, depth), mixed]) : .and([!.compare("year", .equal, depth), mixed])
      negated = .not(.and([negated, .compare("year", .less, depth)]))
      text = .function(depth % 2 == 0 ? "uppercase:" : "lowercase:", [text])
      ask("mixed", depth, mixed)
      ask("negated", depth, negated)
      ask("functions", depth, .comparison(FetchComparison(left: text, op: .equal, right: .constant(.string("b")))))
      if depth <= 20 {
        let path = "author" + String(repeating: ".pupils", count: depth) + ".name"
        ask("any", depth, .compare(path, .contains, "x", modifier: .any))
        ask("none", depth, .compare(path, .equal, "x", modifier: .none))
        let friends = "author.books" + String(repeating: ".tags.books", count: depth / 2) + ".isbn"
        ask("selective", depth, .compare(friends, .equal, "x", modifier: .any))
        var subquery = FetchPredicate.comparison(
          FetchComparison(left: .path(.variable("x\(depth)"), ["title"]), op: .equal, right: .constant(.string("x"))))
        for level in stride(from: depth, to: 0, by: -1) {
          let start = level == 1 ? FetchExpression.keyPath(["chapters"]) : .path(.variable("x\(level - 1)"), ["book", "chapters"])
          let members = FetchExpression.subquery(collection: start, variable: "x\(level)", predicate: subquery)
          subquery = .comparison(FetchComparison(left: .path(members, ["@count"]), op: .greater, right: .constant(.int(1))))
        }
        ask("subqueries", depth, subquery)
      }
    }
    XCTAssertGreaterThanOrEqual(answered["mixed"] ?? 0, 20)
    XCTAssertGreaterThanOrEqual(answered["negated"] ?? 0, 20)
    // A nested to-many path is one join.
    for kind in ["any", "none", "selective"] { XCTAssertEqual(answered[kind], 20, kind) }
    XCTAssertGreaterThanOrEqual(answered["subqueries"] ?? 0, 5)
    XCTAssertGreaterThanOrEqual(answered["functions"] ?? 0, 12, "\(answered)")
  }
}
