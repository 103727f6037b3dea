import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// The meaning of predicates, in tables of cases on one set of rows.
public final class PredicateSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testNumbersAreCompared", { $0.testNumbersAreCompared }),
        ("testNilEqualsOnlyNil", { $0.testNilEqualsOnlyNil }),
        ("testStringsAreCompared", { $0.testStringsAreCompared }),
        ("testStringsMatchPatterns", { $0.testStringsMatchPatterns }),
        ("testStringsAreComparedIgnoringCaseAndDiacritics", { $0.testStringsAreComparedIgnoringCaseAndDiacritics }),
        ("testListsAndRanges", { $0.testListsAndRanges }),
        ("testLongLists", { $0.testLongLists }),
        ("testCompoundPredicates", { $0.testCompoundPredicates }),
        ("testDecimalsDatesAndBooleansAreCompared", { $0.testDecimalsDatesAndBooleansAreCompared }),
        ("testObjectsAreComparedByIdentity", { $0.testObjectsAreComparedByIdentity }),
        ("testToOneKeyPathsAreFollowed", { $0.testToOneKeyPathsAreFollowed }),
        ("testToManyKeyPathsTestMembers", { $0.testToManyKeyPathsTestMembers }),
        ("testPredicatesFollowEveryKindOfRelationship", { $0.testPredicatesFollowEveryKindOfRelationship }),
        ("testCollectionsAreCountedAndSummed", { $0.testCollectionsAreCountedAndSummed }),
        ("testSubqueriesBindAVariableToEachMember", { $0.testSubqueriesBindAVariableToEachMember }),
        ("testAttributesOfOneObjectAreComparedWithEachOther", { $0.testAttributesOfOneObjectAreComparedWithEachOther }),
        ("testFetchesWithDifferentConstantsReturnDifferentResults", { $0.testFetchesWithDifferentConstantsReturnDifferentResults }),
        ("testDeepPredicatesSucceedOrThrow", { $0.testDeepPredicatesSucceedOrThrow }),
        ("testRandomPredicatesMatchTheEvaluator", { $0.testRandomPredicatesMatchTheEvaluator }),
      ] as [(String, (PredicateSpecification) -> () throws -> Void)])
  }

  private struct Library {
    let open: OpenStore
    let ada: ManagedObjectID
    let bob: ManagedObjectID
    let red: ManagedObjectID
    /// Books by title.
    var books: [String: ManagedObjectID] = [:]
  }

  /// Books a to f: b and c are Ada's (whose mentor is Bob), d is Bob's, the others have no author; a has no values besides its title.
  private func makeLibrary() throws -> Library {
    let open = try makeStore()
    return try open.save { save in
      let bob = try save.insert("Author", ["name": .text("Bob"), "born": .int(1900)])
      let ada = try save.insert("Author", ["name": .text("Ada"), "born": .int(1950), "mentor": bob.slot])
      try save.insert("Author", ["name": .text("Eve")])
      let tags = try ["red", "blue", "green"].map { try save.insert("Tag", ["name": .text($0)]) }
      var library = Library(open: open, ada: ada, bob: bob, red: tags[0])
      func book(_ title: String, _ values: [String: Slot], tags: [ManagedObjectID] = []) throws {
        let id = try save.insert("Book", values.merging(["title": .text(title)]) { first, _ in first })
        if !tags.isEmpty { try save.change(id, "tags", add: tags) }
        library.books[title] = id
      }
      try book("a", [:])
      try book(
        "b",
        [
          "pages": .int(100), "year": .int(1999), "isbn": .text("Straße"), "author": ada.slot, "rating": .real(4.5),
          "price": Slot(Decimal(9.5)), "published": .real(1000), "inPrint": .int(1),
        ], tags: [tags[0], tags[1]])
      try book(
        "c",
        [
          "pages": .int(200), "year": .int(200), "isbn": .text("Übung"), "author": ada.slot, "rating": .real(2),
          "price": Slot(Decimal(10)), "published": .real(2000), "inPrint": .int(0),
        ], tags: [tags[1]])
      try book("d", ["pages": .int(300), "year": .int(2001), "isbn": .text("100%_*?\\"), "author": bob.slot], tags: [tags[2]])
      try book("e", ["pages": .int(0), "isbn": .text("")])
      try book("f", ["pages": .int(-5), "isbn": .text("ubung")], tags: tags)
      for (title, pages) in [("b", [10, 20]), ("c", [5]), ("d", [])] as [(String, [Int64])] {
        for count in pages {
          try save.insert(
            "Chapter", ["title": .text("\(title)\(count)"), "pages": .int(count), "book": library.books[title]?.slot ?? .null])
        }
      }
      try save.change(try save.insert("Shelf", ["name": .text("left")]), "hidden", add: ["b", "d"].compactMap { library.books[$0] })
      let friends = [ada, bob]
      try save.change(ada, "friends", add: [friends[1]])
      try save.change(bob, "friends", add: [friends[0]])
      return library
    }
  }

  private func assert(
    _ open: OpenStore, _ predicate: FetchPredicate, _ expected: String, entity: String = "Book", property: String = "title",
    file: StaticString = #filePath, line: UInt = #line
  ) throws {
    let specification = FetchSpecification(entityName: entity, predicate: predicate)
    let found = try open.texts(property, specification).sorted().joined()
    XCTAssertEqual(found, expected, "\(predicate)", file: file, line: line)
    let all = try open.texts(property, FetchSpecification(entityName: entity)).sorted()
    let others = try open.texts(property, FetchSpecification(entityName: entity, predicate: !predicate)).sorted().joined()
    XCTAssertEqual(others, all.filter { !expected.contains($0) }.joined(), "NOT \(predicate)", file: file, line: line)
    XCTAssertEqual(try open.count(specification), expected.count, "count of \(predicate)", file: file, line: line)
  }

  func testNumbersAreCompared() throws {
    let open = try makeLibrary().open
    try assert(open, .compare("pages", .equal, 100), "b")
    try assert(open, .compare("pages", .notEqual, 100), "acdef")
    try assert(open, .compare("pages", .less, 100), "ef")
    try assert(open, .compare("pages", .lessOrEqual, 100), "bef")
    try assert(open, .compare("pages", .greater, 0), "bcd")
    try assert(open, .compare("pages", .greaterOrEqual, 0), "bcde")
    try assert(open, .compare("pages", .greater, 99.5), "bcd")
    try assert(open, .compare("rating", .equal, 2), "c")
    try assert(open, .compare("rating", .greater, 2.25), "b")
    try assert(open, .compare("pages", .equal, 0), "e")
  }

  func testNilEqualsOnlyNil() throws {
    let open = try makeLibrary().open
    try assert(open, .compare("pages", .equal, nil), "a")
    try assert(open, .compare("pages", .notEqual, nil), "bcdef")
    try assert(open, .compare("author", .equal, nil), "aef")
    try assert(open, .compare("author.name", .equal, nil), "aef")
    try assert(open, .compare("author.mentor.name", .notEqual, "Bob"), "adef")
    try assert(open, .compare("year", .less, 5000), "bcd")
    try assert(open, .compare("isbn", .contains, "x"), "")
    try assert(open, .compare("isbn", .equal, ""), "e")
  }

  func testStringsAreCompared() throws {
    let open = try makeLibrary().open
    try assert(open, .compare("title", .equal, "b"), "b")
    try assert(open, .compare("title", .greater, "c"), "def")
    try assert(open, .compare("title", .lessOrEqual, "b"), "ab")
    try assert(open, .compare("isbn", .beginsWith, "100%"), "d")
    try assert(open, .compare("isbn", .beginsWith, ""), "bcdef")
    try assert(open, .compare("isbn", .beginsWith, "u"), "f")
    try assert(open, .compare("isbn", .endsWith, "bung"), "cf")
    try assert(open, .compare("isbn", .contains, "%_*?"), "d")
    try assert(open, .compare("isbn", .contains, "ß"), "b")
  }

  func testStringsMatchPatterns() throws {
    let open = try makeLibrary().open
    try assert(open, .compare("isbn", .like, "*bung"), "cf")
    try assert(open, .compare("isbn", .like, "?bung"), "cf")
    try assert(open, .compare("isbn", .like, "Str*"), "b")
    try assert(open, .compare("isbn", .like, "str*"), "")
    try assert(open, .compare("isbn", .like, "str*", options: .caseInsensitive), "b")
    try assert(open, .compare("isbn", .like, "100%_\\*\\?*"), "d")
    try assert(open, .compare("isbn", .like, ""), "e")
    try assert(open, .compare("isbn", .matches, "[Uu].*"), "f")
    try assert(open, .compare("isbn", .matches, "bung"), "")
    try assert(open, .compare("isbn", .matches, ".*\\d+.*"), "d")
  }

  func testStringsAreComparedIgnoringCaseAndDiacritics() throws {
    let open = try makeLibrary().open
    try assert(open, .compare("isbn", .equal, "übung", options: .caseInsensitive), "c")
    try assert(open, .compare("isbn", .equal, "Ubung", options: .diacriticInsensitive), "c")
    try assert(open, .compare("isbn", .equal, "UBUNG", options: [.caseInsensitive, .diacriticInsensitive]), "cf")
    try assert(open, .compare("isbn", .contains, "TRA", options: .caseInsensitive), "b")
    try assert(open, .compare("isbn", .beginsWith, "UB", options: [.caseInsensitive, .diacriticInsensitive]), "cf")
    try assert(open, .compare("isbn", .endsWith, "BUNG", options: .caseInsensitive), "cf")
    try assert(open, .compare("title", .in, ["B", "C"], options: .caseInsensitive), "bc")
  }

  func testListsAndRanges() throws {
    let open = try makeLibrary().open
    try assert(open, .compare("pages", .in, [100, 300, 7]), "bd")
    try assert(open, .compare("pages", .in, [Int]()), "")
    try assert(open, .compare("title", .in, ["a", "f"]), "af")
    try assert(open, .compare("pages", .between, [0, 200]), "bce")
    try assert(open, .compare("pages", .between, [200, 0]), "")
    try assert(open, .compare("author.name", .in, ["Bob", "Eve"]), "d")
    for (format, titles) in [
      ("{100, 300, 7} CONTAINS pages", "bd"), ("NOT {100, 300, 7} CONTAINS pages", "acef"), ("{} CONTAINS pages", ""),
      ("{pages, year} CONTAINS 200", "c"), ("{'BOB', 'eve'} CONTAINS[c] author.name", "d"), ("ANY {100, 300} == pages", "bd"),
      ("ALL {-1, 99} < pages", "bcd"), ("NONE {100, 300} == pages", "acef"), ("ANY {'green'} IN tags.name", "df"),
      ("ALL {'red', 'blue'} IN tags.name", "bf"), ("nil == author", "aef"), ("200 BETWEEN {year, pages}", "c"),
      ("SUBQUERY(tags, $t, {'red', 'none'} CONTAINS $t.name).@count > 0", "bf"),
    ] {
      try assert(open, try FetchPredicate(format: format), titles)
    }
    try assert(open, try FetchPredicate(format: "SELF.%@.%@ == %@", "author", "name", "Bob"), "d")
  }

  func testLongLists() throws {
    let open = try makeLibrary().open
    try assert(open, .compare("pages", .in, Array(-5...100)), "bef")
    try assert(open, .compare("pages", .in, Array(100...3_000)), "bcd")
    try assert(open, .compare("title", .in, (0..<2_000).map { "nothing \($0)" } + ["c"]), "c")
    try assert(open, .or((0..<150).map { .compare("pages", .equal, $0) }), "be")
  }

  func testCompoundPredicates() throws {
    let open = try makeLibrary().open
    let long = FetchPredicate.compare("pages", .greaterOrEqual, 100)
    let old = FetchPredicate.compare("year", .less, 2000)
    try assert(open, long && old, "bc")
    try assert(open, long || .compare("title", .equal, "a"), "abcd")
    try assert(open, long && !old, "d")
    try assert(open, !(long && old), "adef")
    try assert(open, .and([]), "abcdef")
    try assert(open, .or([]), "")
    try assert(open, .constant(true), "abcdef")
    try assert(open, !(!long), "bcd")
  }

  func testDecimalsDatesAndBooleansAreCompared() throws {
    let open = try makeLibrary().open
    try assert(open, .compare("price", .less, Decimal(10)), "b")
    try assert(open, .compare("price", .equal, Decimal(10)), "c")
    try assert(open, .compare("price", .greater, 9.5), "c")
    try assert(open, .compare("published", .greater, Date(timeIntervalSinceReferenceDate: 1500)), "c")
    try assert(open, .compare("inPrint", .equal, true), "b")
    try assert(open, .compare("inPrint", .equal, false), "c")
    try assert(open, .compare("inPrint", .notEqual, true), "acdef")
  }

  func testObjectsAreComparedByIdentity() throws {
    let library = try makeLibrary()
    let open = library.open
    try assert(open, .compare("author", .equal, library.ada), "bc")
    try assert(open, .compare("author", .notEqual, library.ada), "adef")
    try assert(open, .compare("author", .in, [library.ada, library.bob]), "bcd")
    let own = FetchComparison(
      left: .evaluatedObject, op: .in, right: .constant(.list(["a", "d"].map { .object(library.books[$0] ?? library.ada) })))
    try assert(open, .comparison(own), "ad")
    let one = FetchComparison(left: .evaluatedObject, op: .equal, right: .constant(.object(library.books["e"] ?? library.ada)))
    try assert(open, .comparison(one), "e")
    let temporary = ManagedObjectID(space: library.ada.space, entityNumber: library.ada.entityNumber, key: -3)
    try assert(open, .compare("author", .equal, temporary), "")
  }

  func testToOneKeyPathsAreFollowed() throws {
    let open = try makeLibrary().open
    try assert(open, .compare("author.name", .equal, "Ada"), "bc")
    try assert(open, .compare("author.mentor.name", .equal, "Bob"), "bc")
    try assert(open, .compare("author.born", .greaterOrEqual, 1900), "bcd")
    try assert(open, .compare("author.mentor", .equal, nil), "adef")
    try assert(open, .compare("author.name", .beginsWith, "A") || .compare("author.mentor.born", .equal, nil), "abcdef")
  }

  func testToManyKeyPathsTestMembers() throws {
    let library = try makeLibrary()
    let open = library.open
    try assert(open, .compare("tags.name", .equal, "red", modifier: .any), "bf")
    try assert(open, .compare("tags.name", .equal, "red", modifier: .none), "acde")
    try assert(open, .compare("tags.name", .equal, "blue", modifier: .all), "ace")
    try assert(open, .compare("tags.name", .notEqual, "blue", modifier: .any), "bdf")
    try assert(open, .compare("tags", .contains, library.red), "bf")
    try assert(open, .compare("tags", .equal, library.red, modifier: .any), "bf")
    try assert(open, .compare("tags.name", .in, ["red", "green"], modifier: .any), "bdf")
  }

  func testPredicatesFollowEveryKindOfRelationship() throws {
    let open = try makeLibrary().open
    try assert(open, .compare("chapters.pages", .greater, 15, modifier: .any), "b")
    try assert(open, .compare("books.title", .equal, "c", modifier: .any), "Ada", entity: "Author", property: "name", count: 1)
    try assert(open, .compare("friends.name", .equal, "Ada", modifier: .any), "Bob", entity: "Author", property: "name", count: 1)
    try assert(open, .compare("pupils.name", .equal, "Ada", modifier: .any), "Bob", entity: "Author", property: "name", count: 1)
    try assert(open, .compare("hidden.title", .equal, "d", modifier: .any), "left", entity: "Shelf", property: "name", count: 1)
    try assert(open, .compare("author.books.title", .equal, "c", modifier: .any), "bc")
    try assert(open, .compare("books.tags.name", .equal, "green", modifier: .any), "Bob", entity: "Author", property: "name", count: 1)
  }

  private func assert(
    _ open: OpenStore, _ predicate: FetchPredicate, _ expected: String, entity: String, property: String, count: Int,
    file: StaticString = #filePath, line: UInt = #line
  ) throws {
    let found = try open.texts(property, FetchSpecification(entityName: entity, predicate: predicate))
    XCTAssertEqual(found, [expected], "\(predicate)", file: file, line: line)
    let others = try open.count(FetchSpecification(entityName: entity, predicate: !predicate))
    XCTAssertEqual(others, try open.count(entity) - count, "NOT \(predicate)", file: file, line: line)
  }

  func testCollectionsAreCountedAndSummed() throws {
    let open = try makeLibrary().open
    try assert(open, .compare("tags.@count", .equal, 0), "ae")
    try assert(open, .compare("tags.@count", .greaterOrEqual, 2), "bf")
    try assert(open, .compare("chapters.@sum.pages", .equal, 30), "b")
    try assert(open, .compare("chapters.@sum.pages", .equal, 0), "adef")
    try assert(open, .compare("chapters.@max.pages", .equal, 20), "b")
    try assert(open, .compare("chapters.@min.pages", .less, 10), "c")
    try assert(open, .compare("chapters.@avg.pages", .equal, 15), "b")
    try assert(open, .compare("author.books.@count", .equal, 2), "bc")
  }

  func testSubqueriesBindAVariableToEachMember() throws {
    let open = try makeLibrary().open
    let chapter = FetchExpression.path(.variable("c"), ["pages"])
    let long = FetchPredicate.comparison(FetchComparison(left: chapter, op: .greater, right: .constant(.int(7))))
    let short = FetchPredicate.comparison(FetchComparison(left: chapter, op: .less, right: .constant(.int(15))))
    let matching = FetchExpression.subquery(collection: .keyPath("chapters"), variable: "c", predicate: long && short)
    let count = FetchExpression.path(matching, ["@count"])
    try assert(open, .comparison(FetchComparison(left: count, op: .greater, right: .constant(.int(0)))), "b")
    try assert(open, .comparison(FetchComparison(left: count, op: .equal, right: .constant(.int(0)))), "acdef")
  }

  func testAttributesOfOneObjectAreComparedWithEachOther() throws {
    let open = try makeLibrary().open
    try assert(open, .comparison(FetchComparison(left: .keyPath("pages"), op: .equal, right: .keyPath("year"))), "ac")
    try assert(open, .comparison(FetchComparison(left: .keyPath("pages"), op: .less, right: .keyPath("year"))), "bd")
    let sum = FetchExpression.function("add:to:", [.keyPath("pages"), .constant(.int(5))])
    try assert(open, .comparison(FetchComparison(left: sum, op: .equal, right: .constant(.int(0)))), "f")
  }

  func testFetchesWithDifferentConstantsReturnDifferentResults() throws {
    let open = try makeLibrary().open
    for (pages, expected) in [(100, "b"), (200, "c"), (7, ""), (300, "d")] { try assert(open, .compare("pages", .equal, pages), expected) }
    for list in [[100], [100, 200], [100, 200, 300], [300, 0, -5, 200, 100]] {
      let found = try open.count(FetchSpecification(entityName: "Book", predicate: .compare("pages", .in, list)))
      XCTAssertEqual(found, list.count)
    }
  }

  func testDeepPredicatesSucceedOrThrow() throws {
    let open = try makeLibrary().open
    for depth in [20, 60, 5_000] {
      var predicate = FetchPredicate.compare("pages", .equal, 100)
      for level in 0..<depth {
        let other = FetchPredicate.compare("pages", .equal, Int64(1_000 + level))
        predicate = level % 2 == 0 ? .or([other, predicate]) : .and([!other, predicate])
      }
      do {
        let found = try open.texts("title", FetchSpecification(entityName: "Book", predicate: predicate))
        XCTAssertEqual(found, ["b"], "depth \(depth)")
        if depth == 5_000 { XCTFail("A bottomless predicate was answered.") }
      } catch {
        let isRejection = "\(error)".contains("deep") || (error as? StoreError)?.code == .nestingTooDeep
        XCTAssertTrue(isRejection && depth > 20, "depth \(depth): \(error)")
      }
    }
  }

  func testRandomPredicatesMatchTheEvaluator() throws {
    let open = try makeStore(RandomModel.model)
    let graph = try RandomGraph(seed: 4_711, count: 18, in: open)
    var predicates = RandomPredicates(seed: 815, graph: graph)
    var answered = 0
    for number in 0..<250 {
      let entity = try open.entity(number % 3 == 0 ? "Person" : "Thing")
      let specification = FetchSpecification(entityName: entity.name, predicate: predicates.next(entity))
      guard let expected = try? graph.keys(entity.name, specification.predicate ?? .constant(true)) else {
        XCTAssertThrowsError(try open.ids(specification), "\(entity.name): \(String(describing: specification.predicate))")
        continue
      }
      answered += 1
      XCTAssertEqual(
        Set(try open.ids(specification).map(\.key)), expected, "\(entity.name): \(String(describing: specification.predicate))")
      XCTAssertEqual(try open.count(specification), expected.count)
    }
    XCTAssertGreaterThan(answered, 200)
  }
}
