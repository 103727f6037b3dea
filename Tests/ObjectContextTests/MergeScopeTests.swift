import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// A merge affects only the objects and owners in its change set.
final class MergeScopeTests: XCTestCase {
  private static let authorCount = 200

  /// Many authors with two books each, and a reader that has loaded all books.
  private struct Library {
    let saver: ManagedObjectContext
    let reader: ManagedObjectContext
    let theirs: [Author]
    let own: [Author]
    /// The events that the reader's observers received.
    let events = Events()

    init(_ stack: Stack) throws {
      (saver, reader) = (stack.makeContext(), stack.makeContext())
      theirs = (0..<MergeScopeTests.authorCount).map { [saver] number in
        let author = Author(context: saver)
        author.name = String(format: "author %03d", number)
        for title in ["a", "b"] {
          let book = Book(context: saver)
          book.title = "\(title) \(number)"
          book.author = author
        }
        return author
      }
      try saver.save()
      own = try reader.all(Author.self, sortedBy: "name")
      for author in own { XCTAssertEqual(author.toManyCount(0), 2) }
      reader.automaticallyMergesChangesFromParent = true
      let events = events
      _ = reader.addEventObserver { events.list.append($0) }
      stack.statements?.reset()
    }

    /// Merges pending changes, after clearing the recorded events.
    func merge() {
      events.list = []
      reader.processPendingChanges()
    }

    /// The owners whose members the last event has affected.
    var owners: [ManagedObject] {
      events.list.last?.refreshed.filter { !($0.toMany?.isEmpty ?? false) }.map(\.object) ?? []
    }
    /// The number of authors whose books are still loaded.
    var loaded: Int { own.count { !$0.hasFault(forRelationshipNamed: "books") } }
  }

  private final class Events {
    var list: [ContextEvent] = []
  }

