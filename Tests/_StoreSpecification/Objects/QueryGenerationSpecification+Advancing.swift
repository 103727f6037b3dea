// The operations that advance a pinned context to the current state, those that do not, and the lifetime of generations.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

extension QueryGenerationSpecification {
  func testSaveOverNewerChangesConflicts() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try context.count(for: books()), 3)
    try change(writer)
    let book = try find("Book", "title", "Ulysses", in: context)
    try book.setValue(Int64(9), forKey: "pages")
    let error = assertStoreError(.mergeConflict) { try context.save() }
    XCTAssertEqual(error?.mergeConflicts.count, 1)
    let conflict = try XCTUnwrap(error?.mergeConflicts.first)
    XCTAssertEqual(conflict.newVersion, conflict.oldVersion + 1)
    XCTAssertEqual(try titles(context), Self.before, "a save that fails does not go on")
    context.rollback()
    XCTAssertEqual(try titles(context), Self.before)
    context.delete(try find("Book", "title", "Exiles", in: context))
    assertStoreError(.mergeConflict) { try context.save() }
  }

  func testMergePolicyResolvesConflictsWithTheNewestGeneration() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try context.count(for: books()), 3)
    try change(writer)
    let book = try find("Book", "title", "Ulysses", in: context)
    try book.setValue(Int64(9), forKey: "pages")
    try context.save()
    XCTAssertEqual(book.text("title"), "Finnegans Wake")
    XCTAssertEqual(book.integer("pages"), 9)
    XCTAssertEqual(try titles(open.newContext()), Self.after)
    // Another context has inserted a tag with the name since.
    try writer.insert("Tag", ["name": "drama"])
    XCTAssertEqual(try context.all("Tag").count, 1)
    try writer.save()
    try context.insert("Tag", ["name": "drama"])
    try context.save()
    XCTAssertEqual(try context.all("Tag").count, 2)
  }

  func testMembersOfADeletedOwnerAreNotSaved() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    let request = FetchRequest<ManagedObjectID>(entityName: "Book", predicate: .compare("title", .equal, "Exiles"))
    let exiles = try XCTUnwrap(context.fetch(request).first)
    try change(writer)
    let book = context.object(with: exiles)
    let shelf = try context.insert("Shelf", ["name": "top"])
    try shelf.setValue([book], forKey: "books")
    XCTAssertThrowsError(try context.save())
  }

  func testOwnSavesAdvanceTheGeneration() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try titles(context), Self.before)
    let token = context.queryGenerationToken
    try change(writer)
    try context.save()
    XCTAssertEqual(context.queryGenerationToken, token, "there was nothing to save")
    try find("Book", "title", "Dubliners", in: context).setValue("Chamber Music", forKey: "title")
    try context.save()
    XCTAssertNotEqual(context.queryGenerationToken, token)
    XCTAssertNotNil(context.queryGenerationToken)
    context.refreshAllObjects()
    XCTAssertEqual(try titles(context), ["Chamber Music", "Finnegans Wake", "Stephen Hero"])
    let now = try titles(context)
    try writer.insert("Book", ["title": "later"])
    try writer.save()
    XCTAssertEqual(try titles(context), now)
  }

  func testOtherChangesAreInvisibleUntilMerged() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    let author = try find("Author", "name", "Joyce", in: context)
    XCTAssertEqual(author.members("books").count, 3)
    hold(try context.fetch(books()))
    let stream = open.coordinator.changes()
    try change(writer)
    context.processPendingChanges()
    XCTAssertEqual(try titles(context), Self.before)
    XCTAssertEqual(author.members("books").count, 3)
    let reported = try waitFor { () -> ChangeSet? in
      var iterator = stream.makeAsyncIterator()
      return await iterator.next()
    }
    let changes = try XCTUnwrap(reported)
    context.mergeChanges(from: changes)
    XCTAssertEqual(try titles(context), Self.after)
    XCTAssertEqual(Set(author.members("books").compactMap { $0.text("title") }), Set(Self.after))
    try writer.insert("Book", ["title": "later"])
    try writer.save()
    XCTAssertEqual(try titles(context), Self.after, "it goes on to another state, and is pinned there")
  }

  func testAutomaticMergesAdvanceTheGeneration() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    context.automaticallyMergesChangesFromParent = true
    try context.setQueryGeneration(from: .current)
    hold(try context.fetch(books()))
    let unsaved = try find("Book", "title", "Dubliners", in: context)
    try unsaved.setValue(Int64(1), forKey: "pages")
    try change(writer)
    XCTAssertEqual(try titles(context), Self.after)
    XCTAssertEqual(unsaved.integer("pages"), 1)
    XCTAssertTrue(unsaved.isUpdated)
  }

  func testResetAndRefreshAdvanceTheGeneration() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    let found = try context.fetch(books())
    XCTAssertEqual(found.compactMap { $0.text("title") }, Self.before)
    try change(writer)
    context.rollback()
    context.refresh(found[2], mergeChanges: true)
    XCTAssertEqual(found[2].text("title"), "Ulysses", "a single object is updated to the state that the context reads")
    context.refresh(found[2], mergeChanges: false)
    XCTAssertEqual(found[2].text("title"), "Ulysses")
    context.refreshAllObjects()
    XCTAssertEqual(found[2].text("title"), "Finnegans Wake")
    XCTAssertEqual(try titles(context), Self.after)
    try writer.insert("Book", ["title": "A"])
    try writer.save()
    XCTAssertEqual(try titles(context), Self.after)
    context.reset()
    XCTAssertEqual(try titles(context), ["A"] + Self.after)
  }

  func testBatchRequestsUseTheNewestGeneration() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try titles(context), Self.before)
    try change(writer)
    var request = BatchUpdateRequest(
      entityName: "Book", predicate: .compare("title", .equal, "Stephen Hero"), propertiesToUpdate: ["pages": 77])
    request.mergesChanges = false
    XCTAssertEqual(try context.execute(request).count, 1)
    XCTAssertEqual(try titles(context), Self.before)
    request.mergesChanges = true
    XCTAssertEqual(try context.execute(request).count, 1)
    context.refreshAllObjects()
    XCTAssertEqual(try titles(context), Self.after)
  }

  func testTransactionReadsTheNewestState() throws {
    let (open, writer) = try makeLibrary()
    let (context, other) = (open.newContext(), open.newContext())
    for context in [context, other] {
      try context.setQueryGeneration(from: .current)
      XCTAssertEqual(try titles(context), Self.before)
    }
    try change(writer)
    context.reset()
    try context.setQueryGeneration(from: other.queryGenerationToken)
    try context.performTransaction {
      XCTAssertEqual(try titles(context), Self.after)
      try context.insert("Book", ["title": "A"])
      try context.save()
      XCTAssertEqual(try titles(context), ["A"] + Self.after)
      XCTAssertEqual(try titles(other), Self.before)
    }
    XCTAssertEqual(try titles(context), ["A"] + Self.after)
    XCTAssertEqual(try titles(other), Self.before)
    try writer.insert("Book", ["title": "B"])
    try writer.save()
    XCTAssertEqual(try titles(context), ["A"] + Self.after)
  }

  func testFailedTransactionAdvancesTheGeneration() throws {
    let (open, writer) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try titles(context), Self.before)
    try change(writer)
    XCTAssertThrowsError(
      try context.performTransaction {
        try context.insert("Book", ["title": "A"])
        try context.save()
        throw Stop()
      })
    XCTAssertEqual(try titles(context), Self.after)
  }

  func testSixteenGenerationsCanBePinned() throws {
    let (open, writer) = try makeLibrary()
    var contexts: [ManagedObjectContext] = []
    for number in 0..<16 {
      let context = open.newContext()
      try context.setQueryGeneration(from: .current)
      XCTAssertEqual(try context.count(for: books()), 3 + number)
      contexts.append(context)
      try writer.insert("Book", ["title": "\(number)"])
      try writer.save()
    }
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    assertStoreError(.tooManyQueryGenerations) { try context.count(for: books()) }
    XCTAssertEqual(open.persistentStore.queryGenerations.count, 16)
    for (number, context) in contexts.enumerated() { XCTAssertEqual(try context.count(for: books()), 3 + number) }
    contexts.removeFirst()
    XCTAssertEqual(try context.count(for: books()), 19)
  }

  func testTokenOfAnotherStoreIsRejected() throws {
    let (open, _) = try makeLibrary()
    let (other, _) = try makeLibrary()
    let context = open.newContext()
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try titles(context), Self.before)
    let token = context.queryGenerationToken
    let stranger = other.newContext()
    assertStoreError(.queryGenerationOfOtherStore) { try stranger.setQueryGeneration(from: token) }
    XCTAssertNil(stranger.queryGenerationToken)
    try open.close()
    let late = open.newContext()
    assertStoreError(.queryGenerationExpired) { try late.setQueryGeneration(from: token) }
  }

  func testStoreReportsGenerationHolders() throws {
    let (open, writer) = try makeLibrary()
    XCTAssertEqual(open.persistentStore.queryGenerations, [])
    let (first, second, third) = (open.newContext(), open.newContext(), open.newContext())
    (first.name, second.name) = ("report", "export")
    try first.setQueryGeneration(from: .current)
    XCTAssertEqual(open.persistentStore.queryGenerations, [], "nothing was read yet")
    XCTAssertEqual(try titles(first), Self.before)
    try second.setQueryGeneration(from: first.queryGenerationToken)
    try change(writer)
    try third.setQueryGeneration(from: .current)
    XCTAssertEqual(try titles(third), Self.after)
    let reported = open.persistentStore.queryGenerations
    XCTAssertEqual(reported.map { $0.holders.map(\.contextName) }, [["report", "export"], [nil]])
    XCTAssertLessThanOrEqual(try XCTUnwrap(reported.first).startDate, try XCTUnwrap(reported.last).startDate)
    try first.setQueryGeneration(from: first.queryGenerationToken)
    XCTAssertEqual(open.persistentStore.queryGenerations.first?.holders.count, 2)
    try first.setQueryGeneration(from: nil)
    XCTAssertEqual(open.persistentStore.queryGenerations.first?.holders.map(\.contextName), ["export"])
    second.reset()
    XCTAssertEqual(open.persistentStore.queryGenerations.count, 1)
  }

  func testContextsShareOneGeneration() throws {
    let (open, _) = try makeLibrary()
    let (first, second) = (open.newContext(), open.newContext())
    for context in [first, second] {
      try context.setQueryGeneration(from: .current)
      XCTAssertEqual(try titles(context), Self.before)
    }
    XCTAssertEqual(first.queryGenerationToken, second.queryGenerationToken)
    XCTAssertEqual(open.persistentStore.queryGenerations.count, 1)
  }
}
