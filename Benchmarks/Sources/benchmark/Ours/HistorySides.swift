import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W21 and W22: the cost of a history for writers and readers, compared with the same workloads without one.
@MainActor
struct HistorySides {
  private let stores: OurStores
  private let diskFolder: String
  /// The number of updates that W22 reads.
  private static let recordedCount = 100_000

  init(_ stores: OurStores, diskFolder: String) {
    self.stores = stores
    self.diskFolder = diskFolder
  }

  func workloads() -> [Workload] {
    let without = WriteSides(stores, diskFolder: diskFolder).sides()
    let names = [
      "W1": "insert_all", "W13": "update", "W14a": "commit_small, in memory, NORMAL", "W14b": "commit_small, on disk, FULL",
      "W15": "delete",
    ]
    var workloads: [Workload] = []
    for (level, ids) in [(HistoryLevel.properties, ["W1", "W13", "W14a", "W14b", "W15"]), (.values, ["W1", "W13", "W15"])] {
      let sides = WriteSides(stores, diskFolder: diskFolder, history: level).sides()
      for id in ids {
        guard let ours = sides[id], let plain = without[id] else { continue }
        let name = "\(names[id] ?? id), with a history of \(level.rawValue)"
        workloads.append(
          Workload(
            id: "W21-\(id)\(level == .values ? "-values" : "")", name: name, unit: .milliseconds, sides: [.ours: ours, .baseline: plain]))
      }
    }
    workloads.append(
      Workload(
        id: "W22", name: "read recorded updates", unit: .nanoseconds, operations: Double(Self.recordedCount), sides: [.ours: reading()]))
    return workloads
  }

  /// Updates all books once, ten per save, and reads the history of that, transaction by transaction.
  private func reading() -> Side {
    let path = stores.path("ours-history.store")
    let state = State()
    return Side(
      prepare: {
        let copy = try await stores.copy(toPath: path)
        let container = try await OurStores.open(copy, history: .properties)
        let context = container.newBackgroundContext()
        let books = try context.fetch(Book.all)
        var count = 0
        while count < Self.recordedCount {
          for _ in 0..<10 {
            books[count % books.count].price += 1
            count += 1
          }
          try context.save()
        }
        state.container = container
      },
      run: {
        guard let coordinator = state.container?.persistentStoreCoordinator else { return }
        var found: UInt64 = 0
        for try await transaction in coordinator.history() {
          for change in transaction.changes ?? [] where change.updatedProperties == ["price"] { found += 1 }
        }
        state.found = found
      },
      finish: {
        try state.container?.close()
        state.container = nil
        OurStores.remove(path)
        return state.found
      })
  }

  @MainActor
  private final class State {
    var container: PersistentContainer?
    var found: UInt64 = 0
  }
}
