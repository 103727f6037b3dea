import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import Synchronization
import XCTest

/// The coordinator publishes every commit of a store, from any writer, in order, and not before the commit.
final class PublishingTests: XCTestCase {
  private struct Stop: Error {}

  /// Observes a coordinator.
  private final class RecordingObserver: Sendable {
    let coordinator: PersistentStoreCoordinator
    private let list = Mutex<[ChangeSet]>([])
    private let number = Mutex<UInt64>(0)

    /// - Parameter note: Called with each change set, while the store is locked.
    init(_ coordinator: PersistentStoreCoordinator, _ note: @escaping @Sendable (ChangeSet) -> Void = { _ in }) {
      self.coordinator = coordinator
      let number = coordinator.addObserver { [weak self] changes in
        self?.list.withLock { $0.append(changes) }
        note(changes)
      }
      self.number.withLock { $0 = number }
    }

    deinit { coordinator.removeObserver(number.withLock { $0 }) }

    var received: [ChangeSet] { list.withLock { $0 } }
    var count: Int { received.count }
  }

  // MARK: Publishers

  func testSaveWithoutAContextIsReported() async throws {
    try await onEachStore { stack in
      let listener = RecordingObserver(stack.coordinator)
      let tag = try XCTUnwrap(stack.coordinator.compiledModel.entity(named: "Tag"))
      var scope = RequestScope(objectIDSpace: stack.store.space, contextName: "nobody", transactionAuthor: "me")
      scope.origin = 7
      let placeholder = ManagedObjectID(space: stack.store.space.number, entityNumber: UInt32(tag.number), key: -1)
      let id = try stack.store.incrementalStore.obtainPermanentIDs(for: [placeholder], in: scope)[0]
      let writer = RowWriter(rowCapacity: 1)
      writer.beginRow(entityNumber: tag.number, slotCount: tag.slots.count, key: id.key, version: 1)
      writer.set(.text("new"), at: 0)
      writer.endRow()
      var request = SaveChangesRequest()
      request.inserted = writer.finish()
      try stack.coordinator.save(request, to: stack.store, scope: scope)
      XCTAssertEqual(listener.received.map(\.inserted), [[id]])
      XCTAssertEqual(listener.received.map(\.contextName), ["nobody"])
      XCTAssertEqual(listener.received.map(\.transactionAuthor), ["me"])
      XCTAssertEqual(listener.received.map(\.origin), [7])
    }
  }

