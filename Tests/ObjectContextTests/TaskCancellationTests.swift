import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import Synchronization
import XCTest
import _TestSupport

/// Background operations are part of the task that starts them: asynchronous, and canceled with it.
final class TaskCancellationTests: XCTestCase {
  private typealias Work = @Sendable (ManagedObjectContext) async throws -> Int

  private let tags = FetchRequest<Tag>(entityName: "Tag")

  private func container(_ descriptions: [PersistentStoreDescription]) async throws -> PersistentContainer {
    let container = try PersistentContainer(
      name: "Library", managedObjectModel: Library.model, classes: Library.classes, persistentStoreDescriptions: descriptions)
    try await container.loadPersistentStores()
    return container
  }

  /// Runs a test on each kind of store, for each kind of background operation.
  private func forEachCall(
    _ body: (PersistentContainer, @escaping @Sendable (@escaping Work) async throws -> Int) async throws -> Void
  ) async throws {
    for kind in StoreKind.allCases {
      let folder = try TemporaryFolder()
      let container = try await container([kind == .inMemory ? PersistentStoreDescription(type: .inMemory) : .encrypted(in: folder)])
      try await body(container) { try await container.performBackgroundTask($0) }
      let library = ContextActor(container: container)
      try await body(container) { try await library.perform($0) }
      try container.close()
    }
  }

  private func assertCancelled(_ message: String = "", line: UInt = #line, _ body: () async throws -> Void) async {
    do {
      try await body()
      XCTFail("not cancelled \(message)", line: line)
    } catch { XCTAssertTrue(error is CancellationError, "\(error)", line: line) }
  }

  private static func cancelThisTask() { withUnsafeCurrentTask { $0?.cancel() } }

  func testCancellationIsVisibleAndRequestsThrow() async throws {
    let tags = tags
    try await forEachCall { _, perform in
      let task = Task {
        try await perform { context in
          XCTAssertFalse(Task.isCancelled)
          _ = try context.count(for: tags)
          let tag = Tag(context: context)
          tag.name = "a"
          Self.cancelThisTask()
          XCTAssertTrue(Task.isCancelled)
          for request in [
            { _ = try context.fetch(tags) }, { _ = try context.count(for: tags) }, { try context.save() },
            { _ = try context.execute(BatchDeleteRequest(entityName: "Tag")) },
          ] {
            XCTAssertThrowsError(try request()) { XCTAssertTrue($0 is CancellationError, "\($0)") }
          }
          XCTAssertTrue(tag.isInserted)
          context.rollback()
          return 1
        }
      }
      let result = try await task.value
      XCTAssertEqual(result, 1)
      let count = try await perform { try $0.count(for: tags) }
      XCTAssertEqual(count, 0)
    }
  }

  func testNestedContextsAreCanceledWithTheirTask() async throws {
    let tags = tags
    try await forEachCall { _, perform in
      let task = Task {
        try await perform { context in
          let child = ManagedObjectContext(parent: ManagedObjectContext(parent: context))
          XCTAssertEqual(try child.count(for: tags), 0)
          Tag(context: child).name = "a"
          Self.cancelThisTask()
          for request in [{ _ = try child.fetch(tags) }, { _ = try child.count(for: tags) }, { try child.save() }] {
            XCTAssertThrowsError(try request()) { XCTAssertTrue($0 is CancellationError, "\($0)") }
          }
          return child.insertedObjects.count
        }
      }
      let result = try await task.value
      XCTAssertEqual(result, 1)
    }
  }

  func testCancellationBeforeTheStartIsVisible() async throws {
    let tags = tags
    try await forEachCall { _, perform in
      let task = Task {
        Self.cancelThisTask()
        return try await perform { context in
          XCTAssertTrue(Task.isCancelled)
          return try context.fetch(tags).count
        }
      }
      await assertCancelled { _ = try await task.value }
    }
  }

  @MainActor private static func nameOnTheMainActor() -> String { "A" }

  @TaskLocal private static var note = ""

