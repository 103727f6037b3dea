import Foundation
@_spi(Generated) import ObjectContext
@_spi(Generated) import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

extension DerivedAttributeSpecification {
  // MARK: Writing

  func testDerivedAttributesCannotBeSet() throws {
    let (store, context) = try make()
    let author = try context.insert("Author", ["name": "Ann"])
    for isSaved in [false, true] {
      XCTAssertThrowsError(try author.setValue("wrong", forKey: "nameKey")) { XCTAssertEqual(($0 as? KeyValueError)?.code, .readOnly) }
      XCTAssertThrowsError(try author.setValue(nil, forKey: "bookCount")) { XCTAssertEqual(($0 as? KeyValueError)?.code, .readOnly) }
      XCTAssertThrowsError(try author.setPrimitiveValue(Int32(7), forKey: "bookCount"))
      XCTAssertNil(context.pendingError)
      // Hand-written code can set an attribute for which generated code has no setter.
      guard case .attribute(let slot)? = author.compiledEntity.property(named: "nameKey") else { return XCTFail("no attribute") }
      author.setOptionalValue("wrong", at: slot.index)
      XCTAssertEqual(author.text("nameKey"), isSaved ? "ann" : nil)
      XCTAssertThrowsError(try context.save()) { XCTAssertTrue("\($0)".contains("Author.nameKey"), "\($0)") }
      try context.save()
      XCTAssertEqual(author.text("nameKey"), "ann")
      XCTAssertEqual(author["bookCount"] as? Int32, 0)
    }
    try author.setValue("Bob", forKey: "name")
    try context.save()
    XCTAssertEqual(author.text("nameKey"), "bob")
    XCTAssertEqual(try stored(store, author, "nameKey"), .text("bob"))
    XCTAssertFalse(context.hasChanges)
    // Values passed directly to the store have no effect either.
    let row = try XCTUnwrap(store.row(author.objectID))
    try store.save { try $0.update(author.objectID, ["nameKey": .text("wrong"), "name": .text("Cid"), "bookCount": .int(5)]) }
    XCTAssertGreaterThan(try XCTUnwrap(store.row(author.objectID)).version, row.version)
    XCTAssertEqual(try stored(store, author, "nameKey"), .text("cid"))
    XCTAssertEqual(try stored(store, author, "bookCount"), .int(0))
  }

  func testARequiredDerivedAttributeNeedsNoValue() throws {
    let (_, context) = try make()
    let author = try context.insert("Author", ["name": "Ann"])
    XCTAssertNoThrow(try author.validateForInsert())
    try context.save()
    try author.setValue("Bob", forKey: "name")
    XCTAssertNoThrow(try author.validateForUpdate())
    XCTAssertEqual(try context.execute(BatchInsertRequest(entityName: "Author", objects: [["name": "Cid", "bookCount": 12]])).count, 1)
    try context.save()
    XCTAssertEqual(try find("Author", "name", "Cid", in: context)["bookCount"] as? Int32, 0)
  }

  func testBatchRequestsUpdateDerivedAttributes() throws {
    let (store, context) = try make()
    let (ann, bob) = (try context.insert("Author", ["name": "Ann"]), try context.insert("Author", ["name": "Bob"]))
    try context.save()
    let rows: [[String: any Sendable]] = (0..<20).map {
      ["title": "\($0)", "pages": $0, "author": $0 % 2 == 0 ? ann.objectID : bob.objectID]
    }
    try context.execute(BatchInsertRequest(entityName: "Book", objects: rows))
    XCTAssertEqual(ann["bookCount"] as? Int32, 10)
    XCTAssertEqual(ann.integer("pageSum"), 90)
    XCTAssertEqual(bob.integer("pageSum"), 100)
    let books = try context.all("Book")
    XCTAssertEqual(Set(books.compactMap { $0.text("authorName") }), ["Ann", "Bob"])
    hold(books)
    try context.execute(
      BatchUpdateRequest(
        entityName: "Book", predicate: try FetchPredicate(format: "pages >= 10"), propertiesToUpdate: ["author": ann.objectID]))
    XCTAssertEqual(ann["bookCount"] as? Int32, 15)
    XCTAssertEqual(bob.integer("pageSum"), 25)
    XCTAssertEqual(books.filter { $0.text("authorName") == "Ann" }.count, 15)
    try context.execute(BatchUpdateRequest(entityName: "Author", propertiesToUpdate: ["name": "Zoë"]))
    XCTAssertEqual(Set(books.compactMap { $0.text("authorShout") }), ["ZOË"])
    XCTAssertEqual(ann.text("nameKey"), "zoe")
    try context.execute(BatchDeleteRequest(entityName: "Book", predicate: try FetchPredicate(format: "pages < 10")))
    XCTAssertEqual(ann["bookCount"] as? Int32, 10)
    XCTAssertEqual(bob["bookCount"] as? Int32, 0)
    XCTAssertEqual(ann.integer("leastPages"), 10)
    try check(store)
    try context.execute(BatchDeleteRequest(objectIDs: [ann.objectID]))
    XCTAssertEqual(try store.count("Book"), 0, "the rule of the relationship holds")
  }

