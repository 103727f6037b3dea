import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// Contexts merge the saves of other contexts on request.
final class MergingTests: XCTestCase {
  private final class RecordedChangeSets: Sendable {
    let list = Mutex<[ChangeSet]>([])
  }

  /// Returns the change set that the saves in `body` publish.
  private func changes(_ coordinator: PersistentStoreCoordinator, _ body: () throws -> Void) throws -> ChangeSet {
    let received = RecordedChangeSets()
    let number = coordinator.addObserver { changes in received.list.withLock { $0.append(changes) } }
    defer { coordinator.removeObserver(number) }
    try body()
    let list = received.list.withLock { $0 }
    XCTAssertEqual(list.count, 1)
    return try XCTUnwrap(list.first)
  }

  /// Two contexts with the same books: one that saves and one that reads.
  private func contexts(_ stack: Stack) throws -> (saver: ManagedObjectContext, theirs: [Book], reader: ManagedObjectContext, own: [Book]) {
    let (saver, reader) = (stack.makeContext(), stack.makeContext())
    for number in 0..<3 { try saver.make("Book", ["title": "book \(number)"]) }
    try saver.save()
    let own = try reader.all(Book.self, sortedBy: "title")
    for book in own { _ = book.title }
    return (saver, try saver.all(Book.self, sortedBy: "title"), reader, own)
  }

  func testNothingIsMergedByDefault() async throws {
    try await onEachStore { stack in
      let (saver, theirs, reader, own) = try self.contexts(stack)
      XCTAssertFalse(reader.automaticallyMergesChangesFromParent)
      theirs[0].price = 3
      try saver.save()
      reader.processPendingChanges()
      XCTAssertEqual(own[0].price, 9.5)
    }
  }

  func testAChangeSetIsMerged() async throws {
    try await onEachStore { stack in
      let (saver, theirs, reader, own) = try self.contexts(stack)
      own[0].title = "mine"
      let set = try self.changes(stack.coordinator) {
        theirs[0].price = 3
        theirs[0].title = "theirs"
        theirs[1].price = 4
        saver.delete(theirs[2])
        try saver.make("Tag", ["name": "new"])
        try saver.save()
      }
      let notes = ChangeNotificationRecorder(reader)
      reader.mergeChanges(from: set)
      XCTAssertEqual(own[0].price, 3)
      XCTAssertEqual(own[0].title, "mine", "Unsaved changes win.")
      XCTAssertEqual(own[1].price, 4)
      XCTAssertNil(own[2].managedObjectContext)
      XCTAssertEqual(notes.objects(.refreshedObjects), Set(own[..<2]))
      XCTAssertEqual(notes.objects(.deletedObjects), [own[2]])
      XCTAssertEqual(notes.ids(.insertedObjectIDs).map(\.entityName), ["Tag"])
      try reader.save()
      XCTAssertEqual(try stack.makeContext().all(Book.self, sortedBy: "title").map(\.title), ["book 1", "mine"])
    }
  }

  func testInsertedObjectsAreCreatedOnRequest() async throws {
    try await onEachStore { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let old = try other.make("Author", ["name": "old"])
      try other.save()
      let held = try context.named("old", "Author")
      context.automaticallyMergesChangesFromParent = true
      // Notifications are posted in the context's isolation, which is this test's.
      nonisolated(unsafe) var reported: [Notification] = []
      let observer = NotificationCenter.default.addObserver(
        forName: ManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
      ) { reported.append($0) }
      defer { NotificationCenter.default.removeObserver(observer) }
      let new = try (0..<3).map { try other.make("Author", ["name": "\($0)"]) }
      try old.setValue("older", forKey: "name")
      try other.save()
      stack.forgetRows()
      context.processPendingChanges()
      let count = stack.statements?.count
      let note = try XCTUnwrap(reported.first)
      let key = ManagedObjectContext.NotificationKey.self
      XCTAssertEqual(note.userInfo?[key.insertedObjectIDs.rawValue] as? Set<ManagedObjectID>, Set(new.map(\.objectID)))
      XCTAssertEqual(context.registeredObjects, [held], "None was made.")
      let objects = note.managedObjects(.insertedObjects)
      XCTAssertEqual(Set(objects.map(\.objectID)), Set(new.map(\.objectID)))
      XCTAssertTrue(objects.allSatisfy { $0.isFault && $0.managedObjectContext === context })
      XCTAssertEqual(stack.statements?.count, count, "Nothing is read.")
      XCTAssertEqual(Set(objects.compactMap { $0.text("name") }), ["0", "1", "2"])
      XCTAssertEqual(note.managedObjects(.refreshedObjects), [held])
      XCTAssertEqual(note.managedObjects(.deletedObjects), [])
      XCTAssertEqual(Notification(name: Notification.Name("other")).managedObjects(.insertedObjects), [])
    }
  }

