import ObjectContext
import ObjectModel
import ObjectQuery
import XCTest

/// Changes and snapshots of results as sequences that end with their controller.
@MainActor
final class ResultsStreamTests: XCTestCase {
  /// Follows results on the main actor.
  private final class Follower: @MainActor FetchedResultsControllerDelegate {
    private(set) var counts: [Int] = []
    func controllerDidChangeContent(_ controller: FetchedResultsController<Book>) { counts.append(controller.numberOfObjects) }
    func controller(_ controller: FetchedResultsController<Book>, sectionIndexTitleForSectionName sectionName: String) -> String? {
      sectionName + "!"
    }
  }

  func testChangesAndSnapshotsAreSequences() async throws {
    let stack = try await Stack(.inMemory, model: Library.model, classes: Library.classes)
    let context = stack.makeContext()
    let request = FetchRequest<Book>(
      entityName: "Book", sortDescriptors: [FetchSortDescriptor("pages"), FetchSortDescriptor("title", ascending: false)])
    var controller: FetchedResultsController? = FetchedResultsController(
      fetchRequest: request, context: context, sectionNameKeyPath: "pages")
    let early = controller?.snapshots()
    try controller?.performFetch()
    let follower = Follower()
    controller?.delegate = follower
    let changes = try XCTUnwrap(controller?.changes())
    let snapshots = try XCTUnwrap(controller?.snapshots())
    for number in 0..<3 {
      let book = Book(context: context)
      book.title = "\(number)"
      book.pages = Int32(number)
      context.processPendingChanges()
    }
    XCTAssertEqual(follower.counts, [1, 2, 3])
    XCTAssertEqual(controller?.sectionIndexTitles, ["0!", "1!", "2!"])
    let last = controller?.snapshot
    controller = nil
    // Another task reads them.
    let reported = try await Task.detached {
      var reported: [ResultsChange] = []
      for try await change in changes { reported.append(change) }
      return reported
    }.value
    XCTAssertEqual(reported.map(\.inserted.count), [1, 1, 1])
    XCTAssertEqual(reported.map { $0.insertedSections.map(\.index) }, [[0], [1], [2]])
    XCTAssertEqual(reported.map { $0.insertedSections.map(\.name) }, [["0"], ["1"], ["2"]])
    var seen: [ResultsSnapshot] = []
    for try await snapshot in snapshots { seen.append(snapshot) }
    XCTAssertEqual(seen, [last].compactMap { $0 }, "A slow consumer receives the newest.")
    if let early {
      for try await snapshot in early { XCTAssertEqual(snapshot, last) }
    }
    try stack.close()
  }

  func testSequenceThrowsWhenResultsFail() async throws {
    let stack = try await Stack(.inMemory, model: Library.model, classes: Library.classes)
    let context = stack.makeContext()
    let request = FetchRequest<Book>(entityName: "Book", sortDescriptors: [FetchSortDescriptor("title")])
    let controller = FetchedResultsController(fetchRequest: request, context: context, sectionNameKeyPath: "pages")
    try controller.performFetch()
    let changes = controller.changes()
    for (title, pages) in [("a", 1), ("b", 2), ("c", 1)] as [(String, Int32)] {
      let book = Book(context: context)
      (book.title, book.pages) = (title, pages)
      context.processPendingChanges()
    }
    var count = 0
    do {
      for try await _ in changes { count += 1 }
      XCTFail("It ended without an error.")
    } catch { XCTAssertEqual(error as? ResultsError, .sectionsOutOfOrder(section: "pages", entity: "Book")) }
    XCTAssertEqual(count, 2)
    XCTAssertNil(controller.fetchedObjects)
    try stack.close()
  }
}
