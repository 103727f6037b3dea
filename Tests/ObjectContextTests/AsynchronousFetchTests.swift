import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Fetches that do not block the isolation of their context (row F18).
final class AsynchronousFetchTests: XCTestCase {
  private static let count: Int32 = 1_200

  /// Runs `body` with a container of each kind with 1,200 books.
  @MainActor private func onContainers(_ body: @MainActor (PersistentContainer) async throws -> Void) async throws {
    for kind in StoreKind.allCases {
      let folder = try TemporaryFolder()
      let container = try PersistentContainer(
        name: "Library", managedObjectModel: Library.model, classes: Library.classes,
        persistentStoreDescriptions: [kind == .inMemory ? PersistentStoreDescription(type: .inMemory) : .encrypted(in: folder)])
      try await container.loadPersistentStores()
      try await container.performBackgroundTask { context in
        for pages in 0..<Self.count { try context.make("Book", ["title": "book", "pages": pages]) }
        try context.save()
      }
      try await body(container)
      try container.close()
    }
  }

  private func request() -> FetchRequest<Book> {
    var request = FetchRequest<Book>(entityName: "Book")
    request.sortDescriptors = [FetchSortDescriptor("pages")]
    return request
  }

  @MainActor func testAsynchronousFetchReturnsRegisteredObjects() async throws {
    try await onContainers { container in
      let context = container.viewContext
      let books = try await context.asynchronousFetch(request()).value()
      XCTAssertEqual(books.compactMap(\.pages), Array(0..<Self.count))
      XCTAssertTrue(books[0].managedObjectContext === context)
      XCTAssertEqual(books, try context.fetch(request()))
    }
  }

  @MainActor func testSnapshotsMatchASynchronousFetch() async throws {
    try await onContainers { container in
      let context = container.viewContext
      let tag = try context.make("Tag", ["name": "red"])
      try context.make("Book", ["title": "book", "pages": -1 as Int32, "tags": Set([tag])])
      try context.save()
      let book = try XCTUnwrap(context.fetch(request()).last)
      book.title = "changed"
      let expected = try context.fetch(request(), as: ObjectSnapshot.self, including: ["tags"])
      let found = try await context.asynchronousFetch(request(), as: ObjectSnapshot.self, including: ["tags"]).value()
      XCTAssertEqual(found, expected)
      XCTAssertEqual(try found.first?["tags"] as? [ManagedObjectID], [tag.objectID])
      XCTAssertEqual(try found.last?["title"] as? String, "changed")
      let fetch = try context.asynchronousFetch(request(), as: ObjectSnapshot.self)
      fetch.cancel()
      do {
        _ = try await fetch.value()
        XCTFail("not cancelled")
      } catch let error as StoreError { XCTAssertEqual(error.code, .cancelled) }
    }
  }

  @MainActor func testSnapshotRowsAreReadOutsideTheContextIsolation() async throws {
    let observed = try await Stack(.sqlcipher, model: Library.model, classes: Library.classes)
    let writer = observed.makeShortLivedContext()
    for pages in 0..<700 { try writer.make("Book", ["title": "book", "pages": pages]) }
    try writer.save()
    observed.forgetRows()
    let context = observed.makeContext()
    let fetch = try context.asynchronousFetch(request(), as: ObjectSnapshot.self)
    // One statement for the IDs and one per 500 rows, on the queue.
    let snapshots = try await fetch.value()
    XCTAssertEqual(snapshots.count, 700)
    XCTAssertLessThanOrEqual(
      observed.statements?.count ?? 0, 3 + (observed.statements?.texts.filter { !$0.hasPrefix("SELECT") }.count ?? 0))
    XCTAssertEqual(context.registeredObjects.count, 0, "no objects are made")
    let count = observed.statements?.count
    XCTAssertEqual(try snapshots.compactMap { try $0["pages"] as? Int32 }.count, 700)
    XCTAssertEqual(observed.statements?.count, count)
  }

