import BenchmarkData
import CipherData
import Foundation
import LibraryClasses
import Synchronization

/// W29: reads with eight tasks, one and none while another task saves every 10 milliseconds. Wall time is measured.
@MainActor
struct Concurrency {
  /// A figure of ours without a counterpart in C: a ratio to another of ours, unless it says otherwise.
  struct Figure: Codable {
    let id: String
    let name: String
    let value: Double
    let must: Double
    let stretch: Double
    let isHigherBetter: Bool
    var unit = "×"

    var reachesMust: Bool { isHigherBetter ? value >= must : value <= must }
    var reachesStretch: Bool { isHigherBetter ? value >= stretch : value <= stretch }
  }

  static let id = "W29"
  private static let readers = 8
  private static let seconds = 1.0
  private let stores: OurStores

  init(_ stores: OurStores) { self.stores = stores }

  /// The operations of a round's tasks.
  private final class Tally: Sendable {
    private let units = Atomic<Int>(0)
    let saves = Mutex<[Double]>([])
    let isOver = Atomic<Bool>(false)

    var count: Int { units.load(ordering: .relaxed) }
    func countUnit() { units.wrappingAdd(1, ordering: .relaxed) }
  }

  /// A task has read values that differ from the stored ones.
  private struct WrongAnswer: Error {}

  /// - Parameter seconds: The duration of each of the three parts of a round.
  func measure(rounds: Int, seconds: Double = seconds) async throws -> [Figure] {
    let path = try await stores.copy("ours-tasks.store")
    defer { OurStores.remove(path) }
    let container = try await OurStores.open(path)
    let ids = try stores.sample(9, container)
    let expected = try await Self.readUnit(container, ids, number: 0)
    var (one, many): ([Double], [Double]) = ([], [])
    var (alone, besideOne): ([Double], [Double]) = ([], [])
    for _ in 0..<max(rounds, 1) {
      alone += try await round(container, ids, readers: 0, seconds, expected).saves
      let single = try await round(container, ids, readers: 1, seconds, expected)
      one.append(single.unitsPerSecond)
      besideOne += single.saves
      many.append(try await round(container, ids, readers: Self.readers, seconds, expected).unitsPerSecond)
    }
    try container.close()
    return [
      Figure(
        id: "W29a", name: "8 tasks read while one saves: throughput against one task", value: many.median / one.median, must: 1.7,
        stretch: 1.9, isHigherBetter: true),
      Figure(
        id: "W29b", name: "the saver's p99 with one reader against alone", value: besideOne.percentile(99) / alone.percentile(99),
        must: 1.5,
        stretch: 1.2, isHigherBetter: false),
    ]
  }

  private func round(
    _ container: PersistentContainer, _ ids: [ManagedObjectID], readers: Int, _ seconds: Double, _ expected: UInt64
  ) async throws -> (unitsPerSecond: Double, saves: [Double]) {
    let tally = Tally()
    let begin = bench_wall_seconds()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for reader in 0..<readers {
        group.addTask {
          var number = reader
          while !tally.isOver.load(ordering: .relaxed) {
            let length = try await Self.readUnit(container, ids, number: number)
            if number == 0, length != expected { throw WrongAnswer() }
            number = (number + 1) % Self.batches
            tally.countUnit()
          }
        }
      }
      group.addTask { try await Self.save(container, ids, tally) }
      group.addTask {
        try await Task.sleep(for: .seconds(seconds))
        tally.isOver.store(true, ordering: .relaxed)
      }
      try await group.waitForAll()
    }
    return (Double(tally.count) / (bench_wall_seconds() - begin), tally.saves.withLock { $0 })
  }

  /// The number of batches in which the sample is read, one after the other.
  private nonisolated static let batches = 10

  /// Runs a tenth of W9 and a tenth of W4 in a separate context; returns the length of the titles.
  private nonisolated static func readUnit(
    _ container: PersistentContainer, _ ids: [ManagedObjectID], number: Int
  ) async throws -> UInt64 {
    try await container.performBackgroundTask { context in
      var sum: UInt64 = 0
      let size = ids.count / batches
      for id in ids[number * size..<(number + 1) * size] {
        guard let book = try context.existingObject(with: id) as? Book else { continue }
        sum &+= UInt64(book.title.utf8.count)
      }
      for book in try context.fetch(Book.all.limit(size * batches)) { sum &+= UInt64(book.title.utf8.count) &+ (book.price > 0 ? 1 : 0) }
      return sum
    }
  }

  /// Saves one book every 10 milliseconds, and records the duration of each save.
  private nonisolated static func save(_ container: PersistentContainer, _ ids: [ManagedObjectID], _ tally: Tally) async throws {
    var index = 0
    while !tally.isOver.load(ordering: .relaxed) {
      let id = ids[index % ids.count]
      index += 1
      let taken = try await container.performBackgroundTask { context in
        guard let book = try context.existingObject(with: id) as? Book else { return 0.0 }
        book.pages += 1
        let begin = bench_wall_seconds()
        try context.save()
        return bench_wall_seconds() - begin
      }
      tally.saves.withLock { $0.append(taken) }
      try await Task.sleep(for: .milliseconds(10))
    }
  }
}