  func testContextMergesAutomatically() async throws {
    try await onEachStore { stack in
      let (saver, theirs, reader, own) = try self.contexts(stack)
      reader.automaticallyMergesChangesFromParent = true
      theirs[0].price = 3
      try saver.save()
      theirs[1].price = 4
      try saver.save()
      XCTAssertEqual(own[0].price, 9.5, "Not in the middle of an event.")
      reader.processPendingChanges()
      XCTAssertEqual(own.map(\.price), [3, 4, 9.5])
      saver.delete(theirs[2])
      try saver.save()
      XCTAssertEqual(try reader.all(Book.self).count, 2)
      XCTAssertNil(own[2].managedObjectContext, "A fetch merges first.")
      try saver.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": 7.0]))
      reader.perform { XCTAssertEqual(own[0].price, 7) }
      reader.automaticallyMergesChangesFromParent = false
      theirs[0].price = 8
      try saver.save()
      reader.processPendingChanges()
      XCTAssertEqual(own[0].price, 7)
    }
  }

  func testSaveMergesFirstAndAvoidsConflicts() async throws {
    try await onEachStore { stack in
      let (saver, theirs, reader, own) = try self.contexts(stack)
      reader.automaticallyMergesChangesFromParent = true
      own[0].title = "mine"
      theirs[0].price = 3
      try saver.save()
      try reader.save()
      let book = try XCTUnwrap(stack.makeContext().all(Book.self, sortedBy: "title").last)
      XCTAssertEqual(book.title, "mine")
      XCTAssertEqual(book.price, 3)
    }
  }

  func testPartiallyReadValuesAreReadAgain() async throws {
    try await onEachStore { stack in
      let (saver, theirs, _, _) = try self.contexts(stack)
      let reader = stack.makeContext()
      var request = FetchRequest<Book>(entityName: "Book").sorted(by: "title")
      request.propertiesToFetch = ["title"]
      let own = try reader.fetch(request)
      XCTAssertEqual(own[0].title, "book 0")
      XCTAssertTrue(own[0].isFault)
      reader.mergeChanges(
        from: try self.changes(stack.coordinator) {
          theirs[0].title = "new"
          try saver.save()
        })
      XCTAssertEqual(own[0].title, "new")
    }
  }

  func testOwnSavesAreNotMerged() async throws {
    try await onEachStore { stack in
      let (_, _, reader, own) = try self.contexts(stack)
      reader.automaticallyMergesChangesFromParent = true
      own[0].price = 3
      try reader.save()
      let notes = ChangeNotificationRecorder(reader)
      reader.processPendingChanges()
      XCTAssertEqual(notes.objects(.refreshedObjects), [])
    }
  }

  func testChangesOfRelationshipsAreMerged() async throws {
    try await onEachStore { stack in
      let (saver, theirs, reader, own) = try self.contexts(stack)
      let author = Author(context: saver)
      author.name = "Ada"
      let tag = Tag(context: saver)
      tag.name = "tag"
      try saver.save()
      let ownAuthor = try XCTUnwrap(reader.all(Author.self).first)
      let ownTag = try XCTUnwrap(reader.all(Tag.self).first)
      XCTAssertEqual(ownAuthor.books, [])
      XCTAssertEqual(ownTag.books, [])
      XCTAssertEqual(own[1].tags, [])
      reader.automaticallyMergesChangesFromParent = true
      theirs[0].author = author
      theirs[1].tags = [tag]
      try saver.save()
      reader.processPendingChanges()
      XCTAssertEqual(ownAuthor.books, [own[0]])
      XCTAssertEqual(own[0].author, ownAuthor)
      XCTAssertEqual(ownTag.books, [own[1]])
      XCTAssertEqual(own[1].tags, [ownTag])
    }
  }