  @MainActor func testRowsAreReadOutsideTheContextIsolation() async throws {
    let observed = try await Stack(.sqlcipher, model: Library.model, classes: Library.classes)
    let writer = observed.makeShortLivedContext()
    for pages in 0..<700 { try writer.make("Book", ["title": "book", "pages": pages]) }
    try writer.save()
    observed.forgetRows()
    let context = observed.makeContext()
    let fetch = try context.asynchronousFetch(request())
    observed.statements?.reset()
    let books = try await fetch.value()
    let count = observed.statements?.count ?? 0
    XCTAssertEqual(books.count, 700)
    XCTAssertEqual(books.compactMap(\.pages).count, 700)
    XCTAssertEqual(observed.statements?.count, count)
    XCTAssertLessThanOrEqual(count, 3)
    try observed.close()
  }

  @MainActor func testResultsIncludeUnsavedChangesAtCompletion() async throws {
    try await onContainers { container in
      let context = container.viewContext
      var request = request()
      (request.fetchOffset, request.fetchLimit) = (2, 10)
      let all = try context.fetch(self.request())
      all[3].pages = 100_000
      let fetch = try context.asynchronousFetch(request)
      context.delete(all[5])
      for pages: Int32 in [-1, 7, 8] { try context.make("Book", ["title": "new", "pages": pages]) }
      let books = try await fetch.value()
      XCTAssertEqual(books.compactMap(\.pages), [1, 2, 4, 6, 7, 7, 8, 8, 9, 10])
      XCTAssertEqual(books, try context.fetch(request))
    }
  }

  @MainActor func testConcurrentSavesAreVisible() async throws {
    try await onContainers { container in
      let context = container.viewContext
      let fetch = try context.asynchronousFetch(request())
      for book in try context.objects("Book", where: "pages < 10") { context.delete(book) }
      try context.make("Book", ["title": "new", "pages": -1])
      try context.save()
      let found = try await fetch.value()
      XCTAssertEqual(found.compactMap(\.pages), [-1] + Array(10..<Self.count))
      let second = try context.asynchronousFetch(request())
      try await container.performBackgroundTask { context in
        for book in try context.objects("Book", where: "pages < 20") { context.delete(book) }
        try context.save()
      }
      let books = try await second.value()
      XCTAssertEqual(books.compactMap(\.pages), Array(20..<Self.count))
    }
  }

  @MainActor func testPinnedContextFetchReadsItsGeneration() async throws {
    try await onContainers { container in
      let context = container.viewContext
      try context.setQueryGeneration(from: .current)
      XCTAssertEqual(try context.count(for: request()), Int(Self.count))
      let fetch = try context.asynchronousFetch(request())
      func deleteSome(below limit: Int) async throws {
        try await container.performBackgroundTask { context in
          for book in try context.objects("Book", where: "pages < \(limit)") { context.delete(book) }
          try context.save()
        }
      }
      try await deleteSome(below: 20)
      let found = try await fetch.value()
      XCTAssertEqual(found.compactMap(\.pages), Array(0..<Self.count))
      let second = try await context.asynchronousFetch(request()).value()
      XCTAssertEqual(second, found)
      // The context's state at the end of the fetch counts.
      let third = try context.asynchronousFetch(request())
      context.reset()
      try await deleteSome(below: 30)
      let books = try await third.value()
      XCTAssertEqual(books.compactMap(\.pages), Array(30..<Self.count))
      XCTAssertEqual(try context.count(for: request()), Int(Self.count) - 30)
    }
  }

  @MainActor func testProgressCountsTheRows() async throws {
    try await onContainers { container in
      let fetch = try container.viewContext.asynchronousFetch(request())
      let progress = fetch.progress
      let reports = Task.detached {
        var reports: [FetchProgress] = []
        for await report in progress { reports.append(report) }
        return reports
      }
      _ = try await fetch.value()
      let all = await reports.value
      XCTAssertEqual(all.last, FetchProgress(completedCount: Int(Self.count), totalCount: Int(Self.count)))
      XCTAssertEqual(all.map(\.completedCount), all.map(\.completedCount).sorted())
    }
  }

  @MainActor func testAFetchWhoseTaskIsCanceledThrowsCancellationError() async throws {
    try await onContainers { container in
      let context = container.viewContext
      let request = request()
      let task = Task { @MainActor in
        withUnsafeCurrentTask { $0?.cancel() }
        return try await context.asynchronousFetch(request).value().count
      }
      do {
        _ = try await task.value
        XCTFail("not canceled")
      } catch is CancellationError {}
    }
  }

