import Foundation
import ObjectModel
import ObjectQuery
import XCTest

/// Predicates on dictionaries have the same results as on objects.
final class DictionaryEvaluationTests: XCTestCase {
  private let book: [String: Any] = [
    "title": "Emma", "pages": 474, "price": Decimal(string: "19.99") ?? 0, "rating": 4.5, "inPrint": true, "subtitle": NSNull(),
    "published": Date(timeIntervalSinceReferenceDate: 100), "isbn": UUID(uuidString: "6F1A4C1E-6E7C-4F9E-9F3E-0C54C2B5A001") as Any,
    "author": ["name": "Jane Austen", "born": nil, "books": [["pages": 474], ["pages": 279]]] as [String: Any?],
    "tags": [["name": "novel", "weight": 2], ["name": "classic", "weight": 3]], "words": ["love", "pride"], "years": Set([1815, 1816]),
    "publisher.city": "London", "small": UInt8(7), "section": ["shelves": [["signs": ["a", "b"]], ["signs": ["c"]]]],
  ]

  private func assert(_ format: String, is expected: Bool, line: UInt = #line) throws {
    XCTAssertEqual(try FetchPredicate(format: format).evaluate(with: book), expected, format, line: line)
    XCTAssertEqual(try FetchPredicate(format: "NOT (\(format))").evaluate(with: book), !expected, format, line: line)
  }

  func testValuesCompare() throws {
    try assert("title == 'Emma' AND pages > 400 AND price == 19.99 AND rating BETWEEN {4, 5}", is: true)
    try assert("inPrint == TRUE AND small == 7 AND pages < 474.5", is: true)
    try assert("title BEGINSWITH[c] 'EM' AND title LIKE 'E??a' AND title MATCHES 'E.*'", is: true)
    try assert("isbn == '6F1A4C1E-6E7C-4F9E-9F3E-0C54C2B5A001'", is: true)
    try assert("published < CAST(101, 'Date')", is: true)
    try assert("pages IN {1, 474} AND NOT title IN {'a', NULL}", is: true)
    try assert("pages * 2 + 1 == 949 AND length(title) == 4", is: true)
    try assert("TERNARY(pages > 500, 'long', title) == 'Emma'", is: true)
    try assert("pages < rating", is: false)
  }

  func testAbsentKeysHaveMissingValues() throws {
    try assert("subtitle == nil AND nothing == nil AND author.born == nil AND nothing.at.all == nil", is: true)
    try assert("author != nil AND author.name != nil AND title != nil", is: true)
    try assert("nothing == 5", is: false)
    try assert("nothing != 5", is: true)
    try assert("nothing < 5 OR nothing BETWEEN {1, 2} OR nothing IN {NULL} OR nothing CONTAINS 'a' OR length(nothing) > 0", is: false)
    try assert("nothing == subtitle", is: true)
    try assert("ANY nothing.name == 'a'", is: false)
  }

  func testKeyPathsTraverseDictionaries() throws {
    try assert("author.name ENDSWITH 'Austen' AND SELF.title == 'Emma'", is: true)
    try assert("publisher.city == 'London'", is: true)
  }

  func testCollections() throws {
    try assert("ANY tags.name == 'novel' AND ALL tags.weight > 1 AND NONE tags.name == 'x'", is: true)
    try assert("ANY words == 'love' AND 'pride' IN words AND years CONTAINS 1815", is: true)
    try assert("tags.@count == 2 AND tags.@sum.weight == 5 AND tags.@avg.weight == 2.5 AND tags.@max.name == 'novel'", is: true)
    try assert("nothing.@count == 0 AND author.books.@min.pages == 279 AND max(tags.weight) == 3", is: true)
    try assert("SUBQUERY(tags, $t, $t.name == 'novel' AND $t.weight == 2).@count == 1", is: true)
    try assert("SUBQUERY(tags, $t, $t.name == 'novel' AND $t.weight == 3).@count > 0", is: false)
    try assert("SUBQUERY(author.books, $b, $b.pages == pages).@count == 1", is: true)
    try assert("tags[FIRST].name == 'novel' AND tags[LAST].weight == 3 AND tags[1].name == 'classic' AND tags[SIZE] == 2", is: true)
    try assert("tags[9].name == nil", is: true)
    try assert("ANY section.shelves.signs == 'c' AND section.shelves.@count == 2", is: true)
  }

  func testBlockPredicatesAreCalled() throws {
    let block = FetchPredicate.block(BlockPredicate("long name") { (try $0.value(forKeyPath: "author.name") as? String ?? "").count > 5 })
    XCTAssertTrue(try (block && .compare("pages", .greater, 1)).evaluate(with: book))
  }

  func testMismatchedTypesAreErrors() throws {
    for format in [
      "title > 5", "tags == 'a'", "tags.name == 'a'", "ANY title == 'a'", "author == 'Jane'", "title.more == 1", "tags.@sum.name > 1",
      "pages == $X", "SUBQUERY(title, $t, TRUEPREDICATE).@count > 0",
    ] {
      XCTAssertThrowsError(try FetchPredicate(format: format).evaluate(with: book), format) {
        XCTAssertTrue($0 is FetchPredicateError, "\(format): \($0)")
      }
    }
    struct Odd {}
    XCTAssertThrowsError(try FetchPredicate(format: "odd == 1").evaluate(with: ["odd": Odd()]))
  }