  func testLocallyAddedMembersSurviveTheMerge() async throws {
    try await onEachStore { stack in
      let (saver, theirs, reader, own) = try self.contexts(stack)
      let author = Author(context: saver)
      author.name = "Ada"
      try saver.save()
      let ownAuthor = try XCTUnwrap(reader.all(Author.self).first)
      XCTAssertEqual(ownAuthor.books, [])
      own[2].author = ownAuthor
      reader.automaticallyMergesChangesFromParent = true
      theirs[0].author = author
      try saver.save()
      reader.processPendingChanges()
      XCTAssertEqual(ownAuthor.books, [own[0], own[2]])
      try reader.save()
      XCTAssertEqual(try stack.makeContext().all(Author.self).first?.books.count, 2)
    }
  }

  func testMergedDeletionDiscardsUnsavedChanges() async throws {
    try await onEachStore { stack in
      let (saver, theirs, reader, own) = try self.contexts(stack)
      reader.automaticallyMergesChangesFromParent = true
      own[0].title = "mine"
      reader.delete(own[1])
      saver.delete(theirs[0])
      saver.delete(theirs[1])
      try saver.save()
      reader.processPendingChanges()
      XCTAssertFalse(reader.hasChanges)
      XCTAssertNil(own[0].managedObjectContext)
      try reader.save()
      XCTAssertEqual(try reader.all(Book.self), [own[2]])
    }
  }

