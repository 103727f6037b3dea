import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// Change sets contain the changed slots of each object, and both ends of each link.
final class ChangeSetTests: XCTestCase {
  private final class RecordedChangeSets: Sendable {
    let list = Mutex<[ChangeSet]>([])
  }

  /// Returns the change set of the one save or request in `body`.
  private func changes(_ stack: Stack, _ body: () throws -> Void) throws -> ChangeSet {
    let received = RecordedChangeSets()
    let number = stack.coordinator.addObserver { changes in received.list.withLock { $0.append(changes) } }
    defer { stack.coordinator.removeObserver(number) }
    try body()
    let list = received.list.withLock { $0 }
    XCTAssertEqual(list.count, 1)
    return try XCTUnwrap(list.first)
  }

  /// Returns the names of an object's changed slots; nil if unknown.
  private func slots(_ changes: ChangeSet, _ object: ManagedObject) -> Set<String>? {
    guard let position = changes.updated.firstIndex(of: object.objectID) else { return [] }
    let entity = object.compiledEntity
    return changes.updatedSlots[position].map { mask in Set(mask.slots(below: entity.slots.count).map { entity.slots[$0].name }) }
  }

  /// Returns the added (+) and removed (-) links, by the names of relationships and objects.
  private func links(_ changes: ChangeSet, _ stack: Stack, _ names: [ManagedObject: String]) -> Set<String> {
    let byReference = Dictionary(uniqueKeysWithValues: names.map { ($0.key.objectID.reference, $0.value) })
    func name(_ reference: ObjectReference) -> String { byReference[reference] ?? "?" }
    var found: Set<String> = []
    for change in changes.links {
      let relationship = stack.coordinator.compiledModel.relationships[change.relationshipID]
      for link in change.added { found.insert("+\(name(link.source)).\(relationship.name)=\(name(link.destination))") }
      for link in change.removed { found.insert("-\(name(link.source)).\(relationship.name)=\(name(link.destination))") }
    }
    return found
  }

  /// Returns the owners whose members changed, by the names of relationships.
  private func owners(_ changes: ChangeSet, _ stack: Stack, _ names: [ManagedObject: String]) -> Set<String> {
    let byReference = Dictionary(uniqueKeysWithValues: names.map { ($0.key.objectID.reference, $0.value) })
    let model = stack.coordinator.compiledModel
    var found: Set<String> = []
    changes.forEachOwner(in: model, isIncluded: { _ in true }) { owner in
      found.insert("\(byReference[owner.object] ?? "?").\(model.relationships[owner.relationshipID].name)")
    }
    return found
  }

  private func author(_ name: String, _ context: ManagedObjectContext) -> Author {
    let author = Author(context: context)
    author.name = name
    return author
  }

  private func book(_ title: String, by author: Author? = nil, _ context: ManagedObjectContext) -> Book {
    let book = Book(context: context)
    book.title = title
    book.author = author
    return book
  }

