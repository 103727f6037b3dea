import CipherDataDocuments
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _TestSupport

/// Documents on one folder observe each other's saves, and conflicts are resolved.
@MainActor final class DocumentConflictTests: XCTestCase {
  /// Makes two documents on one folder, each with its copy of a book.
  private func pair(
    _ folder: TemporaryFolder, observesOthers: Bool, mergePolicy: MergePolicy? = nil
  ) async throws -> (mine: ManagedDocument, theirs: ManagedDocument, book: Book, theirBook: Book) {
    let url = folder.file("Library.document")
    let theirs = try await ManagedDocument.created(url, observesOthers: observesOthers)
    let theirBook = theirs.addBook("old")
    try theirs.save()
    let mine = try await ManagedDocument.opened(url, mergePolicy: mergePolicy, observesOthers: observesOthers)
    return (mine, theirs, try mine.book(), theirBook)
  }

  func testDocumentsReadEachOthersSaves() async throws {
    let folder = try TemporaryFolder()
    let (mine, theirs, book, theirBook) = try await pair(folder, observesOthers: true)
    XCTAssertEqual(book.title, "old")
    theirBook.title = "new"
    try theirs.save()
    await mine.waitUntil { book.title == "new" }
    book.pages = 7
    mine.addTag("mine")
    try mine.save()
    await theirs.waitUntil { theirBook.pages == 7 }
    XCTAssertEqual(try theirs.tagNames(), ["mine"])
    XCTAssertEqual([mine.documentState, theirs.documentState], [.normal, .normal])
    try mine.close()
    try theirs.close()
  }

  func testChangesOfDifferentPropertiesAreMerged() async throws {
    for observesOthers in [true, false] {
      let folder = try TemporaryFolder()
      let (mine, theirs, book, theirBook) = try await pair(folder, observesOthers: observesOthers)
      book.title = "mine"
      theirBook.pages = 3
      try theirs.save()
      try mine.save()
      XCTAssertEqual(mine.documentState, .normal)
      XCTAssertEqual(book.pages, 3)
      theirs.managedObjectContext.refreshAllObjects()
      XCTAssertEqual(theirBook.title, "mine")
      try mine.close()
      try theirs.close()
    }
  }

  /// Both documents change the title. The second either observes the other's save, or meets the conflict when it saves.
  private func conflict(_ resolution: DocumentConflictResolution, observesOthers: Bool) async throws -> (title: String, pages: Int32?) {
    let folder = try TemporaryFolder()
    let (mine, theirs, book, theirBook) = try await pair(folder, observesOthers: observesOthers)
    book.title = "mine"
    book.pages = 1
    theirBook.title = "theirs"
    try theirs.save()
    if observesOthers { await mine.wait(for: .inConflict) }
    await assertThrows(.inConflict) { try mine.save() }
    XCTAssertEqual(mine.documentState, .inConflict)
    let conflict = try XCTUnwrap(mine.conflicts.first)
    XCTAssertEqual(mine.conflicts.count, 1)
    XCTAssertEqual(conflict.objectID, book.objectID)
    XCTAssertEqual(conflict.keys, ["title"])
    XCTAssertEqual(conflict.mine?["title"] as? String, "mine")
    XCTAssertEqual(conflict.theirs?["title"] as? String, "theirs")
    XCTAssertEqual(book.title, "mine", "Nothing is decided yet.")
    try mine.resolveConflicts(keeping: resolution)
    XCTAssertEqual(mine.documentState, .normal)
    XCTAssertTrue(mine.conflicts.isEmpty)
    theirs.managedObjectContext.refreshAllObjects()
    XCTAssertEqual(book.title, theirBook.title)
    let result = (book.title, theirBook.pages)
    // Both continue from there.
    book.title = "next"
    try mine.save()
    try mine.close()
    try theirs.close()
    return result
  }

  func testConflictHandlerChoosesTheValue() async throws {
    for observesOthers in [true, false] {
      let kept = try await conflict(.mine, observesOthers: observesOthers)
      XCTAssertEqual(kept.title, "mine")
      XCTAssertEqual(kept.pages, 1)
      let discarded = try await conflict(.theirs, observesOthers: observesOthers)
      XCTAssertEqual(discarded.title, "theirs")
      XCTAssertEqual(discarded.pages, 1, "What only this side has changed goes along.")
    }
  }

