import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W25: nested contexts compared with contexts directly on the stores.
@MainActor
final class NestingSides {
  private static let count = 10_000
  private let stores: OurStores
  private var context: ManagedObjectContext?
  private var sum: UInt64 = 0

  init(_ stores: OurStores) { self.stores = stores }

  func sides() -> [String: Side] {
    [
      "W25a": Side(prepare: { try await self.prepare(isNested: true) }, run: fetch, finish: finish),
      "W25a-direct": Side(prepare: { try await self.prepare(isNested: false) }, run: fetch, finish: finish),
    ]
  }

  /// The workloads, each with its baseline.
  static func workloads(_ sides: [String: Side]) -> [Workload] {
    func workload(_ id: String, _ name: String, to baseline: String) -> Workload? {
      guard let side = sides[id], let other = sides[baseline] else { return nil }
      return Workload(id: id, name: name, unit: .milliseconds, sides: [.ours: side, .baseline: other])
    }
    return [
      workload("W25a", "fetch 10,000 through a clean parent, to a fetch without one", to: "W25a-direct"),
      workload("W25b", "push 10,000 changes, to W13", to: "W13"),
    ].compactMap { $0 }
  }

  private func prepare(isNested: Bool) async throws {
    let context = stores.emptyContext(try await stores.needReading())
    self.context = isNested ? ManagedObjectContext(parent: context) : context
    sum = 0
  }

  /// Fetches the first books, and reads the price of each.
  private func fetch() async throws {
    guard let context else { return }
    var request = Book.all
    request.fetchLimit = Self.count
    for book in try context.fetch(request) { sum &+= book.price.bitPattern }
  }

  private func finish() async throws -> UInt64 {
    context = nil
    return sum
  }
}
