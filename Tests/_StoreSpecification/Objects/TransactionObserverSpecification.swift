import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
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
        ("testARejectionInOneOfSeveralStoresRollsAllBack", { $0.testARejectionInOneOfSeveralStoresRollsAllBack }),
        ("testWritingInACallbackIsAnError", { $0.testWritingInACallbackIsAnError }),
        ("testChangesOfObjectsInACallbackRemainUnsaved", { $0.testChangesOfObjectsInACallbackRemainUnsaved }),
        ("testChangesInACallbackRemainUnsavedIfTheSaveIsMerged", { $0.testChangesInACallbackRemainUnsavedIfTheSaveIsMerged }),
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
    XCTAssertThrowsError(
      try open.coordinator.addTransactionObserver(observer, options: .init(entityNames: ["Tag"], propertyNames: ["title"]))
    ) {
      XCTAssertTrue("\($0)".contains("“title”"), "\($0)")
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

  // MARK: Models

  /// Folders delete their files and count them; labels lose their file.
  static let folders: CompiledModel = {
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

  static let counts: CompiledModel = {
    var count = AttributeDescription(name: "count", type: .integer64, isOptional: true)
    count.derivationExpression = "files.@count"
    return SpecificationModels.compile([
      SpecificationModels.entity(
        "Folder", [SpecificationModels.text("name"), .attribute(count), SpecificationModels.toMany("files", "File", "folder")]),
      SpecificationModels.entity("File", [SpecificationModels.text("name"), SpecificationModels.toOne("folder", "Folder", "files")]),
    ])
  }()

  func observe(
    _ open: OpenStore, _ options: TransactionObserverOptions = TransactionObserverOptions()
  ) throws -> RecordingObserver {
    let observer = RecordingObserver()
    try open.coordinator.addTransactionObserver(observer, options: options)
    return observer
  }
}