  func testEmptyOrFailedSaveIsNotReported() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let tag = Tag(context: context)
      tag.name = "a"
      try context.save()
      let listener = RecordingObserver(stack.coordinator)
      context.detectConflicts(for: tag)
      try context.save()
      let other = stack.makeContext()
      let theirs = try other.all(Tag.self)[0]
      _ = theirs.name
      tag.name = "b"
      try context.save()
      theirs.name = "c"
      XCTAssertThrowsError(try other.save())
      XCTAssertEqual(listener.count, 1)
    }
  }

  func testImportedRowsAreReported() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let tag = try XCTUnwrap(stack.coordinator.compiledModel.entity(named: "Tag"))
      let transfer = try RowTransfer(into: stack.store, scope: RequestScope(objectIDSpace: stack.store.space))
      func insert(_ names: [String]) throws {
        let distance = try transfer.reserveKeys(upTo: Int64(names.count), rootEntity: tag.root)
        let writer = RowWriter(rowCapacity: names.count)
        for (index, name) in names.enumerated() {
          writer.beginRow(entityNumber: tag.number, slotCount: tag.slots.count, key: distance + Int64(index) + 1, version: 1)
          writer.set(.text(name), at: 0)
          writer.endRow()
        }
        try transfer.insert(writer.finish(), places: [])
      }
      let listener = RecordingObserver(stack.coordinator)
      try transfer.transaction {
        try insert(["a", "b"])
        XCTAssertEqual(listener.count, 0)
      }
      XCTAssertEqual(listener.received.map(\.inserted.count), [2])
      XCTAssertThrowsError(
        try transfer.transaction {
          try insert(["c"])
          throw Stop()
        })
      XCTAssertEqual(listener.count, 1)
    }
  }

  // MARK: Order

  func testRowCacheIsUpdatedBeforeObserversAreNotified() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let tag = Tag(context: context)
      tag.name = "a"
      try context.save()
      let (store, reference) = (stack.store, tag.objectID.reference)
      let versions = Mutex<[Int64?]>([])
      let listener = RecordingObserver(stack.coordinator) { _ in versions.withLock { $0.append(store.cache.row(reference)?.version) } }
      tag.name = "b"
      try context.save()
      try context.execute(BatchUpdateRequest(entityName: "Tag", propertiesToUpdate: ["name": "c"]))
      XCTAssertEqual(
        versions.withLock { $0 }, [RowImage.firstVersion + 1, nil],
        "A save's rows are there; those that a batch request has changed are forgotten.")
      XCTAssertEqual(listener.count, 2)
    }
  }

  func testObserversAreNotifiedBeforeTheSaveReturns() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let listener = RecordingObserver(stack.coordinator)
      let author = Author(context: context)
      author.name = "Ada"
      nonisolated(unsafe) var received = -1
      let token = NotificationCenter.default.addObserver(
        forName: ManagedObjectContext.didSaveObjectsNotification, object: context, queue: nil
      ) { _ in received = listener.count }
      defer { NotificationCenter.default.removeObserver(token) }
      try context.save()
      XCTAssertEqual(received, 1, "When the save is reported, the change set is available.")
    }
  }

  func testConcurrentSavesAreReportedInCommitOrder() async throws {
    try await onEachStore { stack in
      let coordinator = stack.coordinator
      do {
        let context = stack.makeContext()
        let tag = Tag(context: context)
        tag.name = "0"
        try context.save()
      }
      let versions = Mutex<[Int64]>([])
      let store = stack.store
      let listener = RecordingObserver(coordinator) { changes in
        for id in changes.updated { versions.withLock { $0.append(store.cache.row(id.reference)?.version ?? 0) } }
      }
      DispatchQueue.concurrentPerform(iterations: 4) { number in
        let context = ManagedObjectContext(coordinator: coordinator, classes: Library.classes, mergePolicy: .mergeByPropertyObjectTrump)
        for step in 0..<25 {
          guard let tag = try? context.all(Tag.self).first else { return }
          tag.name = "\(number) \(step)"
          do { try context.save() } catch { XCTFail("\(error)") }
        }
      }
      let received = versions.withLock { $0 }
      XCTAssertEqual(received.count, listener.count)
      XCTAssertEqual(received, received.sorted())
      XCTAssertEqual(received.last, received.max())
      XCTAssertGreaterThan(received.count, 25)
    }
  }

  // MARK: Transactions

  func testTransactionIsReportedAfterTheCommit() async throws {
    try await onEachStore { stack in
      let (context, reader) = (stack.makeContext(), stack.makeContext())
      reader.automaticallyMergesChangesFromParent = true
      let held = Tag(context: reader)
      held.name = "held"
      try reader.save()
      let listener = RecordingObserver(stack.coordinator)
      try context.performTransaction {
        let tag = try context.all(Tag.self)[0]
        tag.name = "first"
        try context.save()
        try context.execute(BatchInsertRequest(entityName: "Tag", objects: [["name": "second"]]))
        XCTAssertEqual(listener.count, 0, "Nothing is committed.")
        reader.processPendingChanges()
        XCTAssertEqual(held.name, "held")
      }
      XCTAssertEqual(listener.received.map { [$0.inserted.count, $0.updated.count] }, [[0, 1], [1, 0]])
      reader.processPendingChanges()
      XCTAssertEqual(held.name, "first")
    }
  }

  func testRolledBackTransactionIsNotReported() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let listener = RecordingObserver(stack.coordinator)
      XCTAssertThrowsError(
        try context.performTransaction {
          Tag(context: context).name = "a"
          try context.save()
          throw Stop()
        })
      XCTAssertEqual(listener.count, 0)
      Tag(context: context).name = "b"
      try context.save()
      XCTAssertEqual(listener.received.map(\.inserted.count), [1], "Changes that were rolled back are never reported.")
    }
  }

  func testRolledBackNestedTransactionIsNotReported() async throws {
    try await onEachStore { stack in
      let (outer, inner) = (stack.makeContext(), stack.makeContext())
      let listener = RecordingObserver(stack.coordinator)
      try outer.performTransaction {
        Tag(context: outer).name = "a"
        try outer.save()
        try? inner.performTransaction {
          for name in ["b", "c"] { Tag(context: inner).name = name }
          try inner.save()
          throw Stop()
        }
        try inner.performTransaction {
          for name in ["d", "e", "f"] { Tag(context: inner).name = name }
          try inner.save()
        }
        XCTAssertEqual(listener.count, 0)
      }
      XCTAssertEqual(listener.received.map(\.inserted.count), [1, 3])
      XCTAssertEqual(try stack.makeContext().all(Tag.self).count, 4)
    }
  }

  func testObserverAddedInATransactionReloadsEverything() async throws {
    try await onEachStore { stack in
      let (context, reader) = (stack.makeContext(), stack.makeContext())
      let tag = Tag(context: context)
      tag.name = "old"
      try context.save()
      let held = try reader.all(Tag.self)[0]
      XCTAssertEqual(held.name, "old")
      try context.performTransaction {
        tag.name = "new"
        try context.save()
        reader.automaticallyMergesChangesFromParent = true
      }
      reader.processPendingChanges()
      XCTAssertEqual(held.name, "new")
    }
  }

  func testBatchOfManyChunksIsReportedAsOne() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let listener = RecordingObserver(stack.coordinator)
      var rows = BatchInsertRequest(entityName: "Tag", objects: (0..<12_000).map { ["name": "\($0)"] })
      try context.execute(rows)
      XCTAssertEqual(listener.received.map(\.inserted.count), [12_000])
      rows.publishesChanges = false
      try context.execute(rows)
      var update = BatchUpdateRequest(entityName: "Tag", propertiesToUpdate: ["name": "x"])
      update.publishesChanges = false
      try context.execute(update)
      XCTAssertEqual(listener.count, 1)
    }
  }
}
