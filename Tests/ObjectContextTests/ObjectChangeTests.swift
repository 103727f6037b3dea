import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// The changes of one object, with old and new values, as a sequence.
final class ObjectChangeTests: XCTestCase {
  private func library(_ context: ManagedObjectContext) throws -> (author: Author, book: Book) {
    let author = Author(context: context)
    author.name = "Ada"
    let book = Book(context: context)
    book.title = "old"
    try context.save()
    return (author, book)
  }

  /// Collects a sequence that ends during the test.
  private func changes(_ stream: AsyncStream<ObjectChange>) async -> [ObjectChange] {
    var all: [ObjectChange] = []
    for await change in stream { all.append(change) }
    return all
  }

  private func onStores(_ body: (Stack) async throws -> Void) async throws {
    for kind in StoreKind.allCases {
      let stack = try await Stack(kind, model: Library.model, classes: Library.classes)
      try await body(stack)
      try stack.close()
    }
  }

  func testEventChangesHaveOldAndNewValues() async throws {
    try await onStores { stack in
      let context = stack.makeContext()
      let (author, book) = try library(context)
      let (ofBook, ofAuthor) = (try book.changes(), try author.changes(of: ["books"]))
      book.title = "new"
      book.title = "newer"
      book.author = author
      context.processPendingChanges()
      book.title = "newer"
      context.processPendingChanges()
      book.pages = 5
      author.born = 1815
      try context.save()
      context.reset()
      let all = await changes(ofBook)
      XCTAssertEqual(all.map(\.keys), [["title", "author"], ["pages"]], "Setting the same value again is not a change.")
      XCTAssertEqual(all.map(\.isDeleted), [false, false])
      XCTAssertEqual(all[0]["title"]?.old as? String, "old")
      XCTAssertEqual(all[0]["title"]?.new as? String, "newer")
      XCTAssertNil(all[0]["author"]?.old)
      XCTAssertEqual(all[0]["author"]?.new as? ManagedObjectID, author.objectID)
      XCTAssertNil(all[1]["pages"]?.old)
      XCTAssertEqual(all[1]["pages"]?.new as? Int32, 5)
      XCTAssertEqual(all[0].objectID, book.objectID)
      let members = await changes(ofAuthor)
      XCTAssertEqual(members.map(\.keys), [["books"]])
      XCTAssertEqual(members[0]["books"]?.old as? [ManagedObjectID], [])
      XCTAssertEqual(members[0]["books"]?.new as? [ManagedObjectID], [book.objectID])
    }
  }

  func testMergesRollbacksAndDeletionsAreDelivered() async throws {
    try await onStores { stack in
      let context = stack.makeContext()
      let (_, book) = try library(context)
      context.automaticallyMergesChangesFromParent = true
      let stream = try book.changes()
      let other = stack.makeContext()
      let theirs = try XCTUnwrap(other.all(Book.self).first)
      theirs.title = "theirs"
      try other.save()
      context.processPendingChanges()
      book.price = 1
      context.processPendingChanges()
      context.delete(book)
      context.processPendingChanges()
      context.rollback()
      context.refresh(book, mergeChanges: true)
      other.delete(theirs)
      try other.save()
      context.processPendingChanges()
      let all = await changes(stream)
      XCTAssertEqual(all.map(\.keys), [["title"], ["price"], [], ["price"], []], "A refresh without effect is not a change.")
      XCTAssertEqual(all.map(\.isDeleted), [false, false, true, false, true])
      XCTAssertEqual(all[0]["title"]?.new as? String, "theirs")
      XCTAssertEqual(all[3]["price"]?.old as? Double, 1)
      XCTAssertEqual(all[3]["price"]?.new as? Double, 9.5)
    }
  }

  func testSavedDeletionEndsTheSequenceAndANewIDIsNotAChange() async throws {
    try await onStores { stack in
      let context = stack.makeContext()
      let author = Author(context: context)
      author.name = "Ada"
      let book = Book(context: context)
      book.title = "a"
      book.author = author
      context.processPendingChanges()
      let stream = try book.changes()
      try context.save()
      book.title = "b"
      context.processPendingChanges()
      context.refresh(book, mergeChanges: true)
      context.delete(book)
      try context.save()
      let all = await changes(stream)
      XCTAssertEqual(all.map(\.keys), [["title"], []])
      XCTAssertEqual(all.map(\.isDeleted), [false, true])
    }
  }

  func testDiscardedNewObjectEndsTheSequence() async throws {
    try await onStores { stack in
      let context = stack.makeContext()
      for isRolledBack in [true, false] {
        let book = Book(context: context)
        book.title = "a"
        context.processPendingChanges()
        let stream = try book.changes()
        book.title = "b"
        context.processPendingChanges()
        if isRolledBack { context.rollback() } else { context.delete(book) }
        context.processPendingChanges()
        let all = await changes(stream)
        XCTAssertEqual(all.map(\.keys), [["title"], []])
        XCTAssertEqual(all.map(\.isDeleted), [false, true])
      }
    }
  }

  func testSequenceRetainsNeitherObjectNorContext() async throws {
    try await onStores { stack in
      let context = stack.makeContext()
      let id = try library(context).book.objectID
      context.reset()
      var book: ManagedObject? = try context.existingObject(with: id)
      weak let weakBook = book
      let ofBook = try XCTUnwrap(book).changes()
      book = nil
      context.processPendingChanges()
      XCTAssertNil(weakBook)
      let first = await changes(ofBook)
      XCTAssertEqual(first.count, 0)
      var short: ManagedObjectContext? = stack.makeShortLivedContext()
      let held = try XCTUnwrap(short).existingObject(with: id)
      let ofHeld = try held.changes()
      short = nil
      let second = await changes(ofHeld)
      XCTAssertEqual(second.count, 0)
      let third = await changes(try held.changes())
      XCTAssertEqual(third.count, 0, "An object in no context changes no more.")
    }
  }

  func testOnlyPropertiesCanBeObserved() async throws {
    try await onStores { stack in
      let (_, book) = try library(stack.makeContext())
      XCTAssertThrowsError(try book.changes(of: ["title", "nothing"])) { error in
        XCTAssertEqual((error as? KeyValueError)?.code, .unknownKey)
        XCTAssertEqual((error as? KeyValueError)?.key, "nothing")
      }
    }
  }
}
