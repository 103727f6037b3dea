import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Expressions and aggregates among the properties of dictionary results.
public final class AggregateSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testExpressionsAreEvaluatedForEachObject", { $0.testExpressionsAreEvaluatedForEachObject }),
        ("testAggregateReturnsOneRowForAllObjects", { $0.testAggregateReturnsOneRowForAllObjects }),
        ("testAggregatesOfEmptyResults", { $0.testAggregatesOfEmptyResults }),
        ("testIntegerSumsStayIntegersUnlessTheyOverflow", { $0.testIntegerSumsStayIntegersUnlessTheyOverflow }),
        ("testDecimalsStayExact", { $0.testDecimalsStayExact }),
        ("testSumsOfDoublesAreRoundedOnce", { $0.testSumsOfDoublesAreRoundedOnce }),
        ("testMinimumAndMaximumOfEachType", { $0.testMinimumAndMaximumOfEachType }),
        ("testMedians", { $0.testMedians }),
        ("testDistinctValuesAreCountedOnce", { $0.testDistinctValuesAreCountedOnce }),
        ("testAggregatesAcceptExpressionsAndMembers", { $0.testAggregatesAcceptExpressionsAndMembers }),
        ("testAggregatesCanBeUsedInExpressions", { $0.testAggregatesCanBeUsedInExpressions }),
        ("testObjectsAndEntitiesCanBeFetchedAsColumns", { $0.testObjectsAndEntitiesCanBeFetchedAsColumns }),
        ("testColumnsReportTheirValueTypes", { $0.testColumnsReportTheirValueTypes }),
        ("testResultTypesConvertValues", { $0.testResultTypesConvertValues }),
        ("testAverageCanHaveAnIntegerResultType", { $0.testAverageCanHaveAnIntegerResultType }),
        ("testResultsCanBeOrderedByNamesAndExpressions", { $0.testResultsCanBeOrderedByNamesAndExpressions }),
        ("testObjectsAreOrderedByExpressions", { $0.testObjectsAreOrderedByExpressions }),
        ("testDistinctExpressionsAreReturnedOnce", { $0.testDistinctExpressionsAreReturnedOnce }),
        ("testInvalidAggregatesThrow", { $0.testInvalidAggregatesThrow }),
      ] as [(String, (AggregateSpecification) -> () throws -> Void)])
  }

  private func decimal(_ text: String) -> Slot { Decimal(string: text).map { Slot($0) } ?? .null }

  private func makeBooks() throws -> OpenStore {
    let open = try makeStore()
    try open.save { save in
      let ada = try save.insert("Author", ["name": .text("Ada")])
      let bob = try save.insert("Author", ["name": .text("Bob"), "mentor": ada.slot])
      let tags = try ["x", "y"].map { try save.insert("Tag", ["name": .text($0)]) }
      let rows: [(String, Slot, Slot, Slot, Slot)] = [
        ("d", .int(3), decimal("1.5"), .real(0.5), ada.slot), ("b", .int(1), Slot(Decimal(10)), .real(2), bob.slot),
        ("a", .null, .null, .null, .null), ("c", .int(2), Slot(Decimal(-2)), .real(2), ada.slot),
        ("e", .int(2), decimal("0.25"), .null, bob.slot),
      ]
      for (title, pages, price, rating, author) in rows {
        let book = try save.insert("Book", ["title": .text(title), "pages": pages, "price": price, "rating": rating, "author": author])
        if title == "b" { try save.change(book, "tags", add: tags) }
        if title == "d" { try save.change(book, "tags", add: [tags[0]]) }
      }
    }
    return open
  }

  private func select(_ properties: String, _ predicate: String? = nil, entity: String = "Book") throws -> FetchSpecification {
    var specification = FetchSpecification(entityName: entity, predicate: try predicate.map { try FetchPredicate(format: $0) })
    specification.propertiesToFetch = try FetchProperty.list(format: properties)
    return specification
  }

  private func row(_ properties: String, _ predicate: String? = nil, entity: String = "Book", in open: OpenStore) throws -> [Slot] {
    let rows = try open.dictionaries(try select(properties, predicate, entity: entity)).rows
    XCTAssertEqual(rows.count, 1, properties)
    return rows.first ?? []
  }

  func testExpressionsAreEvaluatedForEachObject() throws {
    let open = try makeBooks()
    var specification = try select("title, pages * 2 AS twice, length(author.name), tags.@count, 7 AS seven")
    specification.sortDescriptors = [FetchSortDescriptor("title")]
    let answer = try open.dictionaries(specification)
    XCTAssertEqual(answer.columns.map(\.name), ["title", "twice", "length(author.name)", "tags.@count", "seven"])
    XCTAssertEqual(
      answer.rows,
      [
        [.text("a"), .null, .null, .int(0), .int(7)], [.text("b"), .int(2), .int(3), .int(2), .int(7)],
        [.text("c"), .int(4), .int(3), .int(0), .int(7)], [.text("d"), .int(6), .int(3), .int(1), .int(7)],
        [.text("e"), .int(4), .int(3), .int(0), .int(7)],
      ])
  }

  func testAggregateReturnsOneRowForAllObjects() throws {
    let open = try makeBooks()
    XCTAssertEqual(
      try row("count(*), count(pages), count(author), sum(pages), average(pages), min(pages), max(pages)", in: open),
      [.int(5), .int(4), .int(4), .int(8), .real(2), .int(1), .int(3)])
    XCTAssertEqual(try row("count(SELF) AS n", "pages == 2", in: open), [.int(2)])
    XCTAssertEqual(try row("sum(rating), average(rating)", in: open), [.real(4.5), .real(1.5)])
    var specification = try select("count(*)")
    XCTAssertEqual(try open.count(specification), 1)
    specification.fetchOffset = 1
    XCTAssertEqual(try open.dictionaries(specification).rows, [])
    XCTAssertEqual(try open.count(specification), 0)
  }

  func testAggregatesOfEmptyResults() throws {
    let open = try makeBooks()
    for predicate in ["title == 'none'", "pages == nil"] {
      let count: Int64 = predicate.hasPrefix("pages") ? 1 : 0
      XCTAssertEqual(
        try row(
          "count(*), count(pages), sum(pages), sum(price), sum(rating), average(pages), min(pages), max(title), median(price), 1 AS one",
          predicate, in: open
        ).map { $0 == .text("a") ? .null : $0 },
        [.int(count), .int(0), .int(0), Slot(Decimal(0)), .real(0), .null, .null, .null, .null, .int(1)], predicate)
    }
    XCTAssertEqual(try row("count(*)", entity: "Shelf", in: open), [.int(0)])
  }

  func testIntegerSumsStayIntegersUnlessTheyOverflow() throws {
    let open = try makeStore()
    for value in [Int64.max, 1, -5] { try open.insert("Chapter", ["pages": .int(value)]) }
    // In some orders, intermediate sums exceed 64 bits.
    XCTAssertEqual(try row("sum(pages)", entity: "Chapter", in: open), [.int(.max - 4)])
    XCTAssertEqual(try row("sum(pages)", "pages > 0", entity: "Chapter", in: open), [.real(0x1p63)])
    XCTAssertEqual(try row("average(pages)", "pages > 0", entity: "Chapter", in: open), [.real(0x1p62)])
    XCTAssertEqual(try row("sum(pages) + 1", "pages < 2", entity: "Chapter", in: open), [.int(-3)])
  }

  func testDecimalsStayExact() throws {
    let open = try makeStore()
    for text in ["0.1", "0.2", "12345678901234567890.000000000001"] {
      try open.insert("Book", ["title": .text(text), "price": decimal(text)])
    }
    XCTAssertEqual(
      try row("sum(price), min(price), max(price)", in: open),
      ["12345678901234567890.300000000001", "0.1", "12345678901234567890.000000000001"].map { decimal($0) })
    XCTAssertEqual(try row("average(price), sum(price * 3)", "price < 1", in: open), ["0.15", "0.9"].map { decimal($0) })
  }

  func testSumsOfDoublesAreRoundedOnce() throws {
    let open = try makeStore()
    for (index, value) in [1e16, 1, -1e16, 0.1, 0.2, -0.3].enumerated() {
      try open.insert("Book", ["title": .text("\(index)"), "rating": .real(value)])
    }
    // 0.1 + 0.2 - 0.3 of doubles is not 0.
    XCTAssertEqual(try row("sum(rating)", in: open), [.real(1)])
    XCTAssertEqual(try row("sum(rating)", "rating < 1 AND rating > -1", in: open), [.real(2.7755575615628914e-17)])
  }

  func testMinimumAndMaximumOfEachType() throws {
    let open = try makeStore(SpecificationModels.types)
    let first = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    let second = UUID(uuid: (200, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    try open.insert(
      "Sample",
      [
        "aString": .text("é"), "aDate": .real(5), "aDecimal": Slot(Decimal(-3)), "aUUID": Slot(first), "aBoolean": .int(1),
        "aFloat": .real(0.5), "aURI": .text("a:b"), "aInteger16": .int(-1),
      ])
    try open.insert(
      "Sample",
      [
        "aString": .text("z"), "aDate": .real(-5), "aDecimal": Slot(Decimal(2)), "aUUID": Slot(second), "aBoolean": .int(0),
        "aFloat": .real(-1), "aURI": .text("a:c"), "aInteger16": .int(7),
      ])
    try open.insert("Sample", [:])
    let names = ["aString", "aDate", "aDecimal", "aUUID", "aBoolean", "aFloat", "aURI", "aInteger16"]
    XCTAssertEqual(
      try row(names.map { "min(\($0))" }.joined(separator: ", "), entity: "Sample", in: open),
      [.text("z"), .real(-5), Slot(Decimal(-3)), Slot(first), .int(0), .real(-1), .text("a:b"), .int(-1)])
    XCTAssertEqual(
      try row(names.map { "max(\($0))" }.joined(separator: ", "), entity: "Sample", in: open),
      [.text("é"), .real(5), Slot(Decimal(2)), Slot(second), .int(1), .real(0.5), .text("a:c"), .int(7)])
    XCTAssertEqual(
      try row("sum(aBoolean), count(aBinary), count(aTransformable)", entity: "Sample", in: open), [.int(1), .int(0), .int(0)])
  }

  func testMedians() throws {
    let open = try makeBooks()
    XCTAssertEqual(try row("median(pages), median(price), median(rating)", in: open), [.real(2), decimal("0.875"), .real(2)])
    XCTAssertEqual(try row("median(pages)", "title IN {'b', 'd', 'e', 'x'} AND pages != 3", in: open), [.real(1.5)])
    XCTAssertEqual(try row("median(pages)", "pages == 3", in: open), [.real(3)])
    XCTAssertEqual(try row("mode(pages)", in: open), [.int(2)])
  }

  func testDistinctValuesAreCountedOnce() throws {
    let open = try makeBooks()
    XCTAssertEqual(
      try row(
        "count(distinct pages), sum(distinct pages), average(distinct rating), count(distinct author), max(distinct pages)", in: open),
      [.int(3), .int(6), .real(1.25), .int(2), .int(3)])
    let other = try makeStore()
    for name in ["e\u{301}", "é", "e"] { try other.insert("Author", ["name": .text(name)]) }
    XCTAssertEqual(try row("count(distinct name), count(DISTINCT canonical(name))", entity: "Author", in: other), [.int(3), .int(1)])
  }

  func testAggregatesAcceptExpressionsAndMembers() throws {
    let open = try makeBooks()
    XCTAssertEqual(try row("sum(pages * 2), max(length(author.name)), min(0 - pages)", in: open), [.int(16), .int(3), .int(-3)])
    XCTAssertEqual(try row("count(author.mentor), count(distinct author.mentor.name)", in: open), [.int(2), .int(1)])
    XCTAssertEqual(
      try row("sum(books.@count), max(books.@sum.pages), sum(sum(books.pages))", entity: "Author", in: open), [.int(4), .int(5), .int(8)])
    // An aggregate of one object's members is not an aggregate of objects.
    var specification = try select("name, count(books) AS n, max(books.pages)", entity: "Author")
    specification.sortDescriptors = [FetchSortDescriptor("name")]
    XCTAssertEqual(try open.dictionaries(specification).rows, [[.text("Ada"), .int(2), .int(3)], [.text("Bob"), .int(2), .int(2)]])
  }

  func testAggregatesCanBeUsedInExpressions() throws {
    let open = try makeBooks()
    XCTAssertEqual(
      try row("sum(pages) / count(*) AS each, TERNARY(count(*) > 4, 'many', 'few') AS word, max(pages) - min(pages)", in: open),
      [.int(1), .text("many"), .int(2)])
    XCTAssertEqual(try row("TERNARY(count(*) > 4, 'many', 'few') AS word", "pages == 3", in: open), [.text("few")])
  }

  func testObjectsAndEntitiesCanBeFetchedAsColumns() throws {
    let open = try makeBooks()
    let ids = try open.ids(FetchSpecification(entityName: "Book", predicate: .compare("title", .equal, "c")))
    let ada = try open.ids(FetchSpecification(entityName: "Author", predicate: .compare("name", .equal, "Ada")))
    let answer = try open.dictionaries(try select("SELF AS me, objectID, author, entity", "title == 'c'"))
    let entity = try open.entity("Book").number
    XCTAssertEqual(answer.rows, [[ids[0].slot, ids[0].slot, ada[0].slot, .int(Int64(entity))]])
    let assets = try makeStore(SpecificationModels.assets)
    let clip = try assets.insert("Clip", ["name": .text("clip")])
    try assets.insert("Note", ["body": .text("of a clip"), "asset": clip.slot])
    try assets.insert("Note", ["body": .text("of nothing")])
    XCTAssertEqual(
      try assets.dictionaries(try select("SELF AS me, entity", entity: "Asset")).rows, [[clip.slot, .int(Int64(clip.entityNumber))]])
    var notes = try select("asset, asset.entity", entity: "Note")
    notes.sortDescriptors = [FetchSortDescriptor("body")]
    XCTAssertEqual(try assets.dictionaries(notes).rows, [[clip.slot, .int(Int64(clip.entityNumber))], [.null, .null]])
  }

  func testColumnsReportTheirValueTypes() throws {
    let open = try makeBooks()
    let columns = try open.dictionaries(
      try select("title, author, entity, pages + 1, count(tags) AS s, price * 2, rating * 2, published, uppercase(title), inPrint")
    ).columns
    let contents = columns.map { column in
      switch column.content {
      case .attribute(let attribute): "attribute \(attribute.type.rawValue)"
      case .value(let type): type.rawValue
      case .object: "object"
      case .entity: "entity"
      }
    }
    XCTAssertEqual(
      contents,
      [
        "attribute String", "object", "entity", "Integer 64", "Integer 64", "Decimal", "Double", "attribute Date", "String",
        "attribute Boolean",
      ])
  }

  func testResultTypesConvertValues() throws {
    let open = try makeBooks()
    func value(_ format: String, as type: AttributeType) throws -> Slot? {
      var specification = FetchSpecification(entityName: "Book")
      specification.propertiesToFetch = [.expression(try FetchExpression(format: format), as: "v", resultType: type)]
      let answer = try open.dictionaries(specification)
      if case .value(let found)? = answer.columns.first?.content { XCTAssertEqual(found, type) } else { XCTFail("\(answer.columns)") }
      return answer.rows.first?.first
    }
    XCTAssertEqual(try value("count(*)", as: .integer32), .int(5))
    XCTAssertEqual(try value("count(*)", as: .double), .real(5))
    XCTAssertEqual(try value("sum(pages)", as: .decimal), Slot(Decimal(8)))
    XCTAssertEqual(try value("sum(price)", as: .double), .real(9.75))
    XCTAssertEqual(try value("average(rating)", as: .decimal), decimal("1.5"))
    XCTAssertEqual(try value("min(title)", as: .string), .text("a"))
    XCTAssertThrowsError(try value("sum(pages) * 10000", as: .integer16)) {
      XCTAssertEqual(
        ($0 as? StoreError)?.message, "A value of “v” does not fit in the result type Integer 16: choose a larger type.")
    }
    XCTAssertThrowsError(try value("average(rating)", as: .string)) {
      XCTAssertEqual(
        "\($0)",
        "The result type String of v, whose values are of type floating-point number, is not supported here. Leave resultType out, or choose a type that holds every such value."
      )
    }
  }

  func testAverageCanHaveAnIntegerResultType() throws {
    let open = try makeBooks()
    func value(_ format: String, as type: AttributeType, _ predicate: String? = nil) throws -> Slot? {
      var specification = FetchSpecification(entityName: "Book", predicate: try predicate.map { try FetchPredicate(format: $0) })
      specification.propertiesToFetch = [.expression(try FetchExpression(format: format), as: "v", resultType: type)]
      return try open.dictionaries(specification).rows.first?.first
    }
    for type in [AttributeType.integer16, .integer32, .integer64] {
      XCTAssertEqual(try value("average(pages)", as: type), .int(2), "A mean without a fraction.")
      XCTAssertEqual(try value("average(rating)", as: type), .int(1), "The whole part of 1.5.")
      XCTAssertEqual(try value("0 - average(rating)", as: type), .int(-1), "The whole part of -1.5.")
      XCTAssertEqual(try value("average(price)", as: type), .int(2), "The whole part of 2.4375, a decimal.")
      XCTAssertEqual(try value("average(price)", as: type, "price < 0"), .int(-2))
      XCTAssertEqual(try value("median(rating)", as: type), .int(2))
      XCTAssertEqual(try value("average(pages)", as: type, "title == 'none'"), .null, "No rows have no aggregate.")
    }
    XCTAssertThrowsError(try value("average(pages) * 100000", as: .integer16)) {
      XCTAssertEqual(
        ($0 as? StoreError)?.message, "A value of “v” does not fit in the result type Integer 16: choose a larger type.")
    }
    XCTAssertThrowsError(try value("average(rating) * 1e300", as: .integer64))
    // With groups, too.
    var groups = FetchSpecification(entityName: "Book")
    groups.propertiesToGroupBy = ["author.name"]
    groups.sortDescriptors = [FetchSortDescriptor("author.name")]
    groups.propertiesToFetch = [
      "author.name", .expression(try FetchExpression(format: "average(pages)"), as: "mean", resultType: .integer32),
    ]
    XCTAssertEqual(try open.dictionaries(groups).rows, [[.null, .null], [.text("Ada"), .int(2)], [.text("Bob"), .int(1)]])
  }

  func testResultsCanBeOrderedByNamesAndExpressions() throws {
    let open = try makeBooks()
    var specification = try select("title, 0 - pages AS backwards")
    specification.sortDescriptors = [FetchSortDescriptor("backwards"), FetchSortDescriptor("title", ascending: false)]
    XCTAssertEqual(try open.dictionaries(specification).rows.map { $0[0] }, ["a", "d", "e", "c", "b"].map { .text($0) })
    specification.sortDescriptors = [
      FetchSortDescriptor(expression: .variable("backwards"), ascending: false), FetchSortDescriptor("title", ascending: false),
    ]
    XCTAssertEqual(try open.dictionaries(specification).rows.map { $0[0] }, ["b", "e", "c", "d", "a"].map { .text($0) })
    specification.sortDescriptors = [FetchSortDescriptor(expression: try FetchExpression(format: "price * -1"))]
    XCTAssertEqual(try open.dictionaries(specification).rows.map { $0[0] }, ["a", "b", "d", "e", "c"].map { .text($0) })
    // A name takes precedence over a property with the same spelling.
    specification.propertiesToFetch = [.expression(try FetchExpression(format: "0 - pages"), as: "pages"), "title"]
    specification.sortDescriptors = [FetchSortDescriptor("pages"), FetchSortDescriptor("title")]
    XCTAssertEqual(try open.dictionaries(specification).rows.map { $0[1] }, ["a", "d", "c", "e", "b"].map { .text($0) })
  }

  func testObjectsAreOrderedByExpressions() throws {
    let open = try makeBooks()
    func titles(_ format: String, ascending: Bool = true, limit: Int = 0) throws -> [String] {
      var specification = FetchSpecification(entityName: "Book")
      specification.sortDescriptors = [
        FetchSortDescriptor(expression: try FetchExpression(format: format), ascending: ascending), FetchSortDescriptor("title"),
      ]
      specification.fetchLimit = limit
      return try open.texts("title", specification)
    }
    XCTAssertEqual(try titles("0 - pages"), ["a", "d", "c", "e", "b"])
    XCTAssertEqual(try titles("tags.@count", ascending: false), ["b", "d", "a", "c", "e"])
    XCTAssertEqual(try titles("length(author.name) + pages", limit: 2), ["a", "b"])
    XCTAssertEqual(try titles("TERNARY(title == 'e', 0, 1)"), ["e", "a", "b", "c", "d"])
    XCTAssertEqual(try titles("entity", limit: 3), ["a", "b", "c"])
    XCTAssertEqual(try titles("1", limit: 3), ["a", "b", "c"])
  }

  func testDistinctExpressionsAreReturnedOnce() throws {
    let open = try makeBooks()
    var specification = try select("pages - 1 AS less")
    specification.returnsDistinctResults = true
    specification.sortDescriptors = [FetchSortDescriptor("less", ascending: false)]
    XCTAssertEqual(try open.dictionaries(specification).rows, [[.int(2)], [.int(1)], [.int(0)], [.null]])
    XCTAssertEqual(try open.count(specification), 4)
    specification.fetchLimit = 3
    specification.fetchOffset = 2
    XCTAssertEqual(try open.dictionaries(specification).rows, [[.int(0)], [.null]])
    XCTAssertEqual(try open.count(specification), 2)
    specification.sortDescriptors = [FetchSortDescriptor("title")]
    XCTAssertThrowsError(try open.dictionaries(specification)) {
      XCTAssertEqual(
        "\($0)",
        "Ordering distinct results by title, which is not among them, is not supported here. Add it to propertiesToFetch, or leave returnsDistinctResults out."
      )
    }
  }

  func testInvalidAggregatesThrow() throws {
    let open = try makeBooks()
    for (format, message) in [
      (
        "title, count(*)",
        "title in propertiesToFetch may have several values in a group. Add it to propertiesToGroupBy, or take an aggregate of it, such as min(title)."
      ),
      (
        "author.name AS who, max(pages)",
        "author.name in propertiesToFetch may have several values in a group. Add it to propertiesToGroupBy, or take an aggregate of it, such as min(author.name)."
      ),
      (
        "tags.@count, max(pages)",
        "tags.@count in propertiesToFetch may have several values in a group. Add it to propertiesToGroupBy, or take an aggregate of it, such as min(tags.@count)."
      ),
      ("sum(title)", "sum: does not apply to title, which is of type string."),
      ("min(author)", "min: does not apply to author, which is of type object."),
      (
        "sum(max(pages))",
        "The aggregate max: inside of an aggregate is not supported here. Aggregate one value of each object, such as sum(price) or sum(books.@count)."
      ),
      (
        "count(*) AS n, sum(pages) AS n",
        "A second property named n is not supported here. Give each property of a dictionary a different name."
      ),
      ("{1, 2} AS l", "The list l is not supported here. Fetch one value of each object or group."),
      ("nothing + 1 AS n", "The entity Book has no property named nothing."),
    ] {
      XCTAssertThrowsError(try open.dictionaries(try select(format)), format) { XCTAssertEqual("\($0)", message, format) }
    }
    let condition = FetchSpecification(entityName: "Book", predicate: try FetchPredicate(format: "sum(pages) > 3"))
    XCTAssertThrowsError(try open.rows(condition)) {
      XCTAssertEqual(
        "\($0)",
        "The function sum: of pages is not supported here. Give it a path through one to-many relationship, or a list in braces; or fetch dictionaries, and use it in propertiesToFetch, havingPredicate or the order."
      )
    }
    var having = try select("title")
    having.havingPredicate = .compare("title", .equal, "a")
    XCTAssertThrowsError(try open.dictionaries(having)) {
      XCTAssertEqual(
        "\($0)",
        "A havingPredicate without groups is not supported here. Set propertiesToGroupBy, or move it to a condition on objects in predicate."
      )
    }
  }
}