  func testMoveAffectsBothOwners() async throws {
    try await onEachStore { stack in
      let library = try Library(stack)
      let book = try XCTUnwrap(library.theirs[3].books.first)
      book.author = library.theirs[7]
      try library.saver.save()
      stack.statements?.reset()
      library.reader.processPendingChanges()
      XCTAssertEqual(Set(library.owners), [library.own[3], library.own[7]])
      XCTAssertEqual(library.loaded, Self.authorCount - 2)
      XCTAssertEqual(stack.statements?.count ?? 0, 0, "A merge reads only what is requested.")
      XCTAssertEqual(library.own.map { $0.toManyCount(0) }.reduce(0, +), 2 * Self.authorCount)
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 1, "The members of both owners are read together, others not at all.")
      XCTAssertEqual(library.own[3].books.count, 1)
      XCTAssertEqual(library.own[7].books.count, 3)
    }
  }

  func testNewAndDeletedMembersAffectTheirOwners() async throws {
    try await onEachStore { stack in
      let library = try Library(stack)
      let book = Book(context: library.saver)
      book.title = "new"
      book.author = library.theirs[1]
      library.saver.delete(try XCTUnwrap(library.theirs[2].books.first))
      try library.saver.save()
      library.reader.processPendingChanges()
      XCTAssertEqual(Set(library.owners), [library.own[1], library.own[2]])
      XCTAssertEqual(library.loaded, Self.authorCount - 2)
      XCTAssertEqual(library.own[1].books.count, 3)
      XCTAssertEqual(library.own[2].books.map(\.title.count), [3])
      XCTAssertEqual(library.own[2].toManyCount(0), 1)
    }
  }

  func testAttributeChangeAffectsNoOwner() async throws {
    try await onEachStore { stack in
      let library = try Library(stack)
      for author in library.theirs { for book in author.books { book.price = 3 } }
      library.theirs[0].name = "new"
      try library.saver.save()
      library.reader.processPendingChanges()
      XCTAssertEqual(library.owners, [])
      XCTAssertEqual(library.loaded, Self.authorCount)
      XCTAssertEqual(library.own[0].name, "new", "The object itself takes its row.")
      stack.statements?.reset()
      XCTAssertEqual(library.own.map { $0.toManyCount(0) }.reduce(0, +), 2 * Self.authorCount)
      XCTAssertEqual(stack.statements?.count ?? 0, 0)
    }
  }

  func testDeletedJoinTableMemberIsRemovedWithoutReading() async throws {
    try await onEachStore { stack in
      let (saver, reader) = (stack.makeContext(), stack.makeContext())
      let book = Book(context: saver)
      book.title = "book"
      let tags = ["red", "blue"].map { name in
        let tag = Tag(context: saver)
        tag.name = name
        return tag
      }
      book.tags = Set(tags)
      try saver.save()
      let own = try reader.all(Book.self)[0]
      // The tags themselves are not retained.
      XCTAssertEqual(own.toManyCount(0), 2)
      reader.automaticallyMergesChangesFromParent = true
      // If the books of a tag were never loaded, no request to the store is necessary.
      let other = stack.makeContext()
      other.delete(try other.named("red", "Tag"))
      try other.save()
      stack.statements?.reset()
      reader.processPendingChanges()
      XCTAssertEqual(own.toManyCount(0), 1)
      XCTAssertEqual(stack.statements?.count ?? 0, 0)
      XCTAssertEqual(own.tags.map(\.name), ["blue"])
    }
  }

  func testLinkAffectsBothEnds() async throws {
    try await onEachStore { stack in
      let (saver, reader) = (stack.makeContext(), stack.makeContext())
      let books = (0..<3).map { number in
        let book = Book(context: saver)
        book.title = "\(number)"
        return book
      }
      let tag = Tag(context: saver)
      tag.name = "tag"
      try saver.save()
      let own = try reader.all(Book.self, sortedBy: "title")
      let ownTag = try reader.all(Tag.self)[0]
      XCTAssertEqual(own.map { $0.toManyCount(0) } + [ownTag.toManyCount(0)], [0, 0, 0, 0])
      reader.automaticallyMergesChangesFromParent = true
      books[1].tags = [tag]
      try saver.save()
      reader.processPendingChanges()
      XCTAssertEqual(own.map { $0.hasFault(forRelationshipNamed: "tags") }, [false, true, false])
      XCTAssertEqual(ownTag.books, [own[1]])
      XCTAssertEqual(own[1].tags, [ownTag])
    }
  }

  func testBatchUpdateAffectsOldAndNewOwners() async throws {
    try await onEachStore { stack in
      let library = try Library(stack)
      try library.saver.execute(self.move("title == 'a 3'", to: library.theirs[4]))
      library.merge()
      XCTAssertEqual(Set(library.owners), [library.own[3], library.own[4]])
      XCTAssertEqual(library.loaded, Self.authorCount - 2)
      XCTAssertEqual([3, 4, 5].map { library.own[$0].books.count }, [1, 3, 2])
      try library.saver.execute(self.move("title == 'a 3' OR title == 'b 7'", to: library.theirs[4]))
      library.merge()
      XCTAssertEqual(Set(library.owners), [library.own[4], library.own[7]])
      XCTAssertEqual([4, 7].map { library.own[$0].books.count }, [4, 1])
      try library.saver.execute(self.move("title == 'a 3'", to: library.theirs[4]))
      library.merge()
      XCTAssertEqual(library.owners, [], "A member that stays has not left its owner.")
      try library.saver.execute(self.move("title == 'a 3'", to: nil))
      library.merge()
      XCTAssertEqual(library.owners, [library.own[4]])
      XCTAssertEqual(library.own[4].books.count, 3)
      try library.saver.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": 1.0]))
      library.merge()
      XCTAssertEqual(library.owners, [], "An attribute has no owners.")
    }
  }

  func testBatchDeletionAffectsTheOwnersOfItsRows() async throws {
    try await onEachStore { stack in
      let library = try Library(stack)
      try library.saver.execute(
        BatchDeleteRequest(entityName: "Book", predicate: try FetchPredicate(format: "title == 'a 3' OR title == 'b 9'")))
      library.reader.processPendingChanges()
      XCTAssertEqual(Set(library.owners), [library.own[3], library.own[9]])
      XCTAssertEqual(library.loaded, Self.authorCount - 2)
      XCTAssertEqual([3, 8, 9].map { library.own[$0].books.count }, [1, 2, 1])
      XCTAssertEqual(library.own[3].books.map(\.title), ["b 3"])
    }
  }

  func testBatchInsertionAffectsTheOwnersOfItsRows() async throws {
    try await onEachStore { stack in
      let library = try Library(stack)
      try library.saver.execute(
        BatchInsertRequest(entityName: "Book", objects: [["title": "new", "author": library.theirs[6].objectID], ["title": "lone"]]))
      library.reader.processPendingChanges()
      XCTAssertEqual(library.owners, [library.own[6]])
      XCTAssertEqual(library.loaded, Self.authorCount - 1)
      XCTAssertEqual([5, 6].map { library.own[$0].books.count }, [2, 3])
    }
  }

  func testBatchDeletedJoinTableMemberIsRemovedWithoutReading() async throws {
    try await onEachStore { stack in
      let library = try Library(stack)
      let book = try XCTUnwrap(library.theirs[1].books.first)
      book.tags = Set(
        ["red", "blue"].map { name in
          let tag = Tag(context: library.saver)
          tag.name = name
          return tag
        })
      try library.saver.save()
      library.reader.processPendingChanges()
      let own = try XCTUnwrap(library.own[1].books.first { $0.objectID == book.objectID })
      XCTAssertEqual(own.toManyCount(0), 2)
      try library.saver.execute(BatchDeleteRequest(entityName: "Tag", predicate: try FetchPredicate(format: "name == 'red'")))
      stack.statements?.reset()
      library.reader.processPendingChanges()
      XCTAssertEqual(own.toManyCount(0), 1)
      XCTAssertEqual(stack.statements?.count ?? 0, 0)
      XCTAssertEqual(own.tags.map(\.name), ["blue"])
    }
  }

  func testLargeBatchAffectsAllOwnersOfTheRelationship() async throws {
    try await onEachStore { stack in
      let library = try Library(stack)
      let book = try XCTUnwrap(library.own[5].books.first)
      XCTAssertEqual(book.tags, [])
      let (few, many) = (2 * Self.authorCount, PublishedChanges.maximumLinkedCount + 1)
      try library.saver.execute(
        BatchInsertRequest(
          entityName: "Book", objects: (0..<many).map { ["title": "many \($0)", "author": library.theirs[3].objectID] }))
      library.reader.processPendingChanges()
      XCTAssertEqual(library.loaded, 0)
      XCTAssertEqual(library.own.map { $0.toManyCount(0) }.reduce(0, +), few + many)
      try library.saver.execute(self.move("title BEGINSWITH 'many'", to: library.theirs[4]))
      library.reader.processPendingChanges()
      XCTAssertEqual(library.loaded, 0)
      XCTAssertFalse(book.hasFault(forRelationshipNamed: "tags"), "Other relationships are left alone.")
      XCTAssertEqual([3, 4, 5].map { library.own[$0].toManyCount(0) }, [2, 2 + many, 2])
      let loaded = library.loaded
      try library.saver.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": 1.0]))
      library.reader.processPendingChanges()
      XCTAssertEqual(library.loaded, loaded, "An attribute has no owners.")
      try library.saver.execute(BatchDeleteRequest(entityName: "Book", predicate: try FetchPredicate(format: "title BEGINSWITH 'many'")))
      library.reader.processPendingChanges()
      XCTAssertEqual(library.loaded, 0)
      XCTAssertEqual(library.own.map { $0.toManyCount(0) }.reduce(0, +), few)
    }
  }

  private func move(_ predicate: String, to author: Author?) throws -> BatchUpdateRequest {
    BatchUpdateRequest(
      entityName: "Book", predicate: try FetchPredicate(format: predicate), propertiesToUpdate: ["author": author?.objectID])
  }

  func testLocalChangeOverridesMergedMoves() async throws {
    try await onEachStore { stack in
      let library = try Library(stack)
      let mine = try XCTUnwrap(library.own[3].books.first { $0.title.hasPrefix("a") })
      mine.author = library.own[9]
      try XCTUnwrap(library.theirs[3].books.first { $0.title.hasPrefix("b") }).author = library.theirs[8]
      try library.saver.save()
      library.reader.processPendingChanges()
      XCTAssertEqual([3, 8, 9].map { library.own[$0].books.count }, [0, 3, 3])
      try library.reader.save()
      XCTAssertEqual(try stack.makeContext().all(Author.self, sortedBy: "name")[9].books.count, 3)
    }
  }
}
