// Nested contexts read the query generation that the contexts above them are pinned to.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

extension NestingSpecification {
  /// Makes a parent pinned to three books, a child and a grandchild, after another context has deleted one book, renamed one and inserted
  /// one. Returns nil for stores without query generations.
  private func makePinned() throws -> (
    open: OpenStore, parent: ManagedObjectContext, child: ManagedObjectContext, below: ManagedObjectContext
  )? {
    let (open, parent) = try makeParent()
    guard type(of: open.store).hasQueryGenerations else { return nil }
    let child = ManagedObjectContext(parent: parent)
    try parent.setQueryGeneration(from: .current)
    XCTAssertEqual(child.queryGenerationToken, .current)
    XCTAssertEqual(try titles(parent), ["A", "B", "C"])
    let other = open.newContext()
    other.delete(try find("Book", "title", "B", in: other))
    try find("Book", "title", "C", in: other).setValue("Z", forKey: "title")
    try other.insert("Book", ["title": "D", "author": try find("Author", "name", "Ursula", in: other)])
    try other.save()
    return (open, parent, child, ManagedObjectContext(parent: child))
  }

  func testNestedContextsReadTheGenerationOfTheirParent() throws {
    guard let (open, parent, child, below) = try makePinned() else { return }
    for context in [below, child] {
      XCTAssertEqual(context.queryGenerationToken, parent.queryGenerationToken)
      XCTAssertEqual(try titles(context), ["A", "B", "C"])
      XCTAssertEqual(try context.count(for: byTitle(.compare("title", .greater, "A"))), 2)
      XCTAssertEqual(try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Book")).count, 3)
      let dictionaries = FetchRequest<[String: Any]>(entityName: "Book").selecting("title")
      XCTAssertEqual(Set(try context.fetch(dictionaries).compactMap { $0["title"] as? String }), ["A", "B", "C"])
      let author = try find("Author", "name", "Ursula", in: context)
      XCTAssertEqual(Set(author.members("books").compactMap { $0.text("title") }), ["A", "B", "C"])
    }
    // The same below unsaved changes of the parent. Retained destinations of relationships are released first, and read again.
    for context in [below, child] { context.processPendingChanges() }
    try find("Book", "title", "A", in: parent).setValue("mine", forKey: "title")
    XCTAssertEqual(try titles(below), ["B", "C", "mine"])
    XCTAssertEqual(try titles(open.newContext()), ["A", "D", "Z"])
    XCTAssertEqual(open.persistentStore.queryGenerations.count, 1, "they share what their parent holds")
  }

  func testNestedContextsFollowTheirParentToAnotherGeneration() throws {
    guard let (_, parent, child, below) = try makePinned() else { return }
    let old = try XCTUnwrap(parent.queryGenerationToken)
    let books = try [child, below].map { try $0.fetch(byTitle()) }
    try parent.setQueryGeneration(from: .current)
    XCTAssertEqual(below.queryGenerationToken, .current)
    for (context, found) in zip([child, below], books) {
      XCTAssertEqual(found[2].text("title"), "Z", "its row was read from the previous state, and has not been exposed")
      XCTAssertEqual(try titles(context), ["A", "D", "Z"])
      XCTAssertEqual(context.queryGenerationToken, parent.queryGenerationToken)
    }
    try parent.setQueryGeneration(from: old)
    XCTAssertEqual(below.queryGenerationToken, old)
    for context in [parent, child, below] {
      context.reset()
      try parent.setQueryGeneration(from: old)
    }
    XCTAssertEqual(try titles(below), ["A", "B", "C"])
    try parent.setQueryGeneration(from: nil)
    XCTAssertNil(child.queryGenerationToken)
    below.refreshAllObjects()
    XCTAssertEqual(try titles(below), ["A", "D", "Z"])
  }

  func testOnlyTheSaveToTheStoreAdvancesNestedContexts() throws {
    guard let (open, parent, child, below) = try makePinned() else { return }
    let old = parent.queryGenerationToken
    try find("Book", "title", "A", in: below).setValue("pushed", forKey: "title")
    try below.save()
    below.refreshAllObjects()
    child.reset()
    XCTAssertEqual(try titles(child), ["A", "B", "C"], "the child had not saved it")
    try find("Book", "title", "A", in: below).setValue("pushed", forKey: "title")
    try below.save()
    try child.save()
    XCTAssertEqual(child.queryGenerationToken, old)
    XCTAssertEqual(try titles(parent), ["B", "C", "pushed"])
    XCTAssertEqual(try titles(below), ["B", "C", "pushed"])
    try parent.save()
    XCTAssertEqual(below.queryGenerationToken, .current)
    below.refreshAllObjects()
    XCTAssertEqual(try titles(below), ["D", "Z", "pushed"])
    XCTAssertEqual(below.queryGenerationToken, parent.queryGenerationToken)
    XCTAssertNotEqual(below.queryGenerationToken, old)
    XCTAssertEqual(try titles(open.newContext()), ["D", "Z", "pushed"])
  }

  func testChildSaveOverNewerStoreChangesConflictsInTheParent() throws {
    guard let (open, parent, child, _) = try makePinned() else { return }
    try find("Book", "title", "C", in: child).setValue(Int64(77), forKey: "pages")
    try child.save()
    assertStoreError(.mergeConflict) { try parent.save() }
    parent.mergePolicy = .mergeByPropertyObjectTrump
    try parent.save()
    let stored = try find("Book", "title", "Z", in: open.newContext())
    XCTAssertEqual(stored.integer("pages"), 77)
  }
}
