import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W28: snapshots of objects, and fetches of snapshots.
@MainActor
final class SnapshotSides {
  private static let count = 10_000
  private let stores: OurStores
  private var context: ManagedObjectContext?
  private var books: [Book] = []
  private var sum: UInt64 = 0

  init(_ stores: OurStores) { self.stores = stores }

  func sides() -> [String: Side] {
    [
      "W28a": Side(prepare: { try await self.prepare(readsBooks: true) }, run: take, finish: finish),
      "W28b": Side(prepare: { try await self.prepare(readsBooks: false) }, run: fetch, finish: finish),
      "W28b-objects": Side(prepare: { try await self.prepare(readsBooks: false) }, run: fetchObjects, finish: finish),
    ]
  }

  /// The workloads, with the baseline of W28b.
  static func workloads(_ sides: [String: Side]) -> [Workload] {
    var workloads: [Workload] = []
    if let side = sides["W28a"] {
      workloads.append(
        Workload(id: "W28a", name: "snapshot of a book", unit: .nanoseconds, operations: Double(count), sides: [.ours: side]))
    }
    if let side = sides["W28b"], let other = sides["W28b-objects"] {
      workloads.append(
        Workload(
          id: "W28b", name: "fetch 10,000 snapshots, to a fetch of objects", unit: .milliseconds, sides: [.ours: side, .baseline: other]))
    }
    return workloads
  }

  private var request: FetchRequest<Book> {
    var request = Book.all
    request.fetchLimit = Self.count
    return request
  }

  private func prepare(readsBooks: Bool) async throws {
    let context = stores.emptyContext(try await stores.needReading())
    self.context = context
    sum = 0
    guard readsBooks else { return }
    books = try context.fetch(request)
    for book in books { _ = book.price }
  }

  private func take() throws {
    for book in books { sum &+= try book.snapshot().price.bitPattern }
  }

  private func fetch() throws {
    for book in try context?.fetch(request, as: Book.Snapshot.self) ?? [] { sum &+= book.price.bitPattern }
  }

  private func fetchObjects() throws {
    for book in try context?.fetch(request) ?? [] { sum &+= book.price.bitPattern }
  }

  private func finish() async throws -> UInt64 {
    (context, books) = (nil, [])
    return sum
  }
}
