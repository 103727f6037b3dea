import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// The order, limits and result types of fetches.
public final class FetchingSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testAFetchOfObjectsReturnsTheirRows", { $0.testAFetchOfObjectsReturnsTheirRows }),
        ("testResultsAreOrdered", { $0.testResultsAreOrdered }),
        ("testMissingValuesSortFirstAscendingAndLastDescending", { $0.testMissingValuesSortFirstAscendingAndLastDescending }),
        ("testSortKeysApplyInOrder", { $0.testSortKeysApplyInOrder }),
        ("testStringsAreOrderedByTheirBytes", { $0.testStringsAreOrderedByTheirBytes }),
        ("testStringsCanBeOrderedIgnoringCase", { $0.testStringsCanBeOrderedIgnoringCase }),
        ("testDecimalsAreOrderedAsNumbers", { $0.testDecimalsAreOrderedAsNumbers }),
        ("testResultsAreOrderedByAToOneKeyPath", { $0.testResultsAreOrderedByAToOneKeyPath }),
        ("testResultsAreOrderedByACount", { $0.testResultsAreOrderedByACount }),
        ("testLimitAndOffsetBoundTheResult", { $0.testLimitAndOffsetBoundTheResult }),
        ("testCountEqualsTheNumberOfResults", { $0.testCountEqualsTheNumberOfResults }),
        ("testAFetchOfIDsReturnsThemInOrder", { $0.testAFetchOfIDsReturnsThemInOrder }),
        ("testObjectsWithoutValuesAreReturnedAsIDs", { $0.testObjectsWithoutValuesAreReturnedAsIDs }),
        ("testDictionariesContainThePropertiesToFetch", { $0.testDictionariesContainThePropertiesToFetch }),
        ("testDictionariesContainAllAttributesByDefault", { $0.testDictionariesContainAllAttributesByDefault }),
        ("testDictionariesFollowToOneKeyPaths", { $0.testDictionariesFollowToOneKeyPaths }),
        ("testEqualDictionariesAreReturnedOnce", { $0.testEqualDictionariesAreReturnedOnce }),
        ("testInvalidFetchesThrow", { $0.testInvalidFetchesThrow }),
      ] as [(String, (FetchingSpecification) -> () throws -> Void)])
  }

  private func makeBooks() throws -> OpenStore {
    let open = try makeStore()
    try open.save { save in
      let ada = try save.insert("Author", ["name": .text("Ada")])
      let bob = try save.insert("Author", ["name": .text("Bob")])
      let tags = try ["x", "y"].map { try save.insert("Tag", ["name": .text($0)]) }
      let rows: [(String, Slot, Slot, Slot)] = [
        ("d", .int(3), Slot(Decimal(1.5)), ada.slot), ("b", .int(1), Slot(Decimal(10)), bob.slot), ("a", .null, .null, .null),
        ("c", .int(2), Slot(Decimal(-2)), ada.slot), ("e", .int(2), Slot(Decimal(0.25)), bob.slot),
      ]
      for (title, pages, price, author) in rows {
        let book = try save.insert("Book", ["title": .text(title), "pages": pages, "price": price, "author": author])
        if title == "b" { try save.change(book, "tags", add: tags) }
        if title == "d" { try save.change(book, "tags", add: [tags[0]]) }
      }
    }
    return open
  }

  private func sorted(_ keys: FetchSortDescriptor...) -> FetchSpecification {
    var specification = FetchSpecification(entityName: "Book")
    specification.sortDescriptors = keys
    return specification
  }

  func testAFetchOfObjectsReturnsTheirRows() throws {
    let open = try makeBooks()
    let rows = try open.rows(FetchSpecification(entityName: "Book"))
    XCTAssertEqual(rows.count, 5)
    let number = try open.entity("Book").number
    for row in rows {
      XCTAssertEqual(row.entityNumber, number)
      XCTAssertEqual(row.version, 1)
      XCTAssertEqual(row.slotCount, try open.entity("Book").slots.count)
    }
    XCTAssertEqual(Set(try open.texts("title", FetchSpecification(entityName: "Book"))), ["a", "b", "c", "d", "e"])
    XCTAssertEqual(try open.rows(FetchSpecification(entityName: "Shelf")).count, 0)
  }

  func testResultsAreOrdered() throws {
    let open = try makeBooks()
    XCTAssertEqual(try open.texts("title", sorted(FetchSortDescriptor("title"))), ["a", "b", "c", "d", "e"])
    XCTAssertEqual(try open.texts("title", sorted(FetchSortDescriptor("title", ascending: false))), ["e", "d", "c", "b", "a"])
  }

  func testMissingValuesSortFirstAscendingAndLastDescending() throws {
    let open = try makeBooks()
    let title = FetchSortDescriptor("title")
    XCTAssertEqual(try open.texts("title", sorted(FetchSortDescriptor("pages"), title)), ["a", "b", "c", "e", "d"])
    XCTAssertEqual(try open.texts("title", sorted(FetchSortDescriptor("pages", ascending: false), title)), ["d", "c", "e", "b", "a"])
  }

  func testSortKeysApplyInOrder() throws {
    let open = try makeBooks()
    let keys = [FetchSortDescriptor("pages"), FetchSortDescriptor("title", ascending: false)]
    XCTAssertEqual(try open.texts("title", sorted(keys[0], keys[1])), ["a", "b", "e", "c", "d"])
  }

  func testStringsAreOrderedByTheirBytes() throws {
    let open = try makeStore()
    let names = ["b", "B", "a", "é", "z", "", "aa", "\u{10FFFF}", "\u{FFFF}"]
    for name in names { try open.insert("Tag", ["name": .text(name)]) }
    var specification = FetchSpecification(entityName: "Tag")
    specification.sortDescriptors = [FetchSortDescriptor("name")]
    XCTAssertEqual(try open.texts("name", specification), ["", "B", "a", "aa", "b", "z", "é", "\u{FFFF}", "\u{10FFFF}"])
  }

  func testStringsCanBeOrderedIgnoringCase() throws {
    let open = try makeStore()
    for name in ["b", "C", "a", "B", "Ä", "ä"] { try open.insert("Tag", ["name": .text(name)]) }
    var specification = FetchSpecification(entityName: "Tag")
    specification.sortDescriptors = [FetchSortDescriptor("name", comparison: .caseInsensitive)]
    XCTAssertEqual(try open.texts("name", specification), ["a", "B", "b", "C", "Ä", "ä"])
  }

  func testDecimalsAreOrderedAsNumbers() throws {
    let open = try makeBooks()
    XCTAssertEqual(try open.texts("title", sorted(FetchSortDescriptor("price"))), ["a", "c", "e", "d", "b"])
  }

  func testResultsAreOrderedByAToOneKeyPath() throws {
    let open = try makeBooks()
    let title = FetchSortDescriptor("title")
    XCTAssertEqual(try open.texts("title", sorted(FetchSortDescriptor("author.name"), title)), ["a", "c", "d", "b", "e"])
    XCTAssertEqual(
      try open.texts("title", sorted(FetchSortDescriptor("author.name", ascending: false), title)), ["b", "e", "c", "d", "a"])
  }

  func testResultsAreOrderedByACount() throws {
    let open = try makeBooks()
    let title = FetchSortDescriptor("title")
    XCTAssertEqual(
      try open.texts("title", sorted(FetchSortDescriptor("tags.@count", ascending: false), title)), ["b", "d", "a", "c", "e"])
  }

  func testLimitAndOffsetBoundTheResult() throws {
    let open = try makeBooks()
    var specification = sorted(FetchSortDescriptor("title"))
    for (limit, offset, expected) in [
      (2, 0, ["a", "b"]), (2, 3, ["d", "e"]), (2, 4, ["e"]), (0, 3, ["d", "e"]), (9, 0, ["a", "b", "c", "d", "e"]), (1, 9, []),
    ] {
      specification.fetchLimit = limit
      specification.fetchOffset = offset
      XCTAssertEqual(try open.texts("title", specification), expected, "limit \(limit), offset \(offset)")
      XCTAssertEqual(try open.count(specification), expected.count, "limit \(limit), offset \(offset)")
    }
  }

  func testCountEqualsTheNumberOfResults() throws {
    let open = try makeBooks()
    XCTAssertEqual(try open.count("Book"), 5)
    XCTAssertEqual(try open.count(FetchSpecification(entityName: "Book", predicate: .compare("pages", .greater, 1))), 3)
    XCTAssertEqual(try open.count(FetchSpecification(entityName: "Book", predicate: .constant(false))), 0)
    XCTAssertEqual(try open.count("Shelf"), 0)
  }

  func testAFetchOfIDsReturnsThemInOrder() throws {
    let open = try makeBooks()
    let ids = try open.ids(sorted(FetchSortDescriptor("title")))
    XCTAssertEqual(try ids.map { try open.value($0, "title") }, ["a", "b", "c", "d", "e"].map { .text($0) })
  }

  func testObjectsWithoutValuesAreReturnedAsIDs() throws {
    let open = try makeBooks()
    var specification = sorted(FetchSortDescriptor("title"))
    specification.includesPropertyValues = false
    guard case .objectIDs(let ids) = try open.store.execute(.fetch(specification), in: open.scope) else { return XCTFail("No IDs.") }
    XCTAssertEqual(try ids.map { try open.value($0, "title") }, ["a", "b", "c", "d", "e"].map { .text($0) })
  }

  func testDictionariesContainThePropertiesToFetch() throws {
    let open = try makeBooks()
    var specification = sorted(FetchSortDescriptor("title"))
    specification.propertiesToFetch = ["pages", "title", "author"]
    specification.fetchLimit = 2
    let answer = try open.dictionaries(specification)
    XCTAssertEqual(answer.columns.map(\.name), ["pages", "title", "author"])
    XCTAssertEqual(answer.columns.map { $0.attribute?.type }, [.integer64, .string, nil])
    let bob = try open.ids(FetchSpecification(entityName: "Author", predicate: .compare("name", .equal, "Bob")))
    XCTAssertEqual(answer.rows, [[.null, .text("a"), .null], [.int(1), .text("b"), bob[0].slot]])
  }

  func testDictionariesContainAllAttributesByDefault() throws {
    let open = try makeBooks()
    let answer = try open.dictionaries(sorted(FetchSortDescriptor("title")))
    XCTAssertEqual(Set(answer.columns.map(\.name)), Set(try open.entity("Book").slots.filter { $0.attribute != nil }.map(\.name)))
    XCTAssertEqual(answer.rows.count, 5)
  }

  func testDictionariesFollowToOneKeyPaths() throws {
    let open = try makeBooks()
    let teacher = try open.insert("Author", ["name": .text("Teacher")])
    let ada = try open.ids(FetchSpecification(entityName: "Author", predicate: .compare("name", .equal, "Ada")))[0]
    try open.save { try $0.update(ada, ["mentor": teacher.slot]) }
    var specification = sorted(FetchSortDescriptor("title"))
    specification.propertiesToFetch = ["title", "author.name", "author.mentor.name", "author.mentor"]
    let answer = try open.dictionaries(specification)
    XCTAssertEqual(answer.columns.map(\.name), specification.propertiesToFetch.map(\.name))
    XCTAssertEqual(
      answer.rows.prefix(3),
      [
        [.text("a"), .null, .null, .null], [.text("b"), .text("Bob"), .null, .null],
        [.text("c"), .text("Ada"), .text("Teacher"), teacher.slot],
      ])
  }

  func testEqualDictionariesAreReturnedOnce() throws {
    let open = try makeBooks()
    var specification = sorted(FetchSortDescriptor("author.name"))
    specification.propertiesToFetch = ["author.name"]
    specification.returnsDistinctResults = true
    XCTAssertEqual(try open.dictionaries(specification).rows, [[.null], [.text("Ada")], [.text("Bob")]])
    specification.fetchLimit = 1
    specification.fetchOffset = 1
    XCTAssertEqual(try open.dictionaries(specification).rows, [[.text("Ada")]])
    specification.returnsDistinctResults = false
    specification.fetchLimit = 0
    specification.fetchOffset = 0
    XCTAssertEqual(try open.dictionaries(specification).rows.count, 5)
  }

  func testInvalidFetchesThrow() throws {
    let open = try makeBooks()
    XCTAssertThrowsError(try open.rows(FetchSpecification(entityName: "Nothing")))
    XCTAssertThrowsError(try open.rows(sorted(FetchSortDescriptor("nothing"))))
    XCTAssertThrowsError(try open.rows(sorted(FetchSortDescriptor("tags"))))
    XCTAssertThrowsError(try open.rows(FetchSpecification(entityName: "Book", predicate: .compare("nothing", .equal, 1))))
    for property in ["nothing", "tags", "author.nothing", "title.more", ""] {
      var specification = FetchSpecification(entityName: "Book")
      specification.propertiesToFetch = [.keyPath(property)]
      XCTAssertThrowsError(try open.dictionaries(specification), property)
    }
  }
}
