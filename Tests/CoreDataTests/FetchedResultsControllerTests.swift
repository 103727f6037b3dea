import CoreData
import Foundation
import XCTest

/// A delegate like those of table views.
private final class Listener: NSFetchedResultsControllerDelegate {
  var reported: [String] = []
  var differences: [CollectionDifference<NSManagedObjectID>] = []
  weak var expected: NSFetchedResultsController<Book>?

  func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
    reported.append(controller === expected ? "begin" : "begin another")
  }

  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?,
    for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    let title = (anObject as? Book)?.title ?? "?"
    switch type {
    case .insert: reported.append("\(title) came to \(newIndexPath.map(Array.init) ?? [])")
    case .delete: reported.append("\(title) left \(indexPath.map(Array.init) ?? [])")
    case .move: reported.append("\(title) went from \(indexPath.map(Array.init) ?? []) to \(newIndexPath.map(Array.init) ?? [])")
    case .update: reported.append("\(title) changed at \(indexPath.map(Array.init) ?? [])")
    @unknown default: XCTFail("\(type)")
    }
  }

  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange sectionInfo: NSFetchedResultsSectionInfo,
    atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
  ) {
    reported.append("section \(sectionInfo.name) \(type == .insert ? "came" : "left") at \(sectionIndex)")
  }

  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) {
    differences.append(diff)
  }

  func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
    reported.append("end with \(controller.fetchedObjects?.count ?? -1)")
  }

  func take() -> [String] {
    defer { reported = [] }
    return reported
  }
}

/// A delegate that implements only the notification after changes.
private final class Quiet: NSFetchedResultsControllerDelegate {
  var count = 0
  func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) { count += 1 }
}

