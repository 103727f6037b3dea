// PrefetchTests: relationships read ahead (row C6).
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

final class PrefetchTests: XCTestCase {
  private func fill(_ stack: Stack) throws {
    let context = stack.makeShortLivedContext()
    let tags = try (0..<20).map { try context.make("Tag", ["name": "\($0)"]) }
    for number in 0..<50 {
      let author = try context.make("Author", ["name": "\(number)"])
      for copy in 0..<2 {
        let book = try context.make("Book", ["title": "\(number) \(copy)", "author": author])
        try book.setValue([tags[number % 20]], forKey: "tags")
      }
    }
    try context.save()
    stack.forgetRows()
  }

  private func fetch(_ entityName: String, _ keyPaths: [String], _ context: ManagedObjectContext) throws -> [ManagedObject] {
    var request = FetchRequest<ManagedObject>(entityName: entityName)
    request.relationshipKeyPathsForPrefetching = keyPaths
    return try context.fetch(request)
  }

  func testDestinationsAndMembersAreReadWithOneStatementMoreEach() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      try fill(stack)
      let context = stack.makeContext()
      stack.statements?.reset()
      let books = try fetch("Book", ["author", "tags"], context)
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 5)
      stack.statements?.reset()
      for book in books {
        XCTAssertNotNil(book.one("author")?.text("name"))
        XCTAssertEqual(book.sortedNames("tags").count, 1)
      }
      XCTAssertEqual(stack.statements?.count ?? 0, 0, "\(stack.statements?.texts ?? [])")
    }
  }

  func testPathsOfSeveralStepsAreFollowed() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      try fill(stack)
      let context = stack.makeContext()
      let authors = try fetch("Author", ["books.tags"], context)
      stack.statements?.reset()
      var count = 0
      for author in authors { for book in author.many("books") { count += book.sortedNames("tags").count } }
      XCTAssertEqual(count, 100)
      XCTAssertEqual(stack.statements?.count ?? 0, 0, "\(stack.statements?.texts ?? [])")
    }
  }

  func testPrefetchingKeepsUnsavedMembers() async throws {
    try await onEachStore { stack in
      try fill(stack)
      let context = stack.makeContext()
      let author = try context.named("7", "Author")
      let book = try context.make("Book", ["title": "new", "author": author])
      let found = try fetch("Author", ["books"], context)
      XCTAssertTrue(found.contains(author))
      XCTAssertEqual(author.many("books").count, 3)
      XCTAssertTrue(author.many("books").contains(book))
    }
  }

  func testAPathThatIsNoRelationshipIsAnError() async throws {
    try await onEachStore { stack in
      XCTAssertThrowsError(try fetch("Book", ["title"], stack.makeContext())) {
        XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest)
      }
      XCTAssertThrowsError(try fetch("Book", ["author.nothing"], stack.makeContext()))
    }
  }

  func testObjectsCanBeReturnedFired() async throws {
    try await onEachStore { stack in
      try fill(stack)
      var request = FetchRequest<ManagedObject>(entityName: "Author")
      request.returnsObjectsAsFaults = false
      XCTAssertTrue(try stack.makeContext().fetch(request).allSatisfy { !$0.isFault })
      request.returnsObjectsAsFaults = true
      XCTAssertTrue(try stack.makeContext().fetch(request).allSatisfy { $0.isFault })
    }
  }

  func testObjectsWithoutValuesAreReadTogetherWhenTheyAreAskedFor() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      try fill(stack)
      var request = FetchRequest<ManagedObject>(entityName: "Author")
      request.includesPropertyValues = false
      let context = stack.makeContext()
      stack.statements?.reset()
      let names = try context.fetch(request).compactMap { $0.text("name") }
      XCTAssertEqual(names.count, 50)
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 2)
    }
  }
}
