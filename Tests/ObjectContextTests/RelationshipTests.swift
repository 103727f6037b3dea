import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Inverses, orders and delete rules.
final class RelationshipTests: LibraryTestCase {
  private func person(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
    let person = try context.insertObject(entityName: "Person")
    try person.setValue(name, forKey: "name")
    return person
  }

  func testToOneUpdatesItsInverse() async throws {
    try await withLibrary { context, _ in
      let (first, second, book) = (Author(context: context), Author(context: context), Book(context: context))
      book.author = first
      XCTAssertEqual(first.books, [book])
      book.author = second
      XCTAssertEqual(first.books, [])
      XCTAssertEqual(second.books, [book])
      first.books = [book]
      XCTAssertTrue(book.author === first)
      XCTAssertEqual(second.books, [])
    }
  }

  func testOwnerReadLaterExcludesTheRemovedMember() async throws {
    try await withLibrary { context, coordinator in
      let (first, second, book) = (Author(context: context), Author(context: context), Book(context: context))
      (first.name, second.name, book.title) = ("A", "B", "T")
      book.author = first
      try context.save()
      let other = another(coordinator)
      let found = try XCTUnwrap(other.all(Book.self).first)
      found.author = try XCTUnwrap(other.existingObject(with: second.objectID) as? Author)
      let old = try XCTUnwrap(other.existingObject(with: first.objectID) as? Author)
      XCTAssertEqual(old.books, [])
    }
  }

  func testManyToManyIsUpdatedOnBothSidesAndSaved() async throws {
    try await withLibrary { context, coordinator in
      let (book, swift, linux) = (Book(context: context), Tag(context: context), Tag(context: context))
      (book.title, swift.name, linux.name) = ("T", "swift", "linux")
      book.tags = [swift, linux]
      XCTAssertEqual(swift.books, [book])
      try context.save()
      let other = another(coordinator)
      let found = try XCTUnwrap(other.all(Book.self).first)
      XCTAssertEqual(Set(found.tags.map(\.name)), ["swift", "linux"])
      let tag = try XCTUnwrap(found.tags.first { $0.name == "linux" })
      found.removeFromToMany(tag, at: 0)
      XCTAssertEqual(tag.books, [])
      try other.save()
      let third = another(coordinator)
      XCTAssertEqual(try third.all(Book.self).first?.tags.map(\.name), ["swift"])
    }
  }

  func testOrderIsPreserved() async throws {
    try await withLibrary { context, coordinator in
      let shelf = try context.insertObject(entityName: "Shelf")
      let books = (0..<5).map { number in
        let book = Book(context: context)
        book.title = "\(number)"
        return book
      }
      try shelf.setValue(books, forKey: "books")
      try context.save()
      shelf.insertIntoToMany(books[4], position: 1, at: 0)
      shelf.removeFromToMany(books[2], at: 0)
      try context.save()
      let other = another(coordinator)
      let found = try XCTUnwrap(other.fetch(FetchRequest<ManagedObject>(entityName: "Shelf")).first)
      XCTAssertEqual(found.toManyArray(0, as: Book.self).map(\.title), ["0", "4", "1", "3"])
    }
  }

  func testOneToOneDisplacesTheOldPartner() async throws {
    try await withLibrary { context, _ in
      let (first, second) = (Author(context: context), Author(context: context))
      let agent = try context.insertObject(entityName: "Agent")
      try first.setValue(agent, forKey: "agent")
      try agent.setValue(second, forKey: "client")
      XCTAssertNil(try first.value(forKey: "agent"))
      XCTAssertTrue(try second.value(forKey: "agent") as? ManagedObject === agent)
    }
  }

  func testASelfInverseIsSymmetric() async throws {
    try await withLibrary { context, coordinator in
      let (ann, ben) = (try person("Ann", in: context), try person("Ben", in: context))
      try ann.setValue([ben], forKey: "friends")
      XCTAssertEqual(try ben.value(forKey: "friends") as? Set<ManagedObject>, [ann])
      try context.save()
      let other = another(coordinator)
      for person in try other.fetch(FetchRequest<ManagedObject>(entityName: "Person")) {
        XCTAssertEqual((try person.value(forKey: "friends") as? Set<ManagedObject>)?.count, 1)
      }
    }
  }

  func testACascadeRunsDownADeepTreeWithoutRecursion() async throws {
    try await withLibrary { context, coordinator in
      let root = try person("0", in: context)
      var last = root
      // Retained, so that their members stay loaded; another test covers reading 20,000 relationships one by one.
      var people = [root]
      for number in 1..<20_000 {
        let child = try person("\(number)", in: context)
        try child.setValue(last, forKey: "parent")
        last = child
        people.append(child)
      }
      try context.save()
      context.delete(root)
      try context.save()
      XCTAssertTrue(people.allSatisfy { $0.managedObjectContext == nil })
      XCTAssertEqual(try another(coordinator).count(for: FetchRequest<ManagedObject>(entityName: "Person")), 0)
    }
  }

  func testDenyFailsTheSaveUnlessTheDestinationIsDeleted() async throws {
    try await withLibrary { context, _ in
      let author = Author(context: context)
      author.name = "Ada"
      let agent = try context.insertObject(entityName: "Agent")
      try author.setValue(agent, forKey: "agent")
      try context.save()
      context.delete(agent)
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.code, .deletionDenied) }
      context.delete(author)
      try context.save()
      XCTAssertEqual(try context.count(for: FetchRequest<ManagedObject>(entityName: "Agent")), 0)
    }
  }

  func testNullifyClearsTheOtherSide() async throws {
    try await withLibrary { context, coordinator in
      let shelf = try context.insertObject(entityName: "Shelf")
      let book = Book(context: context)
      book.title = "T"
      try book.setValue(shelf, forKey: "shelf")
      try context.save()
      let other = another(coordinator)
      other.delete(try other.existingObject(with: shelf.objectID))
      try other.save()
      XCTAssertNil(try another(coordinator).all(Book.self).first?.value(forKey: "shelf"))
    }
  }
}
