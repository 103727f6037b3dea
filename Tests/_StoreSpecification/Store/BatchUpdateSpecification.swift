import Foundation
import ObjectContext
@_spi(Generated) import ObjectModel
@_spi(Generated) import ObjectQuery
import ObjectStore
import XCTest

/// Properties are set on all rows that match a predicate, to constants and to the values of expressions.
public final class BatchUpdateSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testConstantsAreSetOnMatchingRows", { $0.testConstantsAreSetOnMatchingRows }),
        ("testVersionsIncreaseByOne", { $0.testVersionsIncreaseByOne }),
        ("testValuesAreComputedForEachRow", { $0.testValuesAreComputedForEachRow }),
        ("testValuesAreComputedFromTheOriginalRows", { $0.testValuesAreComputedFromTheOriginalRows }),
        ("testKeyPathsCanFollowToOneRelationships", { $0.testKeyPathsCanFollowToOneRelationships }),
        ("testMembersCanBeCountedAndSummed", { $0.testMembersCanBeCountedAndSummed }),
        ("testComputedValuesAreConvertedToTheAttributeType", { $0.testComputedValuesAreConvertedToTheAttributeType }),
        ("testOutOfRangeValueIsRejected", { $0.testOutOfRangeValueIsRejected }),
        ("testRequiredValuesCannotBeRemoved", { $0.testRequiredValuesCannotBeRemoved }),
        ("testUnknownAndReadOnlyKeysAreRejected", { $0.testUnknownAndReadOnlyKeysAreRejected }),
        ("testAToOneRelationshipIsSetByID", { $0.testAToOneRelationshipIsSetByID }),
        ("testMembersMovedIntoAnOrderedRelationshipAreAppended", { $0.testMembersMovedIntoAnOrderedRelationshipAreAppended }),
        ("testOneToOneRelationshipsAreClearedOnBothSides", { $0.testOneToOneRelationshipsAreClearedOnBothSides }),
        ("testSubentitiesAreIncludedByDefault", { $0.testSubentitiesAreIncludedByDefault }),
        ("testUniqueValuesCanMoveBetweenRows", { $0.testUniqueValuesCanMoveBetweenRows }),
        ("testDuplicateUniqueValuesConflict", { $0.testDuplicateUniqueValuesConflict }),
        ("testLongListsInThePredicate", { $0.testLongListsInThePredicate }),
        ("testThousandsOfValuesInThePredicate", { $0.testThousandsOfValuesInThePredicate }),
        ("testUpdatingNoRowsSucceeds", { $0.testUpdatingNoRowsSucceeds }),
      ] as [(String, (BatchUpdateSpecification) -> () throws -> Void)])
  }

  private func update(
    _ open: OpenStore, _ entityName: String, where format: String? = nil, arguments: [(any FetchConstantConvertible)?] = [],
    _ values: [String: (any Sendable)?]
  ) throws -> BatchResult {
    let predicate = try format.map { try FetchPredicate(format: $0, argumentArray: arguments) }
    var request = BatchUpdateRequest(entityName: entityName, predicate: predicate, propertiesToUpdate: values)
    request.resultType = .objectIDs
    return try open.newContext().execute(request)
  }

  private func assertBatchError(_ code: BatchError.Code, key: String, line: UInt = #line, _ body: () throws -> BatchResult) {
    do {
      _ = try body()
      XCTFail("It succeeded.", line: line)
    } catch let error as BatchError {
      XCTAssertEqual(error.code, code, error.description, line: line)
      XCTAssertEqual(error.key, key, line: line)
    } catch {
      XCTFail("\(error)", line: line)
    }
  }

  private func function(_ name: String, _ arguments: FetchExpression...) -> FetchExpression { .function(name, arguments) }
  private func key(_ path: String) -> FetchExpression { .keyPath(path) }

  /// Ten books by two alternating authors; the last has none.
  private func books(_ open: OpenStore) throws -> (books: [ManagedObjectID], authors: [ManagedObjectID]) {
    try open.save { save in
      let authors = try ["Ada", "Bob"].enumerated().map {
        try save.insert("Author", ["name": .text($1), "born": .int(Int64(1900 + 10 * $0))])
      }
      let books = try (0..<10).map { number in
        var values: [String: Slot] = ["title": .text("t\(number)"), "isbn": .text("\(number)"), "pages": .int(Int64(number * 10))]
        values["price"] = Slot(Decimal(number))
        values["rating"] = .real(Double(number) / 2)
        if number < 9 { values["author"] = authors[number % 2].slot }
        return try save.insert("Book", values)
      }
      return (books, authors)
    }
  }

  func testConstantsAreSetOnMatchingRows() throws {
    let open = try makeStore()
    let (books, _) = try books(open)
    let result = try update(open, "Book", where: "author.name == 'Ada'", ["inPrint": true, "year": 2000, "rating": nil])
    XCTAssertEqual(result.count, 5)
    XCTAssertEqual(Set(result.objectIDs), Set([0, 2, 4, 6, 8].map { books[$0] }))
    for (number, book) in books.enumerated() {
      let isHit = number % 2 == 0 && number < 9
      XCTAssertEqual(try open.value(book, "inPrint"), isHit ? .int(1) : .null)
      XCTAssertEqual(try open.value(book, "year"), isHit ? .int(2000) : .null)
      XCTAssertEqual(try open.value(book, "rating"), isHit ? .null : .real(Double(number) / 2))
      XCTAssertEqual(try open.value(book, "title"), .text("t\(number)"))
    }
    XCTAssertEqual(try update(open, "Book", ["pages": 1]).count, 10, "Without a predicate all are meant.")
  }

  func testVersionsIncreaseByOne() throws {
    let open = try makeStore()
    let (books, _) = try books(open)
    let stale = try XCTUnwrap(open.row(books[3]))
    _ = try update(open, "Book", where: "pages == 30", ["pages": 31, "rating": 1.0])
    XCTAssertEqual(try open.row(books[3])?.version, 2)
    XCTAssertEqual(try open.row(books[4])?.version, 1)
    assertStoreError(.mergeConflict) { try open.save { try $0.update(stale, ["title": .text("late")]) } }
  }

  func testValuesAreComputedForEachRow() throws {
    let open = try makeStore()
    let (books, _) = try books(open)
    _ = try update(
      open, "Book", where: "pages >= 50",
      [
        "pages": function("add:to:", key("pages"), .constant(.int(5))), "title": function("uppercase:", key("title")),
        "price": function("multiply:by:", key("price"), .constant(.decimal(Decimal(string: "1.1") ?? 0))),
        "rating": FetchExpression.conditional(.compare("pages", .greater, 70), .constant(.real(9)), key("rating")),
      ])
    XCTAssertEqual(try books.map { try open.value($0, "pages") }, [0, 10, 20, 30, 40, 55, 65, 75, 85, 95].map { .int($0) })
    XCTAssertEqual(try open.value(books[5], "title"), .text("T5"))
    XCTAssertEqual(try open.value(books[4], "title"), .text("t4"))
    XCTAssertEqual(try open.value(books[7], "price"), Decimal(string: "7.7").map { Slot($0) })
    XCTAssertEqual(try open.value(books[7], "rating"), .real(3.5))
    XCTAssertEqual(try open.value(books[8], "rating"), .real(9))
  }

  func testValuesAreComputedFromTheOriginalRows() throws {
    let open = try makeStore()
    let people = try open.save { save in
      let first = try save.insert("Author", ["name": .text("0"), "born": .int(0)])
      var all = [first]
      for number in 1..<6 {
        all.append(try save.insert("Author", ["name": .text("\(number)"), "born": .int(Int64(number)), "mentor": all[number - 1].slot]))
      }
      return all
    }
    _ = try update(open, "Author", ["born": key("mentor.born"), "name": key("mentor.name")])
    XCTAssertEqual(try people.map { try open.value($0, "born") }, [.null, .int(0), .int(1), .int(2), .int(3), .int(4)])
    _ = try update(open, "Author", where: "mentor.born != nil", ["born": function("add:to:", key("born"), key("mentor.born"))])
    XCTAssertEqual(try people.map { try open.value($0, "born") }, [.null, .int(0), .int(1), .int(3), .int(5), .int(7)])
  }

  func testKeyPathsCanFollowToOneRelationships() throws {
    let open = try makeStore()
    let (books, _) = try books(open)
    _ = try update(open, "Book", ["title": key("author.name"), "year": function("add:to:", key("author.born"), key("pages"))])
    XCTAssertEqual(try open.value(books[3], "title"), .text("Bob"))
    XCTAssertEqual(try open.value(books[3], "year"), .int(1940))
    XCTAssertEqual(try open.value(books[9], "title"), .null)
    XCTAssertEqual(try open.value(books[9], "year"), .null)
  }

  func testMembersCanBeCountedAndSummed() throws {
    let open = try makeStore()
    let (_, authors) = try books(open)
    _ = try update(open, "Author", ["born": key("books.@count")])
    XCTAssertEqual(try authors.map { try open.value($0, "born") }, [.int(5), .int(4)])
    _ = try update(open, "Author", ["born": key("books.@sum.pages")])
    XCTAssertEqual(try authors.map { try open.value($0, "born") }, [.int(200), .int(160)])
  }

  func testComputedValuesAreConvertedToTheAttributeType() throws {
    let open = try makeStore(SpecificationModels.types)
    let uuid = UUID()
    let sample = try open.insert(
      "Sample",
      [
        "aInteger64": .int(3), "aDouble": .real(0.1), "aString": .text(uuid.uuidString), "aDecimal": Slot(Decimal(string: "2.0") ?? 0),
        "aBoolean": .int(1),
      ])
    _ = try update(
      open, "Sample",
      [
        "aFloat": key("aDouble"), "aInteger16": function("multiply:by:", key("aDouble"), .constant(.int(10))), "aUUID": key("aString"),
        "aInteger32": key("aDecimal"), "aDouble": key("aInteger64"), "aDecimal": key("aDouble"), "aInteger64": key("aBoolean"),
        "aURI": key("aString"),
      ])
    XCTAssertEqual(try open.value(sample, "aFloat"), .real(Double(Float(0.1))))
    XCTAssertEqual(try open.value(sample, "aInteger16"), .int(1))
    XCTAssertEqual(try open.value(sample, "aUUID"), Slot(uuid))
    XCTAssertEqual(try open.value(sample, "aInteger32"), .int(2))
    XCTAssertEqual(try open.value(sample, "aDouble"), .real(3))
    XCTAssertEqual(try open.value(sample, "aDecimal"), Decimal(string: "0.1").map { Slot($0) })
    XCTAssertEqual(try open.value(sample, "aInteger64"), .int(1))
    XCTAssertEqual(try open.value(sample, "aURI"), .text(uuid.uuidString))
  }

  func testOutOfRangeValueIsRejected() throws {
    let open = try makeStore(SpecificationModels.types)
    let sample = try open.insert("Sample", ["aInteger64": .int(300_000), "aDouble": .real(1.5), "aString": .text("x")])
    assertBatchError(.numberOutOfRange, key: "aInteger16") { try update(open, "Sample", ["aInteger16": key("aInteger64")]) }
    assertBatchError(.numberOutOfRange, key: "aInteger16") { try update(open, "Sample", ["aInteger16": 70_000]) }
    assertBatchError(.numberOutOfRange, key: "aInteger64") { try update(open, "Sample", ["aInteger64": key("aDouble")]) }
    assertBatchError(.wrongType, key: "aDate") { try update(open, "Sample", ["aDate": key("aDouble")]) }
    assertBatchError(.wrongType, key: "aDate") { try update(open, "Sample", ["aDate": "today"]) }
    assertBatchError(.wrongType, key: "aUUID") { try update(open, "Sample", ["aUUID": key("aString")]) }
    XCTAssertEqual(try open.row(sample)?.version, 1, "Nothing was written.")
  }

  func testRequiredValuesCannotBeRemoved() throws {
    let open = try makeStore(BatchInsertSpecification.strict)
    let item = try open.insert("Item", ["code": .text("a"), "name": .text("A")])
    assertBatchError(.missingValue, key: "name") { try update(open, "Item", ["name": nil]) }
    assertBatchError(.missingValue, key: "name") { try update(open, "Item", ["name": key("note")]) }
    assertBatchError(.invalidValue, key: "name") { try update(open, "Item", ["name": "too long"]) }
    assertBatchError(.missingValue, key: "item") { try update(open, "Part", ["item": nil]) }
    XCTAssertEqual(try open.value(item, "name"), .text("A"))
  }

  func testUnknownAndReadOnlyKeysAreRejected() throws {
    let open = try makeStore()
    assertBatchError(.unknownKey, key: "size") { try update(open, "Book", ["size": 1]) }
    assertBatchError(.notSettable, key: "tags") { try update(open, "Book", ["tags": nil]) }
    assertBatchError(.wrongType, key: "author") { try update(open, "Book", ["author": key("author")]) }
    assertStoreError(.invalidRequest) { try update(open, "Book", [:]) }
    assertStoreError(.invalidRequest) { try update(open, "Nothing", ["a": 1]) }
    XCTAssertThrowsError(try update(open, "Book", where: "size == 1", ["pages": 1])) { XCTAssertTrue($0 is FetchPredicateError) }
  }

  func testAToOneRelationshipIsSetByID() throws {
    let open = try makeStore()
    let (books, authors) = try books(open)
    _ = try update(open, "Book", where: "pages < 40", ["author": authors[1]])
    XCTAssertEqual(try open.members(authors[1], "books").count, 6)
    XCTAssertEqual(try open.members(authors[0], "books").count, 3)
    _ = try update(open, "Book", where: "author == %@", arguments: [authors[0]], ["author": nil])
    XCTAssertEqual(try open.members(authors[0], "books"), [])
    XCTAssertEqual(try open.value(books[4], "author"), .null)
    try open.save { try $0.delete(authors[0]) }
    assertBatchError(.objectNotFound, key: "author") { try update(open, "Book", ["author": authors[0]]) }
    assertBatchError(.wrongType, key: "author") { try update(open, "Book", ["author": books[0]]) }
  }

  func testMembersMovedIntoAnOrderedRelationshipAreAppended() throws {
    let open = try makeStore()
    let (books, chapters) = try open.save { save in
      let books = try (0..<2).map { try save.insert("Book", ["title": .text("\($0)")]) }
      let chapters = try (0..<6).map { try save.insert("Chapter", ["title": .text("\($0)"), "book": books[$0 / 3].slot]) }
      try save.change(books[0], "chapters", order: [chapters[2], chapters[1], chapters[0]])
      try save.change(books[1], "chapters", order: [chapters[5], chapters[4], chapters[3]])
      return (books, chapters)
    }
    func members(_ book: Int) throws -> [Int] {
      try open.members(books[book], "chapters").map { member in chapters.firstIndex { $0.reference == member } ?? -1 }
    }
    _ = try update(open, "Chapter", where: "title IN {'0', '1', '4'}", ["book": books[1]])
    XCTAssertEqual(try members(0), [2])
    XCTAssertEqual(try members(1), [5, 4, 3, 0, 1], "What was there stays where it was.")
    _ = try update(open, "Chapter", where: "title IN {'1', '5'}", ["book": books[0]])
    XCTAssertEqual(try members(0), [2, 1, 5])
    XCTAssertEqual(try members(1), [4, 3, 0])
    _ = try update(open, "Chapter", where: "title == '4'", ["book": nil])
    _ = try update(open, "Chapter", where: "title == '4'", ["book": books[1]])
    XCTAssertEqual(try members(1), [3, 0, 4])
  }

  func testOneToOneRelationshipsAreClearedOnBothSides() throws {
    let open = try makeStore()
    let couple = try open.newIDs("Author", count: 2)
    try open.save { save in
      try save.insert(couple[0], ["name": .text("a"), "spouse": couple[1].slot])
      try save.insert(couple[1], ["name": .text("b"), "spouse": couple[0].slot])
    }
    assertBatchError(.notSettable, key: "spouse") { try update(open, "Author", ["spouse": couple[0]]) }
    let result = try update(open, "Author", where: "name == 'a'", ["spouse": nil])
    XCTAssertEqual(Set(result.updatedObjectIDs), Set(couple))
    XCTAssertEqual(try couple.map { try open.value($0, "spouse") }, [.null, .null])
    XCTAssertEqual(try couple.map { try open.row($0)?.version }, [2, 2])
  }

  func testSubentitiesAreIncludedByDefault() throws {
    let open = try makeStore(SpecificationModels.assets)
    let (video, clip, photo) = (try open.insert("Video", [:]), try open.insert("Clip", [:]), try open.insert("Photo", [:]))
    XCTAssertEqual(try update(open, "Asset", ["size": 1]).count, 3)
    var request = BatchUpdateRequest(entityName: "Video", propertiesToUpdate: ["size": 2])
    request.includesSubentities = false
    XCTAssertEqual(try open.newContext().execute(request).count, 1)
    XCTAssertEqual(try [video, clip, photo].map { try open.value($0, "size") }, [.int(2), .int(1), .int(1)])
    _ = try update(open, "Asset", where: "entity == %@", arguments: [FetchConstant.entity("Clip")], ["name": "clip"])
    XCTAssertEqual(try [video, clip, photo].map { try open.value($0, "name") }, [.null, .text("clip"), .null])
  }

  func testUniqueValuesCanMoveBetweenRows() throws {
    let open = try makeStore()
    let books = try (0..<20).map { try open.insert("Book", ["title": .text("t"), "year": .int(Int64($0))]) }
    _ = try update(open, "Book", ["year": function("add:to:", key("year"), .constant(.int(1)))])
    XCTAssertEqual(try books.map { try open.value($0, "year") }, (1...20).map { .int($0) })
    _ = try update(open, "Book", ["year": function("from:subtract:", .constant(.int(21)), key("year"))])
    XCTAssertEqual(try books.map { try open.value($0, "year") }, (1...20).reversed().map { .int($0) })
    XCTAssertEqual(try open.row(books[0])?.version, 3)
  }

  func testDuplicateUniqueValuesConflict() throws {
    let open = try makeStore()
    let (books, _) = try books(open)
    let taken = assertStoreError(.constraintConflict) { try update(open, "Book", where: "isbn == '1'", ["isbn": "2"]) }
    XCTAssertEqual(taken?.constraintConflicts.first?.constraint, ["isbn"])
    XCTAssertEqual(taken?.constraintConflicts.first?.objectIDs, [books[1]])
    XCTAssertEqual(taken?.constraintConflicts.first?.databaseObjectID, books[2])
    let same = assertStoreError(.constraintConflict) { try update(open, "Book", where: "isbn IN {'1', '2'}", ["isbn": "new"]) }
    XCTAssertEqual(Set(same?.constraintConflicts.first?.objectIDs ?? []), [books[1], books[2]])
    XCTAssertNil(same?.constraintConflicts.first?.databaseObjectID)
    XCTAssertEqual(try books.map { try open.value($0, "isbn") }, (0..<10).map { .text("\($0)") })
  }

  func testLongListsInThePredicate() throws {
    let open = try makeStore()
    let ids = try open.save { save in try (0..<3_000).map { try save.insert("Tag", ["name": .text("\($0)")]) } }
    let request = BatchUpdateRequest(
      entityName: "Tag",
      predicate: .comparison(FetchComparison(left: .evaluatedObject, op: .in, right: .constant(ids[..<2_500].map { $0 }.fetchConstant))),
      propertiesToUpdate: ["name": function("uppercase:", key("name"))])
    XCTAssertEqual(try open.newContext().execute(request).count, 2_500)
  }

  func testThousandsOfValuesInThePredicate() throws {
    let open = try makeStore()
    let ids = try open.save { save in
      try (0..<30).map { (number: Int) -> ManagedObjectID in
        let values: [String: Slot] = ["title": .text("t\(number % 3)"), "isbn": .text("\(number)"), "pages": .int(Int64(number))]
        return try save.insert("Book", values)
      }
    }
    let pairs = (0..<1_200).map { (number: Int) -> FetchPredicate in
      .and([.compare("pages", .equal, number), .compare("title", .equal, "t\(number % 2)")])
    }
    var request = BatchUpdateRequest(
      entityName: "Book", predicate: .or(pairs), propertiesToUpdate: ["pages": try FetchExpression(format: "pages + 1000")])
    request.resultType = .objectIDs
    let found = try open.newContext().execute(request).objectIDs
    let expected: [Int] = (0..<30).filter { $0 % 3 == $0 % 2 }
    XCTAssertEqual(Set(found), Set(expected.map { ids[$0] }))
    XCTAssertEqual(try open.value(ids[0], "pages"), .int(1_000))
    XCTAssertEqual(try open.value(ids[2], "pages"), .int(2))
  }

  func testUpdatingNoRowsSucceeds() throws {
    let open = try makeStore()
    let result = try update(open, "Book", where: "pages == 1", ["pages": 2])
    XCTAssertEqual(result.count, 0)
    XCTAssertEqual(result.objectIDs, [])
  }
}