  /// Returns the user info of the notifications that a context posts while `body` runs.
  private func infos(_ context: ManagedObjectContext, _ body: () throws -> Void) rethrows -> [[AnyHashable: Any]] {
    let received = Mutex<Int>(0)
    var found: [[AnyHashable: Any]] = []
    nonisolated(unsafe) let add: ([AnyHashable: Any]) -> Void = { found.append($0) }
    let observer = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { note in
      received.withLock { $0 += 1 }
      add(note.userInfo ?? [:])
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try body()
    return found
  }

  func testDiscardedChangesOfADeletedObjectAreReported() async throws {
    for type in [MergePolicy.MergeType.error, .mergeByPropertyStoreTrump, .rollback] {
      try await onEachStore { stack in
        let (saver, theirs, reader, own) = try self.contexts(stack)
        reader.mergePolicy = MergePolicy(merge: type)
        own[0].title = "mine"
        own[0].price = 7
        let id = own[0].objectID
        saver.delete(theirs[0])
        let changes = try self.changes(stack.coordinator) { try saver.save() }
        let infos = self.infos(reader) { reader.mergeChanges(from: changes) }
        let reported = infos.compactMap { $0["discarded"] as? [ManagedObjectID: [String: (any Sendable)?]] }
        XCTAssertEqual(reported.count, 1)
        XCTAssertEqual(reported.first?[id]?["title"] as? String, "mine")
        XCTAssertEqual(Set(reported.first?[id].map { Array($0.keys) } ?? []), ["title", "price"])
        XCTAssertNil(own[0].managedObjectContext)
        XCTAssertFalse(reader.hasChanges)
      }
    }
  }

  func testObjectTrumpPolicyRestoresADeletedRowOnSave() async throws {
    for type in [MergePolicy.MergeType.mergeByPropertyObjectTrump, .overwrite] {
      try await onEachStore { stack in
        let (saver, theirs, reader, own) = try self.contexts(stack)
        reader.mergePolicy = MergePolicy(merge: type)
        reader.automaticallyMergesChangesFromParent = true
        own[0].title = "mine"
        let id = own[0].objectID
        saver.delete(theirs[0])
        saver.delete(theirs[1])
        try saver.save()
        reader.processPendingChanges()
        XCTAssertTrue(own[0].managedObjectContext === reader)
        XCTAssertNil(own[1].managedObjectContext, "who has nothing unsaved leaves")
        XCTAssertEqual(own[0].title, "mine")
        XCTAssertTrue(reader.hasChanges)
        try reader.save()
        let other = stack.makeContext()
        XCTAssertEqual(try other.all(Book.self).map(\.title).sorted(), ["book 2", "mine"])
        XCTAssertEqual(try other.all(Book.self, sortedBy: "title").last?.objectID, id, "under its ID")
      }
    }
  }

  func testPropertyChangedOnBothSidesKeepsTheUnsavedValueAndIsReported() async throws {
    try await onEachStore { stack in
      let (saver, theirs, reader, own) = try self.contexts(stack)
      own[0].title = "mine"
      own[1].title = "mine too"
      theirs[0].title = "theirs"
      theirs[0].price = 9
      theirs[1].price = 8
      let changes = try self.changes(stack.coordinator) { try saver.save() }
      let infos = self.infos(reader) { reader.mergeChanges(from: changes) }
      let reported = infos.compactMap { $0["overridden"] as? [ManagedObjectID: Set<String>] }
      XCTAssertEqual(reported, [[own[0].objectID: ["title"]]])
      XCTAssertEqual(own.prefix(2).map(\.title), ["mine", "mine too"])
      XCTAssertEqual(own.prefix(2).map(\.price), [9, 8], "what was not changed here is taken over")
      try reader.save()
      XCTAssertEqual(Set(try stack.makeContext().all(Book.self).map(\.title)), ["mine", "mine too", "book 2"])
    }
  }

  func testUnsavedRelationshipOverridesMergedChangesOnBothEnds() async throws {
    try await onEachStore { stack in
      let (saver, theirs, reader, own) = try self.contexts(stack)
      let (anna, berta) = (try saver.make("Author", ["name": "Anna"]), try saver.make("Author", ["name": "Berta"]))
      try saver.save()
      let mine = try reader.all(Author.self, sortedBy: "name")
      XCTAssertEqual(mine.map(\.books.count), [0, 0])
      own[0].author = mine[0]
      own[1].author = mine[0]
      // One book moves to another owner there, and one moves there and back.
      theirs[0].author = berta as? Author
      theirs[1].author = anna as? Author
      reader.mergeChanges(from: try self.changes(stack.coordinator) { try saver.save() })
      XCTAssertEqual(mine.map { $0.books.map(\.title).sorted() }, [["book 0", "book 1"], []])
      theirs[1].author = nil
      reader.mergeChanges(from: try self.changes(stack.coordinator) { try saver.save() })
      XCTAssertEqual(mine.map { $0.books.map(\.title).sorted() }, [["book 0", "book 1"], []])
      XCTAssertEqual(own[1].author, mine[0])
      reader.mergePolicy = .mergeByPropertyObjectTrump
      try reader.save()
      let stored = try stack.makeContext().all(Author.self, sortedBy: "name")
      XCTAssertEqual(stored.map { $0.books.map(\.title).sorted() }, [["book 0", "book 1"], []])
    }
  }

  func testLocallyDeletedObjectStaysDeleted() async throws {
    try await onEachStore { stack in
      let (saver, theirs, reader, own) = try self.contexts(stack)
      reader.delete(own[0])
      theirs[0].title = "theirs"
      let changes = try self.changes(stack.coordinator) { try saver.save() }
      reader.mergeChanges(from: changes)
      XCTAssertTrue(own[0].isDeleted)
      try reader.save()
      XCTAssertEqual(try stack.makeContext().all(Book.self).count, 2)
    }
  }

  @MainActor func testViewContextMergesWhenTheMainActorIsIdle() async throws {
    let container = try PersistentContainer(
      name: "library", managedObjectModel: Library.model, classes: Library.classes,
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let book = try container.viewContext.make("Book", ["title": "book"])
    try container.viewContext.save()
    container.viewContext.automaticallyMergesChangesFromParent = true
    // The stream buffers elements until they are awaited.
    let changes = container.viewContext.changes()
    _ = try await container.performBackgroundTask { context in
      try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["title": "new"]))
    }
    for await change in changes where change.refreshed.contains(book.objectID) { break }
    XCTAssertEqual(book.text("title"), "new")
    // Keeps the container alive, and with it the context.
    XCTAssertFalse(container.viewContext.hasChanges)
  }

  func testActorContextMergesAutomatically() async throws {
    let container = try PersistentContainer(
      name: "library", managedObjectModel: Library.model, classes: Library.classes,
      persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    let library = ContextActor(container: container)
    try await library.perform { context in
      try context.make("Book", ["title": "book"])
      try context.save()
      context.retainsRegisteredObjects = true
      context.automaticallyMergesChangesFromParent = true
      XCTAssertEqual(try context.objects("Book").map { $0.text("title") }, ["book"])
    }
    _ = try await container.performBackgroundTask { context in
      try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["title": "new"]))
    }
    let titles = await library.perform { $0.registeredObjects.map { $0.text("title") } }
    XCTAssertEqual(titles, ["new"])
  }
}
