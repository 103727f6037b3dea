import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// The inverse side of to-one relationships (row M14).
final class InverseTests: XCTestCase {
  func testMemberIsRemovedFromItsOldOwner() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (first, second) = (try context.make("Author", ["name": "A"]), try context.make("Author", ["name": "B"]))
      let book = try context.make("Book", ["title": "T", "author": first])
      try context.save()
      let other = stack.makeContext()
      let same = try XCTUnwrap(other.objects("Book").first)
      try other.named("B", "Author").mutableSetValue(forKey: "books").add(same)
      XCTAssertEqual(same.one("author")?.text("name"), "B")
      XCTAssertEqual(try other.named("A", "Author").many("books"), [])
      try other.save()
      let third = stack.makeContext()
      XCTAssertEqual(try third.named("A", "Author").many("books"), [])
      XCTAssertEqual(try third.named("B", "Author").many("books").count, 1)
      _ = (book, second)
    }
  }

  func testOneToOneClearsBothDisplacedPartners() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let authors = try ["A", "B"].map { try context.make("Author", ["name": $0]) }
      let agents = try ["1", "2"].map { try context.make("Agent", ["name": $0]) }
      for (author, agent) in zip(authors, agents) { try author.setValue(agent, forKey: "agent") }
      try context.save()
      let other = stack.makeContext()
      try other.named("A", "Author").setValue(try other.named("2", "Agent"), forKey: "agent")
      XCTAssertNil(try other.named("B", "Author").one("agent"))
      XCTAssertNil(try other.named("1", "Agent").one("client"))
      XCTAssertEqual(try other.named("2", "Agent").one("client")?.text("name"), "A")
      try other.save()
      let third = stack.makeContext()
      XCTAssertEqual(try third.named("A", "Author").one("agent")?.text("name"), "2")
      XCTAssertNil(try third.named("B", "Author").one("agent"))
      XCTAssertNil(try third.named("1", "Agent").one("client"))
    }
  }

  func testOneToOneWithItselfIsSymmetric() async throws {
    let model = ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string)
        Relationship("spouse", to: "Person", inverse: "spouse")
      }
    }
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      let people = try ["a", "b", "c"].map { try context.make("Person", ["name": $0]) }
      try people[0].setValue(people[1], forKey: "spouse")
      XCTAssertTrue(people[1].one("spouse") === people[0])
      try people[2].setValue(people[0], forKey: "spouse")
      XCTAssertNil(people[1].one("spouse"))
      XCTAssertTrue(people[0].one("spouse") === people[2])
      try people[1].setValue(people[1], forKey: "spouse")
      try context.save()
      let other = stack.makeContext()
      XCTAssertEqual(try other.named("a", "Person").one("spouse")?.text("name"), "c")
      XCTAssertEqual(try other.named("b", "Person").one("spouse")?.text("name"), "b")
      try other.named("b", "Person").setValue(nil, forKey: "spouse")
      XCTAssertNil(try other.named("b", "Person").one("spouse"))
    }
  }

  func testObjectsOfTwoContextsCannotBeRelated() async throws {
    try await onEachStore([.inMemory]) { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let book = try context.make("Book", ["title": "T"])
      let author = try other.make("Author", ["name": "A"])
      XCTAssertThrowsError(try book.setValue(author, forKey: "author")) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
      XCTAssertNil(book.one("author"))
      XCTAssertEqual(author.many("books"), [])
      XCTAssertNil(context.pendingError)
      book.setToOne(author, at: 3)
      XCTAssertNil(book.one("author"))
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
    }
  }

  func testAnObjectOfAnotherEntityIsRejected() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let book = try context.make("Book", ["title": "T"])
      let tag = try context.make("Tag")
      XCTAssertThrowsError(try book.setValue(tag, forKey: "author")) {
        XCTAssertEqual(($0 as? KeyValueError)?.code, .wrongType)
        XCTAssertTrue("\($0)".contains("Book.author") && "\($0)".contains("Tag"), "\($0)")
      }
      XCTAssertNil(context.pendingError)
      book.setToOne(tag, at: 3)
      XCTAssertNil(book.one("author"))
      XCTAssertTrue("\(context.pendingError.map { "\($0)" } ?? "")".contains("Book.author"))
    }
  }

  func testSubentityObjectIsAccepted() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "A"])
      try author.setValue([try context.make("Novel", ["title": "N"])], forKey: "books")
      try context.save()
      XCTAssertEqual(try stack.makeContext().named("A", "Author").many("books").map { $0.entity.name }, ["Novel"])
    }
  }

  func testPrimitiveAccessDoesNotReachRelationships() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let book = try context.make("Book", ["title": "T"])
      XCTAssertThrowsError(try book.setPrimitiveValue(try context.make("Author"), forKey: "author"))
    }
  }
}