  func testBatchUpdateCannotSetDerivedAttributes() throws {
    let (_, context) = try make()
    XCTAssertThrowsError(try context.execute(BatchUpdateRequest(entityName: "Author", propertiesToUpdate: ["bookCount": 3]))) { error in
      XCTAssertEqual((error as? BatchError)?.code, .notSettable, "\(error)")
      XCTAssertTrue("\(error)".contains("derived"), "\(error)")
    }
  }

  // MARK: Reading

  func testDerivedAttributesCanBeQueriedAndSortedBy() throws {
    let (_, context) = try make()
    for (name, count) in [("Ann", 2), ("Bob", 0), ("Cid", 3)] {
      let author = try context.insert("Author", ["name": name])
      for _ in 0..<count { try context.insert("Book", ["author": author]) }
    }
    try context.save()
    var request = FetchRequest<ManagedObject>(entityName: "Author", predicate: try FetchPredicate(format: "bookCount > 0"))
    request.sortDescriptors = [FetchSortDescriptor("bookCount", ascending: false)]
    XCTAssertEqual(try context.texts("name", request), ["Cid", "Ann"])
    request.predicate = try FetchPredicate(format: "ANY books.siblings == 3 OR nameKey == 'bob'")
    request.sortDescriptors = [FetchSortDescriptor("nameKey")]
    XCTAssertEqual(try context.texts("name", request), ["Bob", "Cid"])
    // With unsaved changes, the values are those of the last save.
    try context.insert("Book", ["author": try find("Author", "name", "Bob", in: context)])
    request.predicate = try FetchPredicate(format: "bookCount == 0")
    XCTAssertEqual(try context.texts("name", request), ["Bob"])
  }

  func testDerivedValuesDoNotMarkOtherObjectsChanged() throws {
    let (store, context) = try make()
    let author = try context.insert("Author", ["name": "Ann"])
    try context.save()
    let version = try XCTUnwrap(store.row(author.objectID)).version
    // Another context has the old author.
    let other = store.newContext()
    let same = try find("Author", "name", "Ann", in: other)
    XCTAssertEqual(same["bookCount"] as? Int32, 0)
    try context.insert("Book", ["author": author])
    try context.save()
    XCTAssertEqual(try XCTUnwrap(store.row(author.objectID)).version, version)
    try same.setValue("Anna", forKey: "name")
    XCTAssertNoThrow(try other.save(), "a computed value is no conflict")
    XCTAssertEqual(same["bookCount"] as? Int32, 1)
  }

  func testOtherContextsMergeDerivedAttributes() throws {
    let (store, context) = try make()
    let author = try context.insert("Author", ["name": "Ann"])
    let book = try context.insert("Book", ["title": "One", "author": author])
    try context.save()
    let other = store.newContext()
    let (sameAuthor, sameBook) = (try find("Author", "name", "Ann", in: other), try find("Book", "title", "One", in: other))
    XCTAssertEqual(sameBook.text("authorName"), "Ann")
    let changes = Mutex<[ChangeSet]>([])
    let observer = store.coordinator.addObserver { change in changes.withLock { $0.append(change) } }
    defer { store.coordinator.removeObserver(observer) }
    try author.setValue("Anna", forKey: "name")
    try context.insert("Book", ["title": "Two", "author": author])
    try context.save()
    let saved = try XCTUnwrap(changes.withLock { $0.last })
    XCTAssertEqual(saved.refreshed, [book.objectID])
    XCTAssertEqual(saved.updated, [author.objectID])
    other.mergeChanges(from: saved)
    XCTAssertEqual(sameBook.text("authorName"), "Anna")
    XCTAssertEqual(sameAuthor["bookCount"] as? Int32, 2)
    XCTAssertEqual(sameAuthor.members("books").count, 2)
    XCTAssertFalse(other.hasChanges)
  }

