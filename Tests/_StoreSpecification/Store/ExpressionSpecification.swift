import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// The meaning of expressions: indexes, functions, casts and aggregates in predicates. Each line is a predicate format and the titles of
/// the matching books.
public final class ExpressionSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testPositionsInOrderedRelationships", { $0.testPositionsInOrderedRelationships }),
        ("testKeyPathsContinueAfterPositions", { $0.testKeyPathsContinueAfterPositions }),
        ("testPositionsRequireAnOrderedRelationship", { $0.testPositionsRequireAnOrderedRelationship }),
        ("testNumericFunctions", { $0.testNumericFunctions }),
        ("testStringFunctions", { $0.testStringFunctions }),
        ("testFunctionsHaveSeveralSpellings", { $0.testFunctionsHaveSeveralSpellings }),
        ("testListsAreEvaluated", { $0.testListsAreEvaluated }),
        ("testStatisticsOfCollections", { $0.testStatisticsOfCollections }),
        ("testSumsAreOrderIndependentAndDoNotOverflow", { $0.testSumsAreOrderIndependentAndDoNotOverflow }),
        ("testConditionalExpressions", { $0.testConditionalExpressions }),
        ("testValuesAreCast", { $0.testValuesAreCast }),
        ("testDistancesAreInMeters", { $0.testDistancesAreInMeters }),
        ("testRandomFunctionsAreEvaluatedForEachObject", { $0.testRandomFunctionsAreEvaluatedForEachObject }),
        ("testTheEmptyPatternMatchesTheEmptyText", { $0.testTheEmptyPatternMatchesTheEmptyText }),
        ("testLongListsCanBeUsedAnywhere", { $0.testLongListsCanBeUsedAnywhere }),
        ("testManyEqualitiesAreCombinedIntoOneList", { $0.testManyEqualitiesAreCombinedIntoOneList }),
        ("testEntitiesAreTested", { $0.testEntitiesAreTested }),
      ] as [(String, (ExpressionSpecification) -> () throws -> Void)])
  }

  /// Books a to e. a has chapters a0, a1, a2 in that order, b has b0, c none; the shelf "left" contains b then a, "right" contains a.
  private func makeLibrary() throws -> OpenStore {
    let open = try makeStore()
    try open.save { save in
      let ada = try save.insert("Author", ["name": .text("Ada"), "born": .int(1815)])
      func book(_ title: String, _ values: [String: Slot]) throws -> ManagedObjectID {
        try save.insert("Book", values.merging(["title": .text(title), "isbn": .text("isbn \(title)")]) { first, _ in first })
      }
      let a = try book(
        "a",
        [
          "pages": .int(7), "year": .int(-3),
          "price": Decimal(string: "2.50", locale: Locale(identifier: "en_US_POSIX")).map { Slot($0) } ?? .null,
          "rating": .real(-2.5), "published": .real(86_400), "inPrint": .int(1), "author": ada.slot, "isbn": .text("É12"),
        ])
      let b = try book(
        "b", ["pages": .int(10), "year": .int(2), "price": Slot(Decimal(10)), "rating": .real(0.5), "inPrint": .int(0), "author": ada.slot])
      let c = try book("c", ["pages": .int(.max), "rating": .real(4)])
      _ = try book("d", ["isbn": .text("")])
      _ = try book("e", ["isbn": .text("12")])
      func chapters(_ book: ManagedObjectID, _ titles: [(String, Int64?)]) throws {
        // Inserted in another order than that of the relationship.
        let ids = try titles.reversed().map { title, pages in
          try save.insert("Chapter", ["title": .text(title), "pages": pages.map { .int($0) } ?? .null, "book": book.slot])
        }
        try save.change(book, "chapters", order: ids.reversed())
      }
      try chapters(a, [("a0", 30), ("a1", 10), ("a2", nil)])
      try chapters(b, [("b0", 10)])
      let left = try save.insert("Shelf", ["name": .text("left")])
      let right = try save.insert("Shelf", ["name": .text("right")])
      try save.change(left, "books", add: [b, a], order: [b, a])
      try save.change(right, "books", add: [a], order: [a])
      try save.change(a, "shelves", add: [left, right], order: [right, left])
      try save.change(b, "shelves", add: [left], order: [left])
      _ = c
    }
    return open
  }

  private func assert(
    _ open: OpenStore, _ format: String, _ arguments: [(any FetchConstantConvertible)?] = [], _ expected: String, entity: String = "Book",
    property: String = "title", file: StaticString = #filePath, line: UInt = #line
  ) throws {
    let predicate = try FetchPredicate(format: format, argumentArray: arguments)
    let found = try open.texts(property, FetchSpecification(entityName: entity, predicate: predicate)).sorted().joined()
    XCTAssertEqual(found, expected, format, file: file, line: line)
    let all = try open.texts(property, FetchSpecification(entityName: entity)).sorted()
    let others = try open.texts(property, FetchSpecification(entityName: entity, predicate: !predicate)).sorted().joined()
    XCTAssertEqual(others, all.filter { !expected.contains($0) }.joined(), "NOT \(format)", file: file, line: line)
  }

  private func assertUnsupported(
    _ open: OpenStore, _ format: String, _ part: String, file: StaticString = #filePath, line: UInt = #line
  ) throws {
    let predicate = try FetchPredicate(format: format, argumentArray: [])
    XCTAssertThrowsError(try open.count(FetchSpecification(entityName: "Book", predicate: predicate)), format, file: file, line: line) {
      guard case .unsupported(let found, let advice)? = $0 as? FetchPredicateError else {
        return XCTFail("\($0)", file: file, line: line)
      }
      XCTAssertTrue(found.contains(part), found, file: file, line: line)
      XCTAssertFalse(advice.isEmpty, file: file, line: line)
    }
  }

  // MARK: Indexes

  func testPositionsInOrderedRelationships() throws {
    let open = try makeLibrary()
    try assert(open, "chapters[FIRST].title == 'a0'", "a")
    try assert(open, "chapters[0].title ENDSWITH '0'", "ab")
    try assert(open, "chapters[last].title IN {'a2', 'b0'}", "ab")
    try assert(open, "chapters[%d].title == 'a1'", [1], "a")
    try assert(open, "chapters[SIZE] == 3", "a")
    try assert(open, "chapters[SIZE] > 0", "ab")
    try assert(open, "tags[SIZE] == 0", "abcde")
    // A missing element has no value, as with a to-one relationship that is nil.
    try assert(open, "chapters[3].title == nil", "abcde")
    try assert(open, "chapters[1].title != 'a1'", "bcde")
    try assert(open, "chapters[-1] == nil", "abcde")
    try assert(open, "chapters[0] != nil", "ab")
    try assert(open, "chapters[LAST].pages == nil", "acde")
    try assert(open, "chapters[0].pages > chapters[1].pages", "a")
    let first = try open.ids(FetchSpecification(entityName: "Chapter", predicate: .compare("title", .equal, "b0")))[0]
    try assert(open, "chapters[LAST] == %@", [first], "b")
    try assert(open, "chapters[0] IN %@", [[first]], "b")
  }

  func testKeyPathsContinueAfterPositions() throws {
    let open = try makeLibrary()
    try assert(open, "shelves[0].name == 'right'", "a")
    try assert(open, "shelves[LAST].books[0].title == 'b'", "ab")
    try assert(open, "shelves[0].books[0].author.name == 'Ada'", "ab")
    try assert(open, "shelves[LAST].books[LAST] == SELF", "a")
    try assert(open, "shelves[0].books.@count == 1", "a")
    try assert(open, "shelves[0].books[SIZE] == 2", "b")
    try assert(open, "shelves[0].books.@max.pages == 10", "b")
    try assert(open, "ANY shelves[0].books.title == 'b'", "b")
    try assert(open, "ALL shelves[0].books.pages == 7", "acde")
    try assert(open, "NONE shelves[1].books.pages == 10", "bcde")
    try assert(open, "ANY shelves.books[0].title == 'b'", "ab")
    try assert(open, "ALL shelves.books[0].title == 'a'", "cde")
    try assert(open, "author.name == chapters[9].title", "cde")
    try assert(open, "SUBQUERY(shelves, $s, $s.books[1].title == 'a' AND $s.name == 'left').@count == 1", "ab")
    try assert(open, "SUBQUERY(shelves[LAST].books, $b, $b.chapters[0].pages == 10).@count == 1", "ab")
    try assert(open, "SUBQUERY(chapters, $c, $c == SELF.chapters[0]).@count == 1", "ab")
    try assert(open, "(chapters[0].title == 'a0' OR chapters[0].title == 'b0') AND chapters[0].pages + 1 == 11", "b")
  }

  func testPositionsRequireAnOrderedRelationship() throws {
    let open = try makeLibrary()
    try assertUnsupported(open, "tags[FIRST].name == 'x'", "[FIRST]")
    try assertUnsupported(open, "ANY tags[0].books.title == 'x'", "[0]")
    try assertUnsupported(open, "author[0].name == 'x'", "[0]")
    try assertUnsupported(open, "title[0] == 'x'", "[0]")
    try assertUnsupported(open, "chapters[SIZE].title == 'x'", "[SIZE]")
  }

  // MARK: Functions

  func testNumericFunctions() throws {
    let open = try makeLibrary()
    try assert(open, "pages + 3 == 10", "a")
    try assert(open, "pages - year == 8", "b")
    try assert(open, "pages * 2 == 14 OR year ** 3 == 8", "ab")
    try assert(open, "pages / 2 == 3", "a")
    try assert(open, "pages / 0 == nil", "abcde")
    try assert(open, "pages %% 3 == 1", "abc")
    try assert(open, "pages + 1 == 9223372036854775808.0", "c")
    try assert(open, "pages & 3 == 3", "ac")
    try assert(open, "pages | 8 == 15", "a")
    try assert(open, "pages ^ 2 == 5", "a")
    try assert(open, "pages << 1 == 20", "b")
    try assert(open, "pages >> 1 == 3", "a")
    try assert(open, "~pages == -8", "a")
    try assert(open, "abs(year) == 3", "a")
    try assert(open, "abs(rating) == 2.5", "a")
    try assert(open, "ceiling(rating) == -2 AND floor(rating) == -3 AND trunc(rating) == -2", "a")
    try assert(open, "ceiling(rating) == 1 AND floor(rating) == 0 AND trunc(rating) == 0", "b")
    try assert(open, "sqrt(rating) == 2", "c")
    try assert(open, "sqrt(rating) == nil", "ade")
    try assert(open, "ln(exp(year)) == 2 AND log(pages) == 1", "b")
    try assert(open, "ln(0 * pages) == nil", "abcde")
    try assert(open, "price * 2 == 5 AND floor(price) == 2", "a")
    try assert(open, "price / 4 == 2.5", "b")
    try assert(open, "published - 86400 == CAST(0, 'Date')", "a")
    try assert(open, "now() > published", "a")
    try assert(open, "noindex:(isbn) == ''", "d")
    try assert(open, "noindex:(author) != nil", "ab")
  }

  func testStringFunctions() throws {
    let open = try makeLibrary()
    try assert(open, "uppercase(title) == 'A'", "a")
    try assert(open, "lowercase(isbn) == 'é12'", "a")
    try assert(open, "canonical(isbn) == 'e12'", "a")
    try assert(open, "length(isbn) == 2", "e")
    try assert(open, "length(isbn) == 3", "a")
    try assert(open, "length(author.name) == nil", "cde")
  }

  func testFunctionsHaveSeveralSpellings() throws {
    let open = try makeLibrary()
    for format in [
      "add:to:(pages, 3) == 10", "FUNCTION(pages, 'add:to:', 3) == 10", "FUNCTION(pages, 'add', 3) == 10", "ABS(year - 4) == 7",
      "from:subtract:(pages, 3) == 4", "multiply:by:(pages, 2) == 14", "divide:by:(pages, 2) == 3", "modulus:by:(pages, 16) == 7",
      "MODULUS(pages, 16) == 7", "raise:toPower:(pages, 2) == 49", "power(pages, 2) == 49", "bitwiseAnd:with:(pages, 12) == 4",
      "bitwiseOr:with:(pages, 8) == 15", "bitwiseXor:with:(pages, 1) == 6", "leftshift:by:(pages, 1) == 14 ",
      "rightshift:by:(pages, 1) == 3", "onesComplement:(pages) == -8", "FUNCTION(pages, 'abs:') == 7",
      "FUNCTION('now') > published AND pages == 7",
      "FUNCTION(title, 'uppercase:') == 'A'",
    ] { try assert(open, format, "a") }
    try assertUnsupported(open, "soundex(title) == 'A'", "soundex")
    try assertUnsupported(open, "FUNCTION(title, 'doSomething:', 1) == 'A'", "doSomething")
    try assertUnsupported(open, "add:to:(pages, 1, 2) == 5", "3 arguments")
    try assertUnsupported(open, "max(pages) == 5", "pages")
  }

  func testListsAreEvaluated() throws {
    let open = try makeLibrary()
    try assert(open, "max({pages, 8, year}) == 8", "ade")
    try assert(open, "min(pages, year) == 2", "b")
    try assert(open, "sum({1, 2, year}) == 5", "b")
    // Missing values are skipped.
    try assert(open, "count({pages, year, rating}) == 0", "de")
    try assert(open, "average({year, 4}) == 3", "b")
    try assert(open, "median({1, 10, year}) == 2", "b")
    try assert(open, "mode({1, 2, year}) == 2", "b")
    try assert(open, "stddev({year, 4}) == 1", "b")
    try assert(open, "sum({price, 1}) == 3.5", "a")
    try assert(open, "max({title, 'b'}) == 'b'", "ab")
    try assert(open, "sum({}) == 0 AND count({}) == 0 AND max({}) == nil", "abcde")
    try assert(open, "sum({pages, pages}) == 18446744073709551614.0", "c")
  }

  func testStatisticsOfCollections() throws {
    let open = try makeLibrary()
    try assert(open, "sum(chapters.pages) == 40", "a")
    try assert(open, "median(chapters.pages) == 20", "a")
    try assert(open, "mode(chapters.pages) == 10", "ab")
    try assert(open, "stddev(chapters.pages) == 10", "a")
    try assert(open, "stddev(chapters.pages) == 0", "b")
    try assert(open, "average(chapters.pages) == nil AND median(chapters.pages) == nil", "cde")
    try assert(open, "count(chapters) == 3 AND count(chapters.pages) == 2", "a")
    try assert(open, "author.books.@count == 2 AND author.books.@sum.price == 12.5", "ab")
    try assert(open, "author.books.@avg.price == 6.25", "ab")
    try assert(open, "author.books.@sum.chapters.@count == 4", "ab")
    try assertUnsupported(open, "author.books.@distinctUnionOfObjects.title == 'x'", "@distinctUnionOfObjects")
    try assertUnsupported(open, "author.books.@unionOfArrays.title == 'x'", "@unionOfArrays")
    try assertUnsupported(open, "chapters.@count.pages == 2", "@count")
  }

  func testSumsAreOrderIndependentAndDoNotOverflow() throws {
    let open = try makeStore()
    try open.save { save in
      for (name, pages) in [
        ("a", [Int64.max, 1, -1]), ("b", [.max, 1]), ("c", [.min, -1]), ("d", [.max, .max, .min, .min, 5]),
      ] as [(String, [Int64])] {
        let author = try save.insert("Author", ["name": .text(name)])
        for (number, count) in pages.enumerated() {
          let rating: [Double] = [1e300, 0.1, 0.2, 0.3, -1e300]
          try save.insert(
            "Book", ["isbn": .text("\(name)\(number)"), "pages": .int(count), "rating": .real(rating[number]), "author": author.slot])
        }
      }
    }
    func check(_ format: String, _ expected: String) throws { try assert(open, format, expected, entity: "Author", property: "name") }
    try check("books.@sum.pages == 9223372036854775807", "a")
    try check("books.@sum.pages == 9223372036854775808.0", "b")
    try check("books.@sum.pages <= -9223372036854775808.0", "c")
    try check("books.@sum.pages > 9223372036854775807", "b")
    try check("books.@sum.pages IN {9223372036854775808.0, 3}", "bd")
    try check("books.@sum.pages == 3", "d")
    try check("books.@avg.pages == 0.6", "d")
    // The large ones cancel each other, and the others are rounded once.
    try check("books.@sum.rating == 0.6", "d")
  }

  func testConditionalExpressions() throws {
    let open = try makeLibrary()
    try assert(open, "TERNARY(pages > 8, title, isbn) == 'b'", "b")
    try assert(open, "TERNARY(pages != nil, pages, 0) == 0", "de")
    try assert(open, "TERNARY(pages == 7, pages, rating) == 0.5", "b")
    try assert(open, "TERNARY(pages == 7, author, nil) != nil", "a")
    try assert(open, "coalesce(pages, 0) == 0", "de")
    try assert(open, "coalesce(year, pages, 0) == 9223372036854775807", "c")
    try assert(open, "coalesce(rating, year) == 0.5", "b")
    try assert(open, "coalesce(author.name, title) == 'Ada'", "ab")
    try assert(open, "coalesce(author.mentor, author).name == 'Ada'", "", unsupported: "coalesce")
    let ada = try open.ids(FetchSpecification(entityName: "Author"))[0]
    try assert(open, "coalesce(author.mentor, author) == %@", [ada], "ab")
    try assert(open, "coalesce(author, %@) == %@", [ada, ada], "abcde")
  }

  private func assert(_ open: OpenStore, _ format: String, _ expected: String, unsupported part: String) throws {
    try assertUnsupported(open, format, part)
  }

  private func assert(
    _ open: OpenStore, _ format: String, _ expected: String, entity: String = "Book", property: String = "title",
    file: StaticString = #filePath, line: UInt = #line
  ) throws { try assert(open, format, [], expected, entity: entity, property: property, file: file, line: line) }

  func testValuesAreCast() throws {
    let open = try makeLibrary()
    try assert(open, "CAST(isbn, 'Int') == 12", "e")
    try assert(open, "CAST(isbn, 'NSNumber') == nil", "abcd")
    try assert(open, "CAST(isbn, 'Decimal') * 2 == 24", "e")
    try assert(open, "CAST(pages, 'String') == '7'", "a")
    try assert(open, "CAST(price, 'String') == '2.5'", "a")
    try assert(open, "CAST(rating, 'String') IN {'-2.5', '4'}", "ac")
    try assert(open, "CAST(rating, 'Int') == -2", "a")
    try assert(open, "CAST(rating, 'Decimal') == 0.5", "b")
    try assert(open, "CAST(price, 'Int') == 2", "a")
    try assert(open, "CAST(price, 'Double') / 4 == 0.625", "a")
    try assert(open, "CAST(inPrint, 'Int') == 1 AND CAST(inPrint, 'String') == '1'", "a")
    try assert(open, "CAST(published, 'Double') == 86400", "a")
    try assert(open, "CAST(pages, 'Date') == CAST(7, 'Date')", "a")
    try assert(open, "published == CAST('2001-01-02', 'NSDate')", "a")
    try assert(open, "CAST(CAST(published, 'Double'), 'Date') == CAST('2001-01-02T01:00:00+01:00', 'Date')", "a")
    try assertUnsupported(open, "CAST(author, 'String') == 'x'", "author")
    try assertUnsupported(open, "CAST(published, 'Decimal') == 1", "published")
  }

  func testDistancesAreInMeters() throws {
    let open = try makeLibrary()
    // A degree of latitude.
    try assert(open, "trunc(distanceToLocation:fromLocation:({year, 0}, {1, 0})) == 111195", "b")
    try assert(open, "distance({0, 0}, {0, 180}) > 20015000 AND pages == 7", "a")
    try assert(open, "distance(%@, {52.5, 13.4}) < 1 AND pages == 7", [[52.5, 13.4]], "a")
    try assert(open, "distance({rating, 0}, {0, 0}) == nil", "de")
    try assert(open, "distance({91, 0}, {0, 0}) == nil", "abcde")
    try assertUnsupported(open, "distance(pages, {0, 0}) < 1", "pages")
  }

  func testRandomFunctionsAreEvaluatedForEachObject() throws {
    let open = try makeStore()
    try open.save { save in for number in 0..<60 { try save.insert("Tag", ["name": .text("\(number)")]) } }
    func count(_ format: String) throws -> Int {
      try open.count(FetchSpecification(entityName: "Tag", predicate: FetchPredicate(format: format)))
    }
    XCTAssertEqual(try count("random() >= 0 AND random() < 1"), 60)
    XCTAssertEqual(try count("randomn:(3) IN {0, 1, 2}"), 60)
    XCTAssertEqual(try count("randomn:(0) == nil"), 60)
    // A different number for each object: it is virtually impossible that all 60 are on one side.
    XCTAssertTrue((1..<60).contains(try count("random() < 0.5")))
    XCTAssertTrue((1..<60).contains(try count("randomn:(2) == 0")))
  }

  // MARK: Other expressions

  func testTheEmptyPatternMatchesTheEmptyText() throws {
    let open = try makeLibrary()
    try assert(open, "isbn MATCHES ''", "d")
    try assert(open, "isbn LIKE ''", "d")
  }

  func testLongListsCanBeUsedAnywhere() throws {
    let open = try makeLibrary()
    let numbers = FetchConstant.list((0..<20_000).map { .int($0) })
    let texts = FetchConstant.list((0..<3_000).map { .string("ISBN \($0)") } + [.string("ISBN A"), .string("É12")])
    let ids = try open.ids(FetchSpecification(entityName: "Book", predicate: .compare("title", .equal, "b")))
    let objects = FetchConstant.list(
      (1...3_000).map { .object(ManagedObjectID(space: ids[0].space, entityNumber: ids[0].entityNumber, key: 1_000_000 + $0)) }
        + [.object(ids[0])])
    try assert(open, "pages IN %@", [FetchConstant.list((0..<100_000).map { .int($0) })], "ab")
    try assert(open, "pages IN %@ AND isbn IN[c] %@ AND NOT SELF IN %@", [numbers, texts, objects], "a")
    try assert(open, "isbn IN[cd] {'E12', 'isbn B'}", "ab")
    try assert(open, "SELF IN %@", [objects], "b")
    try assert(open, "ANY chapters.pages IN %@", [numbers], "ab")
    try assert(open, "ALL chapters.pages IN %@", [numbers], "bcde")
    try assert(open, "SUBQUERY(chapters, $c, $c.pages IN %@ AND $c.title != 'a0').@count == 1", [numbers], "ab")
    try assert(open, "chapters[0].pages IN %@ AND author.born IN %@", [numbers, numbers], "ab")
  }

  func testManyEqualitiesAreCombinedIntoOneList() throws {
    let open = try makeLibrary()
    let numbers = (0..<3_000).map { FetchPredicate.compare("pages", .equal, $0) }
    func titles(_ predicate: FetchPredicate) throws -> String {
      try open.texts("title", FetchSpecification(entityName: "Book", predicate: predicate)).sorted().joined()
    }
    XCTAssertEqual(try titles(.or(numbers)), "ab")
    XCTAssertEqual(try titles(.not(.or(numbers))), "cde")
    XCTAssertEqual(try titles(.and(numbers.map { .not($0) })), "cde")
    try assert(open, "title == 'a' OR title == 'c' OR title == 'x' OR title IN {'d', nil} OR title == 'a'", "acd")
    try assert(open, "title != 'a' AND title != 'c' AND NOT title IN {'d', 'x'} AND pages != 10", "e")
    try assert(open, "title ==[c] 'A' OR title ==[c] 'C' OR title == 'B' OR title ==[c] 'D'", "acd")
    try assert(open, "pages == 7 OR pages == 10 OR pages == nil OR pages == 8", "abde")
    let ids = try open.ids(FetchSpecification(entityName: "Book", predicate: FetchPredicate(format: "title IN {'a', 'b', 'c'}")))
    try assert(open, "SELF == %@ OR SELF == %@ OR SELF == %@", ids, "abc")
    try assert(open, "SELF != %@ AND SELF != %@ AND SELF != %@", ids, "de")
  }

  func testEntitiesAreTested() throws {
    let open = try makeStore(SpecificationModels.assets)
    try open.save { save in
      let photo = try save.insert("Photo", ["name": .text("p")])
      let video = try save.insert("Video", ["name": .text("v"), "poster": photo.slot])
      try save.insert("Clip", ["name": .text("c")])
      try save.insert("Note", ["body": .text("n"), "asset": video.slot])
    }
    func check(_ format: String, _ expected: String, entity: String = "Asset", property: String = "name") throws {
      try assert(open, format, expected, entity: entity, property: property)
    }
    try check("entity == 'Video'", "v")
    try check("entity != 'Video'", "cp")
    try check("entity IN {'Video', 'Clip'}", "cv")
    try check("asset.entity == 'Video'", "n", entity: "Note", property: "body")
    try check("asset.entity == 'Clip'", "", entity: "Note", property: "body")
    XCTAssertThrowsError(try open.count(FetchSpecification(entityName: "Asset", predicate: FetchPredicate(format: "entity == 'Vido'")))) {
      XCTAssertEqual($0 as? FetchPredicateError, .unknownEntity(name: "Vido"))
    }
  }
}
