import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Many rows are inserted without objects; conflicts with stored ones follow the requested policy.
public final class BatchInsertSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testRowsBecomeObjects", { $0.testRowsBecomeObjects }),
        ("testOmittedValuesAreSetToTheirDefaults", { $0.testOmittedValuesAreSetToTheirDefaults }),
        ("testHandlerFillsRowsUntilItStops", { $0.testHandlerFillsRowsUntilItStops }),
        ("testValuesOfEveryTypeAreStored", { $0.testValuesOfEveryTypeAreStored }),
        ("testToOneRelationshipAcceptsAnObjectID", { $0.testToOneRelationshipAcceptsAnObjectID }),
        ("testNewMembersOfAnOrderedRelationshipAreAppended", { $0.testNewMembersOfAnOrderedRelationshipAreAppended }),
        ("testErrorNamesTheRowAndTheKey", { $0.testErrorNamesTheRowAndTheKey }),
        ("testAMissingDestinationIsRejected", { $0.testAMissingDestinationIsRejected }),
        ("testRequiredValuesMustBePresent", { $0.testRequiredValuesMustBePresent }),
        ("testDuplicateUniqueValueThrowsByDefault", { $0.testDuplicateUniqueValueThrowsByDefault }),
        ("testIgnoreSkipsDuplicateUniqueValues", { $0.testIgnoreSkipsDuplicateUniqueValues }),
        ("testUpdateWritesOnlyTheGivenColumns", { $0.testUpdateWritesOnlyTheGivenColumns }),
        ("testUpdateOfNamedColumnsLeavesOtherColumnsUnchanged", { $0.testUpdateOfNamedColumnsLeavesOtherColumnsUnchanged }),
        ("testUpdateSkipsUnchangedRows", { $0.testUpdateSkipsUnchangedRows }),
        ("testReplaceKeepsTheObjectAndItsRelationships", { $0.testReplaceKeepsTheObjectAndItsRelationships }),
        ("testRowsOfOneBatchCanMatchEachOther", { $0.testRowsOfOneBatchCanMatchEachOther }),
        ("testNilUniqueValuesMatchNoRow", { $0.testNilUniqueValuesMatchNoRow }),
        ("testRowThatMatchesTwoObjectsConflicts", { $0.testRowThatMatchesTwoObjectsConflicts }),
        ("testInheritedConstraintApplies", { $0.testInheritedConstraintApplies }),
        ("testRowsOfAnAbstractEntityAreRejected", { $0.testRowsOfAnAbstractEntityAreRejected }),
        ("testManyRowsAreInsertedAtomically", { $0.testManyRowsAreInsertedAtomically }),
        ("testTheInsertionIsPartOfATransaction", { $0.testTheInsertionIsPartOfATransaction }),
        ("testManyRowsCanBePartOfATransaction", { $0.testManyRowsCanBePartOfATransaction }),
        ("testRequestCanBeExecutedAgain", { $0.testRequestCanBeExecutedAgain }),
      ] as [(String, (BatchInsertSpecification) -> () throws -> Void)])
  }

  private func insert(
    _ open: OpenStore, _ entityName: String, _ rows: [[String: Any]], _ policy: BatchConflictPolicy = .error
  ) throws -> BatchResult {
    var request = BatchInsertRequest(entityName: entityName, objects: rows, onConflict: policy)
    request.resultType = .objectIDs
    return try open.newContext().execute(request)
  }

  /// Asserts that `body` throws a ``BatchError`` with a code.
  private func assertBatchError(
    _ code: BatchError.Code, row: Int?, key: String, line: UInt = #line, _ body: () throws -> BatchResult
  ) {
    do {
      _ = try body()
      XCTFail("It succeeded.", line: line)
    } catch let error as BatchError {
      XCTAssertEqual(error.code, code, error.description, line: line)
      XCTAssertEqual(error.row, row, line: line)
      XCTAssertEqual(error.key, key, line: line)
    } catch {
      XCTFail("\(error)", line: line)
    }
  }

  /// Entities with required and default values.
  static let strict: CompiledModel = {
    func attribute(_ name: String, _ type: AttributeType, _ change: (inout AttributeDescription) -> Void) -> PropertyDescription {
      var attribute = AttributeDescription(name: name, type: type, isOptional: false)
      change(&attribute)
      return .attribute(attribute)
    }
    return SpecificationModels.compile([
      SpecificationModels.entity(
        "Item",
        [
          attribute("code", .string) { _ in }, attribute("name", .string) { $0.validation.maximumLength = 5 },
          attribute("count", .integer16) { $0.defaultValue = .int(7) },
          attribute("weight", .float) { $0.isOptional = true }, SpecificationModels.text("note"),
          SpecificationModels.toMany("parts", "Part", "item"),
        ], unique: [["code"]]),
      SpecificationModels.entity(
        "Part",
        [
          SpecificationModels.text("name"),
          .relationship(RelationshipDescription(name: "item", destination: "Item", inverse: "parts", isOptional: false)),
        ]),
    ])
  }()

  func testRowsBecomeObjects() throws {
    let open = try makeStore()
    let result = try insert(open, "Tag", [["name": "red"], ["name": "blue"], [:], ["name": NSNull()]])
    XCTAssertEqual(result.count, 4)
    XCTAssertEqual(result.insertedObjectIDs.count, 4)
    XCTAssertEqual(try result.objectIDs.map { try open.value($0, "name") }, [.text("red"), .text("blue"), .null, .null])
    XCTAssertEqual(try open.row(result.objectIDs[0])?.version, RowImage.firstVersion)
    XCTAssertEqual(try insert(open, "Tag", []).count, 0)
    let object = open.newContext()
    XCTAssertEqual(
      Set(try object.texts("name", FetchRequest(entityName: "Tag", predicate: .compare("name", .notEqual, nil as String?)))),
      ["red", "blue"])
  }

  func testOmittedValuesAreSetToTheirDefaults() throws {
    let open = try makeStore(Self.strict)
    let result = try insert(open, "Item", [["code": "a", "name": "A"], ["code": "b", "name": "B", "count": 1]])
    XCTAssertEqual(try result.objectIDs.map { try open.value($0, "count") }, [.int(7), .int(1)])
  }

  func testHandlerFillsRowsUntilItStops() throws {
    let open = try makeStore()
    var next = 0
    let request = BatchInsertRequest(entityName: "Author") { row in
      guard next < 1_234 else { return true }
      row["name"] = "author \(next)"
      row["born"] = next
      next += 1
      return false
    }
    let result = try open.newContext().execute(request)
    XCTAssertEqual(result.count, 1_234)
    XCTAssertEqual(result.objectIDs, [], "They were not requested.")
    XCTAssertEqual(try open.count("Author"), 1_234)
    let last = FetchSpecification(entityName: "Author", predicate: .compare("born", .equal, 1_233))
    XCTAssertEqual(try open.texts("name", last), ["author 1233"])
  }

  func testValuesOfEveryTypeAreStored() throws {
    let open = try makeStore(SpecificationModels.types)
    let uuid = UUID()
    let date = Date(timeIntervalSinceReferenceDate: 1.5)
    let url = try XCTUnwrap(URL(string: "https://example.org/a"))
    let values: [String: Any] = [
      "aInteger16": Int8(5), "aInteger32": 6, "aInteger64": UInt16(7), "aBoolean": true, "aDouble": 1, "aFloat": 0.1, "aDecimal": 2.5,
      "aString": "é", "aDate": date, "aBinary": [1, 2] as [UInt8], "aUUID": uuid, "aURI": url, "aTransformable": ["x": 1],
    ]
    let id = try insert(open, "Sample", [values]).objectIDs[0]
    let object = open.newContext()
    let sample = try object.existingObject(with: id)
    XCTAssertEqual(sample["aInteger16"] as? Int16, 5)
    XCTAssertEqual(sample["aFloat"] as? Float, 0.1)
    XCTAssertEqual(sample["aDouble"] as? Double, 1)
    XCTAssertEqual(sample["aDecimal"] as? Decimal, 2.5)
    XCTAssertEqual(sample["aDate"] as? Date, date)
    XCTAssertEqual(sample["aUUID"] as? UUID, uuid)
    XCTAssertEqual(sample["aURI"] as? URL, url)
    XCTAssertEqual(sample["aBinary"] as? Data, Data([1, 2]))
    XCTAssertEqual(try sample.value(forKey: "aTransformable", as: [String: Int].self), ["x": 1])
  }

  func testToOneRelationshipAcceptsAnObjectID() throws {
    let open = try makeStore()
    let author = try open.insert("Author", ["name": .text("Ada")])
    let books = try insert(open, "Book", [["title": "a", "author": author], ["title": "b", "author": author], ["title": "c"]]).objectIDs
    XCTAssertEqual(Set(try open.members(author, "books")), Set(books[0...1].map(\.reference)))
    XCTAssertEqual(try open.value(books[2], "author"), .null)
  }

  func testNewMembersOfAnOrderedRelationshipAreAppended() throws {
    let open = try makeStore()
    let (book, first) = try open.save { save in
      let book = try save.insert("Book", ["title": .text("b")])
      let chapters = try ["2", "1"].map { try save.insert("Chapter", ["title": .text($0), "book": book.slot]) }
      try save.change(book, "chapters", order: chapters.reversed())
      return (book, Array(chapters.reversed()))
    }
    let more = try insert(open, "Chapter", [["title": "3", "book": book], ["title": "4", "book": book]]).objectIDs
    let last = try insert(open, "Chapter", [["title": "5", "book": book]]).objectIDs
    XCTAssertEqual(try open.members(book, "chapters"), (first + more + last).map(\.reference))
  }

  func testErrorNamesTheRowAndTheKey() throws {
    let open = try makeStore(Self.strict)
    let good: [String: Any] = ["code": "x", "name": "x"]
    func rows(_ key: String, _ value: Any) -> [[String: Any]] { [good, ["code": "y", "name": "y"].merging([key: value]) { $1 }] }
    assertBatchError(.unknownKey, row: 1, key: "size") { try insert(open, "Item", rows("size", 1)) }
    assertBatchError(.wrongType, row: 1, key: "count") { try insert(open, "Item", rows("count", "1")) }
    assertBatchError(.numberOutOfRange, row: 1, key: "count") { try insert(open, "Item", rows("count", 40_000)) }
    assertBatchError(.invalidValue, row: 1, key: "name") { try insert(open, "Item", rows("name", "too long")) }
    assertBatchError(.missingValue, row: 1, key: "name") { try insert(open, "Item", rows("name", NSNull())) }
    assertBatchError(.invalidValue, row: 1, key: "weight") { try insert(open, "Item", rows("weight", Double.nan)) }
    assertBatchError(.notSettable, row: 1, key: "parts") { try insert(open, "Item", rows("parts", [Any]())) }
    assertBatchError(.wrongType, row: 0, key: "item") { try insert(open, "Part", [["item": "x"]]) }
    XCTAssertEqual(try open.count("Item"), 0, "Nothing was written.")
    assertStoreError(.invalidRequest) { try insert(open, "Nothing", [good]) }
  }

  func testAMissingDestinationIsRejected() throws {
    let open = try makeStore()
    let author = try open.insert("Author", ["name": .text("Ada")])
    try open.save { try $0.delete(author) }
    assertBatchError(.objectNotFound, row: 1, key: "author") { try insert(open, "Book", [["title": "a"], ["author": author]]) }
    let tag = try open.insert("Tag", ["name": .text("t")])
    assertBatchError(.wrongType, row: 0, key: "author") { try insert(open, "Book", [["author": tag]]) }
    let other = try makeStore().insert("Author", [:])
    assertBatchError(.objectNotFound, row: 0, key: "author") { try insert(open, "Book", [["author": other]]) }
    let context = open.newContext()
    let unsaved = try context.insert("Author")
    assertBatchError(.objectNotFound, row: 0, key: "author") { try insert(open, "Book", [["author": unsaved.objectID]]) }
    let spouse = try open.insert("Author", [:])
    assertBatchError(.notSettable, row: 0, key: "spouse") { try insert(open, "Author", [["spouse": spouse]]) }
    XCTAssertEqual(try open.count("Book"), 0)
  }

  func testRequiredValuesMustBePresent() throws {
    let open = try makeStore(Self.strict)
    assertBatchError(.missingValue, row: 1, key: "name") { try insert(open, "Item", [["code": "a", "name": "a"], ["code": "b"]]) }
    assertBatchError(.missingValue, row: 0, key: "item") { try insert(open, "Part", [["name": "p"]]) }
    XCTAssertEqual(try open.count("Item"), 0)
    let item = try insert(open, "Item", [["code": "a", "name": "a"]]).objectIDs[0]
    assertBatchError(.missingValue, row: 0, key: "name") { try insert(open, "Item", [["code": "b", "note": "n"]], .update()) }
    XCTAssertEqual(try insert(open, "Item", [["code": "a", "note": "n"]], .update()).objectIDs, [item], "A stored row has its name.")
    assertBatchError(.missingValue, row: 0, key: "name") { try insert(open, "Item", [["code": "a"]], .replace) }
  }

  func testDuplicateUniqueValueThrowsByDefault() throws {
    let open = try makeStore()
    let red = try open.insert("Tag", ["name": .text("red")])
    let error = assertStoreError(.constraintConflict) { try insert(open, "Tag", [["name": "blue"], ["name": "red"]]) }
    XCTAssertEqual(error?.constraintConflicts.first?.databaseObjectID, red)
    XCTAssertTrue(error?.message.contains("Row 1 ") ?? false, error?.message ?? "")
    assertStoreError(.constraintConflict) { try insert(open, "Tag", [["name": "green"], ["name": "green"]]) }
    XCTAssertEqual(try open.count("Tag"), 1)
  }

  func testIgnoreSkipsDuplicateUniqueValues() throws {
    let open = try makeStore()
    let book = try open.insert("Book", ["isbn": .text("1"), "pages": .int(10)])
    let result = try insert(open, "Book", [["isbn": "1", "pages": 20], ["isbn": "2", "pages": 30]], .ignore)
    XCTAssertEqual(result.count, 1)
    XCTAssertEqual(try open.value(book, "pages"), .int(10))
    XCTAssertEqual(try open.count("Book"), 2)
  }

  func testUpdateWritesOnlyTheGivenColumns() throws {
    let open = try makeStore(Self.strict)
    let item = try open.insert("Item", ["code": .text("a"), "name": .text("A"), "count": .int(3), "note": .text("kept")])
    let before = try XCTUnwrap(open.row(item)?.version)
    let result = try insert(open, "Item", [["code": "a", "name": "new"], ["code": "b", "name": "B"]], .update())
    XCTAssertEqual((result.insertedCount, result.updatedCount, result.count).0, 1)
    XCTAssertEqual(result.updatedObjectIDs, [item])
    XCTAssertEqual(try open.value(item, "name"), .text("new"))
    XCTAssertEqual(try open.value(item, "count"), .int(3), "The default, 7, is not written over it.")
    XCTAssertEqual(try open.value(item, "note"), .text("kept"))
    XCTAssertEqual(try open.row(item)?.version, before + 1)
    _ = try insert(open, "Item", [["code": "a", "note": NSNull()]], .update())
    XCTAssertEqual(try open.value(item, "note"), .null, "No value is given too.")
  }

  func testUpdateOfNamedColumnsLeavesOtherColumnsUnchanged() throws {
    let open = try makeStore(Self.strict)
    let item = try open.insert("Item", ["code": .text("a"), "name": .text("A"), "count": .int(3)])
    _ = try insert(open, "Item", [["code": "a", "name": "B", "count": 4]], .update(only: ["count"]))
    XCTAssertEqual(try open.value(item, "name"), .text("A"))
    XCTAssertEqual(try open.value(item, "count"), .int(4))
    assertBatchError(.notSettable, row: nil, key: "parts") { try insert(open, "Item", [["code": "a"]], .update(only: ["parts"])) }
  }

  func testUpdateSkipsUnchangedRows() throws {
    let open = try makeStore()
    let book = try open.insert("Book", ["isbn": .text("1"), "pages": .int(10)])
    let result = try insert(open, "Book", [["isbn": "1", "pages": 10]], .update())
    XCTAssertEqual(result.count, 0)
    XCTAssertEqual(try open.row(book)?.version, 1)
  }

  func testReplaceKeepsTheObjectAndItsRelationships() throws {
    let open = try makeStore(Self.strict)
    let item = try open.insert("Item", ["code": .text("a"), "name": .text("A"), "count": .int(3), "note": .text("old")])
    let part = try open.insert("Part", ["item": item.slot])
    let result = try insert(open, "Item", [["code": "a", "name": "B"]], .replace)
    XCTAssertEqual(result.updatedObjectIDs, [item])
    XCTAssertEqual(try ["name", "count", "note"].map { try open.value(item, $0) }, [.text("B"), .int(7), .null])
    XCTAssertEqual(try open.members(item, "parts"), [part.reference])
    let library = try makeStore()
    let author = try library.insert("Author", [:])
    let book = try library.insert("Book", ["isbn": .text("1"), "author": author.slot, "pages": .int(1)])
    _ = try insert(library, "Book", [["isbn": "1", "title": "t"]], .replace)
    XCTAssertEqual(try library.value(book, "author"), author.slot, "A relationship that is not given stays.")
    XCTAssertEqual(try library.value(book, "pages"), .null)
  }

  func testRowsOfOneBatchCanMatchEachOther() throws {
    let open = try makeStore()
    let rows: [[String: Any]] = [["isbn": "1", "pages": 1], ["isbn": "1", "rating": 2.0], ["isbn": "2"], ["isbn": "1", "pages": 3]]
    let result = try insert(open, "Book", rows, .update())
    XCTAssertEqual(result.insertedCount, 2)
    XCTAssertEqual(result.updatedCount, 0, "What the batch has inserted itself counts once.")
    XCTAssertEqual(try open.value(result.objectIDs[0], "pages"), .int(3))
    XCTAssertEqual(try open.value(result.objectIDs[0], "rating"), .real(2))
    XCTAssertEqual(try open.row(result.objectIDs[0])?.version, RowImage.firstVersion)
  }

  func testNilUniqueValuesMatchNoRow() throws {
    let open = try makeStore()
    try open.insert("Book", ["title": .text("t")])
    XCTAssertEqual(try insert(open, "Book", [["title": "t"], ["title": "t"]], .ignore).count, 2)
    XCTAssertEqual(try insert(open, "Book", [["title": "t", "year": 1], ["title": "t", "year": 1]], .ignore).count, 1)
  }

  func testRowThatMatchesTwoObjectsConflicts() throws {
    let open = try makeStore()
    try open.insert("Book", ["isbn": .text("1")])
    let second = try open.insert("Book", ["title": .text("t"), "year": .int(1)])
    let row: [String: Any] = ["isbn": "1", "title": "t", "year": 1, "pages": 5]
    assertStoreError(.constraintConflict) { try insert(open, "Book", [row], .update()) }
    XCTAssertEqual(try insert(open, "Book", [row], .ignore).count, 0)
    XCTAssertEqual(try open.value(second, "pages"), .null)
  }

  func testInheritedConstraintApplies() throws {
    let open = try makeStore(SpecificationModels.assets)
    let clip = try open.insert("Clip", ["code": .text("1"), "name": .text("clip")])
    XCTAssertEqual(try insert(open, "Video", [["code": "1", "seconds": 2.0]], .update()).objectIDs, [clip], "A clip is a video.")
    XCTAssertEqual(try open.value(clip, "seconds"), .real(2))
    XCTAssertEqual(try insert(open, "Photo", [["code": "1"]], .ignore).count, 0)
    assertStoreError(.constraintConflict) { try insert(open, "Photo", [["code": "1"]], .update()) }
    assertStoreError(.constraintConflict) { try insert(open, "Photo", [["code": "1"]]) }
  }

  func testRowsOfAnAbstractEntityAreRejected() throws {
    let open = try makeStore(SpecificationModels.assets)
    assertStoreError(.invalidRequest) { try insert(open, "Asset", [["name": "x"]]) }
  }

  func testManyRowsAreInsertedAtomically() throws {
    let open = try makeStore()
    var rows: [[String: Any]] = (0..<12_000).map { ["name": "tag \($0)"] }
    rows.append(["name": "tag 3"])
    assertStoreError(.constraintConflict) { try insert(open, "Tag", rows) }
    XCTAssertEqual(try open.count("Tag"), 0)
    XCTAssertEqual(try insert(open, "Tag", rows, .ignore).count, 12_000)
    XCTAssertEqual(try open.count("Tag"), 12_000)
  }

  func testTheInsertionIsPartOfATransaction() throws {
    struct Stop: Error {}
    let open = try makeStore()
    let context = open.newContext()
    XCTAssertThrowsError(
      try context.performTransaction {
        try context.execute(BatchInsertRequest(entityName: "Tag", objects: [["name": "red"]]))
        XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Tag")), 1)
        throw Stop()
      })
    XCTAssertEqual(try open.count("Tag"), 0)
  }

  func testManyRowsCanBePartOfATransaction() throws {
    let open = try makeStore()
    let context = open.newContext()
    let rows = (0..<6_000).map { ["name": "tag \($0)"] }
    try context.performTransaction {
      try context.insert("Tag", ["name": "first"])
      try context.save()
      assertStoreError(.constraintConflict) {
        try context.execute(BatchInsertRequest(entityName: "Tag", objects: rows + [["name": "first"]]))
      }
      XCTAssertEqual(try context.execute(BatchInsertRequest(entityName: "Tag", objects: rows)).count, 6_000)
    }
    XCTAssertEqual(try open.count("Tag"), 6_001, "What failed left no trace, and what came before and after stays.")
  }

  func testRequestCanBeExecutedAgain() throws {
    let open = try makeStore()
    let request = BatchInsertRequest(entityName: "Author", objects: [["name": "a"], ["name": "b"]])
    XCTAssertEqual(try open.newContext().execute(request).count, 2)
    XCTAssertEqual(try open.newContext().execute(request).count, 2)
    XCTAssertEqual(try open.count("Author"), 4)
  }
}