  func testMergePolicyResolvesConflictsWithoutTheHandler() async throws {
    let folder = try TemporaryFolder()
    let (mine, theirs, book, theirBook) = try await pair(folder, observesOthers: false, mergePolicy: .mergeByPropertyStoreTrump)
    book.title = "mine"
    theirBook.title = "theirs"
    try theirs.save()
    try mine.save()
    XCTAssertEqual(book.title, "theirs")
    XCTAssertEqual(mine.documentState, .normal)
    try mine.close()
    try theirs.close()
  }

  func testConflictWithADeletionByAnotherDocumentIsResolved() async throws {
    for observesOthers in [true, false] {
      for keepsMine in [true, false] {
        let folder = try TemporaryFolder()
        let (mine, theirs, book, theirBook) = try await pair(folder, observesOthers: observesOthers)
        book.title = "mine"
        theirs.managedObjectContext.delete(theirBook)
        let tag = theirs.addTag("seen")
        try theirs.save()
        if observesOthers { try await mine.waitUntil { try mine.tagNames() == ["seen"] } }
        await assertThrows(.inConflict) { try mine.save() }
        let conflict = try XCTUnwrap(mine.conflicts.first)
        XCTAssertNil(conflict.theirs)
        XCTAssertNotNil(conflict.mine)
        XCTAssertEqual(conflict.objectID, book.objectID)
        try mine.resolveConflicts(keeping: keepsMine ? .mine : .theirs)
        XCTAssertEqual(mine.documentState, .normal)
        try mine.close()
        try theirs.close()
        let again = try await ManagedDocument.opened(mine.url)
        XCTAssertEqual(try again.managedObjectContext.all(Book.self).map(\.title), keepsMine ? ["mine"] : [])
        try again.close()
        withExtendedLifetime(tag) {}
      }
    }
  }

  func testDeletionOfAnObjectChangedByAnotherDocumentIsResolved() async throws {
    for keepsMine in [true, false] {
      let folder = try TemporaryFolder()
      let (mine, theirs, book, theirBook) = try await pair(folder, observesOthers: false)
      mine.managedObjectContext.delete(book)
      theirBook.title = "theirs"
      try theirs.save()
      await assertThrows(.inConflict) { try mine.save() }
      XCTAssertNil(mine.conflicts.first?.mine)
      XCTAssertNotNil(mine.conflicts.first?.theirs)
      try mine.resolveConflicts(keeping: keepsMine ? .mine : .theirs)
      XCTAssertEqual(try mine.managedObjectContext.all(Book.self).map(\.title), keepsMine ? [] : ["theirs"])
      try mine.close()
      try theirs.close()
    }
  }

  func testDocumentInConflictDoesNotAutosave() async throws {
    let folder = try TemporaryFolder()
    let clock = ManualClock()
    let theirs = try await ManagedDocument.created(folder.file("Library.document"))
    let theirBook = theirs.addBook("old")
    try theirs.save()
    let mine = try await ManagedDocument.opened(theirs.url, clock: clock)
    let (errors, continuation) = AsyncStream.makeStream(of: DocumentError.Code?.self)
    mine.errorHandler = { continuation.yield(($0 as? DocumentError)?.code) }
    let book = try mine.book()
    book.title = "mine"
    await clock.waitForSleep(1)
    theirBook.title = "theirs"
    try theirs.save()
    await mine.wait(for: .inConflict)
    clock.advance(by: .seconds(1))
    mine.addTag("more")
    await clock.waitForSleep(2)
    clock.advance(by: .seconds(1))
    XCTAssertTrue(mine.hasUnsavedChanges)
    try mine.resolveConflicts(keeping: .mine)
    XCTAssertFalse(mine.hasUnsavedChanges)
    XCTAssertEqual(try mine.tagNames(), ["more"])
    try mine.close()
    try theirs.close()
    continuation.finish()
    for await error in errors { XCTFail("\(String(describing: error))") }
  }
}
