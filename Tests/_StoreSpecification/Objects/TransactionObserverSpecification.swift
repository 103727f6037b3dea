import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// Observers of transactions: the changes that they see, and what a rejection does.
public final class TransactionObserverSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testASaveReportsItsChangesAndItsCommit", { $0.testASaveReportsItsChangesAndItsCommit }),
        ("testValuesAreReportedIfAskedFor", { $0.testValuesAreReportedIfAskedFor }),
        ("testLinksAndOrdersAreReportedOnce", { $0.testLinksAndOrdersAreReportedOnce }),
        ("testTheLinksOfADeletedObjectAreReported", { $0.testTheLinksOfADeletedObjectAreReported }),
        ("testDeleteRulesReportTheirChanges", { $0.testDeleteRulesReportTheirChanges }),
        ("testALinkOfTwoDeletedObjectsIsReportedOnce", { $0.testALinkOfTwoDeletedObjectsIsReportedOnce }),
        ("testLinksThatWereNotStoredAreNotReported", { $0.testLinksThatWereNotStoredAreNotReported }),
        ("testLinksThatAnotherContextHasChangedAreNotReportedAgain", { $0.testLinksThatAnotherContextHasChangedAreNotReportedAgain }),
        ("testAnOrderContainsTheMembersOfOtherContexts", { $0.testAnOrderContainsTheMembersOfOtherContexts }),
        ("testASymmetricLinkIsReportedForItsFirstEnd", { $0.testASymmetricLinkIsReportedForItsFirstEnd }),
        ("testDerivedAttributesOfChangedObjectsAreReported", { $0.testDerivedAttributesOfChangedObjectsAreReported }),
        ("testDerivedAttributesOfOtherObjectsAreReported", { $0.testDerivedAttributesOfOtherObjectsAreReported }),
        ("testBatchRequestsReportTheirChanges", { $0.testBatchRequestsReportTheirChanges }),
        ("testABatchDeleteReportsLinksAndClearedReferences", { $0.testABatchDeleteReportsLinksAndClearedReferences }),
        ("testARejectedSaveIsRolledBackWithTheErrorOfTheObserver", { $0.testARejectedSaveIsRolledBackWithTheErrorOfTheObserver }),
        ("testARejectedBatchRequestIsRolledBack", { $0.testARejectedBatchRequestIsRolledBack }),
        ("testATransactionOverSeveralRequestsIsOneTransaction", { $0.testATransactionOverSeveralRequestsIsOneTransaction }),
        ("testTheChangesOfAFailedPartAreUndone", { $0.testTheChangesOfAFailedPartAreUndone }),
        ("testARejectedTransactionIsRolledBackAsAWhole", { $0.testARejectedTransactionIsRolledBackAsAWhole }),
        ("testAFailedSaveIsReportedAsRolledBack", { $0.testAFailedSaveIsReportedAsRolledBack }),
        ("testOptionsRestrictTheReportedChanges", { $0.testOptionsRestrictTheReportedChanges }),
        ("testTransactionsWithoutAWantedChangeAreNotReported", { $0.testTransactionsWithoutAWantedChangeAreNotReported }),
        ("testTransactionsNameTheirOrigin", { $0.testTransactionsNameTheirOrigin }),
        ("testARemovedObserverSeesNothing", { $0.testARemovedObserverSeesNothing }),
        ("testUnknownNamesAreRejected", { $0.testUnknownNamesAreRejected }),
        ("testUndoneChangesAreReportedWhenTheyAreSaved", { $0.testUndoneChangesAreReportedWhenTheyAreSaved }),
      ] as [(String, (TransactionObserverSpecification) -> () throws -> Void)])
  }

  // MARK: Saves

  func testASaveReportsItsChangesAndItsCommit() throws {
    let open = try makeStore()
    let observer = try observe(open)
    let context = open.newContext()
    let author = try context.insert("Author", ["name": "Ann"])
    let book = try context.insert("Book", ["title": "One", "author": author])
    try context.save()
    XCTAssertEqual(observer.takeLines(sorted: 0..<2), ["insert Author", "insert Book", "will commit", "did commit"])
    try book.setValue("Two", forKey: "title")
    try book.setValue(nil, forKey: "author")
    try context.save()
    XCTAssertEqual(observer.takeLines(), ["update Book title, author", "will commit", "did commit"])
    context.delete(author)
    try context.save()
    XCTAssertEqual(observer.takeLines(), ["delete Author", "will commit", "did commit"])
  }

  func testValuesAreReportedIfAskedFor() throws {
    let open = try makeStore()
    let observer = try observe(open, TransactionObserverOptions(includesOldValues: true, includesNewValues: true))
    let context = open.newContext()
    let author = try context.insert("Author", ["name": "Ann"])
    let book = try context.insert("Book", ["title": "One", "year": 1999, "price": Decimal(12.5), "author": author])
    try context.save()
    let inserted = try XCTUnwrap(observer.takeRows().first { $0.entityName == "Book" })
    XCTAssertEqual(inserted.objectID, book.objectID)
    XCTAssertNil(inserted.oldValues)
    XCTAssertEqual(inserted.newValues?["title"] as? String, "One")
    XCTAssertEqual(inserted.newValues?["author"] as? ManagedObjectID, author.objectID)
    XCTAssertEqual(try inserted.newValues?.value("price", as: Decimal.self), 12.5)
    XCTAssertNil(try inserted.newValues?.value("isbn", as: String.self))
    try book.setValue("Two", forKey: "title")
    try context.save()
    let updated = try XCTUnwrap(observer.takeRows().first)
    XCTAssertEqual(updated.oldValues?["title"] as? String, "One")
    XCTAssertEqual(updated.newValues?["title"] as? String, "Two")
    XCTAssertEqual(updated.newValues?["year"] as? Int64, 1999)
    context.delete(book)
    try context.save()
    let deleted = try XCTUnwrap(observer.takeRows().first)
    XCTAssertEqual(deleted.oldValues?["title"] as? String, "Two")
    XCTAssertNil(deleted.newValues)
    XCTAssertThrowsError(try deleted.oldValues?.value("title", as: Int.self))

    let modest = try observe(open)
    try context.insert("Book", ["title": "Three"])
    try context.save()
    let row = try XCTUnwrap(modest.takeRows().first)
    XCTAssertTrue(row.oldValues == nil && row.newValues == nil)
  }

  func testLinksAndOrdersAreReportedOnce() throws {
    let open = try makeStore()
    let context = open.newContext()
    let book = try context.insert("Book", ["title": "One"])
    let tags = try ["a", "b"].map { try context.insert("Tag", ["name": $0]) }
    let chapters = try (1...3).map { try context.insert("Chapter", ["title": "\($0)"]) }
    try book.setValue(Set(tags), forKey: "tags")
    try book.setValue(chapters, forKey: "chapters")
    try context.save()
    let observer = try observe(open)
    try tags[0].setValue(Set<ManagedObject>(), forKey: "books")
    try context.save()
    XCTAssertEqual(observer.takeLines(), ["Book.tags -1 +0", "will commit", "did commit"])
    try book.setValue([chapters[2], chapters[0], chapters[1]], forKey: "chapters")
    try context.save()
    XCTAssertEqual(observer.takeLines().first { $0.contains("order") }, "order Book.chapters 3, 1, 2")
  }

  func testTheLinksOfADeletedObjectAreReported() throws {
    let open = try makeStore()
    let context = open.newContext()
    let books = try ["One", "Two"].map { try context.insert("Book", ["title": $0]) }
    let tag = try context.insert("Tag", ["name": "a"])
    let shelf = try context.insert("Shelf", ["name": "s"])
    let friend = try context.insert("Author", ["name": "Bob"])
    let author = try context.insert("Author", ["name": "Ann", "friends": Set([friend])])
    try tag.setValue(Set(books), forKey: "books")
    try shelf.setValue(books, forKey: "books")
    try context.save()
    let observer = try observe(open)
    context.delete(tag)
    context.delete(author)
    try context.save()
    let changes = observer.takeLines()
    XCTAssertEqual(changes.filter { $0.contains("tags") }, ["Book.tags -1 +0", "Book.tags -1 +0"])
    XCTAssertEqual(changes.filter { $0.contains("friends") }, ["Author.friends -1 +0"])
    context.delete(books[0])
    try context.save()
    XCTAssertEqual(observer.takeLines().filter { $0.contains("shelves") || $0.contains("Shelf.books -") }, ["Book.shelves -1 +0"])
  }

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
    XCTAssertEqual(observer.takeLines().filter { $0.contains("Book.tags") }, ["Book.tags -2 +0"])
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

  func testDeleteRulesReportTheirChanges() throws {
    let open = try openStore(in: makeFolder(), Self.folders)
    let context = open.newContext()
    let folder = try context.insert("Folder", ["name": "a"])
    let file = try context.insert("File", ["name": "f", "folder": folder])
    let label = try context.insert("Label", ["name": "l", "file": file])
    try context.save()
    let observer = try observe(open)
    context.delete(folder)
    try context.save()
    XCTAssertEqual(Set(observer.takeLines().dropLast(2)), ["delete Folder", "delete File", "update Label file"])
    XCTAssertNil(label.object("file"))
  }

  func testDerivedAttributesOfOtherObjectsAreReported() throws {
    let open = try openStore(in: makeFolder(), Self.counts)
    let context = open.newContext()
    let folder = try context.insert("Folder", ["name": "a"])
    try context.save()
    let observer = try observe(open, TransactionObserverOptions(entityNames: ["Folder"]))
    try context.insert("File", ["name": "f", "folder": folder])
    try context.save()
    XCTAssertEqual(observer.takeLines().filter { $0.hasPrefix("derived") }, ["derived Folder count"])
    _ = try context.execute(BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "File")))
    XCTAssertEqual(observer.takeLines(), ["derived Folder count", "will commit", "did commit"])
  }

  /// Derived attributes are reported after the changes of the request, also of objects that it changes or inserts itself.
  func testDerivedAttributesOfChangedObjectsAreReported() throws {
    let open = try openStore(in: makeFolder(), Self.counts)
    let context = open.newContext()
    let folder = try context.insert("Folder", ["name": "a"])
    try context.save()
    let all = try observe(open, TransactionObserverOptions(includesOldValues: true, includesNewValues: true))
    let counts = try observe(open, TransactionObserverOptions(propertyNames: ["count"], includesNewValues: true))
    try folder.setValue("b", forKey: "name")
    try context.insert("File", ["name": "f", "folder": folder])
    try context.save()
    let updates = all.takeRows().filter { $0.entityName == "Folder" }
    XCTAssertEqual(updates.map(\.isDerived), [false, true])
    XCTAssertEqual(updates.map(\.changedProperties), [["name"], ["count"]])
    XCTAssertEqual(updates.last?.newValues?["count"] as? Int64, 1)
    XCTAssertEqual(updates.last?.oldValues?["count"] as? Int64, 0)
    XCTAssertEqual(counts.takeRows().filter { $0.entityName == "Folder" }.map { $0.newValues?["count"] as? Int64 }, [1])
    try context.insert("File", ["name": "g", "folder": try context.insert("Folder", ["name": "c"])])
    try context.save()
    let inserted = all.takeRows().filter { $0.entityName == "Folder" }
    XCTAssertEqual(inserted.map(\.isDerived), [false, true])
    XCTAssertEqual(inserted.last?.newValues?["count"] as? Int64, 1)
    guard open.store is any ChangeReportingStore else { return }
    try context.insert("File", ["name": "h", "folder": folder])
    try context.save()
    let others = all.takeRows().filter { $0.entityName == "Folder" }
    XCTAssertEqual(others.map { $0.oldValues?["count"] as? Int64 }, [1])
    XCTAssertEqual(others.map { $0.newValues?["count"] as? Int64 }, [2])
    _ = try context.execute(BatchDeleteRequest(entityName: "File"))
    XCTAssertEqual(Set(all.takeRows().filter { $0.entityName == "Folder" }.map { $0.newValues?["count"] as? Int64 }), [0])
  }

  // MARK: Batch requests

  func testBatchRequestsReportTheirChanges() throws {
    let open = try makeStore()
    let observer = try observe(open, TransactionObserverOptions(includesNewValues: true))
    let context = open.newContext()
    _ = try context.execute(BatchInsertRequest(entityName: "Chapter", objects: [["title": "a", "pages": 1], ["title": "b", "pages": 2]]))
    let inserted = observer.takeRows()
    XCTAssertEqual(Set(inserted.compactMap { $0.newValues?["title"] as? String }), ["a", "b"])
    XCTAssertEqual(observer.takeLines(), ["insert Chapter", "insert Chapter", "will commit", "did commit"])
    _ = try context.execute(
      BatchUpdateRequest(entityName: "Chapter", predicate: .compare("title", .equal, "b"), propertiesToUpdate: ["pages": 7]))
    XCTAssertEqual(observer.takeRows().map { $0.newValues?["pages"] as? Int64 }, [7])
    XCTAssertEqual(observer.takeLines(), ["update Chapter pages", "will commit", "did commit"])
    _ = try context.execute(BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Chapter")))
    XCTAssertEqual(observer.takeLines(), ["delete Chapter", "delete Chapter", "will commit", "did commit"])
  }

  func testABatchDeleteReportsLinksAndClearedReferences() throws {
    let open = try makeStore()
    let context = open.newContext()
    let author = try context.insert("Author", ["name": "Ann"])
    let book = try context.insert("Book", ["title": "One", "author": author])
    try book.setValue(Set([try context.insert("Tag", ["name": "a"]), try context.insert("Tag", ["name": "b"])]), forKey: "tags")
    try context.save()
    let observer = try observe(open, TransactionObserverOptions(includesOldValues: true, includesNewValues: true))
    _ = try context.execute(BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Author")))
    let row = try XCTUnwrap(observer.takeRows().first { $0.entityName == "Book" })
    XCTAssertEqual(row.changedProperties, ["author"])
    XCTAssertEqual(row.oldValues?["author"] as? ManagedObjectID, author.objectID)
    XCTAssertTrue(row.newValues != nil && row.newValues?["author"] == nil)
    _ = observer.takeLines()
    _ = try context.execute(BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Book")))
    XCTAssertEqual(observer.takeLines(), ["Book.tags -2 +0", "delete Book", "will commit", "did commit"])
  }

  // MARK: Rejection

  func testARejectedSaveIsRolledBackWithTheErrorOfTheObserver() throws {
    let open = try makeStore()
    let observer = try observe(open)
    let context = open.newContext()
    let book = try context.insert("Book", ["title": "One"])
    observer.rejects = true
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual($0 as? RecordingObserver.Rejection, .init()) }
    XCTAssertEqual(observer.takeLines(), ["insert Book", "will commit", "did roll back"])
    XCTAssertEqual(try open.newContext().all("Book").count, 0)
    XCTAssertTrue(context.hasChanges)
    observer.rejects = false
    try context.save()
    XCTAssertEqual(try open.newContext().all("Book").map(\.objectID), [book.objectID])
  }

  func testARejectedBatchRequestIsRolledBack() throws {
    let open = try makeStore()
    let context = open.newContext()
    try context.insert("Chapter", ["title": "a", "pages": 1])
    try context.save()
    let observer = try observe(open)
    observer.rejects = true
    let requests: [(ManagedObjectContext) throws -> Void] = [
      { _ = try $0.execute(BatchInsertRequest(entityName: "Chapter", objects: [["title": "b"]])) },
      { _ = try $0.execute(BatchUpdateRequest(entityName: "Chapter", propertiesToUpdate: ["pages": 2])) },
      { _ = try $0.execute(BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Chapter"))) },
    ]
    for request in requests {
      XCTAssertThrowsError(try request(context))
      XCTAssertEqual(try open.newContext().all("Chapter").map { $0.integer("pages") }, [1])
    }
  }

  // MARK: Transactions over several requests

  func testATransactionOverSeveralRequestsIsOneTransaction() throws {
    let open = try makeStore()
    let observer = try observe(open)
    let context = open.newContext()
    try context.performTransaction {
      try context.insert("Tag", ["name": "a"])
      try context.save()
      try context.insert("Tag", ["name": "b"])
      try context.save()
      _ = try context.execute(BatchUpdateRequest(entityName: "Tag", propertiesToUpdate: ["name": nil]))
    }
    XCTAssertEqual(
      observer.takeLines(),
      ["insert Tag", "insert Tag", "update Tag name", "update Tag name", "will commit", "did commit"])
  }

  func testTheChangesOfAFailedPartAreUndone() throws {
    let open = try makeStore()
    let observer = try observe(open)
    let context = open.newContext()
    try context.performTransaction {
      try context.insert("Tag", ["name": "a"])
      try context.save()
      do {
        try context.performTransaction {
          try context.insert("Tag", ["name": "b"])
          try context.insert("Tag", ["name": "c"])
          try context.save()
          throw RecordingObserver.Rejection()
        }
      } catch is RecordingObserver.Rejection {}
      try context.insert("Chapter", ["title": "d"])
      try context.save()
    }
    let lines = observer.takeLines()
    XCTAssertEqual(lines.prefix(4), ["insert Tag", "insert Tag", "insert Tag", "undone to 1"])
    XCTAssertEqual(lines.suffix(2), ["will commit", "did commit"])
    XCTAssertEqual(lines.filter { $0 == "insert Chapter" }.count, 1)
  }

  func testARejectedTransactionIsRolledBackAsAWhole() throws {
    let open = try makeStore()
    let observer = try observe(open)
    let context = open.newContext()
    observer.rejects = true
    XCTAssertThrowsError(
      try context.performTransaction {
        try context.insert("Tag", ["name": "a"])
        try context.save()
        try context.insert("Tag", ["name": "b"])
        try context.save()
      }
    ) { XCTAssertEqual($0 as? RecordingObserver.Rejection, .init()) }
    XCTAssertEqual(observer.takeLines(), ["insert Tag", "insert Tag", "will commit", "did roll back"])
    XCTAssertEqual(try open.newContext().all("Tag").count, 0)
  }

  func testAFailedSaveIsReportedAsRolledBack() throws {
    let open = try makeStore()
    let context = open.newContext()
    try context.insert("Tag", ["name": "a"])
    try context.save()
    let observer = try observe(open)
    let other = open.newContext()
    try other.insert("Chapter", ["title": "c"])
    try other.insert("Tag", ["name": "a"])
    XCTAssertThrowsError(try other.save())
    let lines = observer.takeLines()
    XCTAssertFalse(lines.contains("did commit"))
    XCTAssertTrue(lines.isEmpty || lines.last == "did roll back", "\(lines)")
    XCTAssertEqual(try open.newContext().all("Chapter").count, 0)
  }

  // MARK: Options

  func testOptionsRestrictTheReportedChanges() throws {
    let open = try openStore(in: makeFolder(), SpecificationModels.assets)
    let observer = try observe(open, TransactionObserverOptions(entityNames: ["Video"], propertyNames: ["size", "poster"]))
    let context = open.newContext()
    let clip = try context.insert("Clip", ["name": "c", "start": 1])
    let photo = try context.insert("Photo", ["name": "p"])
    try context.save()
    XCTAssertEqual(observer.takeLines(), ["insert Clip", "will commit", "did commit"])
    try clip.setValue("d", forKey: "name")
    try context.save()
    XCTAssertEqual(observer.takeLines(), [])
    try clip.setValue(3, forKey: "size")
    try clip.setValue(photo, forKey: "poster")
    try photo.setValue(4, forKey: "size")
    try context.save()
    XCTAssertEqual(observer.takeLines().first, "update Clip size, poster")
  }

  func testTransactionsWithoutAWantedChangeAreNotReported() throws {
    let open = try makeStore()
    let observer = try observe(open, TransactionObserverOptions(entityNames: ["Tag"]))
    observer.rejects = true
    let context = open.newContext()
    try context.insert("Chapter", ["title": "a"])
    try context.save()
    XCTAssertEqual(observer.takeLines(), [])
  }

  func testTransactionsNameTheirOrigin() throws {
    let open = try makeStore()
    let observer = try observe(open)
    let context = open.newContext()
    (context.name, context.transactionAuthor) = ("editor", "ann")
    try context.insert("Chapter", ["title": "a"])
    try context.save()
    let saved = try XCTUnwrap(observer.lastTransaction)
    XCTAssertEqual([saved.author, saved.contextName, saved.storeIdentifier], ["ann", "editor", open.persistentStore.identifier])
    XCTAssertEqual(saved.kind, .save)
    _ = try context.execute(BatchUpdateRequest(entityName: "Chapter", propertiesToUpdate: ["title": "b"]))
    XCTAssertEqual(observer.lastTransaction?.kind, .batch)
    XCTAssertNotEqual(observer.lastTransaction, saved)
  }

  func testARemovedObserverSeesNothing() throws {
    let open = try makeStore()
    let observer = try observe(open)
    open.coordinator.removeTransactionObserver(observer)
    let context = open.newContext()
    try context.insert("Chapter", ["title": "a"])
    try context.save()
    XCTAssertEqual(observer.takeLines(), [])
  }

  func testUnknownNamesAreRejected() throws {
    let open = try makeStore()
    let observer = RecordingObserver()
    XCTAssertThrowsError(try open.coordinator.addTransactionObserver(observer, options: .init(entityNames: ["Bok"]))) {
      XCTAssertTrue("\($0)".contains("“Bok”"), "\($0)")
    }
    XCTAssertThrowsError(try open.coordinator.addTransactionObserver(observer, options: .init(propertyNames: ["titel"]))) {
      XCTAssertTrue("\($0)".contains("“titel”"), "\($0)")
    }
  }

  func testUndoneChangesAreReportedWhenTheyAreSaved() throws {
    let open = try makeStore()
    let context = open.newContext()
    let chapter = try context.insert("Chapter", ["title": "a"])
    try context.save()
    context.undoManager = ContextUndoManager()
    try chapter.setValue("b", forKey: "title")
    try context.save()
    let observer = try observe(open, TransactionObserverOptions(includesNewValues: true))
    try context.undo()
    try context.save()
    XCTAssertEqual(observer.takeRows().map { $0.newValues?["title"] as? String }, ["a"])
  }

  // MARK: Model and observers

  /// Folders delete their files and count them; labels lose their file.
  private static let folders: CompiledModel = {
    var files = RelationshipDescription(name: "files", destination: "File", inverse: "folder", isToMany: true)
    files.deleteRule = .cascade
    var labels = RelationshipDescription(name: "labels", destination: "Label", inverse: "file", isToMany: true)
    labels.deleteRule = .nullify
    return SpecificationModels.compile([
      SpecificationModels.entity("Folder", [SpecificationModels.text("name"), .relationship(files)]),
      SpecificationModels.entity(
        "File", [SpecificationModels.text("name"), SpecificationModels.toOne("folder", "Folder", "files"), .relationship(labels)]),
      SpecificationModels.entity("Label", [SpecificationModels.text("name"), SpecificationModels.toOne("file", "File", "labels")]),
    ])
  }()

  private static let counts: CompiledModel = {
    var count = AttributeDescription(name: "count", type: .integer64, isOptional: true)
    count.derivationExpression = "files.@count"
    return SpecificationModels.compile([
      SpecificationModels.entity(
        "Folder", [SpecificationModels.text("name"), .attribute(count), SpecificationModels.toMany("files", "File", "folder")]),
      SpecificationModels.entity("File", [SpecificationModels.text("name"), SpecificationModels.toOne("folder", "Folder", "files")]),
    ])
  }()

  private func observe(
    _ open: OpenStore, _ options: TransactionObserverOptions = TransactionObserverOptions()
  ) throws -> RecordingObserver {
    let observer = RecordingObserver()
    try open.coordinator.addTransactionObserver(observer, options: options)
    return observer
  }
}

/// Records what an observer sees, as lines of text.
private final class RecordingObserver: TransactionObserver {
  struct Rejection: Error, Equatable {}

  private struct State {
    var lines: [String] = []
    var rows: [ChangedRow] = []
    var links: [ChangedLinks] = []
    var rejects = false
    var lastTransaction: ObservedTransaction?
  }
  private let state = Mutex(State())

  var rejects: Bool {
    get { state.withLock { $0.rejects } }
    set { state.withLock { $0.rejects = newValue } }
  }
  var lastTransaction: ObservedTransaction? { state.withLock { $0.lastTransaction } }

  /// Returns the lines since the last call, some of them sorted.
  func takeLines(sorted range: Range<Int>? = nil) -> [String] {
    var lines = state.withLock { state in
      defer { (state.lines, state.rows) = ([], []) }
      return state.lines
    }
    if let range, range.upperBound <= lines.count { lines[range].sort() }
    return lines
  }

  /// Returns the rows since the last call of ``takeLines(sorted:)``.
  func takeRows() -> [ChangedRow] {
    state.withLock { state in
      defer { state.rows = [] }
      return state.rows
    }
  }

  /// Returns the changes of links since the last call.
  func takeLinks() -> [ChangedLinks] {
    state.withLock { state in
      defer { state.links = [] }
      return state.links
    }
  }

  private func record(_ line: String, _ row: ChangedRow? = nil) {
    state.withLock { state in
      state.lines.append(line)
      if let row { state.rows.append(row) }
    }
  }

  func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
    switch change {
    case .insert(let row): record("insert \(row.entityName)", row)
    case .update(let row):
      record("\(row.isDerived ? "derived" : "update") \(row.entityName) \(row.changedProperties.joined(separator: ", "))", row)
    case .delete(let row): record("delete \(row.entityName)", row)
    case .links(let links):
      state.withLock { $0.links.append(links) }
      record("\(links.objectID.entityName).\(links.relationshipName) -\(links.removed.count) +\(links.added.count)")
    case .order(let order):
      record("order \(order.objectID.entityName).\(order.relationshipName) \(order.members.map { "\($0.key)" }.joined(separator: ", "))")
    case .schema(let change): record("schema \(change.kind) \(change.entityName).\(change.propertyName ?? "")")
    case .unspecified: record("unspecified")
    }
  }

  func willCommit(_ transaction: ObservedTransaction) throws {
    record("will commit")
    if rejects { throw Rejection() }
  }

  func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) { record("undone to \(count)") }

  func didCommit(_ transaction: ObservedTransaction) {
    record("did commit")
    state.withLock { $0.lastTransaction = transaction }
  }

  func didRollback(_ transaction: ObservedTransaction) { record("did roll back") }
}
