import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// Descriptions of objects, without firing faults (row C5).
final class PrintedFormTests: XCTestCase {
  func testAFaultPrintsItsEntityAndIDOnly() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let tag = try context.make("Tag", ["name": "secret"])
      try context.save()
      stack.forgetRows()
      let other = stack.makeContext()
      let fault = other.object(with: tag.objectID)
      stack.statements?.reset()
      let text = fault.description
      XCTAssertTrue(text.contains("entity: Tag"), text)
      XCTAssertTrue(text.contains("id: \(tag.objectID.uriString)"), text)
      XCTAssertTrue(text.contains("data: <fault>"), text)
      XCTAssertFalse(text.contains("secret"), text)
      XCTAssertTrue(fault.isFault)
      XCTAssertEqual(stack.statements?.count ?? 0, 0)
    }
  }

  func testAnUnreadRelationshipPrintsAsAFault() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "Ada"])
      let book = try context.make("Book", ["title": "T", "author": author])
      try context.save()
      let other = stack.makeContext()
      let same = try XCTUnwrap(other.objects("Author").first)
      XCTAssertEqual(same.text("name"), "Ada")
      XCTAssertTrue(same.description.contains("books = <relationship fault: 'books'>"), same.description)
      XCTAssertTrue(same.description.contains("name = \"Ada\""), same.description)
      XCTAssertTrue(same.description.contains("born = nil"), same.description)
      XCTAssertTrue(same.hasFault(forRelationshipNamed: "books"))
      XCTAssertEqual(same.many("books").count, 1)
      XCTAssertTrue(same.description.contains("books = [\(book.objectID.uriString)]"), same.description)
      XCTAssertFalse(same.hasFault(forRelationshipNamed: "books"))
    }
  }

  func testAToOneRelationshipPrintsItsID() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let author = try context.make("Author", ["name": "Ada"])
      let book = try context.make("Book", ["title": "T", "author": author])
      XCTAssertTrue(book.description.contains("author = \(author.objectID.uriString)"), book.description)
      XCTAssertTrue(book.description.contains("shelf = nil"), book.description)
    }
  }
}
