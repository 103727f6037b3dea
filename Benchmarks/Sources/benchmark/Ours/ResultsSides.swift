import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W27: fetched results that are kept up to date, with 100,000 books in 26 sections; and the workload for comparison.
@MainActor
final class ResultsSides {
  private static let sections: Int64 = 26
  private static let changes = 1_000
  private let stores: OurStores
  private var container: PersistentContainer?
  private var context: ManagedObjectContext?
  private var controller: FetchedResultsController<Book>?
  private var books: [Book] = []
  private var touched: UInt64 = 0

  init(_ stores: OurStores) { self.stores = stores }

  func sides() -> [String: Side] {
    [
      "W27a": Side(prepare: prepareFetch, run: performFetch, finish: finishFetch),
      "W27a-fetch": Side(prepare: prepareFetch, run: fetch, finish: finishFetch),
      "W27b": Side(prepare: prepareChanges, run: { try self.change(together: false) }, finish: finishChanges),
      "W27c": Side(prepare: prepareChanges, run: { try self.change(together: true) }, finish: finishChanges),
    ]
  }

  /// The workloads. The first is compared with W4 on the same books.
  static func workloads(_ sides: [String: Side]) -> [Workload] {
    func workload(_ id: String, _ name: String, _ unit: Unit, _ operations: Double = 1, to baseline: String? = nil) -> Workload? {
      guard let side = sides[id] else { return nil }
      var workload = Workload(id: id, name: name, unit: unit, operations: operations, sides: [.ours: side])
      if let baseline { workload.sides[.baseline] = sides[baseline] }
      return workload
    }
    return [
      workload("W27a", "results in 26 sections, to W4", .milliseconds, to: "W27a-fetch"),
      workload("W27b", "one change of results", .nanoseconds, Double(changes)),
      workload("W27c", "1,000 changes of results together", .milliseconds),
    ].compactMap { $0 }
  }

  private func request() -> FetchRequest<Book> { Book.all.sorted { $0.pages } }

  /// Returns an open store whose books are in 26 sections, with all rows cached.
  private func needContainer() async throws -> PersistentContainer {
    if let container { return container }
    let container = try await OurStores.open(try await stores.copy("ours-results.store"))
    let context = container.newBackgroundContext()
    for book in try context.fetch(Book.all) { book.pages %= Self.sections }
    try context.save()
    self.container = container
    return container
  }

  private func prepareFetch() async throws {
    let container = try await needContainer()
    _ = try container.newBackgroundContext().fetch(Book.all).count
    context = container.newBackgroundContext()
  }

  private func performFetch() throws {
    guard let context else { return }
    let controller = FetchedResultsController(fetchRequest: request(), context: context, sectionNameKeyPath: "pages")
    try controller.performFetch()
    self.controller = controller
    touched = UInt64(controller.numberOfObjects)
  }

  /// Runs W4.
  private func fetch() throws {
    books = try context?.fetch(Book.all) ?? []
    var sum: UInt64 = 0
    for book in books { sum &+= OurStores.touch(book) }
    touched = sum == 0 ? 0 : UInt64(books.count)
  }

  private func finishFetch() async throws -> UInt64 {
    (controller, books, context) = (nil, [], nil)
    return touched
  }

  /// Prepares the results, with every hundredth book in memory.
  private func prepareChanges() async throws {
    try await prepareFetch()
    try performFetch()
    let all = controller?.fetchedObjects ?? []
    books = stride(from: 0, to: all.count, by: max(all.count / Self.changes, 1)).prefix(Self.changes).map { all[$0] }
    for book in books { touched &+= OurStores.touch(book) }
  }

  /// Moves each book to another section.
  private func change(together: Bool) throws {
    for book in books {
      book.pages = Self.sections - 1 - book.pages
      if !together { context?.processPendingChanges() }
    }
    context?.processPendingChanges()
  }

  private func finishChanges() async throws -> UInt64 {
    let count = controller?.numberOfObjects ?? 0
    context?.rollback()
    _ = try await finishFetch()
    return UInt64(count)
  }
}
