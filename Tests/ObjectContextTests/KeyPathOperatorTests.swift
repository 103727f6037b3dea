import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Key-value access in common forms: operators, subscripts, integers of any width, and error messages.
final class KeyPathOperatorTests: XCTestCase {
  private func library(_ context: ManagedObjectContext) throws -> ManagedObject {
    let author = try context.make("Author", ["name": "Ada", "born": 1815])
    for (title, pages) in [("a", 10), ("b", 30), ("c", 30)] {
      let tag = try context.make("Tag", ["name": "t\(pages)"])
      try context.make("Book", ["title": title, "pages": pages, "price": Double(pages) / 4, "author": author, "tags": [tag]])
    }
    try context.make("Book", ["title": "d", "author": author])
    try context.save()
    return author
  }

  private func error(_ body: () throws -> Void) -> String {
    do { try body() } catch { return "\(error)" }
    return ""
  }

  func testCollectionOperatorsComputeOneValue() async throws {
    try await onEachStore { stack in
      let author = try self.library(stack.makeContext())
      XCTAssertEqual(try author.value(forKeyPath: "books.@count") as? Int, 4)
      XCTAssertEqual(try author.value(forKeyPath: "books.@sum.pages") as? Int, 70)
      XCTAssertEqual(try XCTUnwrap(author.value(forKeyPath: "books.@avg.pages") as? Double), 70.0 / 3, accuracy: 1e-12)
      XCTAssertEqual(try author.value(forKeyPath: "books.@min.pages") as? Int, 10)
      XCTAssertEqual(try author.value(forKeyPath: "books.@max.title") as? String, "d")
      XCTAssertEqual(try author.value(forKeyPath: "books.@max.price") as? Double, 9.5)
      XCTAssertEqual(try author.value(forKeyPath: "books.tags.@count") as? Int, 3)
      let loner = try stack.makeContext().make("Author", ["name": "B"])
      XCTAssertEqual(try loner.value(forKeyPath: "books.@count") as? Int, 0)
      XCTAssertEqual(try loner.value(forKeyPath: "books.@sum.pages") as? Int, 0)
      XCTAssertNil(try loner.value(forKeyPath: "books.@min.pages"))
    }
  }

  func testKeyPathsThroughCollectionsReturnAllValues() async throws {
    try await onEachStore { stack in
      let author = try self.library(stack.makeContext())
      XCTAssertEqual(try (author.value(forKeyPath: "books.title") as? [Any])?.compactMap { $0 as? String }.sorted(), ["a", "b", "c", "d"])
      XCTAssertEqual(
        try (author.value(forKeyPath: "books.tags.name") as? [Any])?.compactMap { $0 as? String }.sorted(), ["t10", "t30", "t30"])
      XCTAssertEqual(
        try (author.value(forKeyPath: "books.@unionOfObjects.pages") as? [Any])?.compactMap { $0 as? Int32 }.sorted(), [10, 30, 30])
      XCTAssertEqual(
        try (author.value(forKeyPath: "books.@distinctUnionOfObjects.pages") as? [Any])?.compactMap { $0 as? Int32 }.sorted(), [10, 30])
      XCTAssertEqual(try (author.value(forKeyPath: "books.@distinctUnionOfSets.tags") as? [Any])?.count, 3)
      XCTAssertEqual(try (author.value(forKeyPath: "books.@distinctUnionOfObjects.author") as? [Any])?.first as? ManagedObject, author)
    }
  }

  func testUnsupportedOperatorsThrow() async throws {
    try await onEachStore([.inMemory]) { stack in
      let author = try self.library(stack.makeContext())
      XCTAssertTrue(self.error { _ = try author.value(forKeyPath: "books.@sum") }.contains("stands behind it"))
      XCTAssertTrue(self.error { _ = try author.value(forKeyPath: "books.@median.pages") }.contains("there are @count"))
      XCTAssertTrue(self.error { _ = try author.value(forKeyPath: "books.@sum.title") }.contains("string"))
      XCTAssertTrue(self.error { _ = try author.value(forKeyPath: "books.titel") }.contains("did you mean “title”?"))
      XCTAssertTrue(self.error { try author.setValue(1, forKeyPath: "books.pages") }.contains("not a to-one relationship"))
    }
  }