  func testAnOldSnapshotOverwritesNothing() throws {
    let (store, context) = try make()
    let author = try context.insert("Author", ["name": "Ann"])
    try context.save()
    let other = store.newContext()
    let same = try find("Author", "name", "Ann", in: other)
    XCTAssertEqual(same["bookCount"] as? Int32, 0)
    try context.insert("Book", ["author": author])
    try context.save()
    try same.setValue(["city": "Ulm"], forKey: "home")
    try other.save()
    XCTAssertEqual(try stored(store, author, "bookCount"), .int(1))
    XCTAssertEqual(same["bookCount"] as? Int32, 1)
    // The row cache contains the stored values.
    let third = store.newContext()
    XCTAssertEqual(try third.existingObject(with: author.objectID)["bookCount"] as? Int32, 1)
  }

  func testDerivedValuesOfManyRowsAreRefreshed() throws {
    let (store, context) = try make()
    let author = try context.insert("Author", ["name": "Ann"])
    let books = try (0..<1_200).map { try context.insert("Book", ["title": "\($0)", "author": author]) }
    try context.save()
    XCTAssertEqual(Set(books.map { $0.text("authorName") }), ["Ann"])
    try author.setValue("Anna", forKey: "name")
    try context.save()
    XCTAssertEqual(Set(books.map { $0.text("authorName") }), ["Anna"])
    let other = store.newContext()
    XCTAssertEqual(Set(try other.all("Book").map { $0.text("authorShout") }), ["ANNA"])
  }

  func testFailedSaveLeavesDerivedValuesUnchanged() throws {
    let (store, context) = try make()
    let author = try context.insert("Author", ["name": "Ann"])
    try context.save()
    let old = try XCTUnwrap(store.row(author.objectID))
    try store.save { try $0.update(author.objectID, ["name": .text("Cid")]) }
    assertStoreError(.mergeConflict) {
      try store.save { save in
        try save.insert("Book", ["author": author.objectID.slot])
        try save.update(old, ["name": .text("Bob")])
      }
    }
    XCTAssertEqual(try stored(store, author, "bookCount"), .int(0))
    XCTAssertEqual(try stored(store, author, "nameKey"), .text("cid"))
    context.refreshAllObjects()
    try context.insert("Book", ["author": author])
    try context.save()
    XCTAssertEqual(try stored(store, author, "bookCount"), .int(1))
  }

