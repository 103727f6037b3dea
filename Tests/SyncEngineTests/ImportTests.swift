import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SyncCore
import Synchronization
import XCTest
import _StoreSpecification
import _SyncSimulation
import _TestSupport

@testable import SyncEngine

/// Imports are saves like any other to contexts, results controllers, undo managers, observers and the history.
final class ImportTests: XCTestCase {
  /// Two stores that mirror a folder “root” with two notes, “first” and “second”. What the first one changes is imported by the second.
  private struct Stores {
    let one: SyncedStore
    let other: SyncedStore

    init() throws {
      let scenario = Scenario(deviceCount: 0)
      (one, other) = (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
      let root = try one.context.insert("Folder", ["title": "root"])
      for title in ["first", "second"] { try one.context.insert("Note", ["title": title, "rating": 1.0, "folder": root]) }
      try saveAndImport()
    }

    /// Saves what was changed in the first store, and imports it.
    func saveAndImport() throws {
      try one.context.save()
      try synchronize()
    }

    func synchronize() throws { for store in [one, other, one] { try store.synchronize() } }

    /// Returns a context of the second store that merges imports.
    func makeContext() -> ManagedObjectContext {
      let context = other.open.newContext()
      context.automaticallyMergesChangesFromParent = true
      return context
    }
  }

  private func find(_ entity: String, _ title: String, in context: ManagedObjectContext) throws -> ManagedObject {
    let found = try context.fetch(FetchRequest<ManagedObject>(entityName: entity, predicate: .compare("title", .equal, title)))
    XCTAssertEqual(found.count, 1)
    return try XCTUnwrap(found.first, "There is no \(entity) with the title \(title).")
  }

  /// Returns the transactions of the history after a number.
  private func transactions(_ store: SyncedStore, after number: Int64 = 0) throws -> [PersistentHistoryTransaction] {
    let request = PersistentHistoryChangeRequest.fetchHistory(after: nil as PersistentHistoryToken?)
    return try store.open.coordinator.execute(request).transactions.filter { $0.transactionNumber > number }
  }

  // MARK: History and observers

  func testAnImportIsOneTransactionOfTheKindSync() throws {
    let stores = try Stores()
    let known = try transactions(stores.other).last?.transactionNumber ?? 0
    stores.other.limits.recordsInBatch = 3
    stores.other.restart()
    let folder = try find("Folder", "root", in: stores.one.context)
    for number in 0..<20 { try stores.one.context.insert("Note", ["title": "\(number)", "folder": folder]) }
    try folder.setValue("renamed", forKey: "title")
    stores.one.context.delete(try find("Note", "first", in: stores.one.context))
    try stores.saveAndImport()
    let new = try transactions(stores.other, after: known)
    XCTAssertEqual(new.map(\.kind), [.sync])
    let changes = try XCTUnwrap(new.first?.changes)
    XCTAssertEqual(changes.count { $0.changeType == .insert }, 20)
    XCTAssertEqual(changes.count { $0.changeType == .delete }, 1)
  }

  private final class Observer: TransactionObserver {
    struct Record: Hashable {
      let kind: PersistentHistoryTransaction.Kind
      let isLocal: Bool
    }
    let records = Mutex<[Record]>([])
    let committed = Mutex<[Record]>([])

    func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
      records.withLock { $0.append(Record(kind: transaction.kind, isLocal: transaction.isLocal)) }
    }
    func willCommit(_ transaction: ObservedTransaction) throws {}
    func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {}
    func didCommit(_ transaction: ObservedTransaction) {
      committed.withLock { $0.append(Record(kind: transaction.kind, isLocal: transaction.isLocal)) }
    }
    func didRollback(_ transaction: ObservedTransaction) {}
  }

  func testTransactionObserversSeeThatAnImportIsNotLocal() throws {
    let stores = try Stores()
    let observer = Observer()
    try stores.other.open.coordinator.addTransactionObserver(observer)
    try find("Note", "first", in: stores.one.context).setValue(3.0, forKey: "rating")
    try stores.saveAndImport()
    let imported = Observer.Record(kind: .sync, isLocal: false)
    XCTAssertEqual(observer.records.withLock { $0 }, [imported])
    XCTAssertEqual(observer.committed.withLock { $0 }, [imported])
    try find("Note", "second", in: stores.other.context).setValue(3.0, forKey: "rating")
    try stores.other.context.save()
    XCTAssertEqual(observer.records.withLock { $0.last }, Observer.Record(kind: .save, isLocal: true))
  }

