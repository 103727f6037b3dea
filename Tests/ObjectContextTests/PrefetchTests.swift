import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Prefetching relationships with a fetch (row C6).
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

  func testDestinationsAndMembersUseOneAdditionalStatementEach() async throws {
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

  func testKeyPathsOfThreeStepsAreFollowed() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      try fill(stack)
      let context = stack.makeContext()
      stack.statements?.reset()
      let books = try fetch("Book", ["author.books.tags"], context)
      // Books, authors, the keys of their books (whose rows are cached), the keys of tags, tags.
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 6, "\(stack.statements?.texts ?? [])")
      stack.statements?.reset()
      for book in books {
        let author = try XCTUnwrap(book.one("author"))
        XCTAssertEqual(author.many("books").count, 2)
        for other in author.many("books") { XCTAssertEqual(other.sortedNames("tags").count, 1) }
      }
      XCTAssertEqual(stack.statements?.count ?? 0, 0, "\(stack.statements?.texts ?? [])")
    }
  }

  func testKeysOfSubentitiesAreFollowed() async throws {
    let model = ManagedObjectModel {
      Entity("Item") { Attribute("name", .string) }
      Entity("Song", parent: "Item") { Relationship("singer", to: "Person") }
      Entity("Film", parent: "Item") {
        Relationship("actors", toMany: "Person")
        Relationship("singer", to: "Item")
      }
      Entity("Sequel", parent: "Film")
      Entity("Person") {
        Attribute("name", .string)
        Relationship("home", to: "Place")
      }
      Entity("Place") { Attribute("name", .string) }
    }
    try await onEachStore([.sqlcipher], model: model, classes: ManagedObjectClasses()) { stack in
      let writer = stack.makeShortLivedContext()
      let place = try writer.make("Place", ["name": "here"])
      let people = try (0..<6).map { try writer.make("Person", ["name": "p\($0)", "home": place]) }
      for number in 0..<6 {
        try writer.make("Item", ["name": "i\(number)"])
        try writer.make("Song", ["name": "s\(number)", "singer": people[number]])
        let film = try writer.make(number % 2 == 0 ? "Film" : "Sequel", ["name": "f\(number)"])
        try film.setValue(Set(people.prefix(number)), forKey: "actors")
      }
      try writer.save()
      stack.forgetRows()
      let context = stack.makeContext()
      let items = try fetch("Item", ["singer", "actors.home"], context)
      XCTAssertEqual(items.count, 18)
      stack.statements?.reset()
      var names: [String] = []
      for item in items {
        if item.entity.name == "Song" { names.append(item.one("singer")?.text("name") ?? "none") }
        if item.entity.name == "Film" || item.entity.name == "Sequel" {
          for actor in item.many("actors") { XCTAssertEqual(actor.one("home")?.text("name"), "here") }
        }
      }
      XCTAssertEqual(names.sorted(), (0..<6).map { "p\($0)" })
      XCTAssertEqual(stack.statements?.count ?? 0, 0, "\(stack.statements?.texts ?? [])")
      XCTAssertThrowsError(try fetch("Item", ["home"], context))
      XCTAssertThrowsError(try fetch("Item", ["actors."], context))
    }
  }

  func testKeyPathThatIsNotARelationshipThrows() async throws {
    try await onEachStore { stack in
      XCTAssertThrowsError(try fetch("Book", ["title"], stack.makeContext())) {
        XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest)
      }
      XCTAssertThrowsError(try fetch("Book", ["author.nothing"], stack.makeContext()))
    }
  }

  func testObjectsCanBeReturnedAsFiredFaults() async throws {
    try await onEachStore { stack in
      try fill(stack)
      var request = FetchRequest<ManagedObject>(entityName: "Author")
      request.returnsObjectsAsFaults = false
      XCTAssertTrue(try stack.makeContext().fetch(request).allSatisfy { !$0.isFault })
      request.returnsObjectsAsFaults = true
      XCTAssertTrue(try stack.makeContext().fetch(request).allSatisfy { $0.isFault })
    }
  }

  func testObjectsWithoutValuesAreReadTogetherOnAccess() async throws {
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
