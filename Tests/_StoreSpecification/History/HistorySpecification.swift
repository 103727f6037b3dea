import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// The history that stores record of changes through contexts and coordinators.
public final class HistorySpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testHistoryTrackingIsDisabledByDefault", { $0.testHistoryTrackingIsDisabledByDefault }),
        ("testASaveIsOneTransactionWithItsChanges", { $0.testASaveIsOneTransactionWithItsChanges }),
        ("testNegativeLimitMakesAHistoryRequestThrow", { $0.testNegativeLimitMakesAHistoryRequestThrow }),
        ("testAuthorContextAndProcessAreRecorded", { $0.testAuthorContextAndProcessAreRecorded }),
        ("testUpdatedPropertiesAreRecordedByName", { $0.testUpdatedPropertiesAreRecordedByName }),
        ("testLinksAreRecordedAsPairs", { $0.testLinksAreRecordedAsPairs }),
        ("testMemberOrderIsRecorded", { $0.testMemberOrderIsRecorded }),
        ("testDeletionsRecordTombstoneAttributes", { $0.testDeletionsRecordTombstoneAttributes }),
        ("testValuesAreRecordedByHistoryLevel", { $0.testValuesAreRecordedByHistoryLevel }),
        ("testRolledBackChangesAreNotRecorded", { $0.testRolledBackChangesAreNotRecorded }),
        ("testRequestsOfOneAuthorInATransactionAreOneTransaction", { $0.testRequestsOfOneAuthorInATransactionAreOneTransaction }),
        ("testBatchRequestsRecordAllAffectedObjects", { $0.testBatchRequestsRecordAllAffectedObjects }),
        ("testValuesOfBatchRequestsAreRecorded", { $0.testValuesOfBatchRequestsAreRecorded }),
        ("testDerivedValuesAreRecordedAsDerived", { $0.testDerivedValuesAreRecordedAsDerived }),
        ("testNestedContextSavesAreRecordedByTheSaveToTheStore", { $0.testNestedContextSavesAreRecordedByTheSaveToTheStore }),
        ("testSaveObserversReceiveTheHistoryPosition", { $0.testSaveObserversReceiveTheHistoryPosition }),
        ("testSaveAfterAnUndoIsRecordedAsUsual", { $0.testSaveAfterAnUndoIsRecordedAsUsual }),
        ("testGenerationReportsItsHistoryPosition", { $0.testGenerationReportsItsHistoryPosition }),
      ] as [(String, (HistorySpecification) -> () throws -> Void)])
  }

  // MARK: Cases

  func testHistoryTrackingIsDisabledByDefault() throws {
    let open = try makeStore()
    try open.insert("Tag", ["name": .text("red")])
    XCTAssertNil(try open.persistentStore.historyLevel)
    XCTAssertNil(try open.coordinator.currentPersistentHistoryToken())
    assertStoreError(.historyNotTracked) { try open.coordinator.execute(.fetchHistory(after: nil)) }
    assertStoreError(.historyNotTracked) { try open.coordinator.execute(.deleteHistory(before: nil)) }
    assertStoreError(.historyNotTracked) { try open.coordinator.registerHistoryConsumer("reader") }
  }

  func testASaveIsOneTransactionWithItsChanges() throws {
    let open = try makeTracked()
    XCTAssertEqual(try open.persistentStore.historyLevel, .properties)
    XCTAssertEqual(try transactions(open), [])
    let context = open.newContext()
    let author = try context.insert("Author", ["name": "Anna"])
    for number in 1...3 { try context.insert("Book", ["title": "Book \(number)", "author": author]) }
    try context.save()
    let found = try transactions(open)
    XCTAssertEqual(found.count, 1)
    XCTAssertEqual(found[0].kind, .save)
    XCTAssertFalse(found[0].isWhole)
    XCTAssertEqual(lines(found[0]).sorted(), ["insert Author", "insert Book", "insert Book", "insert Book"])
    let ids = Set((found[0].changes ?? []).map(\.changedObjectID))
    XCTAssertEqual(ids, Set(try context.all("Book").map(\.objectID) + [author.objectID]))
    XCTAssertEqual((found[0].changes ?? []).map(\.id.index), [0, 1, 2, 3])
    XCTAssertLessThan(abs(found[0].timestamp.timeIntervalSinceNow), 60)
    // A save without changes is not a transaction.
    try context.save()
    XCTAssertEqual(try transactions(open).count, 1)
  }

  func testNegativeLimitMakesAHistoryRequestThrow() throws {
    let open = try makeTracked()
    let context = open.newContext()
    try context.insert("Tag", ["name": "red"])
    try context.save()
    var request = PersistentHistoryChangeRequest.fetchHistory(after: PersistentHistoryToken?.none)
    for limit in [-1, Int.min] {
      request.fetchLimit = limit
      XCTAssertThrowsError(try context.execute(request)) { error in
        XCTAssertEqual(error as? FetchPredicateError, .negativeNumber(clause: .fetchLimit), "\(error)")
      }
    }
    request.fetchLimit = 1
    XCTAssertEqual(try context.execute(request).transactions.count, 1)
  }

  func testAuthorContextAndProcessAreRecorded() throws {
    let open = try makeTracked()
    let context = open.newContext()
    context.transactionAuthor = "importer"
    context.name = "background"
    try context.insert("Tag", ["name": "red"])
    try context.save()
    let other = open.newContext()
    try other.insert("Tag", ["name": "blue"])
    try other.save()
    let found = try transactions(open)
    XCTAssertEqual(found.map(\.author), ["importer", nil])
    XCTAssertEqual(found.map(\.contextName), ["background", nil])
    XCTAssertEqual(Set(found.map(\.processID)), ["\(ProcessInfo.processInfo.processIdentifier)"])
    XCTAssertEqual(Set(found.map(\.storeIdentifier)), [open.persistentStore.identifier])
    XCTAssertFalse(found[0].bundleID.isEmpty)
    XCTAssertLessThan(found[0].transactionNumber, found[1].transactionNumber)
  }

  func testUpdatedPropertiesAreRecordedByName() throws {
    let open = try makeTracked()
    let context = open.newContext()
    let (anna, ben) = (try context.insert("Author", ["name": "Anna"]), try context.insert("Author", ["name": "Ben"]))
    let book = try context.insert("Book", ["title": "One", "author": anna])
    try context.save()
    let place = try token(open)
    try book.setValue("Two", forKey: "title")
    try book.setValue(7 as Int64, forKey: "pages")
    try context.save()
    try book.setValue(ben, forKey: "author")
    try context.save()
    let found = try transactions(open, after: place)
    XCTAssertEqual(found.count, 2)
    XCTAssertEqual(lines(found[0]), ["update Book pages,title"])
    // The authors' sets are stored in the book's column, so the change is recorded once, there.
    XCTAssertEqual(lines(found[1]).filter { $0.hasPrefix("update Book") }, ["update Book author"])
    let change = try XCTUnwrap(found[0].changes?.first)
    XCTAssertEqual(change.changedObjectID, book.objectID)
    XCTAssertNil(change.oldValues)
    XCTAssertNil(change.tombstone)
  }

  func testLinksAreRecordedAsPairs() throws {
    let open = try makeTracked()
    let context = open.newContext()
    let tags = try ["red", "blue", "green"].map { try context.insert("Tag", ["name": $0]) }
    let book = try context.insert("Book", ["title": "One"])
    try book.setValue(Set(tags.prefix(2)), forKey: "tags")
    try context.save()
    let first = try XCTUnwrap(transactions(open).first)
    let links = (first.changes ?? []).flatMap(\.links)
    XCTAssertEqual(Set(links.map(\.destination)), Set(tags.prefix(2).map(\.objectID)))
    XCTAssertTrue(links.allSatisfy { $0.isAdded && $0.relationship == "tags" })
    let place = try token(open)
    try book.setValue(Set(tags.suffix(2)), forKey: "tags")
    try book.setValue("Two", forKey: "title")
    try context.save()
    let second = try XCTUnwrap(transactions(open, after: place).first)
    let changes = (second.changes ?? []).filter { $0.changedObjectID == book.objectID }
    XCTAssertEqual(changes.count, 1, "what was done to one object is one change")
    XCTAssertEqual(changes.first?.updatedProperties, ["tags", "title"])
    XCTAssertEqual(
      Set(changes.first?.links ?? []),
      [
        .init(relationship: "tags", destination: tags[0].objectID, isAdded: false),
        .init(relationship: "tags", destination: tags[2].objectID, isAdded: true),
      ])
  }

  func testMemberOrderIsRecorded() throws {
    for level in HistoryLevel.allCases {
      let open = try makeTracked(level: level)
      let context = open.newContext()
      let book = try context.insert("Book", ["title": "One"])
      let chapters = try (1...3).map { try context.insert("Chapter", ["title": "Chapter \($0)"]) }
      try book.setValue(chapters, forKey: "chapters")
      try context.save()
      let place = try token(open)
      try book.setValue([chapters[2], chapters[0], chapters[1]], forKey: "chapters")
      try context.save()
      let found = try XCTUnwrap(transactions(open, after: place).first?.changes)
      let change = try XCTUnwrap(found.first { $0.changedObjectID == book.objectID })
      XCTAssertEqual(change.updatedProperties, ["chapters"])
      let moves = try XCTUnwrap(change.orders["chapters"])
      XCTAssertEqual(moves == nil, level == .properties)
      let order = change.order(chapters.map(\.objectID), of: "chapters")
      XCTAssertEqual(order, level == .values ? [chapters[2], chapters[0], chapters[1]].map(\.objectID) : nil)
      XCTAssertEqual(change.order([], of: "other"), [], "other relationships are unchanged")
    }
  }

  /// Films whose number and title are preserved on deletion.
  private static let films: CompiledModel = {
    var number = AttributeDescription(name: "number", type: .uuid, isOptional: true)
    number.preservesValueInHistoryOnDeletion = true
    var title = AttributeDescription(name: "title", type: .string, isOptional: true)
    title.preservesValueInHistoryOnDeletion = true
    var film = EntityDescription(name: "Film")
    film.properties = [
      .attribute(number), .attribute(title), SpecificationModels.attribute("seconds", .integer32),
      SpecificationModels.attribute("made", .date),
    ]
    return SpecificationModels.compile([film, EntityDescription(name: "Other")])
  }()

  func testDeletionsRecordTombstoneAttributes() throws {
    for level in HistoryLevel.allCases {
      let open = try makeTracked(Self.films, level: level)
      let context = open.newContext()
      let (number, made) = (UUID(), Date(timeIntervalSinceReferenceDate: 12.5))
      let film = try context.insert("Film", ["number": number, "title": "Heat", "seconds": 10_200 as Int32, "made": made])
      let bare = try context.insert("Film")
      let other = try context.insert("Other")
      try context.save()
      let (id, bareID, otherID) = (film.objectID, bare.objectID, other.objectID)
      let place = try token(open)
      for object in [film, bare, other] { context.delete(object) }
      try context.save()
      let changes = try XCTUnwrap(transactions(open, after: place).first?.changes)
      XCTAssertEqual(Set(changes.map(\.changeType)), [.delete])
      let change = try XCTUnwrap(changes.first { $0.changedObjectID == id })
      XCTAssertEqual(change.tombstone?.names, ["number", "title"])
      XCTAssertEqual(try change.tombstone?.value("number", as: UUID.self), number)
      XCTAssertEqual(change.tombstone?["title"] as? String, "Heat")
      XCTAssertNil(change.tombstone?["seconds"])
      XCTAssertThrowsError(try change.tombstone?.value("title", as: UUID.self))
      XCTAssertEqual(change.oldValues?.names, level == .values ? ["made", "number", "seconds", "title"] : nil)
      XCTAssertEqual(change.oldValues?["made"] as? Date, level == .values ? made : nil)
      XCTAssertNil(changes.first { $0.changedObjectID == bareID }?.tombstone)
      XCTAssertNil(changes.first { $0.changedObjectID == otherID }?.tombstone)
    }
  }

  func testValuesAreRecordedByHistoryLevel() throws {
    let open = try makeTracked(level: .values)
    let context = open.newContext()
    let (anna, ben) = (try context.insert("Author", ["name": "Anna"]), try context.insert("Author", ["name": "Ben"]))
    let price = try XCTUnwrap(Decimal(string: "12.30"))
    let book = try context.insert("Book", ["title": "One", "author": anna, "price": price, "rating": 0.5, "inPrint": true])
    try context.save()
    let inserted = try XCTUnwrap(transactions(open).first?.changes?.first { $0.changedObjectID == book.objectID })
    XCTAssertEqual(inserted.newValues?["title"] as? String, "One")
    XCTAssertEqual(inserted.newValues?["price"] as? Decimal, price)
    XCTAssertEqual(inserted.newValues?["rating"] as? Double, 0.5)
    XCTAssertEqual(inserted.newValues?["inPrint"] as? Bool, true)
    XCTAssertEqual(inserted.newValues?["author"] as? ManagedObjectID, anna.objectID)
    XCTAssertNil(inserted.oldValues)
    let place = try token(open)
    try book.setValue("Zwei \u{1f41f}", forKey: "title")
    try book.setValue(ben, forKey: "author")
    try book.setValue(nil, forKey: "rating")
    try context.save()
    let updated = try XCTUnwrap(transactions(open, after: place).first?.changes?.first { $0.changedObjectID == book.objectID })
    XCTAssertEqual(updated.updatedProperties, ["author", "rating", "title"])
    XCTAssertEqual(updated.oldValues?["title"] as? String, "One")
    XCTAssertEqual(updated.newValues?["title"] as? String, "Zwei \u{1f41f}")
    XCTAssertEqual(updated.oldValues?["author"] as? ManagedObjectID, anna.objectID)
    XCTAssertEqual(updated.newValues?["author"] as? ManagedObjectID, ben.objectID)
    XCTAssertEqual(updated.oldValues?["rating"] as? Double, 0.5)
    XCTAssertNil(updated.newValues?["rating"])
    XCTAssertEqual(updated.newValues?.names, ["author", "rating", "title"], "the missing new value is reported too")
  }

  private struct Stop: Error {}

  func testRolledBackChangesAreNotRecorded() throws {
    let open = try makeTracked()
    try open.insert("Tag", ["name": .text("red")])
    let before = try transactions(open)
    XCTAssertThrowsError(
      try open.store.performTransaction {
        try open.insert("Tag", ["name": .text("blue")])
        throw Stop()
      })
    assertStoreError(.constraintConflict) { try open.insert("Tag", ["name": .text("red")]) }
    XCTAssertEqual(try transactions(open), before)
    // A failed nested transaction leaves nothing either.
    try open.store.performTransaction {
      try open.insert("Tag", ["name": .text("green")])
      assertStoreError(.constraintConflict) { try open.insert("Tag", ["name": .text("red")]) }
      try open.insert("Tag", ["name": .text("white")])
    }
    let after = try transactions(open).dropFirst(before.count)
    XCTAssertEqual(after.flatMap { lines($0) }, ["insert Tag", "insert Tag"])
  }

  func testRequestsOfOneAuthorInATransactionAreOneTransaction() throws {
    let open = try makeTracked()
    let place = try token(open)
    let context = open.newContext()
    context.transactionAuthor = "a"
    let other = open.newContext()
    other.transactionAuthor = "b"
    try open.store.performTransaction {
      for name in ["1", "2"] {
        try context.insert("Tag", ["name": name])
        try context.save()
      }
      try other.insert("Tag", ["name": "3"])
      try other.save()
      try context.insert("Tag", ["name": "4"])
      try context.save()
    }
    let found = try transactions(open, after: place)
    XCTAssertEqual(found.map(\.author), ["a", "b", "a"])
    XCTAssertEqual(found.map { $0.changes?.count }, [2, 1, 1])
    // Later changes form another transaction.
    try context.insert("Tag", ["name": "5"])
    try context.save()
    XCTAssertEqual(try transactions(open, after: place).map { $0.changes?.count }, [2, 1, 1, 1])
  }

  // MARK: Batches

  func testBatchRequestsRecordAllAffectedObjects() throws {
    let open = try makeTracked()
    let context = open.newContext()
    let author = try context.insert("Author", ["name": "Anna"])
    for number in 1...4 {
      try context.insert("Book", ["title": "Book \(number)", "author": number > 2 ? author : nil, "year": Int64(number)])
    }
    try context.save()
    var place = try token(open)
    context.transactionAuthor = "batch"
    try context.execute(
      BatchUpdateRequest(entityName: "Book", predicate: .compare("year", .greater, 1), propertiesToUpdate: ["pages": 10 as Int64]))
    var found = try transactions(open, after: place)
    XCTAssertEqual(found.map(\.kind), [.batch])
    XCTAssertEqual(found.map(\.author), ["batch"])
    XCTAssertEqual(lines(found[0]), Array(repeating: "update Book pages", count: 3))
    place = try token(open)
    try context.execute(BatchDeleteRequest(entityName: "Author"))
    found = try transactions(open, after: place)
    XCTAssertEqual(lines(found[0]).sorted(), ["delete Author", "update Book author", "update Book author"])
    place = try token(open)
    try context.execute(
      BatchInsertRequest(entityName: "Tag", objects: [["name": "red"], ["name": "blue"]]))
    try context.execute(BatchInsertRequest(entityName: "Tag", objects: [["name": "red"], ["name": "green"]], onConflict: .replace))
    found = try transactions(open, after: place)
    XCTAssertEqual(found.map(\.kind), [.batch, .batch])
    XCTAssertEqual(lines(found[0]), ["insert Tag", "insert Tag"])
    XCTAssertTrue(lines(found[1]).contains("insert Tag"), "\(lines(found[1]))")
  }

  func testValuesOfBatchRequestsAreRecorded() throws {
    let open = try makeTracked(level: .values)
    let context = open.newContext()
    let author = try context.insert("Author", ["name": "Anna"])
    for number in 1...2 { try context.insert("Book", ["title": "Book \(number)", "author": author, "year": Int64(number)]) }
    try context.save()
    var place = try token(open)
    try context.execute(
      BatchUpdateRequest(
        entityName: "Book", propertiesToUpdate: ["pages": 10 as Int64, "year": try FetchExpression(format: "year + 100"), "title": nil]))
    var changes = try XCTUnwrap(transactions(open, after: place).first?.changes)
    XCTAssertEqual(Set(changes.map { $0.oldValues?["year"] as? Int64 }), [1, 2])
    XCTAssertEqual(Set(changes.map { $0.newValues?["year"] as? Int64 }), [101, 102])
    XCTAssertEqual(Set(changes.map { $0.newValues?["pages"] as? Int64 }), [10])
    XCTAssertEqual(Set(changes.map { $0.oldValues?["title"] as? String }), ["Book 1", "Book 2"])
    XCTAssertTrue(changes.allSatisfy { $0.newValues?["title"] == nil })
    place = try token(open)
    try context.execute(BatchDeleteRequest(entityName: "Author"))
    changes = try XCTUnwrap(transactions(open, after: place).first?.changes)
    let released = changes.filter { $0.changeType == .update }
    XCTAssertEqual(released.map { $0.oldValues?["author"] as? ManagedObjectID }, [author.objectID, author.objectID])
    XCTAssertEqual(changes.first { $0.changeType == .delete }?.oldValues?["name"] as? String, "Anna")
  }

  func testDerivedValuesAreRecordedAsDerived() throws {
    var total = AttributeDescription(name: "count", type: .integer64)
    total.derivationExpression = "items.@count"
    var list = EntityDescription(name: "List")
    list.properties = [
      .attribute(total), .attribute(AttributeDescription(name: "name", type: .string)),
      .relationship(RelationshipDescription(name: "items", destination: "Item", inverse: "list", isToMany: true)),
    ]
    var item = EntityDescription(name: "Item")
    item.properties = [.relationship(RelationshipDescription(name: "list", destination: "List", inverse: "items"))]
    let open = try makeTracked(SpecificationModels.compile([list, item]))
    let context = open.newContext()
    let object = try context.insert("List", ["name": "one"])
    try context.save()
    let place = try token(open)
    try context.execute(BatchInsertRequest(entityName: "Item", objects: [[:]]))
    let new = try XCTUnwrap(context.all("Item").first)
    try new.setValue(object, forKey: "list")
    try context.save()
    let changes = try XCTUnwrap(transactions(open, after: place).last?.changes).filter { $0.changedObjectID == object.objectID }
    XCTAssertTrue(changes.contains { $0.derivedProperties == ["count"] }, "\(changes)")
  }

  func testNestedContextSavesAreRecordedByTheSaveToTheStore() throws {
    let open = try makeTracked(level: .values)
    let root = open.newContext()
    (root.transactionAuthor, root.name) = ("root", "main")
    let book = try root.insert("Book", ["title": "One", "pages": Int64(1)])
    let gone = try root.insert("Tag", ["name": "gone"])
    try root.save()
    let place = try token(open)
    let child = ManagedObjectContext(parent: root)
    (child.transactionAuthor, child.name) = ("child", "draft")
    let below = ManagedObjectContext(parent: child)
    below.transactionAuthor = "below"
    try below.existingObject(with: book.objectID).setValue("Two", forKey: "title")
    let tag = try below.insert("Tag", ["name": "new", "books": Set([try below.existingObject(with: book.objectID)])])
    below.delete(try below.existingObject(with: gone.objectID))
    try below.save()
    try child.save()
    XCTAssertEqual(try transactions(open, after: place).count, 0, "nothing is stored yet")
    // Discarded changes leave nothing.
    try child.insert("Tag", ["name": "given up"])
    child.rollback()
    try book.setValue(Int64(2), forKey: "pages")
    try root.save()
    let found = try transactions(open, after: place)
    XCTAssertEqual(found.count, 1)
    XCTAssertEqual(found.map(\.author), ["root"])
    XCTAssertEqual(found.map(\.contextName), ["main"])
    let changes = try XCTUnwrap(found.first?.changes)
    XCTAssertEqual(Set(changes.map(\.changedObjectID)), [book.objectID, tag.objectID, gone.objectID])
    let update = try XCTUnwrap(changes.first { $0.changedObjectID == book.objectID && !$0.updatedProperties.isEmpty })
    XCTAssertTrue(Set(update.updatedProperties).isSuperset(of: ["pages", "title"]), "\(update.updatedProperties)")
    XCTAssertEqual(update.oldValues?["title"] as? String, "One")
    XCTAssertEqual(update.newValues?["title"] as? String, "Two")
    XCTAssertEqual(changes.first { $0.changeType == .insert }?.changedObjectID, tag.objectID)
    XCTAssertEqual(changes.first { $0.changeType == .delete }?.oldValues?["name"] as? String, "gone")
    XCTAssertEqual(Set(changes.flatMap(\.links).map(\.relationship)).isSubset(of: ["books", "tags"]), true)
    // A replica that merges from the history alone has all changes.
    let replica = open.newContext()
    XCTAssertEqual(try XCTUnwrap(replica.all("Book").first).members("tags").map(\.objectID), [tag.objectID])
  }

  func testSaveObserversReceiveTheHistoryPosition() throws {
    let open = try makeTracked()
    let received = Mutex<[PersistentHistoryToken?]>([])
    let number = open.coordinator.addObserver { changes in received.withLock { $0.append(changes.historyToken) } }
    defer { open.coordinator.removeObserver(number) }
    let context = open.newContext()
    let notified = Mutex<[PersistentHistoryToken?]>([])
    let observer = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: context, queue: nil
    ) { note in
      let token = note.userInfo?[ManagedObjectContext.NotificationKey.historyToken.rawValue] as? PersistentHistoryToken
      notified.withLock { $0.append(token) }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try context.insert("Tag", ["name": "red"])
    try context.save()
    let first = try token(open)
    try context.execute(BatchUpdateRequest(entityName: "Tag", propertiesToUpdate: ["name": "blue"]))
    let second = try token(open)
    XCTAssertEqual(received.withLock { $0 }, [first, second])
    XCTAssertEqual(notified.withLock { $0 }, [first])
    let plain = try makeStore()
    let untold = Mutex<[PersistentHistoryToken?]>([])
    let other = plain.coordinator.addObserver { changes in untold.withLock { $0.append(changes.historyToken) } }
    defer { plain.coordinator.removeObserver(other) }
    let apart = plain.newContext()
    try apart.insert("Tag", ["name": "red"])
    try apart.save()
    XCTAssertEqual(untold.withLock { $0 }, [nil])
  }

  func testSaveAfterAnUndoIsRecordedAsUsual() throws {
    let open = try makeTracked()
    let context = open.newContext()
    let (tag, book) = (try context.insert("Tag", ["name": "red"]), try context.insert("Book", ["title": "Heat"]))
    try context.save()
    let id = tag.objectID
    context.undoManager = ContextUndoManager()
    context.delete(tag)
    try book.setValue("Cold", forKey: "title")
    try context.save()
    let place = try token(open)
    try context.undo()
    try context.save()
    let undone = try transactions(open, after: place)
    XCTAssertEqual(undone.count, 1)
    XCTAssertEqual(Set(lines(undone.first)), ["insert Tag", "update Book title"])
    XCTAssertEqual(undone.first?.changes?.first { $0.changeType == .insert }?.changedObjectID, id, "the same key")
    XCTAssertEqual(try open.newContext().existingObject(with: id).objectID, id)
    let next = try token(open)
    try context.redo()
    try context.save()
    XCTAssertEqual(Set(lines(try transactions(open, after: next).first)), ["delete Tag", "update Book title"])
  }

  func testGenerationReportsItsHistoryPosition() throws {
    let open = try makeTracked()
    try open.insert("Tag", ["name": .text("red")])
    let place = try token(open)
    let pinned = open.newContext()
    XCTAssertNil(try QueryGenerationToken.current.historyToken)
    try pinned.setQueryGeneration(from: .current)
    XCTAssertEqual(try pinned.all("Tag").count, 1)
    try open.insert("Tag", ["name": .text("blue")])
    XCTAssertEqual(try pinned.queryGenerationToken?.historyToken, place)
    XCTAssertEqual(try open.coordinator.execute(.fetchHistory(after: place)).transactions.count, 1)
    try pinned.setQueryGeneration(from: .current)
    XCTAssertEqual(try pinned.all("Tag").count, 2)
    XCTAssertEqual(try pinned.queryGenerationToken?.historyToken, try token(open))
    let plain = try makeStore()
    let other = plain.newContext()
    try other.setQueryGeneration(from: .current)
    XCTAssertEqual(try other.all("Tag").count, 0)
    XCTAssertNil(try other.queryGenerationToken?.historyToken)
  }
}
