import Foundation
@_spi(Generated) import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// Changed values of any size: reading, comparing with the row, saving and discarding.
final class ChangedValuesTests: XCTestCase {
  private func saved(_ stack: Stack) throws -> Book {
    let context = stack.makeContext()
    let book = Book(context: context)
    book.title = "Lives"
    book.price = 3
    book.pages = 7
    try context.save()
    return book
  }

  private func reread(_ book: Book, _ stack: Stack) throws -> Book {
    try XCTUnwrap(stack.makeContext().existingObject(with: book.objectID) as? Book)
  }

  func testRepeatedlySetNumbersAreReadAndSaved() async throws {
    try await onEachStore { stack in
      let book = try saved(stack)
      for number in 0..<200 {
        book.price = Double(number)
        book.pages = number % 3 == 0 ? nil : Int32(number)
        XCTAssertEqual(book.price, Double(number))
        XCTAssertEqual(book.pages, number % 3 == 0 ? nil : Int32(number))
        XCTAssertEqual(book.title, "Lives")
        if number % 50 == 0 { book.managedObjectContext?.processPendingChanges() }
      }
      XCTAssertEqual(Set(book.changedValues().keys), ["price", "pages"])
      try book.managedObjectContext?.save()
      XCTAssertEqual(try reread(book, stack).price, 199)
      XCTAssertEqual(try reread(book, stack).pages, 199)
      XCTAssertFalse(book.hasChanges)
    }
  }

  func testStringsGrowAndShrink() async throws {
    try await onEachStore { stack in
      let book = try saved(stack)
      let novel = Novel(context: try XCTUnwrap(book.managedObjectContext))
      for length in [1, 40, 0, 7, 900, 1_024, 1_025, 30_000, 3, 0, 500] {
        for object in [book, novel] {
          object.title = String(repeating: "ä", count: length)
          object.price = Double(length % 1_000)
          XCTAssertEqual(object.title.count, length)
          XCTAssertEqual(object.price, Double(length % 1_000))
        }
        novel.hero = length == 7 ? nil : "hero \(length)"
        XCTAssertEqual(novel.hero, length == 7 ? nil : "hero \(length)")
        XCTAssertEqual(book.pages, 7)
        try book.managedObjectContext?.save()
        XCTAssertEqual(try reread(book, stack).title, book.title)
        XCTAssertEqual(try reread(novel, stack).title, novel.title)
        XCTAssertEqual((try reread(novel, stack) as? Novel)?.hero, novel.hero)
      }
    }
  }

  func testMergedRowIsVisibleBelowUnsavedValues() async throws {
    try await onEachStore { stack in
      let book = try saved(stack)
      book.price = 11
      let other = stack.makeContext()
      let same = try XCTUnwrap(other.existingObject(with: book.objectID) as? Book)
      same.title = "Others' lives"
      same.price = 12
      try other.save()
      book.managedObjectContext?.refresh(book, mergeChanges: true)
      XCTAssertEqual(book.title, "Others' lives")
      XCTAssertEqual(book.price, 11)
      book.pages = 8
      XCTAssertEqual(book.pages, 8)
      try book.managedObjectContext?.save()
      let stored = try reread(book, stack)
      XCTAssertEqual(stored.title, "Others' lives")
      XCTAssertEqual(stored.price, 11)
      XCTAssertEqual(stored.pages, 8)
    }
  }

  func testDiscardedValuesAreReadFromTheRow() async throws {
    try await onEachStore { stack in
      let book = try saved(stack)
      let context = try XCTUnwrap(book.managedObjectContext)
      book.price = 11
      book.price = 12
      book.title = String(repeating: "long", count: 400)
      context.rollback()
      XCTAssertEqual(book.price, 3)
      XCTAssertEqual(book.title, "Lives")
      book.price = 4
      XCTAssertTrue(book.hasChanges)
      context.refresh(book, mergeChanges: false)
      XCTAssertEqual(book.price, 3)
      book.price = 5
      XCTAssertEqual(context.updatedObjects, [book])
      try context.save()
      XCTAssertEqual(try reread(book, stack).price, 5)
    }
  }

  func testAReferenceToANewObjectIsReadAndSaved() async throws {
    try await onEachStore { stack in
      let book = try saved(stack)
      let author = Author(context: try XCTUnwrap(book.managedObjectContext))
      author.name = "Ada"
      book.author = author
      book.pages = 9
      XCTAssertTrue(book.author === author)
      XCTAssertEqual(book.toOneID(3), author.objectID)
      try book.managedObjectContext?.save()
      XCTAssertEqual(book.toOneID(3), author.objectID)
      XCTAssertEqual(try reread(book, stack).author?.name, "Ada")
    }
  }

  func testValueRestoredToItsOriginalIsNotWritten() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let book = try saved(stack)
      book.price = 4
      book.title = "Deaths"
      book.price = 3
      book.title = "Lives"
      XCTAssertFalse(book.hasPersistentChangedValues)
      stack.statements?.reset()
      try book.managedObjectContext?.save()
      XCTAssertEqual(stack.statements?.count, 0)
    }
  }

  func testSaveOfOneObjectUsesOneStatement() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let book = try saved(stack)
      for number in 0..<3 {
        book.price = 20 + Double(number)
        stack.statements?.reset()
        try book.managedObjectContext?.save()
        XCTAssertEqual(stack.statements?.count, 1)
      }
    }
  }
}
