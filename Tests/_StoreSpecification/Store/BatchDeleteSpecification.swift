import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Many rows are deleted with one request, with the same delete rules as for objects.
public final class BatchDeleteSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testMatchingRowsAreDeleted", { $0.testMatchingRowsAreDeleted }),
        ("testFetchDeterminesOrderLimitAndOffset", { $0.testFetchDeterminesOrderLimitAndOffset }),
        ("testGivenObjectsAreDeleted", { $0.testGivenObjectsAreDeleted }),
        ("testManyGivenObjectsAreDeleted", { $0.testManyGivenObjectsAreDeleted }),
        ("testNullifyClearsReferences", { $0.testNullifyClearsReferences }),
        ("testRowNullifiedTwiceIncrementsItsVersionOnce", { $0.testRowNullifiedTwiceIncrementsItsVersionOnce }),
        ("testCascadesReachAllRelatedObjects", { $0.testCascadesReachAllRelatedObjects }),
        ("testLongChainsAndCyclesTerminate", { $0.testLongChainsAndCyclesTerminate }),
        ("testDenyRejectsTheRequest", { $0.testDenyRejectsTheRequest }),
        ("testDenyAllowsDeletingAllObjectsTogether", { $0.testDenyAllowsDeletingAllObjectsTogether }),
        ("testNoActionLeavesReferences", { $0.testNoActionLeavesReferences }),
        ("testRequiredReferenceRejectsTheRequest", { $0.testRequiredReferenceRejectsTheRequest }),
        ("testLinksAndOrderPositionsAreRemoved", { $0.testLinksAndOrderPositionsAreRemoved }),
        ("testOneToOneAndSymmetricLinksAreRemoved", { $0.testOneToOneAndSymmetricLinksAreRemoved }),
        ("testSubentitiesAreDeletedByDefault", { $0.testSubentitiesAreDeletedByDefault }),
        ("testWideCascadeDeletesManyRows", { $0.testWideCascadeDeletesManyRows }),
        ("testDeletingNoRowsSucceeds", { $0.testDeletingNoRowsSucceeds }),
      ] as [(String, (BatchDeleteSpecification) -> () throws -> Void)])
  }

  private func delete(_ open: OpenStore, _ request: BatchDeleteRequest) throws -> BatchResult {
    var request = request
    request.resultType = .objectIDs
    return try open.newContext().execute(request)
  }

  private func delete(_ open: OpenStore, _ entityName: String, where format: String? = nil) throws -> BatchResult {
    try delete(open, BatchDeleteRequest(entityName: entityName, predicate: try format.map { try FetchPredicate(format: $0) }))
  }

  private func assertBatchError(
    _ code: BatchError.Code, key: String, _ objectIDs: [ManagedObjectID], line: UInt = #line, _ body: () throws -> BatchResult
  ) {
    do {
      _ = try body()
      XCTFail("It succeeded.", line: line)
    } catch let error as BatchError {
      XCTAssertEqual(error.code, code, error.description, line: line)
      XCTAssertEqual(error.key, key, line: line)
      XCTAssertEqual(error.objectIDs, objectIDs, line: line)
    } catch {
      XCTFail("\(error)", line: line)
    }
  }

  private func names(_ open: OpenStore, _ entityName: String, _ key: String = "name") throws -> [String] {
    try open.texts(key, FetchSpecification(entityName: entityName)).sorted()
  }

  func testMatchingRowsAreDeleted() throws {
    let open = try makeStore()
    for number in 0..<10 { try open.insert("Tag", ["name": .text("\(number)")]) }
    let result = try delete(open, "Tag", where: "name IN {'1', '3'} OR name BEGINSWITH '7'")
    XCTAssertEqual(result.count, 3)
    XCTAssertEqual(result.deletedObjectIDs.count, 3)
    XCTAssertEqual(try names(open, "Tag"), ["0", "2", "4", "5", "6", "8", "9"])
    XCTAssertEqual(try delete(open, "Tag").count, 7)
    XCTAssertEqual(try open.count("Tag"), 0)
  }

  func testFetchDeterminesOrderLimitAndOffset() throws {
    let open = try makeStore()
    for number in 0..<10 { try open.insert("Author", ["name": .text("\(number)"), "born": .int(Int64(10 - number))]) }
    let request = FetchRequest<ManagedObject>(entityName: "Author").sorted(by: "born").limit(3).offset(1)
    XCTAssertEqual(try delete(open, BatchDeleteRequest(fetchRequest: request)).count, 3)
    XCTAssertEqual(try names(open, "Author"), ["0", "1", "2", "3", "4", "5", "9"])
  }

  func testGivenObjectsAreDeleted() throws {
    let open = try makeStore()
    let tags = try (0..<4).map { try open.insert("Tag", ["name": .text("\($0)")]) }
    let author = try open.insert("Author", ["name": .text("Ada")])
    let result = try delete(open, BatchDeleteRequest(objectIDs: [tags[1], tags[2], tags[1], author]))
    XCTAssertEqual(Set(result.objectIDs), [tags[1], tags[2], author])
    XCTAssertEqual(
      try delete(open, BatchDeleteRequest(objectIDs: [tags[1], tags[3]])).objectIDs, [tags[3]], "Deleted rows are skipped.")
    XCTAssertEqual(try names(open, "Tag"), ["0"])
    let unsaved = try open.newContext().insert("Tag")
    assertStoreError(.invalidRequest) { try delete(open, BatchDeleteRequest(objectIDs: [unsaved.objectID])) }
  }

  func testManyGivenObjectsAreDeleted() throws {
    let open = try makeStore()
    let tags = try open.save { save in try (0..<2_500).map { try save.insert("Tag", ["name": .text("\($0)")]) } }
    XCTAssertEqual(try delete(open, BatchDeleteRequest(objectIDs: tags[1...])).count, 2_499)
    XCTAssertEqual(try names(open, "Tag"), ["0"])
  }

  func testNullifyClearsReferences() throws {
    let open = try makeStore()
    let authors = try ["Ada", "Bob"].map { try open.insert("Author", ["name": .text($0)]) }
    let books = try (0..<4).map { try open.insert("Book", ["title": .text("\($0)"), "author": authors[$0 % 2].slot]) }
    let result = try delete(open, "Author", where: "name == 'Ada'")
    XCTAssertEqual(result.deletedObjectIDs, [authors[0]])
    XCTAssertEqual(Set(result.updatedObjectIDs), [books[0], books[2]])
    XCTAssertEqual(try books.map { try open.value($0, "author") }, [.null, authors[1].slot, .null, authors[1].slot])
    XCTAssertEqual(try books.map { try open.row($0)?.version }, [2, 1, 2, 1])
  }

  func testRowNullifiedTwiceIncrementsItsVersionOnce() throws {
    let open = try makeStore()
    let gone = try open.newIDs("Author", count: 1)[0]
    let left = try open.newIDs("Author", count: 1)[0]
    try open.save { save in
      try save.insert(gone, ["name": .text("gone"), "spouse": left.slot])
      try save.insert(left, ["name": .text("left"), "spouse": gone.slot, "mentor": gone.slot])
    }
    let result = try delete(open, "Author", where: "name == 'gone'")
    XCTAssertEqual(result.updatedObjectIDs, [left])
    XCTAssertEqual(try open.row(left)?.version, 2)
    XCTAssertEqual(try open.value(left, "spouse"), .null)
    XCTAssertEqual(try open.value(left, "mentor"), .null)
  }

  func testCascadesReachAllRelatedObjects() throws {
    let open = try makeStore(DeleteRuleSpecification.files)
    try open.save { save in
      let root = try save.insert("Folder", ["name": .text("root")])
      let sub = try save.insert("Folder", ["name": .text("sub"), "parent": root.slot])
      let deep = try save.insert("Folder", ["name": .text("deep"), "parent": sub.slot])
      let next = try open.newID("Folder")
      try save.insert(next, ["name": .text("next")])
      try save.insert("File", ["name": .text("a"), "folder": sub.slot])
      try save.insert("File", ["name": .text("b"), "folder": deep.slot])
      try save.insert("File", ["name": .text("c")])
      try save.insert("Folder", ["name": .text("other")])
    }
    let result = try delete(open, "Folder", where: "name == 'root'")
    XCTAssertEqual(result.count, 5)
    XCTAssertEqual(try names(open, "Folder"), ["next", "other"])
    XCTAssertEqual(try names(open, "File"), ["c"])
  }

  func testLongChainsAndCyclesTerminate() throws {
    let open = try makeStore(DeleteRuleSpecification.files)
    let ids = try open.newIDs("Folder", count: 600)
    try open.save { save in
      for (number, id) in ids.enumerated() {
        var values: [String: Slot] = ["name": .text("\(number)")]
        // A chain of parents; the last hundred form a cycle through `next`.
        if number > 0, number < 500 { values["parent"] = ids[number - 1].slot }
        if number >= 500 {
          values["next"] = ids[number == 599 ? 500 : number + 1].slot
          values["previous"] = ids[number == 500 ? 599 : number - 1].slot
        }
        try save.insert(id, values)
      }
    }
    XCTAssertEqual(try delete(open, "Folder", where: "name == '550'").count, 100)
    XCTAssertEqual(try delete(open, "Folder", where: "name == '100'").count, 400)
    XCTAssertEqual(try open.count("Folder"), 100)
    XCTAssertEqual(try open.row(ids[99])?.version, 1)
  }

  func testDenyRejectsTheRequest() throws {
    let open = try makeStore(DeleteRuleSpecification.files)
    let owners = try ["a", "b", "c"].map { try open.insert("Owner", ["name": .text($0)]) }
    for number in 0..<4 { try open.insert("File", ["name": .text("\(number)"), "owner": owners[number % 2].slot]) }
    assertBatchError(.deletionDenied, key: "files", [owners[0], owners[1]]) { try delete(open, "Owner") }
    XCTAssertEqual(try open.count("Owner"), 3, "Nothing was deleted.")
    XCTAssertEqual(try delete(open, "Owner", where: "name == 'c'").count, 1)
  }

  func testDenyAllowsDeletingAllObjectsTogether() throws {
    let open = try makeStore(DeleteRuleSpecification.files)
    let owner = try open.insert("Owner", ["name": .text("a")])
    let files = try (0..<3).map { try open.insert("File", ["name": .text("\($0)"), "owner": owner.slot]) }
    assertBatchError(.deletionDenied, key: "files", [owner]) { try delete(open, BatchDeleteRequest(objectIDs: [owner] + files[1...])) }
    XCTAssertEqual(try delete(open, BatchDeleteRequest(objectIDs: [owner] + files)).count, 4)
  }

  func testNoActionLeavesReferences() throws {
    let open = try makeStore(DeleteRuleSpecification.files)
    let origin = try open.insert("File", ["name": .text("origin")])
    let copy = try open.insert("File", ["name": .text("copy"), "origin": origin.slot])
    let result = try delete(open, "File", where: "name == 'origin'")
    XCTAssertEqual(result.updatedCount, 0)
    XCTAssertEqual(try open.value(copy, "origin"), origin.slot)
    XCTAssertEqual(try delete(open, "File").count, 1)
  }

  func testRequiredReferenceRejectsTheRequest() throws {
    let open = try makeStore(DeleteRuleSpecification.files)
    let (file, seal) = (try open.newID("File"), try open.newID("Seal"))
    try open.save { save in
      try save.insert(file, ["name": .text("f"), "seal": seal.slot])
      try save.insert(seal, ["name": .text("s"), "file": file.slot])
    }
    assertBatchError(.requiredRelationship, key: "file", [seal]) { try delete(open, "File") }
    XCTAssertEqual(try open.count("File"), 1)
    XCTAssertEqual(try delete(open, "Seal").updatedObjectIDs, [file])
    XCTAssertEqual(try open.value(file, "seal"), .null)
    let parts = try makeStore(BatchInsertSpecification.strict)
    let item = try parts.insert("Item", ["code": .text("c"), "name": .text("n")])
    let part = try parts.insert("Part", ["item": item.slot])
    assertBatchError(.requiredRelationship, key: "item", [part]) { try delete(parts, "Item") }
    XCTAssertEqual(try delete(parts, BatchDeleteRequest(objectIDs: [item, part])).count, 2)
  }

  func testLinksAndOrderPositionsAreRemoved() throws {
    let open = try makeStore()
    let (books, shelves, tag) = try open.save { save in
      let books = try (0..<4).map { try save.insert("Book", ["title": .text("\($0)")]) }
      let shelves = try (0..<2).map { try save.insert("Shelf", ["name": .text("\($0)")]) }
      let tag = try save.insert("Tag", ["name": .text("t")])
      for shelf in shelves {
        try save.change(shelf, "books", add: books, order: books.reversed())
        try save.change(shelf, "hidden", add: books)
      }
      for book in books { try save.change(book, "tags", add: [tag]) }
      return (books, shelves, tag)
    }
    XCTAssertEqual(try delete(open, "Book", where: "title IN {'1', '2'}").count, 2)
    for shelf in shelves {
      XCTAssertEqual(try open.members(shelf, "books"), [books[3].reference, books[0].reference])
      XCTAssertEqual(Set(try open.members(shelf, "hidden")), [books[3].reference, books[0].reference])
    }
    XCTAssertEqual(Set(try open.members(tag, "books")), [books[0].reference, books[3].reference])
    XCTAssertEqual(try delete(open, "Tag").count, 1)
    XCTAssertEqual(try open.members(books[0], "tags"), [])
    XCTAssertEqual(try delete(open, "Shelf").count, 2)
    XCTAssertEqual(try open.members(books[0], "shelves"), [])
  }

  func testOneToOneAndSymmetricLinksAreRemoved() throws {
    let open = try makeStore()
    let people = try open.newIDs("Author", count: 3)
    try open.save { save in
      for (number, id) in people.enumerated() {
        try save.insert(id, ["name": .text("\(number)"), "spouse": number < 2 ? people[1 - number].slot : .null])
      }
      try save.change(people[0], "friends", add: [people[1], people[2]])
    }
    XCTAssertEqual(try delete(open, "Author", where: "name == '0'").updatedObjectIDs, [people[1]])
    XCTAssertEqual(try open.value(people[1], "spouse"), .null)
    XCTAssertEqual(try open.members(people[1], "friends"), [])
    XCTAssertEqual(try open.members(people[2], "friends"), [])
  }

  func testSubentitiesAreDeletedByDefault() throws {
    let open = try makeStore(SpecificationModels.assets)
    let clip = try open.insert("Clip", ["name": .text("clip")])
    try open.insert("Video", ["name": .text("video")])
    let photo = try open.insert("Photo", ["name": .text("photo")])
    let note = try open.insert("Note", ["asset": clip.slot])
    var request = FetchRequest<ManagedObject>(entityName: "Video")
    request.includesSubentities = false
    XCTAssertEqual(try delete(open, BatchDeleteRequest(fetchRequest: request)).count, 1)
    XCTAssertEqual(try names(open, "Asset"), ["clip", "photo"])
    XCTAssertEqual(try delete(open, "Video").objectIDs, [clip])
    XCTAssertEqual(try open.value(note, "asset"), .null)
    XCTAssertEqual(try delete(open, "Asset").objectIDs, [photo])
  }

  func testWideCascadeDeletesManyRows() throws {
    let open = try makeStore(DeleteRuleSpecification.files)
    try open.save { save in
      let roots = try (0..<2).map { try save.insert("Folder", ["name": .text("root \($0)")]) }
      for number in 0..<40 {
        let folder = try save.insert("Folder", ["name": .text("f\(number)"), "parent": roots[number % 2].slot])
        for file in 0..<50 { try save.insert("File", ["name": .text("\(file)"), "folder": folder.slot]) }
      }
    }
    XCTAssertEqual(try delete(open, "Folder", where: "name == 'root 0'").count, 1 + 20 + 20 * 50)
    XCTAssertEqual(try open.count("File"), 1_000)
    XCTAssertEqual(try open.count("Folder"), 21)
  }

  func testDeletingNoRowsSucceeds() throws {
    let open = try makeStore()
    XCTAssertEqual(try delete(open, "Book").count, 0)
    XCTAssertEqual(try delete(open, BatchDeleteRequest(objectIDs: [])).count, 0)
  }
}