  func testWorkCanSuspendAndKeepsItsObjects() async throws {
    let tags = tags
    try await forEachCall { container, perform in
      let count = try await Self.$note.withValue("noted") {
        try await perform { context in
          let tag = Tag(context: context)
          tag.name = await Self.nameOnTheMainActor()
          await Task.yield()
          try context.save()
          tag.name += await withTaskGroup(of: Int.self) { group in
            for number in 1...3 { group.addTask { number } }
            return await group.reduce(0, +).description
          }
          try context.save()
          XCTAssertEqual(Self.note, "noted")
          return try context.count(for: tags)
        }
      }
      XCTAssertGreaterThan(count, 0)
      let names = try await container.performBackgroundTask { try $0.fetch(tags).map(\.name) }
      XCTAssertEqual(Set(names), ["A6"])
      let sleeping = Task {
        try await perform { _ in
          Self.cancelThisTask()
          try await Task.sleep(for: .seconds(1_000))
          return 0
        }
      }
      do {
        _ = try await sleeping.value
        XCTFail("no error")
      } catch { XCTAssertTrue(error is CancellationError, "\(error)") }
    }
  }

  private static func assertHistoryRequestsAreCanceled(_ container: PersistentContainer) -> Task<Void, any Error> {
    Task.detached {
      try await container.performBackgroundTask { context in
        cancelThisTask()
        for context in [context, ManagedObjectContext(parent: context)] {
          XCTAssertThrowsError(try context.execute(.fetchHistory(after: PersistentHistoryToken?.none))) { checkIsCanceled($0) }
          XCTAssertThrowsError(try context.execute(.fetchHistory(after: Date.distantPast))) { checkIsCanceled($0) }
          XCTAssertThrowsError(try context.execute(.deleteHistory(before: PersistentHistoryToken?.none))) { checkIsCanceled($0) }
          XCTAssertThrowsError(try context.mergeChanges(fromHistoryAfter: nil)) { checkIsCanceled($0) }
        }
      }
    }
  }

  private static func checkIsCanceled(_ error: any Error) { XCTAssertTrue(error is CancellationError, "\(error)") }

  func testHistoryRequestsOfACanceledTaskThrowAndChangeNothing() async throws {
    let tags = tags
    for kind in StoreKind.allCases {
      let folder = try TemporaryFolder()
      var description = kind == .inMemory ? PersistentStoreDescription(type: .inMemory) : .encrypted(in: folder)
      description.historyTracking = true
      let container = try await container([description])
      let transactions = try await container.performBackgroundTask { context in
        for name in ["a", "b"] {
          Tag(context: context).name = name
          try context.save()
        }
        return try context.execute(.fetchHistory(after: nil)).transactions.count
      }
      XCTAssertEqual(transactions, 2)
      try await Self.assertHistoryRequestsAreCanceled(container).value
      let left = try await container.performBackgroundTask { context in
        XCTAssertEqual(try context.count(for: tags), 2)
        return try context.execute(.fetchHistory(after: nil)).transactions.count
      }
      XCTAssertEqual(left, 2)
      try container.close()
    }
  }

  // MARK: Saves

  /// A store that cancels the task in the middle of a save's statements.
  private func cancellingStore(in folder: TemporaryFolder) -> (description: PersistentStoreDescription, countdown: Countdown) {
    let countdown = Countdown()
    var description = PersistentStoreDescription.encrypted(in: folder)
    description.sqlObserver = SQLObserver(beforeEach: { text in
      if text.hasPrefix("INSERT"), countdown.isDone() { Self.cancelThisTask() }
    })
    return (description, countdown)
  }

  private final class Countdown: Sendable {
    private let rest = Mutex(0)
    func start(_ count: Int) { rest.withLock { $0 = count } }
    func isDone() -> Bool {
      rest.withLock { rest in
        rest -= 1
        return rest == 0
      }
    }
  }

