import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W9 on our side: objects by ID that are not in memory.
@MainActor
final class FaultSides {
  private let stores: OurStores
  private var context: ManagedObjectContext?
  private var ids: [ManagedObjectID] = []
  private var touched: UInt64 = 0

  init(_ stores: OurStores) { self.stores = stores }

  func sides() -> [String: Side] {
    [
      "W9a": Side(prepare: prepare, run: { try self.context?.perform { try self.read() } }, finish: finish),
      "W9b": Side(prepare: prepare, run: read, finish: finish),
      "W24c": Side(prepare: preparePinned, run: { try self.context?.perform { try self.read() } }, finish: finish),
    ]
  }

  private func prepare() async throws {
    let container = try await stores.needReading()
    ids = try stores.sample(9, container)
    context = stores.emptyContext(container)
  }

  /// Prepares the same in a context pinned to the current state: the row cache is the generation's, and empty. Its connection has read all
  /// books once, as that of the other workloads has.
  private func preparePinned() async throws {
    try await prepare()
    try context?.setQueryGeneration(from: .current)
    _ = try context?.count(for: FetchRequest<Book>(entityName: "Book", predicate: FetchPredicate(format: "title ENDSWITH 'x'")))
  }

  private func read() throws {
    guard let context else { return }
    var sum: UInt64 = 0
    for id in ids {
      guard let book = try context.existingObject(with: id) as? Book else { continue }
      sum &+= OurStores.touch(book)
    }
    touched = sum
  }

  private func finish() async throws -> UInt64 {
    var deep: UInt64 = 0
    for id in ids {
      guard let book = try context?.existingObject(with: id) as? Book else { continue }
      deep &+= OurStores.deep(book)
    }
    ids = []
    context = nil
    return bench_mix(touched, deep)
  }
}
