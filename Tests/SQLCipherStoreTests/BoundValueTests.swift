// BoundValueTests: no value of a predicate becomes SQL text, and no number of values is too many.
import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

final class BoundValueTests: XCTestCase {
  func testNoValueStandsInAStatement() throws {
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

  func testManyListsGoIntoTemporaryTables() throws {
    let store = try TestStore()
    let open = try store.open()
    try open.save { save in
      for number in 0..<20 {
        try save.insert("Book", ["isbn": .text("\(number)"), "pages": .int(Int64(number)), "year": .int(Int64(number * 2))])
      }
    }
    func count(_ predicate: FetchPredicate) throws -> Int { try open.count(FetchSpecification(entityName: "Book", predicate: predicate)) }
    // Twelve lists of 200 are more values than a statement takes.
    let lists = (0..<12).map { start in
      FetchPredicate.compare(start % 2 == 0 ? "pages" : "year", .in, Array(start..<(start + 200)))
    }
    XCTAssertEqual(try count(.and(lists)), 20 - 10)
    XCTAssertEqual(try count(.or(lists)), 20)
    XCTAssertEqual(try count(.and(lists.map { .not($0) })), 0)
    // Again, with the tables of before.
    XCTAssertEqual(try count(.and(lists)), 20 - 10)
    let huge = (0..<3).map { _ in FetchPredicate.compare("pages", .in, Array(5..<100_000)) }
    XCTAssertEqual(try count(.and(huge)), 15)
  }
}