/// A fetched results controller keeps its results up to date and reports the changes to its delegate.
final class FetchedResultsControllerTests: XCTestCase {
  private func controller(_ stack: LibraryStack, section: String? = nil) -> NSFetchedResultsController<Book> {
    let request: NSFetchRequest<Book> = Book.fetchRequest()
    request.sortDescriptors =
      (section.map { [NSSortDescriptor(key: $0, ascending: true)] } ?? []) + [NSSortDescriptor(key: "title", ascending: true)]
    return NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: stack.context, sectionNameKeyPath: section, cacheName: "Books")
  }

  func testDelegateReceivesEachChange() throws {
    try LibraryStack.with { stack in
      let emma = stack.book("Emma")
      try stack.context.save()
      let controller = controller(stack)
      let listener = Listener()
      listener.expected = controller
      controller.delegate = listener
      XCTAssertNil(controller.fetchedObjects)
      try controller.performFetch()
      XCTAssertEqual(controller.fetchedObjects, [emma])
      XCTAssertEqual(controller.object(at: IndexPath(indexes: [0, 0])), emma)
      XCTAssertEqual(controller.sections?.count, 1)
      let clueless = stack.book("Clueless")
      stack.context.processPendingChanges()
      XCTAssertEqual(listener.take(), ["begin", "Clueless came to [0, 0]", "end with 2"])
      emma.pages = 3
      stack.context.processPendingChanges()
      XCTAssertEqual(listener.take(), ["begin", "Emma changed at [0, 1]", "end with 2"])
      clueless.title = "Zofloya"
      stack.context.processPendingChanges()
      XCTAssertEqual(listener.take(), ["begin", "Zofloya went from [0, 0] to [0, 1]", "end with 2"])
      XCTAssertEqual(controller.indexPath(forObject: clueless), IndexPath(indexes: [0, 1]))
      stack.context.delete(emma)
      stack.context.processPendingChanges()
      XCTAssertEqual(listener.take().dropFirst().first, "Emma left [0, 0]")
      var ids: [NSManagedObjectID] = [emma.objectID]
      for difference in listener.differences { ids = try XCTUnwrap(ids.applying(difference)) }
      XCTAssertEqual(ids, [clueless.objectID])
    }
  }

  func testChangesAreReportedAtTheEndOfTheMainRunLoopTurn() throws {
    try LibraryStack.with { stack in
      let controller = controller(stack)
      let quiet = Quiet()
      controller.delegate = quiet
      try controller.performFetch()
      stack.book("Emma")
      XCTAssertEqual(quiet.count, 0)
      let turn = expectation(description: "turn")
      DispatchQueue.main.async { turn.fulfill() }
      wait(for: [turn], timeout: 60)
      XCTAssertEqual(quiet.count, 1)
      XCTAssertEqual(controller.fetchedObjects?.count, 1)
    }
  }

  func testResultsAreGroupedInSections() throws {
    try LibraryStack.with { stack in
      for (title, pages) in [("Emma", 1), ("Evelina", 2), ("Camilla", 2)] { stack.book(title, pages: Int32(pages)) }
      let controller = controller(stack, section: "pages")
      let listener = Listener()
      controller.delegate = listener
      listener.expected = controller
      try controller.performFetch()
      XCTAssertEqual(controller.sections?.map(\.name), ["1", "2"])
      XCTAssertEqual(controller.sections?.map(\.numberOfObjects), [1, 2])
      XCTAssertEqual((controller.sections?[1].objects as? [Book])?.map(\.title), ["Camilla", "Evelina"])
      XCTAssertEqual(controller.sectionIndexTitles, ["1", "2"])
      XCTAssertEqual(controller.section(forSectionIndexTitle: "2", at: 1), 1)
      XCTAssertEqual(controller.sectionNameKeyPath, "pages")
      XCTAssertEqual(controller.cacheName, "Books")
      stack.book("Persuasion", pages: 3)
      stack.context.processPendingChanges()
      XCTAssertEqual(listener.take(), ["begin", "section 3 came at 2", "Persuasion came to [2, 0]", "end with 4"])
      NSFetchedResultsController<Book>.deleteCache(withName: "Books")
    }
  }

  func testChangedRequestsApplyToTheNextFetch() throws {
    try LibraryStack.with { stack in
      stack.book("Emma", pages: 1)
      stack.book("Evelina", pages: 2)
      let controller = controller(stack)
      try controller.performFetch()
      controller.fetchRequest.predicate = NSPredicate(format: "pages > 1")
      XCTAssertEqual(controller.fetchedObjects?.count, 2)
      try controller.performFetch()
      XCTAssertEqual(controller.fetchedObjects?.map(\.title), ["Evelina"])
      controller.fetchRequest.sortDescriptors = []
      XCTAssertThrowsError(try controller.performFetch()) { XCTAssertTrue("\($0)".contains("sort descriptors"), "\($0)") }
    }
  }

  func testInvalidIndexPathsAreReportedByTheContext() throws {
    try LibraryStack.with { stack in
      let controller = controller(stack)
      try controller.performFetch()
      let none = controller.object(at: IndexPath(indexes: [0, 7]))
      XCTAssertNil(none.managedObjectContext)
      XCTAssertNil(none.title)
      XCTAssertThrowsError(try stack.context.save()) { XCTAssertTrue("\($0)".contains("no result of “Book” at [0, 7]"), "\($0)") }
    }
  }

  func testDelegateReceivesBackgroundSaves() throws {
    try LibraryStack.with { stack in
      stack.context.automaticallyMergesChangesFromParent = true
      let controller = controller(stack)
      let listener = Listener()
      listener.expected = controller
      controller.delegate = listener
      try controller.performFetch()
      let done = expectation(description: "saved")
      stack.container.performBackgroundTask { context in
        Book(context: context).title = "Emma"
        do { try context.save() } catch { XCTFail("\(error)") }
        DispatchQueue.main.async { done.fulfill() }
      }
      wait(for: [done], timeout: 60)
      stack.context.processPendingChanges()
      XCTAssertEqual(listener.take(), ["begin", "Emma came to [0, 0]", "end with 1"])
    }
  }
}
