import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

extension LiveResultsSpecification {
  /// Implements every delegate method, and records the calls.
  private final class Taker: FetchedResultsControllerDelegate {
    typealias Object = ManagedObject
    var snapshots: [ResultsSnapshot] = []
    var others: [String] = []
    var onSnapshot: (() throws -> Void)?

    func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) { others.append("will") }
    func controller(
      _ controller: FetchedResultsController<ManagedObject>, didChange section: FetchedResultsSectionInfo<ManagedObject>,
      atSectionIndex sectionIndex: Int, for type: FetchedResultsChangeType
    ) { others.append("section") }
    func controller(
      _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject, at indexPath: IndexPath?,
      for type: FetchedResultsChangeType, newIndexPath: IndexPath?
    ) { others.append("object") }
    func controller(_ controller: FetchedResultsController<ManagedObject>, didChangeContentWith change: ResultsChange) {
      others.append("change")
    }
    func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) { others.append("did") }
    func controller(
      _ controller: FetchedResultsController<ManagedObject>, sectionIndexTitleForSectionName sectionName: String
    ) -> String? { "title \(sectionName)" }
    func controller(_ controller: FetchedResultsController<ManagedObject>, didFailWith error: ResultsError) { others.append("failed") }

    func controller(_ controller: FetchedResultsController<ManagedObject>, didChangeContentWith snapshot: ResultsSnapshot) {
      XCTAssertEqual(snapshot, controller.snapshot)
      snapshots.append(snapshot)
      do { try onSnapshot?() } catch { XCTFail("\(error)") }
    }
  }

  func testSnapshotDelegateReceivesOnlySnapshots() throws {
    let (open, context) = try makeBooks()
    let controller = FetchedResultsController(fetchRequest: request(nil, "year", "title"), context: context, sectionNameKeyPath: "year")
    let taker = Taker()
    controller.delegate = taker
    try controller.performFetch()
    XCTAssertEqual(taker.snapshots, [controller.snapshot], "the results as they are fetched")
    XCTAssertEqual(taker.snapshots.first?.sectionIdentifiers, ["1", "2"])
    XCTAssertEqual(controller.sectionIndexTitles, ["title 1", "title 2"])
    // Once per event, regardless of the number of changes.
    let books = try XCTUnwrap(controller.fetchedObjects)
    try books[0].setValue("z", forKey: "title")
    try books[1].setValue(Int64(3), forKey: "year")
    context.delete(books[2])
    let new = try context.insert("Book", ["title": "bb", "year": Int64(2)])
    context.processPendingChanges()
    XCTAssertEqual(taker.snapshots.count, 2)
    XCTAssertEqual(
      taker.snapshots.last?.sections.map(\.itemIdentifiers),
      [[books[0].objectID], [new.objectID, books[3].objectID], [books[1].objectID]])
    context.processPendingChanges()
    XCTAssertEqual(taker.snapshots.count, 2, "nothing was changed")
    // A change during the notification is reported by the next one.
    taker.onSnapshot = {
      taker.onSnapshot = nil
      try books[3].setValue("zz", forKey: "title")
      context.processPendingChanges()
      XCTAssertEqual(taker.snapshots.count, 3)
    }
    try books[3].setValue("aa", forKey: "title")
    context.processPendingChanges()
    XCTAssertEqual(taker.snapshots.count, 4)
    XCTAssertEqual(taker.snapshots.last, controller.snapshot)
    try context.save()
    // Fetching again reports the changes since.
    let other = open.newContext()
    try find("Book", "title", "zz", in: other).setValue("yy", forKey: "title")
    try other.save()
    XCTAssertEqual(taker.others, [])
    // A delegate without the method receives the individual changes.
    let steps = StepTaker()
    controller.delegate = steps
    try books[0].setValue("a", forKey: "title")
    context.processPendingChanges()
    XCTAssertEqual(steps.lines, ["did"])
    XCTAssertEqual(taker.snapshots.count, 4)
    controller.delegate = taker
    try books[0].setValue("b", forKey: "title")
    context.processPendingChanges()
    XCTAssertEqual([taker.snapshots.count, steps.lines.count], [5, 1])
    // The end of the changes is reported.
    try books[0].setValue(Int64(9), forKey: "year")
    context.processPendingChanges()
    XCTAssertEqual(taker.others, [])
  }

  private final class StepTaker: FetchedResultsControllerDelegate {
    typealias Object = ManagedObject
    var lines: [String] = []
    func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) { lines.append("did") }
  }
}