  func testFoundationsValuesAreThoseOfSwift() throws {
    let date = NSDate(timeIntervalSinceReferenceDate: 5)
    let row: [String: Any] = [
      "text": "a" as NSString, "date": date, "sizes": NSSet(array: [1, 2]), "names": NSOrderedSet(array: ["x", "y"]),
      "inner": ["n": NSNumber(value: 1)] as NSDictionary, "byName": [AnyHashable("seven"): 7], "half": CGFloat(0.5),
    ]
    let format =
      "text == 'a' AND date == CAST(5, 'Date') AND sizes CONTAINS 2 AND names[LAST] == 'y' AND inner.n == 1 AND byName.seven == 7"
    XCTAssertTrue(try FetchPredicate(format: "\(format) AND half == 0.5").evaluate(with: row))
  }

  func testAnApplicationsValueIsEqualToItselfAndOfNoOtherType() throws {
    struct Point: Hashable { var x = 0 }
    let value = try XCTUnwrap(InMemoryValue(Point()))
    let predicate = FetchPredicate.compare("title", .equal, FetchConstant.inMemory(value))
    XCTAssertEqual(predicate, .compare("title", .equal, FetchConstant.inMemory(try XCTUnwrap(InMemoryValue(Point())))))
    XCTAssertNotEqual(predicate, .compare("title", .equal, FetchConstant.inMemory(try XCTUnwrap(InMemoryValue(Point(x: 1))))))
    XCTAssertEqual(predicate.description, "title == <Point>")
    XCTAssertThrowsError(try JSONEncoder().encode(predicate)) { XCTAssertTrue("\($0)".contains("Point"), "\($0)") }
    XCTAssertThrowsError(try predicate.evaluate(with: book)) {
      XCTAssertEqual($0 as? FetchPredicateError, .inMemoryValue(type: "Point"))
    }
    XCTAssertNil(InMemoryValue({ 1 }))
  }

  func testRandomPredicatesEvaluateLikeForObjects() throws {
    let library = try Library()
    try library.add("Author", 1, ["name": "Ann"])
    try library.add("Tag", 3, ["name": "a"])
    try library.add("Tag", 4)
    var maker = PredicateMaker(seed: 77)
    let titles = ["", "a", "A", "ä", "ab", "b"]
    for number in 10..<60 {
      var values: [String: any FetchConstantConvertible] = [:]
      if maker.next(3) > 0 { values["title"] = titles[maker.next(titles.count)] }
      if maker.next(3) > 0 { values["pages"] = maker.next(4) }
      if maker.next(3) > 0 { values["rating"] = Double(maker.next(8)) / 2 }
      if maker.next(3) > 0 { values["price"] = Decimal(maker.next(8)) / 2 }
      let tags = [[], [3], [4], [3, 4]][maker.next(4)]
      try library.add("Book", number, values, toOne: maker.next(2) == 0 ? [:] : ["author": 1], toMany: ["tags": tags])
      var dictionary: [String: Any] = values
      if library.rows[number]?.toOne.isEmpty == false { dictionary["author"] = ["name": "Ann"] }
      dictionary["tags"] = tags.map { $0 == 3 ? ["name": "a"] : [String: Any]() }
      for _ in 0..<40 {
        let predicate = try FetchPredicate(format: randomFormat(&maker, titles))
        let expected = try library.fetch("Book", predicate).contains(number)
        XCTAssertEqual(try predicate.evaluate(with: dictionary), expected, "\(predicate) \(dictionary)")
      }
    }
  }

  private func randomFormat(_ maker: inout PredicateMaker, _ titles: [String], depth: Int = 2) -> String {
    if depth > 0, maker.next(2) == 0 {
      let (left, right) = (randomFormat(&maker, titles, depth: depth - 1), randomFormat(&maker, titles, depth: depth - 1))
      return maker.next(4) == 0 ? "NOT (\(left))" : "(\(left)) \(maker.next(2) == 0 ? "AND" : "OR") (\(right))"
    }
    let compare = ["==", "!=", "<", "<=", ">", ">="][maker.next(6)]
    let number = ["pages", "rating", "price", "tags.@count", "length(title)", "pages + rating", "2", "1.5"]
    let text = ["title", "author.name", "'\(titles[maker.next(titles.count)])'", "uppercase(title)"]
    switch maker.next(6) {
    case 0: return "\(number[maker.next(6)]) \(compare) \(number[maker.next(8)])"
    case 1: return "\(text[maker.next(4)]) \(compare)\(["", "[c]", "[cd]"][maker.next(3)]) \(text[maker.next(4)])"
    case 2: return "title \(["BEGINSWITH", "CONTAINS[d]", "ENDSWITH", "LIKE"][maker.next(4)]) \(text[maker.next(3)])"
    case 3: return "\(["ANY", "ALL", "NONE"][maker.next(3)]) tags.name \(compare) \(text[maker.next(3)])"
    case 4: return "\(["pages", "rating", "price"][maker.next(3)]) \(["IN {1, 2}", "BETWEEN {1, 2.5}", "== nil", "!= nil"][maker.next(4)])"
    default: return "SUBQUERY(tags, $t, $t.name \(compare) title).@count \(compare) 1"
    }
  }
}
