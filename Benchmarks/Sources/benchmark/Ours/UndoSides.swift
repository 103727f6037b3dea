import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W26: writes that can be undone, undo, and the memory of a recorded number. The books were changed before, as those of W16c, in a context
/// with an undo manager.
@MainActor
final class UndoSides {
  private static let count = 10_000
  private let stores: OurStores
  private var context: ManagedObjectContext?
  private var books: [Book] = []

  init(_ stores: OurStores) { self.stores = stores }

  func sides() -> [String: Side] {
    [
      "W26a": Side(prepare: prepare, run: { self.write(1) }, finish: finish),
      "W26b": Side(prepare: prepareGroup, run: undo, finish: finish),
      "W26c": Side(prepare: prepare, run: writeGroup, finish: finish),
    ]
  }

  static func workloads(_ sides: [String: Side]) -> [Workload] {
    func workload(_ id: String, _ name: String, _ unit: Unit, _ operations: Double = 1) -> Workload? {
      guard let side = sides[id] else { return nil }
      return Workload(id: id, name: name, unit: unit, operations: operations, sides: [.ours: side])
    }
    return [
      workload("W26a", "write recorded for undo", .nanoseconds, Double(count)),
      workload("W26b", "undo 10,000 changes", .milliseconds),
      workload("W26c", "a recorded number", .bytes, Double(count)),
    ].compactMap { $0 }
  }

  /// Changes each of the first books once, in an event that has ended.
  private func prepare() async throws {
    let context = stores.emptyContext(try await stores.needReading())
    self.context = context
    var request = Book.all
    request.fetchLimit = Self.count
    books = try context.fetch(request)
    write(0)
    context.processPendingChanges()
    context.undoManager = ContextUndoManager()
  }

  private func prepareGroup() async throws {
    try await prepare()
    try await writeGroup()
  }

  private func write(_ first: Int64) {
    var value = first
    for book in books {
      book.pages = value
      value += 1
    }
  }

  private func writeGroup() async throws {
    write(1)
    context?.processPendingChanges()
  }

  private func undo() async throws { try context?.undo() }

  private func finish() async throws -> UInt64 {
    let sum = books.reduce(UInt64(0)) { $0 &+ UInt64(bitPattern: $1.pages) }
    context?.rollback()
    books = []
    context = nil
    return sum
  }
}
