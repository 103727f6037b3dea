import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Saves, and the state of objects before and after.
final class SavingTests: LibraryTestCase {
  func testAnObjectIsFoundAgainByAnotherContextWithItsValues() async throws {
    try await withLibrary { context, coordinator in
      let author = Author(context: context)
      author.name = "Ada"
      let book = Novel(context: context)
      book.title = "Notes"
      book.hero = "Engine"
      book.author = author
      XCTAssertTrue(book.isInserted)
      XCTAssertTrue(book.objectID.isTemporaryID)
      XCTAssertEqual(author.books, [book])
      try context.save()
      XCTAssertFalse(book.hasChanges)
      XCTAssertFalse(book.objectID.isTemporaryID)
      let other = another(coordinator)
      let found = try XCTUnwrap(try other.all(Book.self).first)
      XCTAssertTrue(found.isFault)
      XCTAssertEqual(found.title, "Notes")
      XCTAssertFalse(found.isFault)
      XCTAssertEqual(found.price, 9.5)
      XCTAssertNil(found.pages)
      XCTAssertEqual((found as? Novel)?.hero, "Engine")
      XCTAssertEqual(found.author?.name, "Ada")
      XCTAssertEqual(found.author?.books, [found])
      XCTAssertEqual(found.objectID, book.objectID)
    }
  }

  func testEmptySaveSendsNoStoreRequest() async throws {
    try await withLibrary { context, coordinator in
      try context.save()
      XCTAssertEqual(try counting(coordinator).takeCount(), 0)
    }
  }

  func testUpdateIsVisibleToAnotherContextAndIncrementsTheVersion() async throws {
    try await withLibrary { context, coordinator in
      let author = Author(context: context)
      author.name = "Ada"
      try context.save()
      author.name = "Ada L."
      XCTAssertTrue(author.isUpdated)
      XCTAssertEqual(context.updatedObjects, [author])
      XCTAssertEqual(author.changedValues()["name"] as? String, "Ada L.")
      XCTAssertEqual(try author.committedValues(forKeys: ["name"])["name"] as? String, "Ada")
      try context.save()
      XCTAssertEqual(author.name, "Ada L.")
      XCTAssertEqual(try another(coordinator).all(Author.self).map(\.name), ["Ada L."])
    }
  }

  func testTwoContextsThatChangeOneRowConflict() async throws {
    try await withLibrary { context, coordinator in
      let author = Author(context: context)
      author.name = "Ada"
      try context.save()
      let other = another(coordinator)
      let same = try XCTUnwrap(try other.all(Author.self).first)
      same.name = "Eve"
      author.name = "Bob"
      try other.save()
      XCTAssertThrowsError(try context.save()) { error in
        let error = error as? StoreError
        XCTAssertEqual(error?.code, .mergeConflict)
        XCTAssertEqual(error?.mergeConflicts.first?.objectID, author.objectID)
        XCTAssertEqual(error?.mergeConflicts.first?.newVersion, RowImage.firstVersion + 1)
      }
      XCTAssertEqual(author.name, "Bob")
      XCTAssertTrue(author.isUpdated)
      context.refresh(author, mergeChanges: true)
      XCTAssertEqual(author.name, "Bob")
      try context.save()
      XCTAssertEqual(try another(coordinator).all(Author.self).map(\.name), ["Bob"])
    }
  }

  func testAllValidationErrorsAreThrownTogether() async throws {
    try await withLibrary { context, _ in
      let author = Author(context: context)
      author.name = ""
      let book = Book(context: context)
      book.price = 5_000
      XCTAssertThrowsError(try context.save()) { error in
        let error = error as? ValidationError
        XCTAssertEqual(error?.code, .multipleErrors)
        XCTAssertEqual(Set(error?.errors.map(\.code) ?? []), [.stringTooShort, .missingValue, .numberTooLarge])
      }
      XCTAssertEqual(context.insertedObjects.count, 2)
    }
  }

  func testRollbackDiscardsAllChanges() async throws {
    try await withLibrary { context, _ in
      let author = Author(context: context)
      author.name = "Ada"
      let book = Book(context: context)
      book.title = "One"
      book.author = author
      try context.save()
      author.name = "Eve"
      let second = Book(context: context)
      second.title = "Two"
      second.author = author
      context.delete(book)
      context.processPendingChanges()
      XCTAssertEqual(author.books, [second])
      context.rollback()
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(author.name, "Ada")
      XCTAssertEqual(author.books, [book])
      XCTAssertFalse(book.isDeleted)
      XCTAssertNil(second.managedObjectContext)
    }
  }

  func testCallbacksRunInOrder() async throws {
    try await withLibrary { context, coordinator in
      let author = Author(context: context)
      author.name = "Ada"
      try context.save()
      XCTAssertEqual(author.log, ["awakeFromInsert", "willSave", "didSave"])
      context.delete(author)
      try context.save()
      XCTAssertEqual(author.log.suffix(3), ["prepareForDeletion 0", "willSave", "didSave"])
      XCTAssertNil(author.managedObjectContext)
      XCTAssertFalse(author.isDeleted)
      XCTAssertEqual(author.name, "Ada")
      XCTAssertEqual(try another(coordinator).all(Author.self).count, 0)
    }
  }

  func testTransactionIsRolledBackCompletely() async throws {
    struct Stop: Error {}
    try await withLibrary { context, coordinator in
      XCTAssertThrowsError(
        try context.performTransaction {
          for number in 0..<3 {
            Author(context: context).name = "Author \(number)"
            try context.save()
            context.reset()
          }
          XCTAssertEqual(try context.all(Author.self).count, 3)
          throw Stop()
        })
      XCTAssertEqual(try context.all(Author.self).count, 0)
      try context.performTransaction {
        Author(context: context).name = "Kept"
        try context.save()
      }
      XCTAssertEqual(try another(coordinator).all(Author.self).map(\.name), ["Kept"])
    }
  }
}