  func testCanceledSaveWritesNothingAndCanBeRepeated() async throws {
    let tags = tags
    let folder = try TemporaryFolder()
    let (description, countdown) = cancellingStore(in: folder)
    let container = try await container([description])
    let library = ContextActor(container: container)
    let task = Task {
      try await library.perform { context in
        for number in 0..<2_000 { Tag(context: context).name = "\(number)" }
        countdown.start(1)
        try context.save()
      }
    }
    await assertCancelled { try await task.value }
    let stored = try await container.performBackgroundTask { try $0.count(for: tags) }
    XCTAssertEqual(stored, 0)
    let waiting = try await library.perform { context in
      let count = context.insertedObjects.count
      try context.save()
      return count
    }
    XCTAssertEqual(waiting, 2_000)
    let names = try await container.performBackgroundTask { try $0.fetch(tags).map(\.name) }
    XCTAssertEqual(Set(names).count, 2_000)
    try container.close()
  }

  func testTransactionEndedByACanceledSaveRejectsFurtherSaves() async throws {
    let tags = tags
    for swallowsBoth in [false, true] {
      let folder = try TemporaryFolder()
      let (description, countdown) = cancellingStore(in: folder)
      let container = try await container([description])
      let task = Task {
        try await container.performBackgroundTask { context in
          try context.performTransaction {
            for number in 0..<2_000 { Tag(context: context).name = "\(number)" }
            countdown.start(1)
            XCTAssertThrowsError(try context.save()) { XCTAssertTrue($0 is CancellationError, "\($0)") }
            let other = container.newBackgroundContext()
            Tag(context: other).name = "later"
            do { try other.save() } catch {
              XCTAssertEqual((error as? StoreError)?.code, .invalidRequest, "\(error)")
              if !swallowsBoth { throw error }
            }
          }
        }
      }
      do {
        try await task.value
        XCTFail("no error")
      } catch { XCTAssertEqual((error as? StoreError)?.code, .invalidRequest, "\(error)") }
      let stored = try await container.performBackgroundTask { try $0.count(for: tags) }
      XCTAssertEqual(stored, 0)
      try container.close()
    }
  }

  /// An in-memory store that cancels the task as soon as something was saved.
  private final class CancellingStore: IncrementalStore {
    static let type = StoreType(rawValue: "Cancelling")
    static var derivesAttributes: Bool { true }
    private let store: InMemoryStore

