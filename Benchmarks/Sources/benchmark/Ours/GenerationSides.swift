import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W24: contexts pinned to a query generation, and saves while one is held; with the workloads for comparison.
@MainActor
final class GenerationSides {
  private static let stores = 20
  private static let pins = 10_000
  private let stores: OurStores
  private var containers: [PersistentContainer] = []
  private var contexts: [ManagedObjectContext] = []
  private var count = 0

  init(_ stores: OurStores) { self.stores = stores }

  func sides() -> [String: Side] {
    [
      "W24a": Side(prepare: prepareStores, run: pinEach, finish: finishStores),
      "W24b": Side(prepare: prepareShared, run: pinShared, finish: finishShared),
    ]
  }

  /// The workloads, each with its baseline.
  static func workloads(_ sides: [String: Side]) -> [Workload] {
    func workload(_ id: String, _ name: String, _ unit: Unit, _ operations: Double = 1, to baseline: String? = nil) -> Workload? {
      guard let side = sides[id] else { return nil }
      var workload = Workload(id: id, name: name, unit: unit, operations: operations, sides: [.ours: side])
      if let baseline { workload.sides[.baseline] = sides[baseline] }
      return workload
    }
    return [
      workload("W24a", "pin, to W2b", .milliseconds, Double(stores), to: "W2b"),
      workload("W24b", "pin, shared", .nanoseconds, Double(pins)),
      workload("W24c", "W9a in a pinned context", .milliseconds, to: "W9a"),
      workload("W24d", "W14a with 10,000 pages held in the log", .milliseconds, to: "W14a"),
    ].compactMap { $0 }
  }

  /// Returns a context that holds a generation while the log grows by `pages`.
  static func hold(_ container: PersistentContainer, _ path: String, pages: Int) throws -> ManagedObjectContext {
    let holder = container.newBackgroundContext()
    try holder.setQueryGeneration(from: .current)
    _ = try holder.count(for: Tag.all)
    let writer = container.newBackgroundContext()
    var request = BatchUpdateRequest(
      entityName: "Book", propertiesToUpdate: ["pages": FetchExpression.function("add:to:", [.keyPath("pages"), .constant(.int(1))])])
    request.mergesChanges = false
    while logSize(path) < pages * 4_120 { try writer.execute(request) }
    return holder
  }

  private static func logSize(_ path: String) -> Int {
    ((try? FileManager.default.attributesOfItem(atPath: path + "-wal"))?[.size] as? NSNumber)?.intValue ?? 0
  }

  // MARK: W24a

  private func path(_ index: Int) -> String { stores.path("ours-pin-\(index).store") }

  private func prepareStores() async throws {
    for index in 0..<Self.stores {
      OurStores.remove(path(index))
      let container = try await OurStores.open(path(index))
      containers.append(container)
      contexts.append(container.newBackgroundContext())
    }
  }

  private func pinEach() throws {
    for context in contexts {
      try context.setQueryGeneration(from: .current)
      _ = try context.count(for: Tag.all)
      count += 1
    }
  }

  private func finishStores() async throws -> UInt64 {
    defer { count = 0 }
    contexts = []
    for container in containers { try container.close() }
    containers = []
    for index in 0..<Self.stores { OurStores.remove(path(index)) }
    return UInt64(count)
  }

  // MARK: W24b

  private func prepareShared() async throws {
    let container = try await stores.needReading()
    contexts = [container.newBackgroundContext(), container.newBackgroundContext()]
    try contexts[0].setQueryGeneration(from: .current)
    _ = try contexts[0].count(for: Tag.all)
  }

  /// Pins to `.current` and reads a row, which pins. After the first time, the generation has it cached.
  private func pinShared() throws {
    let context = contexts[1]
    let id = try contexts[0].fetch(FetchRequest<ManagedObjectID>(entityName: "Tag").limit(1))[0]
    for _ in 0..<Self.pins {
      try context.setQueryGeneration(from: .current)
      if context.object(with: id)["name"] != nil { count += 1 }
    }
  }

  private func finishShared() async throws -> UInt64 {
    defer { count = 0 }
    let isShared = contexts[0].queryGenerationToken == contexts[1].queryGenerationToken
    contexts = []
    return isShared ? UInt64(count) : 0
  }
}