  func testAnErrorOfATransactionObserverKeepsTheImportPending() throws {
    final class Refusal: TransactionObserver, Error {
      let refuses = Mutex(true)
      func didChange(_ change: RowChange, in transaction: ObservedTransaction) {}
      func willCommit(_ transaction: ObservedTransaction) throws { if !transaction.isLocal, refuses.withLock({ $0 }) { throw self } }
      func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {}
      func didCommit(_ transaction: ObservedTransaction) {}
      func didRollback(_ transaction: ObservedTransaction) {}
    }
    let stores = try Stores()
    let refusal = Refusal()
    try stores.other.open.coordinator.addTransactionObserver(refusal)
    try find("Note", "first", in: stores.one.context).setValue("renamed", forKey: "title")
    try stores.one.context.save()
    try stores.one.synchronize()
    XCTAssertThrowsError(try stores.other.synchronize())
    XCTAssertNotNil(try find("Note", "first", in: stores.other.open.newContext()))
    refusal.refuses.withLock { $0 = false }
    stores.other.restart()
    try stores.other.synchronize()
    try assertEqualContents(stores.one, stores.other, count: 3)
  }

  /// Cancels the task that imports, after a number of objects.
  private final class Canceler: TransactionObserver {
    private let last: Int
    private let imported = Mutex(0)
    init(after last: Int) { self.last = last }
    /// The number of imported objects.
    var count: Int { imported.withLock { $0 } }

