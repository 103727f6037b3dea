import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Refreshing objects from their rows (row C9).
final class RefreshTests: XCTestCase {
  final class Awakening: ManagedObject {
    var events: [SnapshotEvents] = []
    override func awake(fromSnapshotEvents events: SnapshotEvents) { self.events.append(events) }
  }

  private func fill(_ stack: Stack) throws -> ManagedObjectContext {
    let context = stack.makeContext()
    for name in ["A", "B"] { try context.make("Author", ["name": name]) }
    try context.make("Book", ["title": "T", "author": try context.named("A", "Author")])
    try context.save()
    return context
  }

  func testRefreshWithoutMergingDiscardsChanges() async throws {
    try await onEachStore { stack in
      _ = try fill(stack)
      let context = stack.makeContext()
      let author = try context.named("A", "Author")
      try author.setValue("changed", forKey: "name")
      context.refresh(author, mergeChanges: false)
      XCTAssertTrue(author.isFault)
      XCTAssertFalse(author.hasChanges)
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(author.text("name"), "A")
      try author.setValue("again", forKey: "name")
      XCTAssertEqual(context.updatedObjects, [author])
      try context.save()
      XCTAssertEqual(try stack.makeContext().existingObject(with: author.objectID).text("name"), "again")
    }
  }

  func testMergingRefreshKeepsUnsavedValues() async throws {
    try await onEachStore { stack in
      _ = try fill(stack)
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let mine = try context.named("A", "Author")
      try mine.setValue(Int16(1815), forKey: "born")
      try other.named("A", "Author").setValue("Ada", forKey: "name")
      try other.save()
      XCTAssertEqual(mine.text("name"), "A")
      context.refresh(mine, mergeChanges: true)
      XCTAssertEqual(mine.text("name"), "Ada")
      XCTAssertEqual(mine["born"] as? Int16, 1815)
      XCTAssertTrue(mine.isUpdated)
      try context.save()
      let third = stack.makeContext()
      XCTAssertEqual(try third.named("Ada", "Author")["born"] as? Int16, 1815)
    }
  }

  func testChangeByAnotherConnectionIsVisibleAfterARefresh() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let context = try fill(stack)
      let author = try context.named("A", "Author")
      XCTAssertEqual(author.text("name"), "A")
      let row = try XCTUnwrap(stack.store.cache.row(author.objectID.reference))
      try stack.changeElsewhere(keeping: [row]) { try $0.named("A", "Author").setValue("Ada", forKey: "name") }
      context.refresh(author, mergeChanges: false)
      XCTAssertEqual(author.text("name"), "Ada")
    }
  }

  func testRefreshRevertsTheInverseOfAToOne() async throws {
    try await onEachStore { stack in
      _ = try fill(stack)
      let context = stack.makeContext()
      let (first, second) = (try context.named("A", "Author"), try context.named("B", "Author"))
      let book = try XCTUnwrap(context.objects("Book").first)
      try book.setValue(second, forKey: "author")
      XCTAssertEqual(second.many("books"), [book])
      context.refresh(book, mergeChanges: false)
      XCTAssertTrue(book.one("author") === first)
      XCTAssertEqual(first.many("books"), [book])
      XCTAssertEqual(second.many("books"), [])
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Book").first?.one("author")?.text("name"), "A")
    }
  }

  func testRefreshingAnOwnerKeepsChangesOfItsMembers() async throws {
    try await onEachStore { stack in
      _ = try fill(stack)
      let context = stack.makeContext()
      let author = try context.named("B", "Author")
      let book = try context.make("Book", ["title": "new", "author": author])
      context.refresh(author, mergeChanges: false)
      XCTAssertTrue(book.one("author") === author)
      XCTAssertEqual(author.many("books"), [book])
      try context.save()
      XCTAssertEqual(author.many("books"), [book])
      XCTAssertEqual(try stack.makeContext().named("B", "Author").many("books").count, 1)
    }
  }

  func testRefreshRevertsBothSidesOfAManyToMany() async throws {
    try await onEachStore { stack in
      let context = try fill(stack)
      let book = try XCTUnwrap(context.objects("Book").first)
      let (old, new) = (try context.make("Tag", ["name": "old"]), try context.make("Tag", ["name": "new"]))
      try book.setValue([old], forKey: "tags")
      try context.save()
      try book.setValue([new], forKey: "tags")
      context.refresh(book, mergeChanges: false)
      XCTAssertEqual(book.sortedNames("tags"), ["old"])
      XCTAssertEqual(old.many("books"), [book])
      XCTAssertEqual(new.many("books"), [])
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Book").first?.sortedNames("tags"), ["old"])
    }
  }

  func testRefreshMergesMembersAddedByOthers() async throws {
    try await onEachStore { stack in
      _ = try fill(stack)
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let author = try context.named("A", "Author")
      XCTAssertEqual(author.many("books").count, 1)
      let mine = try context.make("Book", ["title": "mine", "author": author])
      try other.make("Book", ["title": "theirs", "author": try other.named("A", "Author")])
      try other.save()
      XCTAssertEqual(author.many("books").count, 2)
      context.refresh(author, mergeChanges: true)
      XCTAssertEqual(Set(author.many("books").compactMap { $0.text("title") }), ["T", "mine", "theirs"])
      XCTAssertTrue(author.many("books").contains(mine))
    }
  }

  func testRefreshDetectsADeletedRow() async throws {
    try await onEachStore { stack in
      _ = try fill(stack)
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let author = try context.named("B", "Author")
      XCTAssertEqual(author.text("name"), "B")
      other.delete(try other.named("B", "Author"))
      try other.save()
      context.refresh(author, mergeChanges: true)
      XCTAssertTrue(author.isDeleted)
      try context.save()
      XCTAssertNil(author.managedObjectContext)
    }
  }

  func testNewObjectsAreNotRefreshed() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let tag = try context.make("Tag", ["name": "a"])
      context.refresh(tag, mergeChanges: false)
      XCTAssertEqual(tag.text("name"), "a")
      XCTAssertTrue(tag.isInserted)
    }
  }

  func testRefreshingAllKeepsUnsavedChangesAndFaultsTheRest() async throws {
    try await onEachStore(classes: ManagedObjectClasses(["Author": Awakening.self])) { stack in
      _ = try fill(stack)
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let (changed, unchanged) = (try context.named("A", "Author"), try context.named("B", "Author"))
      let inserted = try context.make("Tag", ["name": "new"])
      try changed.setValue(Int16(1), forKey: "born")
      XCTAssertEqual(unchanged.text("name"), "B")
      try other.named("A", "Author").setValue("A2", forKey: "name")
      try other.named("B", "Author").setValue("B2", forKey: "name")
      try other.save()
      context.refreshAllObjects()
      XCTAssertTrue(unchanged.isFault)
      XCTAssertTrue(changed.isUpdated)
      XCTAssertTrue(inserted.isInserted)
      XCTAssertEqual(unchanged.text("name"), "B2")
      XCTAssertEqual(changed.text("name"), "A2")
      XCTAssertEqual(changed["born"] as? Int16, 1)
      XCTAssertEqual((changed as? Awakening)?.events, [.refresh])
      try context.save()
    }
  }

  func testRefreshingAllReadsChangedObjectsTogether() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let context = stack.makeContext()
      let tags = try (0..<300).map { try context.make("Tag", ["name": "\($0)"]) }
      try context.save()
      for tag in tags { try tag.setValue("x", forKey: "name") }
      stack.statements?.reset()
      context.refreshAllObjects()
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 3)
      XCTAssertEqual(context.updatedObjects.count, 300)
    }
  }
}
