import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// A nested context shows its parent's unsaved state, and saves to it.
public final class NestingSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testChildShowsUnsavedChangesOfItsParent", { $0.testChildShowsUnsavedChangesOfItsParent }),
        ("testLimitsAndBatchesAreExactWithUnsavedChanges", { $0.testLimitsAndBatchesAreExactWithUnsavedChanges }),
        ("testMembersMatchTheParent", { $0.testMembersMatchTheParent }),
        ("testDictionariesShowStoredValues", { $0.testDictionariesShowStoredValues }),
        ("testSaveChangesOnlyTheParent", { $0.testSaveChangesOnlyTheParent }),
        ("testObjectsSavedToTheParentGetPermanentIDs", { $0.testObjectsSavedToTheParentGetPermanentIDs }),
        ("testChangedValuesOfTheChildWinAndOthersStay", { $0.testChangedValuesOfTheChildWinAndOthersStay }),
        ("testRelationshipsOfEveryKindAreSavedToTheParent", { $0.testRelationshipsOfEveryKindAreSavedToTheParent }),
        ("testOrderIsMergedWithMembersOfTheParent", { $0.testOrderIsMergedWithMembersOfTheParent }),
        ("testDeletionsAndTheirCascadesAreSavedToTheParent", { $0.testDeletionsAndTheirCascadesAreSavedToTheParent }),
        ("testChangingAnObjectDeletedByTheParentConflicts", { $0.testChangingAnObjectDeletedByTheParentConflicts }),
        ("testPolicyRestoresObjectsDeletedByTheParent", { $0.testPolicyRestoresObjectsDeletedByTheParent }),
        ("testPolicyAcceptsDeletionsByTheParent", { $0.testPolicyAcceptsDeletionsByTheParent }),
        (
          "testConflictsWithOtherContextsAreDetectedByTheSaveToTheStore",
          { $0.testConflictsWithOtherContextsAreDetectedByTheSaveToTheStore }
        ),
        ("testParentSaveDoesNotMakeChildrenConflict", { $0.testParentSaveDoesNotMakeChildrenConflict }),
        ("testDiscardingChangesAffectsOnlyTheChild", { $0.testDiscardingChangesAffectsOnlyTheChild }),
        ("testParentCanBeRolledBackOrResetWithAChild", { $0.testParentCanBeRolledBackOrResetWithAChild }),
        ("testContextsNestToAnyDepth", { $0.testContextsNestToAnyDepth }),
        ("testSiblingsMergeSavesToTheirParent", { $0.testSiblingsMergeSavesToTheirParent }),
        ("testChildMergesChangesMergedAndSavedByItsParent", { $0.testChildMergesChangesMergedAndSavedByItsParent }),
        ("testParentObserversReceiveOneEvent", { $0.testParentObserversReceiveOneEvent }),
        ("testStoreOperationsAreRejectedInNestedContexts", { $0.testStoreOperationsAreRejectedInNestedContexts }),
        ("testChildRetainsItsParent", { $0.testChildRetainsItsParent }),
        ("testNestedContextsReadTheGenerationOfTheirParent", { $0.testNestedContextsReadTheGenerationOfTheirParent }),
        ("testNestedContextsFollowTheirParentToAnotherGeneration", { $0.testNestedContextsFollowTheirParentToAnotherGeneration }),
        ("testOnlyTheSaveToTheStoreAdvancesNestedContexts", { $0.testOnlyTheSaveToTheStoreAdvancesNestedContexts }),
        (
          "testChildSaveOverNewerStoreChangesConflictsInTheParent",
          { $0.testChildSaveOverNewerStoreChangesConflictsInTheParent }
        ),
      ] as [(String, (NestingSpecification) -> () throws -> Void)])
  }

  /// Three stored books of one author, in a context.
  func makeParent() throws -> (OpenStore, ManagedObjectContext) {
    let open = try makeStore()
    let parent = open.newContext()
    let author = try parent.insert("Author", ["name": "Ursula", "born": Int64(1929)])
    for (title, year) in [("A", 1), ("B", 2), ("C", 3)] as [(String, Int64)] {
      try parent.insert("Book", ["title": title, "year": year, "author": author])
    }
    try parent.insert("Tag", ["name": "red"])
    try parent.save()
    parent.reset()
    return (open, parent)
  }

  func byTitle(_ predicate: FetchPredicate? = nil) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Book", predicate: predicate)
    request.sortDescriptors = [FetchSortDescriptor("title")]
    return request
  }

  func titles(_ context: ManagedObjectContext) throws -> [String] { try context.texts("title", byTitle()) }

  // MARK: Reading

  func testChildShowsUnsavedChangesOfItsParent() throws {
    let (_, parent) = try makeParent()
    let child = ManagedObjectContext(parent: parent)
    XCTAssertTrue(child.parent === parent)
    XCTAssertNil(parent.parent)
    XCTAssertEqual(try titles(child), ["A", "B", "C"])
    child.reset()
    let a = try find("Book", "title", "A", in: parent)
    try a.setValue("Z", forKey: "title")
    parent.delete(try find("Book", "title", "B", in: parent))
    try parent.insert("Book", ["title": "N", "year": Int64(9), "author": try XCTUnwrap(parent.all("Author").first)])
    XCTAssertEqual(try titles(child), ["C", "N", "Z"])
    XCTAssertEqual(try child.count(for: byTitle()), 3)
    XCTAssertEqual(try child.texts("title", byTitle(.compare("title", .greater, "D"))), ["N", "Z"])
    XCTAssertEqual(try child.count(for: byTitle(.compare("year", .greaterOrEqual, 3))), 2)
    XCTAssertEqual(try child.existingObject(with: a.objectID).text("title"), "Z")
    XCTAssertFalse(child.hasChanges)
    XCTAssertEqual(child.insertedObjects, [])
    let new = try find("Book", "title", "N", in: child)
    XCTAssertFalse(new.isInserted, "it is new in the parent, not here")
    XCTAssertFalse(new.objectID.isTemporaryID)
    XCTAssertEqual(new.object("author")?.text("name"), "Ursula")
  }

  func testLimitsAndBatchesAreExactWithUnsavedChanges() throws {
    let (_, parent) = try makeParent()
    for number in 0..<40 { try parent.insert("Book", ["title": "B\(number)", "year": Int64(100 + number)]) }
    try parent.save()
    let stored = try parent.fetch(byTitle())
    for (number, book) in stored.enumerated() where number.isMultiple(of: 3) { try book.setValue("X\(number)", forKey: "title") }
    for (number, book) in stored.enumerated() where number % 7 == 1 { parent.delete(book) }
    for number in 0..<5 { try parent.insert("Book", ["title": "A\(number)", "year": Int64(200 + number)]) }
    let child = ManagedObjectContext(parent: parent)
    let first = try XCTUnwrap(try child.fetch(byTitle()).first)
    try first.setValue("ZZ", forKey: "title")
    try child.insert("Book", ["title": "AAA"])
    child.delete(try find("Book", "title", "A1", in: child))
    let all = try titles(child)
    var expected = try titles(parent).filter { $0 != "A" && $0 != "A1" }
    expected += ["AAA", "ZZ"]
    expected = expected.filter { $0 != first.text("title") || $0 == "ZZ" }.filter { $0 != "A0" } + (all.contains("A0") ? ["A0"] : [])
    XCTAssertEqual(all, expected.sorted())
    for (limit, offset) in [(1, 0), (5, 0), (7, 3), (100, 10), (3, all.count - 1), (4, 1000)] {
      var request = byTitle()
      (request.fetchLimit, request.fetchOffset) = (limit, offset)
      XCTAssertEqual(try child.texts("title", request), Array(all.dropFirst(offset).prefix(limit)), "\(limit), \(offset)")
      XCTAssertEqual(try child.count(for: request), all.dropFirst(offset).prefix(limit).count)
    }
    var batched = byTitle()
    batched.fetchBatchSize = 7
    XCTAssertEqual(try child.fetch(byTitle(), batchSize: 7).map { $0.text("title") }, all)
    XCTAssertEqual(try child.fetch(batched).map { $0.text("title") }, all)
    var walked: [String] = []
    try child.enumerateBatches(of: byTitle(), size: 5) { books, _ in walked += books.map { $0.text("title") ?? "" } }
    XCTAssertEqual(walked, all)
    var partial = byTitle()
    partial.propertiesToFetch = ["title"]
    XCTAssertEqual(try child.texts("title", partial), all)
  }

  func testMembersMatchTheParent() throws {
    let (_, parent) = try makeParent()
    let author = try find("Author", "name", "Ursula", in: parent)
    let red = try find("Tag", "name", "red", in: parent)
    parent.delete(try find("Book", "title", "B", in: parent))
    let new = try parent.insert("Book", ["title": "N", "author": author])
    try find("Book", "title", "C", in: parent).setValue(nil, forKey: "author")
    try new.setValue(Set([red]), forKey: "tags")
    let child = ManagedObjectContext(parent: parent)
    let here = try find("Author", "name", "Ursula", in: child)
    XCTAssertEqual(here.members("books").map { $0.text("title") }.compactMap { $0 }.sorted(), ["A", "N"])
    XCTAssertEqual(here.toManyCount(here.entityIndex(of: "books")), 2)
    let tag = try find("Tag", "name", "red", in: child)
    XCTAssertEqual(tag.members("books").map { $0.text("title") }, ["N"])
    XCTAssertEqual(try find("Book", "title", "N", in: child).members("tags"), [tag])
    XCTAssertNil(try find("Book", "title", "C", in: child).object("author"))
  }

  func testDictionariesShowStoredValues() throws {
    let (_, parent) = try makeParent()
    try find("Book", "title", "A", in: parent).setValue("Z", forKey: "title")
    let child = ManagedObjectContext(parent: parent)
    var request = FetchRequest<[String: Any]>(entityName: "Book").selecting("title")
    request.sortDescriptors = [FetchSortDescriptor("title")]
    XCTAssertEqual(try child.fetch(request).map { $0["title"] as? String }, ["A", "B", "C"])
  }

  // MARK: Saving

  func testSaveChangesOnlyTheParent() throws {
    let (open, parent) = try makeParent()
    let child = ManagedObjectContext(parent: parent)
    let a = try find("Book", "title", "A", in: child)
    try a.setValue("Z", forKey: "title")
    try child.insert("Book", ["title": "N", "year": Int64(7), "inPrint": true])
    child.delete(try find("Book", "title", "B", in: child))
    XCTAssertEqual(try titles(child), ["C", "N", "Z"])
    XCTAssertEqual(try titles(parent), ["A", "B", "C"])
    XCTAssertFalse(parent.hasChanges)
    try child.save()
    XCTAssertFalse(child.hasChanges)
    XCTAssertTrue(parent.hasChanges)
    XCTAssertEqual(parent.insertedObjects.count, 1)
    XCTAssertEqual(parent.updatedObjects.map(\.objectID), [a.objectID])
    XCTAssertEqual(parent.deletedObjects.map { $0.text("title") }, ["B"])
    XCTAssertEqual(try titles(parent), ["C", "N", "Z"])
    XCTAssertEqual(try titles(child), ["C", "N", "Z"])
    XCTAssertEqual(try titles(open.newContext()), ["A", "B", "C"], "nothing was written")
    try parent.save()
    XCTAssertEqual(try titles(open.newContext()), ["C", "N", "Z"])
    let new = try find("Book", "title", "N", in: open.newContext())
    XCTAssertEqual(new.integer("year"), 7)
    XCTAssertEqual(new["inPrint"] as? Bool, true)
    XCTAssertNil(new["price"])
    // The child continues.
    try a.setValue("Y", forKey: "title")
    try child.save()
    try parent.save()
    XCTAssertEqual(try titles(open.newContext()), ["C", "N", "Y"])
  }

  func testObjectsSavedToTheParentGetPermanentIDs() throws {
    let (_, parent) = try makeParent()
    let own = try parent.insert("Book", ["title": "own"])
    let temporary = own.objectID
    XCTAssertTrue(temporary.isTemporaryID)
    let child = ManagedObjectContext(parent: parent)
    let met = child.object(with: temporary)
    XCTAssertEqual(met.text("title"), "own")
    XCTAssertFalse(met.objectID.isTemporaryID)
    XCTAssertEqual(own.objectID, met.objectID)
    XCTAssertTrue(own.isInserted)
    XCTAssertTrue(try child.existingObject(with: temporary) === met)
    XCTAssertTrue(parent.object(with: temporary) === own)
    let made = try child.insert("Book", ["title": "made", "author": try XCTUnwrap(child.all("Author").first)])
    XCTAssertTrue(made.objectID.isTemporaryID)
    try child.save()
    XCTAssertFalse(made.objectID.isTemporaryID)
    XCTAssertFalse(made.isInserted)
    let pushed = try parent.existingObject(with: made.objectID)
    XCTAssertTrue(pushed.isInserted)
    let sibling = ManagedObjectContext(parent: parent)
    XCTAssertEqual(try find("Book", "title", "made", in: sibling).objectID, made.objectID)
    try parent.save()
    XCTAssertEqual(pushed.objectID, made.objectID)
    XCTAssertFalse(pushed.isInserted)
    XCTAssertEqual(made.object("author")?.text("name"), "Ursula")
  }

  func testChangedValuesOfTheChildWinAndOthersStay() throws {
    let (open, parent) = try makeParent()
    let child = ManagedObjectContext(parent: parent)
    let (there, here) = (try find("Book", "title", "A", in: parent), try find("Book", "title", "A", in: child))
    try here.setValue("mine", forKey: "title")
    try there.setValue("theirs", forKey: "title")
    try there.setValue(Int64(77), forKey: "pages")
    try child.save()
    XCTAssertEqual(there.text("title"), "mine")
    XCTAssertEqual(there.integer("pages"), 77)
    XCTAssertNil(here["pages"], "nothing is merged unless asked for")
    child.refresh(here, mergeChanges: true)
    XCTAssertEqual(here.integer("pages"), 77)
    try parent.save()
    let stored = try find("Book", "title", "mine", in: open.newContext())
    XCTAssertEqual(stored.integer("pages"), 77)
    // A property set back to the parent's value is pushed as well.
    try there.setValue("again theirs", forKey: "title")
    try here.setValue("again mine", forKey: "title")
    try child.save()
    XCTAssertEqual(there.text("title"), "again mine")
  }

  func testRelationshipsOfEveryKindAreSavedToTheParent() throws {
    let (open, parent) = try makeParent()
    let child = ManagedObjectContext(parent: parent)
    let (a, b) = (try find("Book", "title", "A", in: child), try find("Book", "title", "B", in: child))
    let ursula = try find("Author", "name", "Ursula", in: child)
    let red = try find("Tag", "name", "red", in: child)
    let other = try child.insert("Author", ["name": "Other", "spouse": ursula, "mentor": ursula, "friends": Set([ursula])])
    try a.setValue(other, forKey: "author")
    try a.setValue(Set([red, try child.insert("Tag", ["name": "blue"])]), forKey: "tags")
    let chapters = try (0..<3).map { try child.insert("Chapter", ["title": "\($0)", "book": b]) }
    try b.setValue(Array(chapters.reversed()), forKey: "chapters")
    let shelf = try child.insert("Shelf", ["name": "top", "books": [b, a], "hidden": Set([a]), "first": b])
    try child.save()
    func check(_ context: ManagedObjectContext) throws {
      let (a, b) = (try find("Book", "title", "A", in: context), try find("Book", "title", "B", in: context))
      let (ursula, other) = (try find("Author", "name", "Ursula", in: context), try find("Author", "name", "Other", in: context))
      XCTAssertEqual(ursula.object("spouse"), other)
      XCTAssertEqual(other.object("spouse"), ursula)
      XCTAssertEqual(ursula.members("pupils"), [other])
      XCTAssertEqual(ursula.members("friends"), [other])
      XCTAssertEqual(other.members("friends"), [ursula])
      XCTAssertEqual(other.members("books"), [a])
      XCTAssertEqual(Set(ursula.members("books").map { $0.text("title") }), ["B", "C"])
      XCTAssertEqual(Set(a.members("tags").map { $0.text("name") }), ["red", "blue"])
      XCTAssertEqual(try find("Tag", "name", "red", in: context).members("books"), [a])
      XCTAssertEqual(b.list("chapters").map { $0.text("title") }, ["2", "1", "0"])
      let shelf = try find("Shelf", "name", "top", in: context)
      XCTAssertEqual(shelf.list("books"), [b, a])
      XCTAssertEqual(shelf.members("hidden"), [a])
      XCTAssertEqual(shelf.object("first"), b)
      XCTAssertEqual(a.list("shelves"), [shelf])
    }
    try check(parent)
    try check(child)
    try check(ManagedObjectContext(parent: parent))
    try parent.save()
    try check(open.newContext())
    // They are removed again one by one.
    try other.setValue(nil, forKey: "spouse")
    try other.setValue(Set<ManagedObject>(), forKey: "friends")
    try a.setValue(Set([red]), forKey: "tags")
    try shelf.setValue([a, b], forKey: "books")
    try b.setValue([chapters[0], chapters[2]], forKey: "chapters")
    try child.save()
    try parent.save()
    let context = open.newContext()
    XCTAssertNil(try find("Author", "name", "Ursula", in: context).object("spouse"))
    XCTAssertEqual(try find("Author", "name", "Ursula", in: context).members("friends"), [])
    XCTAssertEqual(try find("Book", "title", "A", in: context).members("tags").map { $0.text("name") }, ["red"])
    XCTAssertEqual(try find("Shelf", "name", "top", in: context).list("books").map { $0.text("title") }, ["A", "B"])
    XCTAssertEqual(try find("Book", "title", "B", in: context).list("chapters").map { $0.text("title") }, ["0", "2"])
  }

  func testOrderIsMergedWithMembersOfTheParent() throws {
    let (open, parent) = try makeParent()
    let book = try find("Book", "title", "A", in: parent)
    for number in 0..<3 { try parent.insert("Chapter", ["title": "\(number)", "book": book]) }
    try parent.save()
    let child = ManagedObjectContext(parent: parent)
    let here = try find("Book", "title", "A", in: child)
    try here.setValue(Array(here.list("chapters").reversed()), forKey: "chapters")
    try parent.insert("Chapter", ["title": "new", "book": book])
    try child.save()
    XCTAssertEqual(book.list("chapters").map { $0.text("title") }, ["2", "1", "0", "new"])
    try parent.save()
    XCTAssertEqual(
      try find("Book", "title", "A", in: open.newContext()).list("chapters").map { $0.text("title") }, ["2", "1", "0", "new"])
  }

  func testDeletionsAndTheirCascadesAreSavedToTheParent() throws {
    let (open, parent) = try makeParent()
    let child = ManagedObjectContext(parent: parent)
    let author = try find("Author", "name", "Ursula", in: child)
    // A book that the child does not have when it deletes the author.
    try parent.insert("Book", ["title": "D", "author": try XCTUnwrap(parent.all("Author").first)])
    child.delete(author)
    try child.save()
    XCTAssertNil(author.managedObjectContext)
    XCTAssertEqual(try parent.all("Author"), [])
    for book in try parent.fetch(byTitle()) { XCTAssertNil(book.object("author"), book.text("title") ?? "") }
    try parent.save()
    for book in try open.newContext().fetch(byTitle()) { XCTAssertNil(book.object("author")) }
    // Objects that were new in the parent disappear without a trace.
    let new = try parent.insert("Tag", ["name": "new"])
    child.delete(try find("Tag", "name", "new", in: child))
    try child.save()
    XCTAssertNil(new.managedObjectContext)
    XCTAssertFalse(parent.hasChanges)
  }
}

extension ManagedObject {
  fileprivate func entityIndex(of name: String) -> Int {
    guard case .toMany(let relationship)? = compiledEntity.property(named: name) else { return -1 }
    return relationship.index
  }
}
