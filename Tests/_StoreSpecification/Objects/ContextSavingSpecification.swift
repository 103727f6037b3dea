import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Saves, discarded changes and errors of a context, also after another context has saved.
public final class ContextSavingSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testInsertedObjectsAreFoundByOtherContexts", { $0.testInsertedObjectsAreFoundByOtherContexts }),
        ("testChangedAndDeletedObjectsAreSaved", { $0.testChangedAndDeletedObjectsAreSaved }),
        ("testValuesOfEveryTypeArePersisted", { $0.testValuesOfEveryTypeArePersisted }),
        ("testStringThatDiffersOnlyInItsBytesIsSaved", { $0.testStringThatDiffersOnlyInItsBytesIsSaved }),
        ("testASaveWithoutChangesWritesNothing", { $0.testASaveWithoutChangesWritesNothing }),
        ("testRevertedValueIsNotWritten", { $0.testRevertedValueIsNotWritten }),
        ("testRollbackDiscardsChanges", { $0.testRollbackDiscardsChanges }),
        ("testResetDiscardsEverything", { $0.testResetDiscardsEverything }),
        ("testAllValidationErrorsAreThrownTogether", { $0.testAllValidationErrorsAreThrownTogether }),
        ("testAFailedSaveKeepsTheChanges", { $0.testAFailedSaveKeepsTheChanges }),
        ("testSavingAStaleObjectConflicts", { $0.testSavingAStaleObjectConflicts }),
        ("testSavingADeletedObjectConflicts", { $0.testSavingADeletedObjectConflicts }),
        ("testDeletingAStaleObjectConflicts", { $0.testDeletingAStaleObjectConflicts }),
        ("testUnchangedObjectCanBeCheckedForConflicts", { $0.testUnchangedObjectCanBeCheckedForConflicts }),
        ("testConstraintIsCheckedOnSave", { $0.testConstraintIsCheckedOnSave }),
        ("testUniqueValuesCanBeSwapped", { $0.testUniqueValuesCanBeSwapped }),
        ("testTransactionOfSavesIsAtomic", { $0.testTransactionOfSavesIsAtomic }),
        ("testSaveIsReportedToOtherContexts", { $0.testSaveIsReportedToOtherContexts }),
      ] as [(String, (ContextSavingSpecification) -> () throws -> Void)])
  }

  func testInsertedObjectsAreFoundByOtherContexts() throws {
    let open = try makeStore()
    let context = open.newContext()
    let author = try context.insert("Author", ["name": "Ada", "born": 1815])
    XCTAssertTrue(context.hasChanges && author.isInserted)
    XCTAssertEqual(try open.newContext().all("Author"), [])
    try context.save()
    XCTAssertFalse(context.hasChanges || author.isInserted || author.hasChanges)
    let found = try find("Author", "name", "Ada", in: open.newContext())
    XCTAssertEqual(found.integer("born"), 1815)
  }

  func testChangedAndDeletedObjectsAreSaved() throws {
    let open = try makeStore()
    let context = open.newContext()
    let (ada, bob) = (try context.insert("Author", ["name": "Ada"]), try context.insert("Author", ["name": "Bob"]))
    try context.save()
    try ada.setValue(nil, forKey: "name")
    try ada.setValue(7, forKey: "born")
    context.delete(bob)
    XCTAssertEqual(context.updatedObjects, [ada])
    XCTAssertEqual(context.deletedObjects, [bob])
    try context.save()
    XCTAssertNil(bob.managedObjectContext)
    XCTAssertFalse(bob.isDeleted)
    let other = open.newContext()
    let all = try other.all("Author")
    XCTAssertEqual(all.map(\.objectID), [ada.objectID])
    XCTAssertNil(all[0].text("name"))
    XCTAssertEqual(all[0].integer("born"), 7)
  }

  func testValuesOfEveryTypeArePersisted() throws {
    let open = try makeStore(SpecificationModels.types)
    let context = open.newContext()
    let values: [String: any Sendable & Hashable] = [
      "aInteger16": Int16.min, "aInteger32": Int32.max, "aInteger64": Int64.min, "aDouble": 0.1, "aFloat": Float(0.1), "aBoolean": true,
      "aDate": Date(timeIntervalSinceReferenceDate: 123.456), "aDecimal": Decimal(string: "0.1") ?? 0, "aString": "größer",
      "aURI": try XCTUnwrap(URL(string: "https://example.org/ä?b#c")), "aUUID": UUID(), "aBinary": Data([0, 255]),
      "aTransformable": Data([1]),
    ]
    try context.insert("Sample", values)
    try context.insert("Sample")
    try context.save()
    let other = open.newContext()
    for object in try other.all("Sample") {
      let isFull = object["aUUID"] != nil
      for (key, value) in values {
        XCTAssertEqual(object[key] as? AnyHashable, isFull ? AnyHashable(value) : nil, key)
      }
    }
  }

  func testStringThatDiffersOnlyInItsBytesIsSaved() throws {
    let open = try makeStore()
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "\u{E9}"])
    try context.save()
    try tag.setValue("e\u{301}", forKey: "name")
    try context.save()
    guard case .text(let stored)? = try open.value(tag.objectID, "name") else { return XCTFail("There is no text.") }
    XCTAssertEqual(Array(stored.unicodeScalars), ["e", "\u{301}"])
  }

  func testASaveWithoutChangesWritesNothing() throws {
    let open = try makeStore()
    let context = open.newContext()
    let ada = try context.insert("Author", ["name": "Ada"])
    try context.save()
    try context.save()
    XCTAssertEqual(try open.row(ada.objectID)?.version, RowImage.firstVersion)
  }

  func testRevertedValueIsNotWritten() throws {
    let open = try makeStore()
    let context = open.newContext()
    let ada = try context.insert("Author", ["name": "Ada"])
    try context.save()
    try ada.setValue("Eve", forKey: "name")
    try ada.setValue("Ada", forKey: "name")
    XCTAssertFalse(ada.hasPersistentChangedValues)
    try context.save()
    XCTAssertEqual(try open.row(ada.objectID)?.version, RowImage.firstVersion)
  }

  func testRollbackDiscardsChanges() throws {
    let open = try makeStore()
    let context = open.newContext()
    let ada = try context.insert("Author", ["name": "Ada"])
    let book = try context.insert("Book", ["title": "Notes", "author": ada])
    try context.save()
    try ada.setValue("Eve", forKey: "name")
    try book.setValue(nil, forKey: "author")
    let lost = try context.insert("Author", ["name": "lost"])
    context.delete(book)
    context.rollback()
    XCTAssertFalse(context.hasChanges)
    XCTAssertEqual(ada.text("name"), "Ada")
    XCTAssertTrue(book.object("author") === ada)
    XCTAssertEqual(ada.members("books"), [book])
    XCTAssertFalse(book.isDeleted)
    XCTAssertNil(lost.managedObjectContext)
    try context.save()
    XCTAssertEqual(try open.row(ada.objectID)?.version, RowImage.firstVersion)
    XCTAssertEqual(try open.count("Author"), 1)
  }

  func testResetDiscardsEverything() throws {
    let open = try makeStore()
    let context = open.newContext()
    let ada = try context.insert("Author", ["name": "Ada"])
    try context.save()
    try ada.setValue("Eve", forKey: "name")
    context.reset()
    XCTAssertFalse(context.hasChanges)
    XCTAssertNil(ada.managedObjectContext)
    XCTAssertEqual(context.registeredObjects, [])
    XCTAssertEqual(try context.texts("name", FetchRequest(entityName: "Author")), ["Ada"])
  }

  func testAllValidationErrorsAreThrownTogether() throws {
    var name = AttributeDescription(name: "name", type: .string)
    name.validation.minimumLength = 2
    var age = AttributeDescription(name: "age", type: .integer16, isOptional: true)
    age.validation.maximum = .int(150)
    let model = try SpecificationModels.compiled([SpecificationModels.entity("Person", [.attribute(name), .attribute(age)])])
    let open = try makeStore(model)
    let context = open.newContext()
    try context.insert("Person", ["age": 200])
    let short = try context.insert("Person", ["name": "x", "age": 3])
    do {
      try context.save()
      XCTFail("Wrong objects were saved.")
    } catch let error as ValidationError {
      XCTAssertEqual(error.code, .multipleErrors)
      XCTAssertEqual(Set(error.errors.map(\.code)), [.missingValue, .numberTooLarge, .stringTooShort])
      XCTAssertEqual(error.errors.first { $0.code == .stringTooShort }?.objectID, short.objectID)
    }
    XCTAssertEqual(try open.count("Person"), 0)
    XCTAssertEqual(context.insertedObjects.count, 2)
  }

  func testAFailedSaveKeepsTheChanges() throws {
    let open = try makeStore()
    let context = open.newContext()
    try context.insert("Tag", ["name": "red"])
    try context.save()
    let second = try context.insert("Tag", ["name": "red"])
    assertStoreError(.constraintConflict) { try context.save() }
    XCTAssertTrue(context.hasChanges && second.isInserted)
    try second.setValue("blue", forKey: "name")
    try context.save()
    XCTAssertEqual(Set(try open.texts("name", FetchSpecification(entityName: "Tag"))), ["red", "blue"])
  }

  /// Makes two contexts that have read the same author.
  private func rivals() throws -> (open: OpenStore, mine: ManagedObject, theirs: ManagedObject, contexts: [ManagedObjectContext]) {
    let open = try makeStore()
    try open.insert("Author", ["name": .text("Ada"), "born": .int(1)])
    let contexts = [open.newContext(), open.newContext()]
    let objects = try contexts.map { try find("Author", "name", "Ada", in: $0) }
    for object in objects { XCTAssertEqual(object.integer("born"), 1) }
    return (open, objects[0], objects[1], contexts)
  }

  func testSavingAStaleObjectConflicts() throws {
    let (open, mine, theirs, contexts) = try rivals()
    try theirs.setValue(2, forKey: "born")
    try contexts[1].save()
    try mine.setValue("Eve", forKey: "name")
    let error = assertStoreError(.mergeConflict) { try contexts[0].save() }
    XCTAssertEqual(error?.mergeConflicts.map(\.objectID), [mine.objectID])
    XCTAssertEqual(error?.mergeConflicts.map(\.newVersion), [2])
    XCTAssertEqual(mine.text("name"), "Eve")
    XCTAssertEqual(try open.value(mine.objectID, "name"), .text("Ada"))
    contexts[0].refresh(mine, mergeChanges: true)
    try contexts[0].save()
    XCTAssertEqual(try open.value(mine.objectID, "name"), .text("Eve"))
    XCTAssertEqual(try open.value(mine.objectID, "born"), .int(2))
    XCTAssertEqual(try open.row(mine.objectID)?.version, 3)
  }

  func testSavingADeletedObjectConflicts() throws {
    let (open, mine, theirs, contexts) = try rivals()
    contexts[1].delete(theirs)
    try contexts[1].save()
    try mine.setValue("Eve", forKey: "name")
    let error = assertStoreError(.mergeConflict) { try contexts[0].save() }
    XCTAssertEqual(error?.mergeConflicts.map(\.newVersion), [0])
    XCTAssertEqual(try open.count("Author"), 0)
  }

  func testDeletingAStaleObjectConflicts() throws {
    let (open, mine, theirs, contexts) = try rivals()
    try theirs.setValue(2, forKey: "born")
    try contexts[1].save()
    contexts[0].delete(mine)
    assertStoreError(.mergeConflict) { try contexts[0].save() }
    XCTAssertEqual(try open.count("Author"), 1)
  }

  func testUnchangedObjectCanBeCheckedForConflicts() throws {
    let (open, mine, theirs, contexts) = try rivals()
    contexts[0].detectConflicts(for: mine)
    try contexts[0].insert("Author", ["name": "new"])
    try theirs.setValue(2, forKey: "born")
    try contexts[1].save()
    assertStoreError(.mergeConflict) { try contexts[0].save() }
    XCTAssertEqual(try open.count("Author"), 1)
  }

  func testConstraintIsCheckedOnSave() throws {
    let open = try makeStore()
    let context = open.newContext()
    let red = try context.insert("Tag", ["name": "red"])
    try context.save()
    let second = try context.insert("Tag", ["name": "red"])
    let error = assertStoreError(.constraintConflict) { try context.save() }
    XCTAssertEqual(error?.constraintConflicts.first?.databaseObjectID, red.objectID)
    XCTAssertEqual(error?.constraintConflicts.first?.objectIDs, [second.objectID])
  }

  func testUniqueValuesCanBeSwapped() throws {
    let open = try makeStore()
    let context = open.newContext()
    let (red, blue) = (try context.insert("Tag", ["name": "red"]), try context.insert("Tag", ["name": "blue"]))
    try context.save()
    try red.setValue("blue", forKey: "name")
    try blue.setValue("red", forKey: "name")
    try context.save()
    XCTAssertEqual(try find("Tag", "name", "blue", in: open.newContext()).objectID, red.objectID)
  }

  func testTransactionOfSavesIsAtomic() throws {
    struct Stop: Error {}
    let open = try makeStore()
    let context = open.newContext()
    try context.performTransaction {
      for index in 0..<3 {
        try context.insert("Tag", ["name": "\(index)"])
        try context.save()
        context.reset()
      }
    }
    XCTAssertEqual(try open.count("Tag"), 3)
    XCTAssertThrowsError(
      try context.performTransaction {
        try context.insert("Tag", ["name": "lost"])
        try context.save()
        try find("Tag", "name", "1", in: context).setValue("lost too", forKey: "name")
        try context.save()
        throw Stop()
      }
    ) { XCTAssertTrue($0 is Stop) }
    XCTAssertEqual(try open.newContext().texts("name", FetchRequest(entityName: "Tag")).sorted(), ["0", "1", "2"])
    XCTAssertEqual(try context.texts("name", FetchRequest(entityName: "Tag")).sorted(), ["0", "1", "2"])
  }

  func testSaveIsReportedToOtherContexts() throws {
    let open = try makeStore()
    let coordinator = open.coordinator
    let changes = coordinator.changes()
    let context = open.newContext()
    context.name = "writer"
    context.transactionAuthor = "test"
    let tag = try context.insert("Tag", ["name": "red"])
    try context.save()
    let received = try waitFor { await changes.first { _ in true } }
    XCTAssertEqual(received?.inserted, [tag.objectID])
    XCTAssertEqual(received?.contextName, "writer")
    XCTAssertEqual(received?.transactionAuthor, "test")
    XCTAssertEqual(received?.storeIdentifier, open.persistentStore.identifier)
  }
}
