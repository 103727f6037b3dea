import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

// Links and orders are reported as the store has changed them.

extension TransactionObserverSpecification {
  func testALinkOfTwoDeletedObjectsIsReportedOnce() throws {
    guard try makeStore().store is any ChangeReportingStore else { return }
    for (source, member) in [("Leaf", "Node"), ("Stem", "Node"), ("Stem", "Leaf"), ("Node", "Leaf"), ("Node", "Node")] {
      for relationship in ["related", "seq", "friends"] {
        let open = try makeStore(RandomChanges.model)
        let context = open.newContext()
        let (first, second) = (try context.insert(source), try context.insert(member))
        try first.setValue(relationship == "seq" ? [second] : Set([second]), forKey: relationship)
        try context.save()
        let observer = try observe(open)
        context.delete(first)
        context.delete(second)
        try context.save()
        let links = observer.takeLines().filter { $0.contains("-1 +0") }
        XCTAssertEqual(links.count, 1, "\(relationship) of \(source) to \(member): \(links)")
      }
    }
  }

  func testLinksThatWereNotStoredAreNotReported() throws {
    let open = try makeStore()
    let context = open.newContext()
    let book = try context.insert("Book", ["title": "One"])
    let tag = try context.insert("Tag", ["name": "a"])
    let shelf = try context.insert("Shelf", ["name": "s"])
    try context.save()
    let observer = try observe(open)
    try book.setValue(Set([tag]), forKey: "tags")
    try book.setValue([shelf], forKey: "shelves")
    context.delete(book)
    try context.save()
    XCTAssertEqual(observer.takeLines(), ["delete Book", "will commit", "did commit"])
  }

  func testLinksThatAnotherContextHasChangedAreNotReportedAgain() throws {
    let open = try makeStore()
    let (context, other) = (open.newContext(), open.newContext())
    for context in [context, other] { context.mergePolicy = .overwrite }
    let book = try context.insert("Book", ["title": "One"])
    let tags = try ["a", "b", "c"].map { try context.insert("Tag", ["name": $0]) }
    let shelf = try context.insert("Shelf", ["name": "s", "books": [book]])
    try book.setValue(Set([tags[0]]), forKey: "tags")
    try context.save()
    XCTAssertEqual([book.members("tags").count, shelf.list("books").count], [1, 1])
    let (known, removed, added) = try (other.existingObject(with: book.objectID), tags[0].objectID, tags[1].objectID)
    try known.setValue(Set([other.existingObject(with: added)]), forKey: "tags")
    try known.setValue([ManagedObject](), forKey: "shelves")
    try other.save()
    let observer = try observe(open)
    try book.setValue(Set(tags[1...2]), forKey: "tags")
    try book.setValue([ManagedObject](), forKey: "shelves")
    try context.save()
    let lines = observer.takeLines()
    XCTAssertEqual(lines.filter { !$0.hasPrefix("update") }, ["Book.tags -0 +1", "will commit", "did commit"])
    try other.delete(other.existingObject(with: removed))
    try other.save()
    _ = observer.takeLines()
    context.delete(tags[0])
    context.delete(book)
    try context.save()
    // A store of an application reports a save before it finds the conflict with the other deletion; the save is then repeated.
    let committed = observer.takeLines().split(separator: "did roll back", omittingEmptySubsequences: false).last ?? []
    XCTAssertEqual(committed.filter { $0.contains("Book.tags") }, ["Book.tags -2 +0"])
  }

  func testAnOrderContainsTheMembersOfOtherContexts() throws {
    let open = try makeStore()
    guard open.store is any ChangeReportingStore else { return }
    let (context, other) = (open.newContext(), open.newContext())
    context.mergePolicy = .overwrite
    let books = try (1...4).map { try context.insert("Book", ["title": "\($0)"]) }
    let shelf = try context.insert("Shelf", ["name": "s", "books": Array(books[0...2])])
    try context.save()
    _ = shelf.list("books")
    let stored = try other.existingObject(with: shelf.objectID)
    try stored.setValue(Array(stored.list("books").dropFirst()) + [other.existingObject(with: books[3].objectID)], forKey: "books")
    try other.save()
    let observer = try observe(open)
    try shelf.setValue([books[2], books[1], books[0]], forKey: "books")
    try context.save()
    let relationship = try open.relationship("Shelf", "books")
    let members = try open.members(shelf.objectID, relationship.name).map { "\($0.key)" }.joined(separator: ", ")
    XCTAssertEqual(observer.takeLines().first { $0.hasPrefix("order Shelf") }, "order Shelf.books \(members)")
  }

  func testASymmetricLinkIsReportedForItsFirstEnd() throws {
    let open = try makeStore()
    let observer = try observe(open)
    let context = open.newContext()
    let authors = try ["a", "b", "c"].map { try context.insert("Author", ["name": $0]) }
    try context.save()
    _ = observer.takeLines()
    for source in authors.prefix(2).reversed() {
      try source.setValue(Set([authors[2]]), forKey: "friends")
      try context.save()
      XCTAssertEqual(observer.takeLinks().map(\.objectID), [source.objectID])
      try authors[2].setValue(Set<ManagedObject>(), forKey: "friends")
      try context.save()
      XCTAssertEqual(observer.takeLinks().map(\.objectID), [source.objectID])
    }
    for deleted in [2, 0] {
      try authors[1].setValue(Set([authors[deleted]]), forKey: "friends")
      try context.save()
      _ = observer.takeLinks()
      context.delete(authors[deleted])
      try context.save()
      let links = observer.takeLinks()
      XCTAssertEqual(links.map(\.objectID), [authors[min(deleted, 1)].objectID])
      XCTAssertEqual(links.first?.removed, [authors[max(deleted, 1)].objectID])
    }
  }
}
