import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// The results of a request stay up to date under all changes, and report how they change.
public final class LiveResultsSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testResultsAreGroupedInSections", { $0.testResultsAreGroupedInSections }),
        ("testUnobservableRequestsThrowATypedError", { $0.testUnobservableRequestsThrowATypedError }),
        ("testDelegateReceivesChangesInOrder", { $0.testDelegateReceivesChangesInOrder }),
        ("testDelegateCanChangeObjectsAndFetch", { $0.testDelegateCanChangeObjectsAndFetch }),
        ("testMovesAreMinimal", { $0.testMovesAreMinimal }),
        ("testSectionsAreReordered", { $0.testSectionsAreReordered }),
        ("testOrderThatSplitsASectionFailsTheResults", { $0.testOrderThatSplitsASectionFailsTheResults }),
        ("testNewResultsKeepTheirIDs", { $0.testNewResultsKeepTheirIDs }),
        ("testChangesOfOtherContextsAppearAfterTheMerge", { $0.testChangesOfOtherContextsAppearAfterTheMerge }),
        ("testNestedContextResultsFollowTheParent", { $0.testNestedContextResultsFollowTheParent }),
        ("testRollbackRemovesAnObjectWithADeletedRow", { $0.testRollbackRemovesAnObjectWithADeletedRow }),
        ("testRefetchingReportsChangesSinceTheLastFetch", { $0.testRefetchingReportsChangesSinceTheLastFetch }),
        ("testResultsDoNotRetainObjects", { $0.testResultsDoNotRetainObjects }),
        ("testFirstFetchIncludesUnsavedChangesOfRelatedObjects", { $0.testFirstFetchIncludesUnsavedChangesOfRelatedObjects }),
        ("testSnapshotsReportTheirDifference", { $0.testSnapshotsReportTheirDifference }),
        ("testSnapshotDelegateReceivesOnlySnapshots", { $0.testSnapshotDelegateReceivesOnlySnapshots }),
        ("testDeletingAnUnsavedMemberLeavesNoStaleReference", { $0.testDeletingAnUnsavedMemberLeavesNoStaleReference }),
        ("testSeveralResultsOfOneContextContainEachObjectOnce", { $0.testSeveralResultsOfOneContextContainEachObjectOnce }),
        ("testUnsavedMembersOfUnregisteredOwnersAffectSections", { $0.testUnsavedMembersOfUnregisteredOwnersAffectSections }),
        ("testUnsavedMembersWithoutAnInverseAffectResults", { $0.testUnsavedMembersWithoutAnInverseAffectResults }),
      ] as [(String, (LiveResultsSpecification) -> () throws -> Void)])
  }

  /// Records its notifications as text.
  private final class RecordingDelegate: FetchedResultsControllerDelegate {
    typealias Object = ManagedObject
    var lines: [String] = []
    var changes: [ResultsChange] = []
    var onChange: (() throws -> Void)?

    func take() -> [String] {
      defer { lines = [] }
      return lines
    }

    private func text(_ path: IndexPath?) -> String { path.map { "\($0[0]).\($0[1])" } ?? "-" }

    func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
      lines.append("will \(controller.numberOfObjects)")
    }
    func controller(
      _ controller: FetchedResultsController<ManagedObject>, didChange section: FetchedResultsSectionInfo<ManagedObject>,
      atSectionIndex sectionIndex: Int, for type: FetchedResultsChangeType
    ) { lines.append("\(type) section \(section.name) \(sectionIndex) with \(section.numberOfObjects)") }
    func controller(
      _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject, at indexPath: IndexPath?,
      for type: FetchedResultsChangeType, newIndexPath: IndexPath?
    ) { lines.append("\(type) \(object.text("title") ?? "?") \(text(indexPath)) \(text(newIndexPath))") }
    func controller(_ controller: FetchedResultsController<ManagedObject>, didChangeContentWith change: ResultsChange) {
      changes.append(change)
    }
    func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
      lines.append("did \(controller.numberOfObjects)")
      do { try onChange?() } catch { XCTFail("\(error)") }
    }
    func controller(_ controller: FetchedResultsController<ManagedObject>, didFailWith error: ResultsError) {
      lines.append("failed \(error)")
    }
  }

  func request(_ predicate: FetchPredicate?, _ keys: String...) -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(entityName: "Book", predicate: predicate, sortDescriptors: keys.map { FetchSortDescriptor($0) })
  }

  /// Four stored books in two years, and a context with none of them in memory.
  func makeBooks() throws -> (OpenStore, ManagedObjectContext) {
    let open = try makeStore()
    let context = open.newContext()
    let author = try context.insert("Author", ["name": "Ursula"])
    for (title, year) in [("a", 1), ("b", 1), ("c", 2), ("d", 2)] as [(String, Int64)] {
      try context.insert("Book", ["title": title, "year": year, "author": author])
    }
    try context.save()
    context.reset()
    return (open, context)
  }

  private func makeController(
    _ context: ManagedObjectContext, _ request: FetchRequest<ManagedObject>, section: String? = nil
  ) throws -> (FetchedResultsController<ManagedObject>, RecordingDelegate) {
    let controller = FetchedResultsController(fetchRequest: request, context: context, sectionNameKeyPath: section)
    XCTAssertNil(controller.fetchedObjects)
    XCTAssertNil(controller.sections)
    try controller.performFetch()
    let listener = RecordingDelegate()
    controller.delegate = listener
    return (controller, listener)
  }

  private func titles(_ controller: FetchedResultsController<ManagedObject>) -> [[String]] {
    (controller.sections ?? []).map { $0.objects.map { $0.text("title") ?? "?" } }
  }

  // MARK: Contents

  func testResultsAreGroupedInSections() throws {
    let (_, context) = try makeBooks()
    let (controller, _) = try makeController(context, request(nil, "year", "title"), section: "year")
    XCTAssertEqual(controller.sections?.map(\.name), ["1", "2"])
    XCTAssertEqual(controller.sections?.map(\.numberOfObjects), [2, 2])
    XCTAssertEqual(titles(controller), [["a", "b"], ["c", "d"]])
    XCTAssertEqual(controller.fetchedObjects?.map { $0.text("title") }, ["a", "b", "c", "d"])
    XCTAssertEqual(controller.fetchedObjectIDs, controller.fetchedObjects?.map(\.objectID))
    XCTAssertEqual(controller.sectionIndexTitles, ["1", "2"])
    XCTAssertEqual(controller.section(forIndexTitle: "2"), 1)
    XCTAssertNil(controller.section(forIndexTitle: "3"))
    let c = try XCTUnwrap(controller.object(at: IndexPath(indexes: [1, 0])))
    XCTAssertEqual(c.text("title"), "c")
    XCTAssertEqual(controller.indexPath(of: c), IndexPath(indexes: [1, 0]))
    XCTAssertEqual(controller.objectID(at: IndexPath(indexes: [1, 0])), c.objectID)
    for indexes in [[0, 2], [2, 0], [0, -1], [-1, 0], [0], [0, 0, 0], []] {
      XCTAssertNil(controller.object(at: IndexPath(indexes: indexes)), "\(indexes)")
    }
    XCTAssertEqual(controller.snapshot.sectionIdentifiers, ["1", "2"])
    XCTAssertEqual(controller.snapshot.itemIdentifiers(inSection: "2").count, 2)
    XCTAssertNil(controller.indexPath(of: try context.insert("Book", ["title": "new"])))
    let (flat, _) = try makeController(context, request(.compare("year", .equal, Int64(9)), "title"))
    XCTAssertEqual(flat.sections?.map(\.name), [""], "Results without sections are in one.")
    XCTAssertEqual(flat.snapshot.numberOfSections, 1)
    XCTAssertEqual(flat.fetchedObjects, [])
  }

  func testUnobservableRequestsThrowATypedError() throws {
    let (_, context) = try makeBooks()
    func fail(_ request: FetchRequest<ManagedObject>, section: String? = nil, _ expected: ResultsError, line: UInt = #line) {
      let controller = FetchedResultsController(fetchRequest: request, context: context, sectionNameKeyPath: section)
      XCTAssertThrowsError(try controller.performFetch(), line: line) { XCTAssertEqual($0 as? ResultsError, expected, line: line) }
      XCTAssertNil(controller.fetchedObjects, line: line)
    }
    fail(request(nil), .noSortDescriptors(entity: "Book"))
    let unknown = FetchedResultsController(fetchRequest: request(nil, "title"), context: context, sectionNameKeyPath: "nothing")
    XCTAssertThrowsError(try unknown.performFetch()) { XCTAssertTrue($0 is FetchPredicateError, "\($0)") }
    var dictionaries = request(nil, "title")
    dictionaries.resultType = .dictionaries
    fail(dictionaries, .dictionaryResults(entity: "Book"))
    var saved = request(nil, "title")
    saved.includesPendingChanges = false
    fail(saved, .pendingChangesExcluded(entity: "Book"))
    fail(request(nil, "title"), section: "author", .sectionWithoutName(section: "author", entity: "Book"))
    try context.insert("Book", ["title": "aa", "year": Int64(2)])
    fail(request(nil, "title"), section: "year", .sectionsOutOfOrder(section: "year", entity: "Book"))
  }

  // MARK: Notifications

  func testDelegateReceivesChangesInOrder() throws {
    let (_, context) = try makeBooks()
    let (controller, listener) = try makeController(context, request(nil, "year", "title"), section: "year")
    let books = try XCTUnwrap(controller.fetchedObjects)
    // A new section and a removed one; a move with another value, one without, an update.
    try context.insert("Book", ["title": "n", "year": Int64(0)])
    try books[0].setValue(Int64(2), forKey: "year")
    context.delete(books[1])
    try books[2].setValue("z", forKey: "title")
    XCTAssertEqual(listener.take(), [], "Nothing is reported before the event ends.")
    context.processPendingChanges()
    XCTAssertEqual(
      listener.take(),
      [
        "will 4", "delete section 1 0 with 0", "insert section 0 0 with 1", "delete b 0.1 -", "insert n - 0.0", "move a 0.0 1.0",
        "move z 1.0 1.2", "did 4",
      ])
    XCTAssertEqual(titles(controller), [["n"], ["a", "d", "z"]])
    XCTAssertEqual(controller.sections?.map(\.name), ["0", "2"])
    // Saving does not affect the list.
    try context.save()
    XCTAssertEqual(listener.take(), [])
    try books[3].setValue(try context.insert("Author", ["name": "other"]), forKey: "author")
    context.processPendingChanges()
    XCTAssertEqual(listener.take(), ["will 4", "update d 1.1 1.1", "did 4"])
    context.rollback()
    XCTAssertEqual(listener.take(), ["will 4", "update d 1.1 1.1", "did 4"])
    context.refresh(books[3], mergeChanges: true)
    XCTAssertEqual(listener.take(), ["will 4", "update d 1.1 1.1", "did 4"])
    XCTAssertEqual(listener.changes.first?.moved.map(\.isUpdated), [false, false])
    controller.delegate = nil
    try books[0].setValue("x", forKey: "title")
    context.processPendingChanges()
    XCTAssertEqual(titles(controller), [["n"], ["d", "x", "z"]], "Results stay correct without observers.")
  }

  func testDelegateCanChangeObjectsAndFetch() throws {
    let (_, context) = try makeBooks()
    let (controller, listener) = try makeController(context, request(.compare("year", .less, Int64(5)), "title"))
    let books = try XCTUnwrap(controller.fetchedObjects)
    var rounds = 0
    listener.onChange = {
      rounds += 1
      XCTAssertEqual(try context.count(for: controller.fetchRequest), controller.numberOfObjects)
      if rounds == 1 { try books[1].setValue(Int64(9), forKey: "year") }
      if rounds == 2 { try context.save() }
    }
    try books[0].setValue(Int64(9), forKey: "year")
    context.processPendingChanges()
    context.processPendingChanges()
    XCTAssertEqual(rounds, 2)
    XCTAssertEqual(titles(controller), [["c", "d"]])
  }

  func testMovesAreMinimal() throws {
    let (_, context) = try makeBooks()
    let (controller, listener) = try makeController(context, request(nil, "title"))
    let books = try XCTUnwrap(controller.fetchedObjects)
    for book in books { try book.setValue("x" + (book.text("title") ?? ""), forKey: "title") }
    context.processPendingChanges()
    XCTAssertEqual(listener.changes.last?.moved, [], "All have other titles, and stand where they stood.")
    XCTAssertEqual(listener.changes.last?.updated.count, 4)
    try books[0].setValue("xz", forKey: "title")
    try books[1].setValue("xbb", forKey: "title")
    context.processPendingChanges()
    XCTAssertEqual(listener.changes.last?.moved.map(\.objectID), [books[0].objectID])
    XCTAssertEqual(listener.changes.last?.moved.map(\.newIndexPath), [IndexPath(indexes: [0, 3])])
    XCTAssertEqual(listener.changes.last?.updated.map(\.oldIndexPath), [IndexPath(indexes: [0, 1])])
    XCTAssertEqual(titles(controller), [["xbb", "xc", "xd", "xz"]])
  }

  /// Sections whose order follows another value than their name.
  func testSectionsAreReordered() throws {
    let open = try makeStore()
    let context = open.newContext()
    let authors = try (0..<3).map { try context.insert("Author", ["name": "author \($0)", "born": Int64(1900 + $0)]) }
    for number in 0..<6 { try context.insert("Book", ["title": "book \(number)", "author": authors[number / 2]]) }
    let (controller, listener) = try makeController(context, request(nil, "author.born", "title"), section: "author.name")
    let before = controller.snapshot
    try authors[0].setValue(Int64(1950), forKey: "born")
    context.processPendingChanges()
    XCTAssertEqual(controller.sections?.map(\.name), ["author 1", "author 2", "author 0"])
    let change = try XCTUnwrap(listener.changes.last)
    XCTAssertEqual(change.removedSections.map(\.index), [0])
    XCTAssertEqual(change.insertedSections.map(\.index), [2])
    XCTAssertEqual(change.moved.count, 2)
    XCTAssertEqual(change.moved.map(\.isUpdated), [false, false], "Nothing of the books themselves was changed.")
    XCTAssertEqual(before.applying(change), controller.snapshot)
  }

  func testOrderThatSplitsASectionFailsTheResults() throws {
    let (_, context) = try makeBooks()
    let (controller, listener) = try makeController(context, request(nil, "title"), section: "year")
    XCTAssertEqual(titles(controller), [["a", "b"], ["c", "d"]])
    try context.insert("Book", ["title": "bb", "year": Int64(2)])
    context.processPendingChanges()
    XCTAssertEqual(titles(controller), [["a", "b"], ["bb", "c", "d"]])
    _ = listener.take()
    let last = try context.insert("Book", ["title": "e", "year": Int64(1)])
    context.processPendingChanges()
    XCTAssertEqual(listener.take().last, "failed \(ResultsError.sectionsOutOfOrder(section: "year", entity: "Book"))")
    XCTAssertNil(controller.sections)
    context.delete(last)
    context.processPendingChanges()
    try controller.performFetch()
    XCTAssertEqual(titles(controller), [["a", "b"], ["bb", "c", "d"]])
    try context.insert("Book", ["title": "ab", "year": Int64(7)])
    context.processPendingChanges()
    XCTAssertNil(controller.sections, "A section in the midst of another one tears it apart.")
  }

  func testNewResultsKeepTheirIDs() throws {
    let (_, context) = try makeBooks()
    let first = try context.insert("Book", ["title": "n"])
    let (controller, listener) = try makeController(context, request(nil, "title"))
    let second = try context.insert("Book", ["title": "o"])
    context.processPendingChanges()
    XCTAssertFalse(first.objectID.isTemporaryID)
    XCTAssertFalse(second.objectID.isTemporaryID)
    XCTAssertTrue(second.isInserted)
    let before = controller.snapshot
    _ = listener.take()
    try context.save()
    XCTAssertEqual(controller.snapshot, before)
    XCTAssertEqual(listener.take(), [])
    XCTAssertEqual(controller.indexPath(of: second), IndexPath(indexes: [0, 5]))
  }

  // MARK: Sources of changes

  func testChangesOfOtherContextsAppearAfterTheMerge() throws {
    let (open, context) = try makeBooks()
    let other = open.newContext()
    let (controller, listener) = try makeController(context, request(.compare("year", .less, Int64(3)), "title"))
    XCTAssertEqual(controller.numberOfObjects, 4)
    let books = try other.fetch(request(nil, "title"))
    try books[1].setValue(Int64(3), forKey: "year")
    try books[2].setValue("x", forKey: "title")
    try other.insert("Book", ["title": "n", "year": Int64(2)])
    try other.insert("Book", ["title": "o", "year": Int64(5)])
    other.delete(books[0])
    try other.save()
    context.processPendingChanges()
    XCTAssertEqual(listener.take(), [], "The context merges what it is to merge.")
    context.automaticallyMergesChangesFromParent = true
    try books[3].setValue("e", forKey: "title")
    try other.save()
    context.processPendingChanges()
    XCTAssertEqual(listener.take().count, 3, "What was merged is followed.")
    try controller.performFetch()
    XCTAssertEqual(titles(controller), [["e", "n", "x"]])
    _ = listener.take()
    try other.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["year": Int64(1)]))
    context.processPendingChanges()
    XCTAssertEqual(titles(controller), [["b", "e", "n", "o", "x"]])
    try context.execute(BatchDeleteRequest(entityName: "Book", predicate: .compare("title", .greater, "n")))
    XCTAssertEqual(titles(controller), [["b", "e", "n"]])
  }

  func testNestedContextResultsFollowTheParent() throws {
    let (_, parent) = try makeBooks()
    let child = ManagedObjectContext(parent: parent)
    child.automaticallyMergesChangesFromParent = true
    let (own, _) = try makeController(child, request(nil, "title"))
    let (parents, listener) = try makeController(parent, request(nil, "title"))
    try XCTUnwrap(own.fetchedObjects)[0].setValue("z", forKey: "title")
    try child.insert("Book", ["title": "n"])
    child.processPendingChanges()
    XCTAssertEqual(titles(own), [["b", "c", "d", "n", "z"]])
    XCTAssertEqual(titles(parents), [["a", "b", "c", "d"]])
    try child.save()
    XCTAssertEqual(titles(parents), [["b", "c", "d", "n", "z"]])
    XCTAssertEqual(parents.snapshot, own.snapshot)
    XCTAssertEqual(listener.changes.count, 1, "A push is one change.")
    try XCTUnwrap(parents.fetchedObjects)[1].setValue("cc", forKey: "title")
    try parent.save()
    child.processPendingChanges()
    XCTAssertEqual(titles(own), [["b", "cc", "d", "n", "z"]])
  }

  func testRollbackRemovesAnObjectWithADeletedRow() throws {
    let (open, context) = try makeBooks()
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.automaticallyMergesChangesFromParent = true
    let (controller, _) = try makeController(context, request(nil, "title"))
    let a = try XCTUnwrap(controller.fetchedObjects)[0]
    try a.setValue("aa", forKey: "title")
    let other = open.newContext()
    other.delete(try find("Book", "title", "a", in: other))
    try other.save()
    context.processPendingChanges()
    XCTAssertEqual(titles(controller), [["aa", "b", "c", "d"]])
    context.rollback()
    XCTAssertEqual(titles(controller), [["b", "c", "d"]])
  }

  func testRefetchingReportsChangesSinceTheLastFetch() throws {
    let (open, context) = try makeBooks()
    let (controller, listener) = try makeController(context, request(nil, "title"))
    let other = open.newContext()
    other.delete(try find("Book", "title", "b", in: other))
    try other.save()
    let before = controller.snapshot
    try controller.performFetch()
    XCTAssertEqual(titles(controller), [["a", "c", "d"]])
    XCTAssertEqual(listener.changes.count, 1)
    XCTAssertEqual(before.applying(try XCTUnwrap(listener.changes.first)), controller.snapshot)
    context.reset()
    XCTAssertEqual(titles(controller), [["a", "c", "d"]])
    XCTAssertEqual(listener.changes.last?.updated.count, 3, "After a reset, differences are unknown.")
  }

  func testResultsDoNotRetainObjects() throws {
    let (_, context) = try makeBooks()
    let (controller, listener) = try makeController(context, request(nil, "title"))
    weak var object: ManagedObject?
    do {
      object = controller.object(at: IndexPath(indexes: [0, 0]))
      _ = controller.fetchedObjects?.map { $0.text("title") }
    }
    context.processPendingChanges()
    XCTAssertNil(object)
    XCTAssertTrue(context.registeredObjects.isEmpty)
    try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["year": Int64(7)]))
    XCTAssertEqual(listener.changes.last?.updated.count, 4)
    context.processPendingChanges()
    XCTAssertTrue(context.registeredObjects.isEmpty)
    weak var gone: FetchedResultsController<ManagedObject>?
    do {
      let other = FetchedResultsController(fetchRequest: request(nil, "title"), context: context)
      try other.performFetch()
      XCTAssertEqual(other.sections?.count, 1)
      gone = other
    }
    XCTAssertNil(gone, "No controller is retained.")
  }

  func testFirstFetchIncludesUnsavedChangesOfRelatedObjects() throws {
    let (_, context) = try makeBooks()
    let author = try XCTUnwrap(context.all("Author").first)
    try author.setValue("Virginia", forKey: "name")
    let (controller, _) = try makeController(context, request(.compare("author.name", .equal, "Virginia"), "title"))
    XCTAssertEqual(titles(controller), [["a", "b", "c", "d"]])
    let (others, _) = try makeController(context, request(.compare("author.name", .equal, "Ursula"), "title"))
    XCTAssertEqual(titles(others), [[]])
    context.rollback()
    XCTAssertEqual(titles(controller), [[]])
    XCTAssertEqual(titles(others), [["a", "b", "c", "d"]])
  }

  func testSnapshotsReportTheirDifference() throws {
    let (_, context) = try makeBooks()
    let (controller, _) = try makeController(context, request(nil, "title"))
    let (before, books) = (controller.snapshot, try XCTUnwrap(controller.fetchedObjects))
    try books[0].setValue("z", forKey: "title")
    context.delete(books[2])
    try context.insert("Book", ["title": "bb"])
    context.processPendingChanges()
    let after = controller.snapshot
    let difference = after.difference(from: before)
    XCTAssertEqual(before.itemIdentifiers.applying(difference), after.itemIdentifiers)
    XCTAssertEqual(difference.insertions.count, 2)
    let moves = difference.insertions.filter {
      if case .insert(_, _, let associated) = $0 { return associated != nil }
      return false
    }
    XCTAssertEqual(moves.count, 1)
  }
}