    func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
      let count = imported.withLock { count in
        count += 1
        return count
      }
      if count == last { withUnsafeCurrentTask { $0?.cancel() } }
    }
    func willCommit(_ transaction: ObservedTransaction) throws {}
    func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {}
    func didCommit(_ transaction: ObservedTransaction) {}
    func didRollback(_ transaction: ObservedTransaction) {}
  }

  func testACanceledImportIsRepeatedFromWhatWasPulled() throws {
    let (count, batch) = (42, 5)
    for last in [0, 1, 23] {
      let stores = try Stores()
      (stores.other.limits.recordsInPage, stores.other.limits.recordsInBatch) = (10, batch)
      stores.other.restart()
      for number in 0..<count { try stores.one.context.insert("Folder", ["title": "\(number)"]) }
      try stores.one.context.save()
      try stores.one.synchronize()
      let before = try stores.other.contents()
      let canceler = Canceler(after: last)
      try stores.other.open.coordinator.addTransactionObserver(canceler)
      nonisolated(unsafe) let other = stores.other
      XCTAssertThrowsError(
        try waitFor {
          if last == 0 { withUnsafeCurrentTask { $0?.cancel() } }
          try other.synchronize()
        }
      ) { XCTAssertTrue($0 is CancellationError, "\($0)") }
      XCTAssertLessThan(canceler.count, last + batch, "No further batch is written.")
      XCTAssertEqual(try stores.other.contents(), before)
      // All pages but the last one are kept.
      let staged = try stores.other.replica.transaction { try stores.other.replica.stagedRecords(after: 0, maximumCount: .max) }
      XCTAssertEqual(staged.count, count - 2)
      stores.other.restart()
      var answers = 0
      try stores.other.synchronize { answers += 1 }
      XCTAssertLessThanOrEqual(answers, 3)
      try assertEqualContents(stores.one, stores.other, count: 3 + count)
    }
  }

  // MARK: Contexts

  func testContextsMergeImports() throws {
    let stores = try Stores()
    let context = stores.makeContext()
    let (first, second) = (try find("Note", "first", in: context), try find("Note", "second", in: context))
    let folder = try find("Folder", "root", in: context)
    XCTAssertEqual(folder.members("notes").count, 2)
    XCTAssertEqual(first["rating"] as? Double, 1)
    try find("Note", "first", in: stores.one.context).setValue(2.0, forKey: "rating")
    stores.one.context.delete(try find("Note", "second", in: stores.one.context))
    try stores.one.context.insert("Note", ["title": "third", "folder": find("Folder", "root", in: stores.one.context)])
    try stores.saveAndImport()
    context.processPendingChanges()
    XCTAssertEqual(first["rating"] as? Double, 2)
    XCTAssertNil(second.managedObjectContext)
    XCTAssertEqual(Set(folder.members("notes").map { $0.text("title") }), ["first", "third"])
    XCTAssertFalse(context.hasChanges)
  }

  func testToManyRelationshipsFollowMovedMembers() throws {
    let stores = try Stores()
    let other = try stores.one.context.insert("Folder", ["title": "other"])
    try stores.one.context.insert("Cover", ["color": "red", "folder": other])
    try stores.saveAndImport()
    let context = stores.makeContext()
    let (from, to) = (try find("Folder", "root", in: context), try find("Folder", "other", in: context))
    XCTAssertEqual(from.members("notes").count, 2)
    XCTAssertEqual(to.members("notes").count, 0)
    let cover = try XCTUnwrap(to.object("cover"))
    XCTAssertNil(from.object("cover"))
    try find("Note", "first", in: stores.one.context).setValue(other, forKey: "folder")
    try XCTUnwrap(other.object("cover")).setValue(find("Folder", "root", in: stores.one.context), forKey: "folder")
    try stores.saveAndImport()
    context.processPendingChanges()
    XCTAssertEqual(from.members("notes").map { $0.text("title") }, ["second"])
    XCTAssertEqual(to.members("notes").map { $0.text("title") }, ["first"])
    XCTAssertEqual(from.object("cover"), cover)
    XCTAssertEqual(cover.object("folder"), from)
    XCTAssertNil(to.object("cover"))
  }

  func testUnsavedChangesStay() throws {
    let stores = try Stores()
    let context = stores.makeContext()
    let note = try find("Note", "first", in: context)
    try note.setValue("mine", forKey: "title")
    let theirs = try find("Note", "first", in: stores.one.context)
    try theirs.setValue("theirs", forKey: "title")
    try theirs.setValue(5.0, forKey: "rating")
    try stores.saveAndImport()
    context.processPendingChanges()
    XCTAssertEqual(note.text("title"), "mine")
    XCTAssertEqual(note["rating"] as? Double, 5)
    try context.save()
    try stores.synchronize()
    try assertEqualContents(stores.one, stores.other, count: 3)
    XCTAssertNotNil(try find("Note", "mine", in: stores.one.open.newContext()))
  }

  func testAContextThatDoesNotMergeHasAConflictThatItsPolicyDecides() throws {
    let stores = try Stores()
    for (policy, expected) in [(MergePolicy.error, nil), (.mergeByPropertyObjectTrump, "mine"), (.mergeByPropertyStoreTrump, "theirs")] {
      let context = ManagedObjectContext(coordinator: stores.other.open.coordinator, mergePolicy: policy)
      let note = try XCTUnwrap(context.all("Note").first { $0.text("title") != "second" })
      let theirs = try XCTUnwrap(stores.one.context.all("Note").first { $0.text("title") != "second" })
      stores.one.context.refresh(theirs, mergeChanges: false)
      try theirs.setValue("theirs", forKey: "title")
      try theirs.setValue((theirs["rating"] as? Double ?? 0) + 1, forKey: "rating")
      try stores.saveAndImport()
      try note.setValue("mine", forKey: "title")
      guard let expected else {
        assertStoreError(.mergeConflict) { try context.save() }
        continue
      }
      try context.save()
      try stores.synchronize()
      try assertEqualContents(stores.one, stores.other, count: 3)
      XCTAssertNotNil(try find("Note", expected, in: stores.one.open.newContext()))
      stores.one.context.reset()
    }
  }

  func testAContextWithAFaultOfADeletedObject() throws {
    let stores = try Stores()
    let merging = stores.makeContext()
    let other = stores.other.open.newContext()
    let ids = try [merging, other].map { try find("Note", "first", in: $0).objectID }
    for context in [merging, other] { context.reset() }
    let (merged, unmerged) = (merging.object(with: ids[0]), other.object(with: ids[1]))
    stores.one.context.delete(try find("Note", "first", in: stores.one.context))
    try stores.saveAndImport()
    merging.processPendingChanges()
    XCTAssertNil(merged.managedObjectContext)
    XCTAssertThrowsError(try other.existingObject(with: unmerged.objectID))
    XCTAssertNil(unmerged.text("title"))
  }

  func testNestedContextsSeeImports() throws {
    let stores = try Stores()
    let parent = stores.makeContext()
    let child = ManagedObjectContext(parent: parent)
    child.automaticallyMergesChangesFromParent = true
    let (first, second) = (try find("Note", "first", in: child), try find("Note", "second", in: child))
    try second.setValue("draft", forKey: "text")
    try find("Note", "first", in: stores.one.context).setValue("renamed", forKey: "title")
    try find("Note", "second", in: stores.one.context).setValue(9.0, forKey: "rating")
    try stores.saveAndImport()
    parent.processPendingChanges()
    child.processPendingChanges()
    XCTAssertEqual(first.text("title"), "renamed")
    XCTAssertEqual(second["rating"] as? Double, 9)
    XCTAssertEqual(second.text("text"), "draft")
    try child.save()
    try parent.save()
    try stores.synchronize()
    try assertEqualContents(stores.one, stores.other, count: 3)
    XCTAssertEqual(try find("Note", "second", in: stores.one.open.newContext()).text("text"), "draft")
  }

  func testResultsControllersReportImports() throws {
    final class Delegate: FetchedResultsControllerDelegate {
      var changes: [String] = []
      func controller(
        _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject, at indexPath: IndexPath?,
        for type: FetchedResultsChangeType, newIndexPath: IndexPath?
      ) { changes.append("\(type) \(indexPath.map { "\($0.item)" } ?? "-") \(newIndexPath.map { "\($0.item)" } ?? "-")") }
    }
    let stores = try Stores()
    let context = stores.makeContext()
    let request = FetchRequest<ManagedObject>(entityName: "Note", sortDescriptors: [FetchSortDescriptor("title")])
    let controller = FetchedResultsController(fetchRequest: request, context: context, sectionNameExpression: nil)
    let delegate = Delegate()
    controller.delegate = delegate
    try controller.performFetch()
    XCTAssertEqual(controller.numberOfObjects, 2)
    let folder = try find("Folder", "root", in: stores.one.context)
    try stores.one.context.insert("Note", ["title": "a", "folder": folder])
    try find("Note", "second", in: stores.one.context).setValue(7.0, forKey: "rating")
    stores.one.context.delete(try find("Note", "first", in: stores.one.context))
    try stores.saveAndImport()
    context.processPendingChanges()
    XCTAssertEqual(controller.fetchedObjects?.map { $0.text("title") }, ["a", "second"])
    XCTAssertEqual(Set(delegate.changes), ["delete 0 -", "insert - 0", "update 1 1"])
  }

  func testPinnedContextsSeeImportsWhenTheyAdvance() throws {
    let stores = try Stores()
    let context = stores.other.open.newContext()
    try context.setQueryGeneration(from: .current)
    XCTAssertEqual(try context.all("Note").count, 2)
    try find("Note", "first", in: stores.one.context).setValue("renamed", forKey: "title")
    stores.one.context.delete(try find("Note", "second", in: stores.one.context))
    try stores.saveAndImport()
    XCTAssertEqual(Set(try context.all("Note").map { $0.text("title") }), ["first", "second"])
    try context.setQueryGeneration(from: .current)
    context.refreshAllObjects()
    XCTAssertEqual(try context.all("Note").map { $0.text("title") }, ["renamed"])
  }

  // MARK: Undo

  func testCase16UndoOverAnImportIsANewChange() throws {
    let stores = try Stores()
    let context = stores.makeContext()
    context.undoManager = ContextUndoManager()
    let note = try find("Note", "first", in: context)
    try note.setValue("mine", forKey: "title")
    try context.save()
    try stores.synchronize()
    stores.one.context.refreshAllObjects()
    let theirs = try find("Note", "mine", in: stores.one.context)
    try theirs.setValue("theirs", forKey: "title")
    try theirs.setValue(8.0, forKey: "rating")
    try stores.saveAndImport()
    context.processPendingChanges()
    XCTAssertEqual(note.text("title"), "theirs")
    try context.undo()
    XCTAssertEqual(note.text("title"), "first")
    try context.save()
    try stores.synchronize()
    try assertEqualContents(stores.one, stores.other, count: 3)
    let values = try XCTUnwrap(try stores.one.contents().values.first { $0["title"] == "first" })
    XCTAssertEqual(values["rating"], "8.0", "An undo changes only what was changed.")
  }

  func testCase16UndoOfAChangeOfAnObjectThatAnImportHasDeletedDoesNotBringItBack() throws {
    for isSent in [true, false] {
      let stores = try Stores()
      let context = stores.makeContext()
      context.undoManager = ContextUndoManager()
      let (first, second) = (try find("Note", "first", in: context), try find("Note", "second", in: context))
      for note in [first, second] { try note.setValue("mine", forKey: "text") }
      try context.save()
      if isSent { try stores.synchronize() }
      stores.one.context.refreshAllObjects()
      stores.one.context.delete(try find("Note", "first", in: stores.one.context))
      try find("Note", "second", in: stores.one.context).setValue("theirs", forKey: "title")
      try stores.saveAndImport()
      context.processPendingChanges()
      try context.undo()
      try context.save()
      try stores.synchronize()
      try assertEqualContents(stores.one, stores.other, count: 2)
      let values = try XCTUnwrap(try stores.one.contents().values.first { $0["entity"] == "Note" })
      XCTAssertEqual(values["title"], "theirs")
      XCTAssertEqual(values["text"], "nil")
    }
  }

  func testUndoOfADeletionThatWasSentInsertsANewObject() throws {
    let stores = try Stores()
    let context = stores.makeContext()
    context.undoManager = ContextUndoManager()
    let note = try find("Note", "first", in: context)
    let id = try XCTUnwrap(note.stableID)
    context.delete(note)
    try context.save()
    try stores.synchronize()
    XCTAssertEqual(try stores.one.contents().count, 2)
    try context.undo()
    try context.save()
    stores.other.restart()
    try stores.synchronize()
    try assertEqualContents(stores.one, stores.other, count: 3)
    XCTAssertNotEqual(try find("Note", "first", in: stores.one.open.newContext()).stableID, id, "Deletions are final.")
  }

  func testUndoOfADeletionThatWasNotSent() throws {
    for isReopened in [false, true] {
      let stores = try Stores()
      let context = stores.makeContext()
      context.undoManager = ContextUndoManager()
      try find("Note", "first", in: context).setValue("mine", forKey: "text")
      try context.save()
      context.delete(try find("Folder", "root", in: context))
      try context.save()
      try context.undo()
      try context.save()
      let checks = SyncChecks()
      try checks.check(stores.other, 1)
      if isReopened { try stores.other.reopenReplica() }
      try checks.check(stores.other, 1)
      stores.other.limits.changesInCommit = 1
      stores.other.restart()
      try stores.other.synchronize { try checks.check(stores.other, 1) }
      try stores.synchronize()
      try assertEqualContents(stores.one, stores.other, count: 3)
      XCTAssertEqual(try find("Note", "first", in: stores.one.open.newContext()).text("text"), "mine")
    }
  }

  // MARK: Values

  func testDerivedAttributesAreComputedAndNotSent() throws {
    let stores = try Stores()
    let context = stores.makeContext()
    let folder = try find("Folder", "root", in: context)
    XCTAssertEqual(folder.integer("noteCount"), 2)
    let commits = stores.one.scenario.commitCount
    try stores.one.context.insert("Note", ["title": "\u{c9}t\u{e9}", "folder": find("Folder", "root", in: stores.one.context)])
    try stores.saveAndImport()
    context.processPendingChanges()
    XCTAssertEqual(folder.integer("noteCount"), 3)
    XCTAssertEqual(try find("Note", "\u{c9}t\u{e9}", in: context).text("folded"), "ete")
    XCTAssertEqual(stores.one.scenario.commitCount, commits + 1)
    for store in [stores.one, stores.other] {
      for row in try store.open.allRows() {
        let id = RecordID(try XCTUnwrap(store.replica.history.stableIDs(of: [row.reference])[0]))
        let object = try store.replica.transaction { try store.replica.object(row, of: id) }
        let entity = try XCTUnwrap(store.replica.schema.number(of: object.entity))
        let names = store.replica.schema.entities[entity].properties.map { store.open.model.entities[entity].slots[$0.slot].name }
        XCTAssertFalse(names.contains("folded") || names.contains("noteCount"))
      }
    }
  }

  // MARK: Identity

  func testAnObjectThatComesBackKeepsItsObjectID() throws {
    let stores = try Stores()
    // The second store moves a note into a folder that the first one has deleted. Until the deletion is pulled, the note is there.
    let kept = try stores.one.context.insert("Folder", ["title": "kept"])
    let doomed = try stores.one.context.insert("Folder", ["title": "doomed"])
    try stores.saveAndImport()
    let context = stores.makeContext()
    let note = try find("Note", "first", in: context)
    let (objectID, id) = (note.objectID, try XCTUnwrap(note.stableID))
    // Pending on the first store: the note moves to the doomed folder, and back.
    stores.one.context.delete(doomed)
    try stores.one.context.save()
    try stores.one.synchronize()
    try note.setValue(find("Folder", "doomed", in: context), forKey: "folder")
    try context.save()
    // The note is deleted on the second store by the import, and sent as deleted only with the next commit.
    var actions = try stores.other.handle(.remoteChange)
    let pull = try XCTUnwrap(actions.first { if case .pull = $0 { true } else { false } })
    actions = try stores.other.handle(stores.other.answer(pull))
    context.processPendingChanges()
    XCTAssertThrowsError(try context.existingObject(with: objectID))
    // Meanwhile the first store moves the note to another folder.
    try find("Note", "first", in: stores.one.context).setValue(kept, forKey: "folder")
    try stores.one.context.save()
    stores.other.restart()
    for store in [stores.one, stores.other, stores.one, stores.other] { try store.synchronize() }
    try assertEqualContents(stores.one, stores.other)
    XCTAssertNotNil(try stores.other.contents()[id.uuidString])
    XCTAssertEqual(try find("Note", "first", in: stores.other.open.newContext()).objectID, objectID)
  }
}