    init(configuration: StoreConfiguration) throws { store = try InMemoryStore(configuration: configuration) }
    func loadMetadata() throws -> StoreMetadata { try store.loadMetadata() }
    func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult {
      defer { if case .save = request { TaskCancellationTests.cancelThisTask() } }
      return try store.execute(request, in: scope)
    }
    func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList {
      try store.newValuesForObjects(with: objectIDs, in: scope)
    }
    func newValues(
      forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
    ) throws -> RelationshipValues {
      try store.newValues(forRelationship: relationship, forObjectsWith: objectIDs, in: scope)
    }
    func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] {
      try store.obtainPermanentIDs(for: objectIDs, in: scope)
    }
    func close() throws { try store.close() }
  }

  func testSaveIsNotCanceledBetweenStores() async throws {
    PersistentStoreCoordinator.registerStoreClass(CancellingStore.self, forStoreType: CancellingStore.type)
    defer { PersistentStoreCoordinator.registerStoreClass(nil, forStoreType: CancellingStore.type) }
    let tags = tags
    let folder = try TemporaryFolder()
    let container = try PersistentContainer(name: "Library", managedObjectModel: Library.model, classes: Library.classes)
    let coordinator = container.persistentStoreCoordinator
    try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: CancellingStore.type))
    try await coordinator.addPersistentStore(with: .encrypted(in: folder))
    let task = Task {
      try await container.performBackgroundTask { context in
        for store in coordinator.persistentStores {
          for number in 0..<500 {
            let tag = Tag(context: context)
            tag.name = "\(number)"
            try context.assign(tag, to: store)
          }
        }
        try context.save()
        XCTAssertTrue(Task.isCancelled)
        XCTAssertFalse(context.hasChanges)
        XCTAssertThrowsError(try context.fetch(tags)) { XCTAssertTrue($0 is CancellationError, "\($0)") }
      }
    }
    try await task.value
    let count = try await container.performBackgroundTask { try $0.count(for: tags) }
    XCTAssertEqual(count, 1_000)
    try container.close()
  }

  // MARK: Reads that cannot throw

  func testPropertyReadsIgnoreCancellation() async throws {
    try await onEachStoreOfBooks { library, request in
      let task = Task {
        try await library.perform { context in
          let results = try context.fetch(request, batchSize: 100)
          let authors = try context.objects("Author")
          Self.cancelThisTask()
          XCTAssertEqual(authors.map { $0.many("books").count }, [30])
          XCTAssertEqual(results.map(\.pages), Array(0..<30))
        }
      }
      try await task.value
      let count = try await library.perform { try $0.fetch(request).count }
      XCTAssertEqual(count, 30)
    }
  }

  private func onEachStoreOfBooks(_ body: (ContextActor, FetchRequest<Book>) async throws -> Void) async throws {
    for kind in StoreKind.allCases {
      let folder = try TemporaryFolder()
      let container = try await container([kind == .inMemory ? PersistentStoreDescription(type: .inMemory) : .encrypted(in: folder)])
      try await container.performBackgroundTask { context in
        let author = try context.make("Author", ["name": "A"])
        for pages in 0..<30 { try context.make("Book", ["title": "T", "pages": pages, "author": author]) }
        try context.save()
      }
      for store in container.persistentStoreCoordinator.persistentStores { store.cache.removeAll() }
      var request = FetchRequest<Book>(entityName: "Book")
      request.sortDescriptors = [FetchSortDescriptor("pages")]
      request.fetchBatchSize = 10
      try await body(ContextActor(container: container), request)
      try container.close()
    }
  }

  // MARK: Waiting

  func testSuspendedWorkKeepsExclusiveAccessToTheActorContext() async throws {
    let container = try await container([PersistentStoreDescription(type: .inMemory)])
    let library = ContextActor(container: container)
    let tags = tags
    try await library.perform { context in
      Tag(context: context).name = "0"
      try context.save()
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<40 {
        group.addTask {
          try await library.perform { context in
            let tag = try XCTUnwrap(context.fetch(tags).first)
            let number = try XCTUnwrap(Int(tag.name))
            for _ in 0..<5 { await Task.yield() }
            tag.name = "\(number + 1)"
            try context.save()
          }
        }
      }
      try await group.waitForAll()
    }
    let name = try await library.perform { try $0.fetch(tags).first?.name }
    XCTAssertEqual(name, "40")
  }

  func testOtherSavesAreMergedAfterSuspendedWork() async throws {
    let container = try await container([PersistentStoreDescription(type: .inMemory)])
    let (first, second) = (ContextActor(container: container), ContextActor(container: container))
    let tags = tags
    try await second.perform { context in
      Tag(context: context).name = "old"
      try context.save()
    }
    let names = try await first.perform { context in
      context.automaticallyMergesChangesFromParent = true
      let tag = try XCTUnwrap(context.fetch(tags).first)
      let before = tag.name
      try await second.perform { context in
        try context.fetch(tags).first?.name = "new"
        try context.save()
      }
      for _ in 0..<50 { await Task.yield() }
      return [before, tag.name]
    }
    XCTAssertEqual(names, ["old", "old"])
    let later = try await first.perform { try $0.fetch(tags).map(\.name) }
    XCTAssertEqual(later, ["new"])
  }

  func testWorkCanCallItsOwnAndOtherActors() async throws {
    let container = try await container([PersistentStoreDescription(type: .inMemory)])
    let (first, second) = (ContextActor(container: container), ContextActor(container: container))
    let tags = tags
    let counts = try await first.perform { context in
      Tag(context: context).name = "a"
      let here = try await first.perform { try $0.count(for: tags) }
      let (there, back) = try await second.perform { context in
        (try context.count(for: tags), try await first.perform { try $0.count(for: tags) })
      }
      async let child = first.perform { try $0.count(for: tags) }
      return try await [here, there, back, child]
    }
    XCTAssertEqual(counts, [1, 0, 1, 1])
    let later = await first.perform { $0.insertedObjects.count }
    XCTAssertEqual(later, 1)
  }
}