  func testAnUpdateNamesItsSlots() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let books = ["a", "b", "c"].map { self.book($0, context) }
      try context.save()
      let changes = try self.changes(stack) {
        books[0].title = "new"
        books[0].price = 1
        books[1].price = 2
        // A value that is set back is not a change.
        books[2].price = 3
        books[2].price = 9.5
        try context.save()
      }
      XCTAssertEqual(Set(changes.updated), Set(books[..<2].map(\.objectID)))
      XCTAssertEqual(self.slots(changes, books[0]), ["title", "price"])
      XCTAssertEqual(self.slots(changes, books[1]), ["price"])
      XCTAssertTrue(changes.links.isEmpty)
      XCTAssertTrue(changes.unlistedRelationships.isEmpty)
    }
  }

  func testMoveNamesTheOldAndNewOwners() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (ada, bob) = (self.author("ada", context), self.author("bob", context))
      let (one, two) = (self.book("one", by: ada, context), self.book("two", by: bob, context))
      let names: [ManagedObject: String] = [ada: "ada", bob: "bob", one: "one", two: "two"]
      let insertion = try self.changes(stack) { try context.save() }
      XCTAssertEqual(self.links(insertion, stack, names), ["+one.author=ada", "+two.author=bob"])
      XCTAssertEqual(self.owners(insertion, stack, names), ["ada.books", "bob.books"])
      let move = try self.changes(stack) {
        one.author = bob
        try context.save()
      }
      XCTAssertEqual(self.slots(move, one), ["author"])
      XCTAssertEqual(self.links(move, stack, names), ["+one.author=bob", "-one.author=ada"])
      XCTAssertEqual(self.owners(move, stack, names), ["ada.books", "bob.books"])
      let deletion = try self.changes(stack) {
        context.delete(two)
        try context.save()
      }
      XCTAssertEqual(deletion.links.flatMap(\.removed).count, 1)
      XCTAssertEqual(self.owners(deletion, stack, [bob: "bob"]), ["bob.books"])
      XCTAssertTrue(deletion.unlistedRelationships.isEmpty)
    }
  }

  func testALinkOfAJoinTableNamesBothEnds() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let one = self.book("one", context)
      let (red, blue) = (Tag(context: context), Tag(context: context))
      (red.name, blue.name) = ("red", "blue")
      one.tags = [red]
      try context.save()
      let names: [ManagedObject: String] = [one: "one", red: "red", blue: "blue"]
      let changes = try self.changes(stack) {
        one.tags = [blue]
        try context.save()
      }
      XCTAssertEqual(self.owners(changes, stack, names), ["one.tags", "red.books", "blue.books"])
      XCTAssertEqual(changes.links.map { [$0.added.count, $0.removed.count] }, [[1, 1]])
      // The rows are unchanged.
      for object in [one, red, blue] as [ManagedObject] { XCTAssertEqual(self.slots(changes, object), []) }
    }
  }

  func testAnOrderNamesItsOwner() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let books = ["a", "b"].map { self.book($0, context) }
      let shelf = try context.make("Shelf", ["books": books])
      try context.save()
      let changes = try self.changes(stack) {
        try shelf.setValue([books[1], books[0]], forKey: "books")
        try context.save()
      }
      XCTAssertEqual(self.owners(changes, stack, [shelf: "shelf"]), ["shelf.books"])
      XCTAssertTrue(changes.links.isEmpty)
    }
  }

  func testSlotsOfManyObjectsAreStoredOnce() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let books = (0..<1_000).map { self.book("\($0)", context) }
      try context.save()
      let changes = try self.changes(stack) {
        for book in books { book.price = 5 }
        for book in books[500...] { book.pages = 7 }
        try context.save()
      }
      XCTAssertEqual(changes.updatedSlots.count, 1_000)
      XCTAssertLessThanOrEqual(changes.updatedSlots.runCount, 3, "Numbers and masks, not a list for each object.")
      XCTAssertEqual(self.slots(changes, books[3]), ["price"])
      XCTAssertEqual(self.slots(changes, books[700]), ["price", "pages"])
    }
  }

  func testABatchRequestNamesItsLinks() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let (ada, bob) = (self.author("ada", context), self.author("bob", context))
      let (one, two) = (self.book("one", by: ada, context), self.book("two", by: bob, context))
      let tag = Tag(context: context)
      tag.name = "tag"
      one.tags = [tag]
      try context.save()
      let names: [ManagedObject: String] = [ada: "ada", bob: "bob", one: "one", two: "two"]
      let plain = try self.changes(stack) {
        try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": 5.0]))
      }
      XCTAssertEqual(self.slots(plain, one), ["price"])
      XCTAssertEqual(self.links(plain, stack, names), [])
      let moving = try self.changes(stack) {
        try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["author": ada.objectID]))
      }
      XCTAssertEqual(self.slots(moving, two), ["author"])
      XCTAssertEqual(self.links(moving, stack, names), ["-two.author=bob", "+two.author=ada"])
      let lone = try self.changes(stack) {
        try context.execute(BatchInsertRequest(entityName: "Book", objects: [["title": "three"]]))
      }
      XCTAssertEqual(self.links(lone, stack, names), [])
      let owned = try self.changes(stack) {
        try context.execute(BatchInsertRequest(entityName: "Book", objects: [["title": "four", "author": bob.objectID]]))
      }
      XCTAssertEqual(self.links(owned, stack, names), ["+?.author=bob"])
      let tags = try self.changes(stack) { try context.execute(BatchDeleteRequest(entityName: "Tag")) }
      XCTAssertEqual(tags.deleted.count, 1)
      XCTAssertEqual(self.links(tags, stack, names), [])
      let deletion = try self.changes(stack) {
        try context.execute(BatchDeleteRequest(entityName: "Book", predicate: try FetchPredicate(format: "title IN {'one', 'three'}")))
      }
      XCTAssertEqual(self.links(deletion, stack, names), ["-one.author=ada"])
      XCTAssertEqual(self.owners(deletion, stack, names), ["ada.books"])
      for changes in [plain, moving, lone, owned, tags, deletion] { XCTAssertEqual(changes.unlistedRelationships, []) }
    }
  }

  func testABatchRequestOfManyRowsNamesItsRelationships() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let ada = self.author("ada", context)
      try context.save()
      let model = stack.coordinator.compiledModel
      func unlisted(_ changes: ChangeSet) -> Set<String> {
        XCTAssertTrue(changes.links.isEmpty)
        return Set(
          changes.unlistedRelationships.map {
            "\(model.entities[model.relationships[$0].sourceEntity].name).\(model.relationships[$0].name)"
          })
      }
      let rows = (0...PublishedChanges.maximumLinkedCount).map { ["title": "\($0)", "author": ada.objectID] as [String: Any] }
      let owned = try self.changes(stack) { try context.execute(BatchInsertRequest(entityName: "Book", objects: rows)) }
      XCTAssertEqual(unlisted(owned), ["Author.books"])
      let plain = try self.changes(stack) {
        try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["price": 5.0]))
      }
      XCTAssertEqual(unlisted(plain), [])
      let moving = try self.changes(stack) {
        try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["author": ada.objectID]))
      }
      XCTAssertEqual(unlisted(moving), ["Author.books"])
      let deletion = try self.changes(stack) { try context.execute(BatchDeleteRequest(entityName: "Book")) }
      XCTAssertEqual(unlisted(deletion), ["Author.books", "Shelf.books", "Tag.books"])
    }
  }
}