  func testFoldedTextCanBeUnique() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Word") {
          Attribute("text", .string)
          Attribute("key", .string).derived("canonical:(text)")
          Unique("key")
        }
      })
    let store = try makeStore(model)
    let context = store.newContext()
    let (one, two) = (try context.insert("Word", ["text": "Émile"]), try context.insert("Word", ["text": "Zoë"]))
    try context.save()
    let third = try context.insert("Word", ["text": "EMILE"])
    assertStoreError(.constraintConflict) { try context.save() }
    try third.setValue("Rose", forKey: "text")
    try context.save()
    try one.setValue("ZOE", forKey: "text")
    assertStoreError(.constraintConflict) { try context.save() }
    try two.setValue("emile", forKey: "text")
    try context.save()
    XCTAssertEqual([one, two].map { $0.text("key") }, ["zoe", "emile"], "they have changed places")
    XCTAssertThrowsError(try context.execute(BatchUpdateRequest(entityName: "Word", propertiesToUpdate: ["text": "same"]))) { error in
      let error = error as? StoreError
      XCTAssertEqual(error?.code, .constraintConflict)
      XCTAssertEqual(error?.entityName, "Word")
      XCTAssertEqual(error?.constraintConflicts.map(\.constraint), [["key"]])
      XCTAssertEqual(Set(error?.constraintConflicts.first?.objectIDs ?? []), Set([one, two, third].map(\.objectID)))
    }
    let rows: [[String: any Sendable]] = [["text": "ROSE"], ["text": "new"]]
    XCTAssertThrowsError(try context.execute(BatchInsertRequest(entityName: "Word", objects: rows)))
    XCTAssertEqual(try context.execute(BatchInsertRequest(entityName: "Word", objects: rows, onConflict: .ignore)).count, 1)
    XCTAssertEqual(try store.count("Word"), 4)
  }

  func testDerivedTextsAreFullTextSearchable() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Author") {
          Attribute("name", .string)
          Attribute("bookCount", .integer64).derived("books.@count")
          Attribute("openCount", .integer64).derived("books.@count", where: "isRead == NO")
          Relationship("books", toMany: "Book", inverse: "author")
          Index("byName", fullText: "name")
        }
        Entity("Book") {
          Attribute("title", .string)
          Attribute("isRead", .boolean)
          Attribute("authorName", .string).derived("author.name")
          Attribute("titleKey", .string).derived("uppercase:(title)")
          Relationship("author", to: "Author", inverse: "books")
          Index("words", fullText: "title", "authorName", "titleKey")
        }
      })
    let store = try makeStore(model)
    let context = store.newContext()
    func check(_ query: String, _ titles: [String], _ message: String = "", line: UInt = #line) throws {
      let request = FetchSpecification(
        entityName: "Book", predicate: try FetchPredicate(format: "{title, authorName, titleKey} SEARCH %@", query))
      XCTAssertEqual(try store.texts("title", request).sorted(), titles, "\(query) \(message)", line: line)
    }
    let (zola, ann) = (try context.insert("Author", ["name": "Émile Zola"]), try context.insert("Author", ["name": "Ann Fox"]))
    let books = try ["Nana red", "Earth blue", "Paris red"].enumerated().map { number, title in
      try context.insert("Book", ["title": title, "author": number < 2 ? zola : ann, "isRead": number == 0])
    }
    try context.save()
    try check("zola", ["Earth blue", "Nana red"])
    try check("red emile", ["Nana red"], "words of two texts")
    XCTAssertEqual([zola, ann].map { $0.integer("openCount") }, [1, 1])
    try zola.setValue("Honoré", forKey: "name")
    try books[2].setValue(zola, forKey: "author")
    try books[0].setValue("Nana green", forKey: "title")
    try context.save()
    try check("zola", [])
    try check("honore", ["Earth blue", "Nana green", "Paris red"])
    try check("green", ["Nana green"])
    XCTAssertEqual([zola, ann].map { $0.integer("bookCount") }, [3, 0])
    XCTAssertEqual([zola, ann].map { $0.integer("openCount") }, [2, 0])
    try context.execute(
      BatchUpdateRequest(
        entityName: "Author", predicate: try FetchPredicate(format: "bookCount > 0"), propertiesToUpdate: ["name": "Balzac"]))
    try context.execute(
      BatchUpdateRequest(
        entityName: "Book", predicate: try FetchPredicate(format: "title SEARCH 'blue'"),
        propertiesToUpdate: ["isRead": true, "title": "Sky"]))
    try check("balzac", ["Nana green", "Paris red", "Sky"])
    try check("honore", [])
    try check("balzac sky", ["Sky"])
    XCTAssertEqual(try stored(store, zola, "openCount"), .int(1))
    let authors = FetchSpecification(
      entityName: "Author", predicate: try FetchPredicate(format: "name SEARCH 'balzac' AND openCount == 1 AND bookCount == 3"))
    XCTAssertEqual(try store.count(authors), 1)
    try context.execute(
      BatchDeleteRequest(entityName: "Book", predicate: try FetchPredicate(format: "authorName SEARCH 'balzac' AND isRead == NO")))
    try check("balzac", ["Nana green", "Sky"])
    XCTAssertEqual(try stored(store, zola, "openCount"), .int(0))
    XCTAssertEqual(try stored(store, zola, "bookCount"), .int(2))
  }

  // MARK: Random graphs

  func testRandomGraphMatchesANaiveComputation() throws {
    let (store, context) = try make()
    var graph = DerivedGraph(seed: 12, context: context)
    for round in 0..<40 {
      try graph.change()
      try check(store)
      try graph.checkLivingObjects("round \(round)")
    }
  }

  /// Checks that every derived value in the store matches its relationships and attributes.
  private func check(_ store: OpenStore, file: StaticString = #filePath, line: UInt = #line) throws {
    let context = ManagedObjectContext(coordinator: store.coordinator)
    for entity in ["Author", "Book", "Chapter", "Tag", "List"] {
      for object in try context.all(entity) {
        for (key, value) in DerivedGraph.expected(object) {
          let slot = try XCTUnwrap(try store.value(object.objectID, key))
          XCTAssertEqual(slot, value, "\(object.objectID.entityName).\(key)", file: file, line: line)
        }
      }
    }
  }
}
