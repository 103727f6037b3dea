import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Groups of objects as dictionary results.
public final class GroupingSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testObjectsAreGroupedByAnAttribute", { $0.testObjectsAreGroupedByAnAttribute }),
        ("testNilFormsItsOwnGroup", { $0.testNilFormsItsOwnGroup }),
        ("testGroupKeysAreFetchedByDefault", { $0.testGroupKeysAreFetchedByDefault }),
        ("testObjectsAreGroupedByKeyPathsObjectsAndExpressions", { $0.testObjectsAreGroupedByKeyPathsObjectsAndExpressions }),
        ("testPropertiesOfAGroupedObjectCanBeFetched", { $0.testPropertiesOfAGroupedObjectCanBeFetched }),
        ("testObjectsCanBeGroupedBySeveralKeys", { $0.testObjectsCanBeGroupedBySeveralKeys }),
        ("testObjectsAreGroupedByEntity", { $0.testObjectsAreGroupedByEntity }),
        ("testStringsAreGroupedByTheirBytes", { $0.testStringsAreGroupedByTheirBytes }),
        ("testHavingAcceptsAggregatesKeysAndNames", { $0.testHavingAcceptsAggregatesKeysAndNames }),
        ("testHavingWithoutKeysFiltersTheOnlyGroup", { $0.testHavingWithoutKeysFiltersTheOnlyGroup }),
        ("testHavingAcceptsLongListsAndPatterns", { $0.testHavingAcceptsLongListsAndPatterns }),
        ("testGroupsAreOrderedByKeysNamesAndAggregates", { $0.testGroupsAreOrderedByKeysNamesAndAggregates }),
        ("testLimitAndOffsetCountGroups", { $0.testLimitAndOffsetCountGroups }),
        ("testCountEqualsTheNumberOfGroups", { $0.testCountEqualsTheNumberOfGroups }),
        ("testEqualGroupsAreReturnedOnce", { $0.testEqualGroupsAreReturnedOnce }),
        ("testEmptyResultsHaveNoGroups", { $0.testEmptyResultsHaveNoGroups }),
        ("testInvalidGroupsThrow", { $0.testInvalidGroupsThrow }),
      ] as [(String, (GroupingSpecification) -> () throws -> Void)])
  }

  /// Books with title, pages and author: Ada has a b c, Bob has d e; f and g have no author.
  private func makeBooks() throws -> OpenStore {
    let open = try makeStore()
    try open.save { save in
      let ada = try save.insert("Author", ["name": .text("Ada"), "born": .int(1815)])
      let bob = try save.insert("Author", ["name": .text("Bob"), "born": .int(1815), "mentor": ada.slot])
      let rows: [(String, Slot, Slot)] = [
        ("a", .int(1), ada.slot), ("b", .int(2), ada.slot), ("c", .int(2), ada.slot), ("d", .int(1), bob.slot), ("e", .null, bob.slot),
        ("f", .int(3), .null), ("g", .null, .null),
      ]
      for (title, pages, author) in rows { _ = try save.insert("Book", ["title": .text(title), "pages": pages, "author": author]) }
    }
    return open
  }

  private func fetch(
    _ properties: String, by keys: String, having: String? = nil, order: [FetchSortDescriptor] = [], entity: String = "Book"
  ) throws -> FetchSpecification {
    var specification = FetchSpecification(entityName: entity)
    specification.propertiesToFetch = properties.isEmpty ? [] : try FetchProperty.list(format: properties)
    specification.propertiesToGroupBy = keys.isEmpty ? [] : try FetchProperty.list(format: keys)
    specification.havingPredicate = try having.map { try FetchPredicate(format: $0) }
    specification.sortDescriptors = order
    return specification
  }

  private func id(_ entity: String, _ name: String, in open: OpenStore) throws -> Slot {
    try open.ids(FetchSpecification(entityName: entity, predicate: .compare("name", .equal, name)))[0].slot
  }

  func testObjectsAreGroupedByAnAttribute() throws {
    let open = try makeBooks()
    let rows = try open.dictionaries(
      try fetch("pages, count(*) AS n, min(title), max(title)", by: "pages", order: [FetchSortDescriptor("pages")])
    ).rows
    XCTAssertEqual(
      rows,
      [
        [.null, .int(2), .text("e"), .text("g")], [.int(1), .int(2), .text("a"), .text("d")], [.int(2), .int(2), .text("b"), .text("c")],
        [.int(3), .int(1), .text("f"), .text("f")],
      ])
  }

  func testNilFormsItsOwnGroup() throws {
    let open = try makeBooks()
    let rows = try open.dictionaries(
      try fetch("author.name, count(*), count(author), sum(pages)", by: "author.name", order: [FetchSortDescriptor("author.name")])
    ).rows
    XCTAssertEqual(
      rows,
      [
        [.null, .int(2), .int(0), .int(3)], [.text("Ada"), .int(3), .int(3), .int(5)], [.text("Bob"), .int(2), .int(2), .int(1)],
      ])
  }

  func testGroupKeysAreFetchedByDefault() throws {
    let open = try makeBooks()
    let answer = try open.dictionaries(try fetch("", by: "pages", order: [FetchSortDescriptor("pages")]))
    XCTAssertEqual(answer.columns.map(\.name), ["pages"])
    XCTAssertEqual(answer.rows, [[.null], [.int(1)], [.int(2)], [.int(3)]])
  }

  func testObjectsAreGroupedByKeyPathsObjectsAndExpressions() throws {
    let open = try makeBooks()
    let (ada, bob) = (try id("Author", "Ada", in: open), try id("Author", "Bob", in: open))
    XCTAssertEqual(
      try open.dictionaries(try fetch("author, count(*) AS n", by: "author", order: [FetchSortDescriptor("author.name")])).rows,
      [[.null, .int(2)], [ada, .int(3)], [bob, .int(2)]])
    XCTAssertEqual(
      try open.dictionaries(
        try fetch("author.mentor.name, count(*)", by: "author.mentor.name", order: [FetchSortDescriptor("author.mentor.name")])
      ).rows, [[.null, .int(5)], [.text("Ada"), .int(2)]])
    XCTAssertEqual(
      try open.dictionaries(
        try fetch("pages + 1 AS more, count(*)", by: "pages + 1 AS more", order: [FetchSortDescriptor("more")])
      ).rows, [[.null, .int(2)], [.int(2), .int(2)], [.int(3), .int(2)], [.int(4), .int(1)]])
    // An expression of a grouped one has one value per group, whatever its constants.
    XCTAssertEqual(
      try open.dictionaries(
        try fetch("(pages + 1) * 10 AS tens, count(*)", by: "pages + 1", order: [FetchSortDescriptor("tens", ascending: false)])
      ).rows.map { $0[0] }, [.int(40), .int(30), .int(20), .null])
    XCTAssertEqual(
      try open.dictionaries(
        try fetch("books.@count, count(*)", by: "books.@count", order: [FetchSortDescriptor("books.@count")], entity: "Author")
      ).rows, [[.int(2), .int(1)], [.int(3), .int(1)]])
  }

  func testPropertiesOfAGroupedObjectCanBeFetched() throws {
    let open = try makeBooks()
    XCTAssertEqual(
      try open.dictionaries(
        try fetch(
          "author.name, author.books.@count, author.mentor.name, count(*)", by: "author", having: "author.born == 1815",
          order: [FetchSortDescriptor("author.name", ascending: false)])
      ).rows, [[.text("Bob"), .int(2), .text("Ada"), .int(2)], [.text("Ada"), .int(3), .null, .int(3)]])
    let rows = try open.dictionaries(try fetch("title, pages", by: "SELF", order: [FetchSortDescriptor("title")])).rows
    XCTAssertEqual(rows.map { $0[0] }, ["a", "b", "c", "d", "e", "f", "g"].map { .text($0) })
  }

  func testObjectsCanBeGroupedBySeveralKeys() throws {
    let open = try makeBooks()
    let order = [FetchSortDescriptor("author.name"), FetchSortDescriptor("pages", ascending: false)]
    XCTAssertEqual(
      try open.dictionaries(try fetch("author.name, pages, count(*)", by: "author.name, pages", order: order)).rows,
      [
        [.null, .int(3), .int(1)], [.null, .null, .int(1)], [.text("Ada"), .int(2), .int(2)], [.text("Ada"), .int(1), .int(1)],
        [.text("Bob"), .int(1), .int(1)], [.text("Bob"), .null, .int(1)],
      ])
  }

  func testObjectsAreGroupedByEntity() throws {
    let open = try makeStore(SpecificationModels.assets)
    for (entity, size) in [("Photo", 5), ("Clip", 7), ("Photo", 6), ("Video", 1)] {
      try open.insert(entity, ["size": .int(Int64(size))])
    }
    func number(_ name: String) throws -> Slot { .int(Int64(try open.entity(name).number)) }
    XCTAssertEqual(
      try open.dictionaries(
        try fetch("entity, sum(size) AS s", by: "entity", order: [FetchSortDescriptor("s", ascending: false)], entity: "Asset")
      ).rows, [[try number("Photo"), .int(11)], [try number("Clip"), .int(7)], [try number("Video"), .int(1)]])
    XCTAssertEqual(
      try open.dictionaries(try fetch("count(*)", by: "entity", having: "entity == 'Clip'", entity: "Asset")).rows, [[.int(1)]])
    // An entity that is alone in its table still has a number.
    try open.insert("Note", ["body": .text("x")])
    XCTAssertEqual(
      try open.dictionaries(try fetch("entity, count(*)", by: "entity", order: [FetchSortDescriptor("entity")], entity: "Note")).rows,
      [[try number("Note"), .int(1)]])
  }

  func testStringsAreGroupedByTheirBytes() throws {
    let open = try makeStore()
    for name in ["é", "e\u{301}", "É", "é", ""] { try open.insert("Author", ["name": .text(name)]) }
    try open.insert("Author", [:])
    XCTAssertEqual(
      try open.dictionaries(try fetch("name, count(*)", by: "name", order: [FetchSortDescriptor("name")], entity: "Author")).rows,
      [
        [.null, .int(1)], [.text(""), .int(1)], [.text("e\u{301}"), .int(1)], [.text("É"), .int(1)], [.text("é"), .int(2)],
      ])
    XCTAssertEqual(
      try open.dictionaries(
        try fetch("count(*) AS n", by: "canonical(name)", order: [FetchSortDescriptor("n")], entity: "Author")
      ).rows, [[.int(1)], [.int(1)], [.int(4)]])
  }

  func testHavingAcceptsAggregatesKeysAndNames() throws {
    let open = try makeBooks()
    let order = [FetchSortDescriptor("author.name")]
    func names(_ having: String) throws -> [Slot] {
      try open.dictionaries(try fetch("author.name, count(*) AS n, sum(pages) AS s", by: "author.name", having: having, order: order))
        .rows.map { $0[0] }
    }
    XCTAssertEqual(try names("count(*) > 2"), [.text("Ada")])
    XCTAssertEqual(try names("n < 3"), [.null, .text("Bob")])
    XCTAssertEqual(try names("$n < 3 AND $s == 3"), [.null])
    XCTAssertEqual(try names("author.name BEGINSWITH 'B' OR n == 3"), [.text("Ada"), .text("Bob")])
    XCTAssertEqual(try names("author.name == nil"), [.null])
    XCTAssertEqual(try names("NOT author.name == 'Ada'"), [.null, .text("Bob")])
    XCTAssertEqual(try names("max(pages) IN {1, 3}"), [.null, .text("Bob")])
    XCTAssertEqual(try names("s / n >= 1 AND n BETWEEN {2, 3}"), [.null, .text("Ada")])
    XCTAssertEqual(try names("count(distinct pages) == 2"), [.text("Ada")])
    XCTAssertEqual(try names("max(title) CONTAINS 'e' OR min(title) LIKE 'f*'"), [.null, .text("Bob")])
    var byAuthor = try fetch("author.name", by: "author", order: order)
    let ada = try open.ids(FetchSpecification(entityName: "Author", predicate: .compare("name", .equal, "Ada")))[0]
    byAuthor.havingPredicate = .compare("author", .equal, ada)
    XCTAssertEqual(try open.dictionaries(byAuthor).rows, [[.text("Ada")]])
    byAuthor.havingPredicate = .compare("author.books.title", .equal, "d", modifier: .any)
    XCTAssertEqual(try open.dictionaries(byAuthor).rows, [[.text("Bob")]])
  }

  func testHavingWithoutKeysFiltersTheOnlyGroup() throws {
    let open = try makeBooks()
    XCTAssertEqual(try open.dictionaries(try fetch("count(*) AS n, 5 AS five", by: "", having: "n > 6")).rows, [[.int(7), .int(5)]])
    for having in ["n > 7", "max(pages) < 3", "n == nil"] {
      let none = try fetch("count(*) AS n", by: "", having: having)
      XCTAssertEqual(try open.dictionaries(none).rows, [], having)
      XCTAssertEqual(try open.count(none), 0, having)
    }
    var nothing = try fetch("count(*) AS n", by: "", having: "sum(pages) == 0 AND max(pages) == nil")
    nothing.predicate = .constant(false)
    XCTAssertEqual(try open.dictionaries(nothing).rows, [[.int(0)]])
    XCTAssertEqual(try open.count(nothing), 1)
    nothing.returnsDistinctResults = true
    nothing.sortDescriptors = [FetchSortDescriptor("n")]
    XCTAssertEqual(try open.dictionaries(nothing).rows, [[.int(0)]])
  }

  func testHavingAcceptsLongListsAndPatterns() throws {
    let open = try makeBooks()
    var long = try fetch("pages, count(*) AS n", by: "pages", order: [FetchSortDescriptor("pages")])
    long.havingPredicate = .compare("pages", .in, (2..<1_500).map { $0 }) && .compare("n", .in, (0..<2_000).map { $0 })
    XCTAssertEqual(try open.dictionaries(long).rows, [[.int(2), .int(2)], [.int(3), .int(1)]])
    XCTAssertEqual(try open.count(long), 2)
    // One constant in comparisons of two kinds.
    let other = try makeStore()
    for name in ["aX", "ax", "by"] { try other.insert("Author", ["name": .text(name)]) }
    let patterns = try fetch(
      "name, TERNARY(name LIKE '?x', 1, 0) AS same, TERNARY(max(name) LIKE[c] '?x', 1, 0) AS alike, TERNARY(name MATCHES '.x', 1, 0) AS whole",
      by: "name", having: "name LIKE[c] '?x' OR name MATCHES[c] '.x' OR name LIKE '?y'", order: [FetchSortDescriptor("name")],
      entity: "Author")
    XCTAssertEqual(
      try other.dictionaries(patterns).rows,
      [[.text("aX"), .int(0), .int(1), .int(0)], [.text("ax"), .int(1), .int(1), .int(1)], [.text("by"), .int(0), .int(0), .int(0)]])
  }

  func testGroupsAreOrderedByKeysNamesAndAggregates() throws {
    let open = try makeBooks()
    func names(_ order: FetchSortDescriptor...) throws -> [Slot] {
      try open.dictionaries(try fetch("author.name, count(*) AS n", by: "author.name", order: order)).rows.map { $0[0] }
    }
    XCTAssertEqual(
      try names(FetchSortDescriptor("n", ascending: false), FetchSortDescriptor("author.name", ascending: false)),
      [.text("Ada"), .text("Bob"), .null])
    XCTAssertEqual(
      try names(FetchSortDescriptor(expression: try FetchExpression(format: "sum(pages)"))), [.text("Bob"), .null, .text("Ada")])
    XCTAssertEqual(
      try names(FetchSortDescriptor(expression: try FetchExpression(format: "0 - max(pages)"))), [.null, .text("Ada"), .text("Bob")])
    XCTAssertEqual(
      try names(FetchSortDescriptor("author.name", ascending: false, comparison: .caseInsensitive)), [.text("Bob"), .text("Ada"), .null])
    // Equal ones are in key order.
    XCTAssertEqual(try names(FetchSortDescriptor("n")), [.null, .text("Bob"), .text("Ada")])
  }

  func testLimitAndOffsetCountGroups() throws {
    let open = try makeBooks()
    var specification = try fetch("pages, count(*)", by: "pages", order: [FetchSortDescriptor("pages", ascending: false)])
    specification.fetchLimit = 2
    XCTAssertEqual(try open.dictionaries(specification).rows, [[.int(3), .int(1)], [.int(2), .int(2)]])
    specification.fetchOffset = 3
    XCTAssertEqual(try open.dictionaries(specification).rows, [[.null, .int(2)]])
    specification.fetchLimit = 0
    specification.sortDescriptors = []
    XCTAssertEqual(try open.dictionaries(specification).rows, [[.int(3), .int(1)]])
  }

  func testCountEqualsTheNumberOfGroups() throws {
    let open = try makeBooks()
    var specification = try fetch("pages, count(*) AS n", by: "pages", order: [FetchSortDescriptor("n")])
    XCTAssertEqual(try open.count(specification), 4)
    specification.fetchLimit = 3
    XCTAssertEqual(try open.count(specification), 3)
    specification.fetchOffset = 2
    XCTAssertEqual(try open.count(specification), 2)
    specification.havingPredicate = try FetchPredicate(format: "n == 1")
    XCTAssertEqual(try open.count(specification), 0)
    specification.fetchOffset = 0
    XCTAssertEqual(try open.count(specification), 1)
    XCTAssertEqual(try open.count(try fetch("author.name", by: "")), 7)
  }

  func testEqualGroupsAreReturnedOnce() throws {
    let open = try makeBooks()
    var specification = try fetch("count(*) AS n", by: "pages", order: [FetchSortDescriptor("n")])
    XCTAssertEqual(try open.dictionaries(specification).rows, [[.int(1)], [.int(2)], [.int(2)], [.int(2)]])
    specification.returnsDistinctResults = true
    XCTAssertEqual(try open.dictionaries(specification).rows, [[.int(1)], [.int(2)]])
    XCTAssertEqual(try open.count(specification), 2)
    specification.sortDescriptors = [FetchSortDescriptor(expression: try FetchExpression(format: "max(title)"))]
    XCTAssertThrowsError(try open.dictionaries(specification)) {
      XCTAssertEqual(
        "\($0)",
        "Ordering distinct results by an aggregate, which is not among them, is not supported here. Add it to propertiesToFetch, or leave returnsDistinctResults out."
      )
    }
  }

  func testEmptyResultsHaveNoGroups() throws {
    let open = try makeBooks()
    var specification = try fetch("pages, count(*)", by: "pages")
    specification.predicate = .constant(false)
    XCTAssertEqual(try open.dictionaries(specification).rows, [])
    XCTAssertEqual(try open.count(specification), 0)
  }

  func testInvalidGroupsThrow() throws {
    let open = try makeBooks()
    func several(_ keyPath: String, _ place: String) -> String {
      "\(keyPath) in \(place) may have several values in a group. Add it to propertiesToGroupBy, or take an aggregate of it, such as min(\(keyPath))."
    }
    let title = FetchSortDescriptor("title")
    for (specification, message) in [
      (try fetch("title, count(*)", by: "pages"), several("title", "propertiesToFetch")),
      (try fetch("pages + year AS x", by: "pages"), several("year", "propertiesToFetch")),
      (try fetch("author", by: "author.name"), several("author", "propertiesToFetch")),
      (try fetch("author.books.@count", by: "author.name"), several("author.books.@count", "propertiesToFetch")),
      (try fetch("pages", by: "pages", having: "title == 'a'"), several("title", "havingPredicate")),
      (try fetch("pages", by: "pages", having: "ANY tags.name == 'a'"), several("tags", "havingPredicate")),
      (try fetch("pages", by: "pages", order: [title]), several("title", "the order")),
      (
        try fetch("count(*)", by: "5 AS five"),
        "Grouping by the constant five is not supported here. Group by what differs between objects, or leave it out."
      ),
      (
        try fetch("count(*)", by: "count(*)"),
        "The function count: of SELF is not supported here. Give it a path through one to-many relationship, or a list in braces; or fetch dictionaries, and use it in propertiesToFetch, havingPredicate or the order."
      ),
      (
        try fetch("count(*)", by: "author", having: "SUBQUERY(author.books, $b, $b.pages > max(pages)).@count > 0"),
        "The aggregate max: inside of a SUBQUERY, ANY, ALL or NONE is not supported here. Compare it outside of the collection."
      ),
      (
        try fetch("count(*)", by: "tags"),
        "The to-many relationship tags of Book is used as a single value. Use ANY, ALL or NONE before the path, or @count after it."
      ),
    ] {
      XCTAssertThrowsError(try open.dictionaries(specification), message) { XCTAssertEqual("\($0)", message) }
      XCTAssertThrowsError(try open.count(specification), message) { XCTAssertEqual("\($0)", message) }
    }
  }
}
