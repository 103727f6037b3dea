import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Predicate values are bound, never inlined into SQL, and their number is unlimited.
final class BoundValueTests: XCTestCase {
  func testValuesNeverAppearInStatements() throws {
    let store = try TestStore()
    let open = try store.open()
    let author = try open.insert("Author", ["name": .text("x")])
    let secret = "s3cr'et\""
    let predicates: [FetchPredicate] = try [
      FetchPredicate(format: "title == %@ OR isbn BEGINSWITH[c] %@ OR isbn LIKE %@ OR title MATCHES %@", secret, secret, secret, "7654321"),
      FetchPredicate(format: "%@ IN title OR title IN %@ OR title BETWEEN %@", secret, [secret, "7654321"], [secret, secret]),
      FetchPredicate(
        format: "pages == 7654321 OR rating > 7654321.25 OR price < %@ OR published > %@", Decimal(7_654_321),
        Date(timeIntervalSinceReferenceDate: 7_654_321)),
      FetchPredicate(format: "pages + 7654321 > abs(7654321 - year) OR max({pages, 7654321}) == 1 OR coalesce(pages, 7654321) == 7654321"),
      FetchPredicate(format: "chapters[7654321].title == %@ OR CAST(title, 'Int') == 7654321", secret),
      FetchPredicate(format: "SUBQUERY(chapters, $c, $c.title == %@ AND $c.pages == 7654321).@count > 7654321", secret),
      FetchPredicate(
        format: "ANY tags.name == %@ OR ALL chapters.pages != 7654321 OR TERNARY(pages == 7654321, title, %@) == %@", secret, secret, secret
      ),
      FetchPredicate(format: "distance({rating, 7654321.0}, {0, 7654321}) < 7654321 OR noindex:(title) == %@", secret),
      FetchPredicate(format: "author == %@ OR author IN %@ OR SELF IN %@", author, [author], [author]),
    ]
    for predicate in predicates {
      let statements = try store.statements { _ = try open.ids(FetchSpecification(entityName: "Book", predicate: predicate)) }
      XCTAssertFalse(statements.isEmpty)
      for statement in statements {
        XCTAssertFalse(statement.contains("s3cr") || statement.contains("7654321"), statement)
      }
    }
  }

  func testManyListsUseTemporaryTables() throws {
    let store = try TestStore()
    let open = try store.open()
    try open.save { save in
      for number in 0..<20 {
        try save.insert("Book", ["isbn": .text("\(number)"), "pages": .int(Int64(number)), "year": .int(Int64(number * 2))])
      }
    }
    func count(_ predicate: FetchPredicate) throws -> Int { try open.count(FetchSpecification(entityName: "Book", predicate: predicate)) }
    // Twelve lists of 200 values exceed the number of parameters per statement.
    let lists = (0..<12).map { start in
      FetchPredicate.compare(start % 2 == 0 ? "pages" : "year", .in, Array(start..<(start + 200)))
    }
    XCTAssertEqual(try count(.and(lists)), 20 - 10)
    XCTAssertEqual(try count(.or(lists)), 20)
    XCTAssertEqual(try count(.and(lists.map { .not($0) })), 0)
    // The same query again reuses the temporary tables.
    XCTAssertEqual(try count(.and(lists)), 20 - 10)
    let huge = (0..<3).map { _ in FetchPredicate.compare("pages", .in, Array(5..<100_000)) }
    XCTAssertEqual(try count(.and(huge)), 15)
  }

  func testAnyNumberOfValuesIsAccepted() throws {
    let store = try TestStore()
    let open = try store.open()
    let author = try open.insert("Author", ["name": .text("Ada")])
    try open.save { save in
      for number in 0..<10 {
        try save.insert(
          "Book",
          [
            "isbn": .text("\(number)"), "title": .text("a\u{0}\(number)"), "pages": .int(Int64(number)),
            "rating": .real(Double(number) / 4),
            "price": Slot(Decimal(number)), "author": number < 5 ? author.slot : .null,
          ])
      }
    }
    func isbns(_ predicate: FetchPredicate, limit: Int = 0) throws -> String {
      var specification = FetchSpecification(entityName: "Book", predicate: predicate)
      specification.sortDescriptors = [FetchSortDescriptor("isbn", ascending: false)]
      specification.fetchLimit = limit
      return try open.texts("isbn", specification).joined()
    }
    // Pairs of values, as of a compound key. Two of them exist.
    func title(_ number: Int) -> String { "a\u{0}\(number)" }
    let pairs = (0..<3_000).map { (number: Int) -> FetchPredicate in
      FetchPredicate.compare("pages", .equal, number)
        && .compare("title", .equal, title(number == 7 || number == 3 ? number : number + 1))
    }
    XCTAssertEqual(try isbns(.or(pairs)), "73")
    XCTAssertEqual(try isbns(.or(pairs), limit: 1), "7")
    XCTAssertEqual(try isbns(.not(.or(pairs))), "98654210")
    let mixed = try FetchPredicate(
      format:
        "rating == 0.5 AND price == 2 AND author == %@ AND pages IN %@ AND title BEGINSWITH[c] 'A' AND title BEGINSWITH 'a' AND isbn LIKE '?*'",
      author, Array(0..<500))
    XCTAssertEqual(try isbns(.or(pairs) || mixed), "732")
    // Other values use the same plan.
    let others = (0..<3_000).map { (number: Int) -> FetchPredicate in
      FetchPredicate.compare("pages", .equal, number) && .compare("title", .equal, number == 4 ? title(4) : nil)
    }
    XCTAssertEqual(try isbns(.or(others)), "4")
    let explanation = try store.statements { _ = try isbns(.or(pairs)) }
    XCTAssertTrue(explanation.contains { $0.contains("cd_constant(?1, ") })
  }
}