  @MainActor func testCanceledFetchThrows() async throws {
    try await onContainers { container in
      let context = container.viewContext
      let fetch = try context.asynchronousFetch(request())
      fetch.cancel()
      do {
        _ = try await fetch.value()
        XCTFail("not cancelled")
      } catch let error as StoreError { XCTAssertEqual(error.code, .cancelled) }
      // Nothing of it remains.
      let objects = try await context.asynchronousFetch(request()).value()
      XCTAssertEqual(objects.count, Int(Self.count))
    }
  }

  @MainActor func testUnsupportedPredicatesAreFilteredAtCompletion() async throws {
    try await onContainers { container in
      var request = request()
      request.predicate = .block { (book: Book) in (book.pages ?? 1) % 400 == 0 }
      XCTAssertThrowsError(try container.viewContext.fetch(request))
      request.allowsInMemoryFiltering = true
      let books = try await container.viewContext.asynchronousFetch(request).value()
      XCTAssertEqual(books.compactMap(\.pages), [0, 400, 800])
    }
  }

  @MainActor func testInvalidRequestsThrow() async throws {
    try await onContainers { container in
      var request = request()
      request.predicate = try FetchPredicate(format: "nothing == 1")
      do {
        _ = try await container.viewContext.asynchronousFetch(request).value()
        XCTFail("no error")
      } catch { XCTAssertTrue(error is FetchPredicateError, "\(error)") }
    }
  }

  // MARK: Values

  @MainActor func testObjectValuesAreDeliveredInOrder() async throws {
    try await onContainers { container in
      let values = container.values(of: request(), batchSize: 100) { book in book.pages ?? -1 }
      // Each loop starts again.
      for _ in 0..<2 {
        var seen: [Int32] = []
        for try await pages in values { seen.append(pages) }
        XCTAssertEqual(seen, Array(0..<Self.count))
      }
      var few = 0
      for try await _ in values {
        few += 1
        if few == 150 { break }
      }
      XCTAssertEqual(few, 150)
    }
  }

  @MainActor func testErrorEndsTheLoop() async throws {
    struct Failure: Error {}
    try await onContainers { container in
      var seen = 0
      do {
        let values = container.values(of: request(), batchSize: 100) { book in
          if book.pages == 250 { throw Failure() }
          return true
        }
        for try await _ in values { seen += 1 }
        XCTFail("no error")
      } catch { XCTAssertTrue(error is Failure, "\(error)") }
      XCTAssertEqual(seen, 200)
      do {
        for try await _ in container.values(of: request(), batchSize: 0, { _ in true }) { XCTFail("a value") }
        XCTFail("no error")
      } catch let error as StoreError { XCTAssertEqual(error.code, .invalidRequest) }
    }
  }

  @MainActor func testCancelingTheTaskEndsTheLoop() async throws {
    try await onContainers { container in
      let values = container.values(of: request(), batchSize: 10) { book in book.pages ?? -1 }
      let task = Task.detached {
        var count = 0
        for try await _ in values {
          count += 1
          if count == 25 { withUnsafeCurrentTask { $0?.cancel() } }
        }
        return count
      }
      do {
        _ = try await task.value
        XCTFail("not cancelled")
      } catch is CancellationError {}
    }
  }

  // MARK: Tasks

  @MainActor func testCancelingATaskCancelsItsFetches() async throws {
    try await onContainers { container in
      let library = ContextActor(container: container)
      let request = request()
      let works: [@Sendable () async throws -> Int] = [
        { try await container.performBackgroundTask { try Self.countUntilCancelled(request, in: $0) } },
        { try await library.perform { try Self.countUntilCancelled(request, in: $0) } },
      ]
      for work in works {
        let task = Task.detached { try await work() }
        task.cancel()
        do {
          _ = try await task.value
          XCTFail("not cancelled")
        } catch is CancellationError {}
      }
      // The next request succeeds.
      let count = try await library.perform { try $0.fetch(request).count }
      XCTAssertEqual(count, Int(Self.count))
    }
  }

  /// Fetches until canceled.
  private static func countUntilCancelled(_ request: FetchRequest<Book>, in context: ManagedObjectContext) throws -> Int {
    while true { _ = try context.fetch(request) }
  }
}