  func testSubscriptSetsValues() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let book = try context.make("Book", ["title": "a"])
      book["title"] = "b"
      book["pages"] = 12
      try context.save()
      XCTAssertEqual(book["title"] as? String, "b")
      XCTAssertEqual(book["pages"] as? Int32, 12)
      book["pages"] = nil
      XCTAssertNil(book["pages"])
      book["titel"] = "c"
      XCTAssertTrue("\(try XCTUnwrap(context.pendingError))".contains("did you mean “title”?"))
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? KeyValueError)?.code, .unknownKey) }
    }
  }

  func testIntegersAreReadInAnyWidth() async throws {
    let model = ManagedObjectModel {
      Entity("Thing") {
        Attribute("small", .integer16)
        Attribute("middle", .integer32)
        Attribute("large", .integer64)
      }
    }
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let thing = try stack.makeContext().make("Thing", ["small": -7, "middle": 70_000, "large": Int64.max])
      for key in ["small", "middle", "large"] {
        XCTAssertEqual(try thing.value(forKey: key, as: Int.self).map(Int64.init), try thing.value(forKey: key, as: Int64.self))
      }
      XCTAssertEqual(try thing.value(forKey: "small", as: Int.self), -7)
      XCTAssertEqual(try thing.value(forKey: "small", as: Int8.self), -7)
      XCTAssertEqual(try thing.value(forKey: "middle", as: UInt32.self), 70_000)
      XCTAssertThrowsError(try thing.value(forKey: "small", as: UInt.self)) { XCTAssertEqual(($0 as? KeyValueError)?.code, .outOfRange) }
      XCTAssertThrowsError(try thing.value(forKey: "middle", as: Int16.self)) { error in
        XCTAssertEqual((error as? KeyValueError)?.code, .outOfRange)
        XCTAssertEqual("\(error)", "the number is out of range for “Thing.middle”: it is read as Int16")
      }
      XCTAssertThrowsError(try thing.setValue(70_000, forKey: "small")) { error in
        XCTAssertEqual("\(error)", "the number is out of range for “Thing.small”: it is of the type Integer 16")
      }
      XCTAssertThrowsError(try thing.value(forKey: "middle", as: String.self)) { error in
        XCTAssertEqual("\(error)", "“Thing.middle” has another type: it is of the type Int32, but is read as String")
      }
    }
  }

  // MARK: Error messages

  func testWrongValueErrorNamesBothTypes() async throws {
    try await onEachStore([.inMemory]) { stack in
      let book = try stack.makeContext().make("Book", ["title": "a"])
      XCTAssertEqual(
        self.error { try book.setValue("three hundred", forKey: "pages") },
        "“Book.pages” has another type: it takes an integer (Integer 32), and was given String")
      XCTAssertEqual(
        self.error { try book.setValue(5, forKey: "author") },
        "“Book.author” has another type: it takes a ManagedObject or nil, and was given Int")
      XCTAssertEqual(
        self.error { try book.setValue("x", forKey: "tags") },
        "“Book.tags” has another type: it takes a Set or an Array of ManagedObjects, and was given String")
      XCTAssertFalse(self.error { try book.setValue("secret", forKey: "pages") }.contains("secret"))
    }
  }

  func testMistypedKeyErrorSuggestsTheKey() async throws {
    try await onEachStore([.inMemory]) { stack in
      let book = try stack.makeContext().make("Book", ["title": "a"])
      XCTAssertEqual(self.error { _ = try book.value(forKey: "titel") }, "the entity “Book” has no property “titel”: did you mean “title”?")
      XCTAssertEqual(
        self.error { _ = try book.value(forKey: "weight") },
        "the entity “Book” has no property “weight”: it has author, pages, price, shelf, tags, title")
      XCTAssertTrue(self.error { _ = try book.mutableSetValue(forKey: "tag") }.contains("did you mean “tags”?"))
      XCTAssertTrue(self.error { _ = try book.mutableSetValue(forKey: "author") }.contains("functions of their own"))
    }
  }

  func testAMergeConflictNamesEntityAndPolicy() async throws {
    try await onEachStore { stack in
      let (one, two) = (stack.makeContext(), stack.makeContext())
      let book = try one.make("Book", ["title": "a"])
      try one.save()
      let same = two.object(with: book.objectID)
      try same.setValue("b", forKey: "title")
      try book.setValue("c", forKey: "title")
      try one.save()
      XCTAssertThrowsError(try two.save()) { error in
        guard let error = error as? StoreError else { return XCTFail("\(error)") }
        XCTAssertEqual(error.code, .mergeConflict)
        XCTAssertEqual((error.entityName, error.objectID).0, "Book")
        XCTAssertEqual(error.objectID, book.objectID)
        XCTAssertTrue(error.message.contains("the “Book” \(book.objectID.uriString)"), error.message)
        XCTAssertTrue(error.message.contains("The merge policy “error” does not resolve this"), error.message)
        XCTAssertEqual(error.errorDescription, "This was changed elsewhere in the meantime.")
      }
    }
  }

  func testRepeatedErrorOfManyObjectsIsReportedOnce() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      for _ in 0..<50 { try context.make("Book") }
      try context.make("Tag")
      let text = self.error { try context.save() }
      XCTAssertEqual(text.components(separatedBy: "Book.title").count - 1, 1, text)
      XCTAssertTrue(text.hasPrefix("51 errors: ") && text.contains("(50 objects, such as ") && text.contains("Tag.name"), text)
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.errors.count, 51) }
    }
  }

  func testMessagesUseSingularAndPlural() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let agent = try context.make("Agent", ["name": "x"])
      try context.make("Author", ["name": "y", "agent": agent])
      try context.save()
      context.delete(agent)
      let text = self.error { try context.save() }
      XCTAssertTrue(text.contains("while it refers to another one; delete or move that first"), text)
    }
  }

  func testUnknownClassErrorNamesTheCall() async throws {
    try await onEachStore([.inMemory], classes: ManagedObjectClasses()) { stack in
      let text = self.error { _ = try stack.makeContext().insertObject(Tag.self) }
      XCTAssertTrue(text.hasPrefix("This context has no entity for the class Tag. Register it"), text)
    }
  }

  // MARK: Released contexts

  func testAContextOutlivesItsContainer() async throws {
    func context() async throws -> ManagedObjectContext {
      let container = try PersistentContainer(
        name: "Library", managedObjectModel: Library.model, classes: Library.classes,
        persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
      try await container.loadPersistentStores()
      return container.newBackgroundContext()
    }
    let context = try await context()
    try context.make("Book", ["title": "a"])
    try context.save()
    context.reset()
    XCTAssertEqual(try context.objects("Book").map { try $0.value(forKey: "title") as? String }, ["a"])
  }

  func testReadAfterTheContextIsReleasedIsReported() async throws {
    try await onEachStore { stack in
      let id = try stack.makeContext().make("Book", ["title": "a"])
      try id.managedObjectContext?.save()
      stack.forgetRows()
      let count = MissingContextWarning.readCount
      let lost = stack.makeShortLivedContext().object(with: id.objectID)
      XCTAssertNil(lost.managedObjectContext)
      XCTAssertEqual(self.code { _ = try lost.value(forKey: "title") }, .invalidRequest)
      XCTAssertTrue(self.error { _ = try lost.value(forKey: "title") }.contains("Retain the context as long as its objects"))
      XCTAssertNil(lost["title"])
      XCTAssertEqual(MissingContextWarning.readCount, count, "an error has said it")
      XCTAssertEqual((lost as? Book)?.title, "")
      XCTAssertGreaterThan(MissingContextWarning.readCount, count)
    }
  }

  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch { return (error as? StoreError)?.code }
    return nil
  }

  // MARK: Changes by other contexts

  func testAListOfChangesIsMerged() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = try self.library(context)
      let books = try context.objects("Book", by: "title")
      XCTAssertEqual(try (author.value(forKey: "books") as? Set<ManagedObject>)?.count, 4)
      let other = stack.makeShortLivedContext()
      try other.object(with: books[0].objectID).setValue("z", forKey: "title")
      other.delete(try other.existingObject(with: books[1].objectID))
      try other.save()
      context.mergeChanges(from: ChangeSet(updated: [books[0].objectID, author.objectID], deleted: [books[1].objectID], in: stack.store))
      XCTAssertEqual(try books[0].value(forKey: "title") as? String, "z")
      XCTAssertNil(books[1].managedObjectContext)
      XCTAssertEqual(try (author.value(forKey: "books") as? Set<ManagedObject>)?.count, 3)
    }
  }

  func testTransformerIsUnregistered() throws {
    struct Plain: AttributeTransformer {
      func data(from value: String) throws -> Data { Data(value.utf8) }
      func value(from data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
    }
    AttributeTransformers.register(Plain(), forName: "KeyPathOperatorTests.Plain")
    XCTAssertNotNil(AttributeTransformers.transformer(forName: "KeyPathOperatorTests.Plain"))
    XCTAssertTrue(AttributeTransformers.unregister(forName: "KeyPathOperatorTests.Plain") is Plain)
    XCTAssertNil(AttributeTransformers.transformer(forName: "KeyPathOperatorTests.Plain"))
    XCTAssertNil(AttributeTransformers.unregister(forName: "KeyPathOperatorTests.Plain"))
  }
}
