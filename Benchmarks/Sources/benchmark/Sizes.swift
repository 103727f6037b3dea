import BenchmarkData
import Foundation

/// W30: the same library at several sizes. The cost at each size is compared with that of the smallest one.
@MainActor
struct Sizes {
  /// The maximum space in the memory folder per book, in bytes: one store per side, a third one while memory is measured, and their logs.
  private static let room = 1_000
  private let options: Options
  private let folder: String
  private let sizes: [Int]

  init(_ options: Options, folder: String) {
    self.options = options
    self.folder = folder
    sizes = options.sizes.map { max(100, $0 / (options.isSmokeTest ? 1 : Int(options.divisor))) }
  }

  /// The workloads of all selected sizes.
  func workloads() -> [Workload] {
    sizes.flatMap { LargeSides(folder: folder, books: $0).workloads() }.filter { options.includes($0.id) }
  }

  /// Measures one size after the other, and reports each result.
  func measure(_ note: (Outcome) -> Void) async throws {
    var smallest: [Substring: Double] = [:]
    for size in sizes {
      try checkRoom(size)
      let sides = LargeSides(folder: folder, books: size)
      defer { sides.end() }
      for var workload in sides.workloads() where options.includes(workload.id) {
        let id = workload.id.prefix { $0 != "-" }
        let isMemory = workload.unit == .megabytes
        if let value = smallest[id] { workload.goal = .near(value, isMemory ? .absolute : .ratio) }
        let isChild = workload.sides[.ours]?.report != nil
        let outcome = try await benchmark.measure(
          workload, rounds: isChild ? rounds(size, isMemory) : options.rounds, warmsUp: !isChild, counting: options.counts)
        note(outcome)
        let ours = outcome.figures(.ours).least
        if smallest[id] == nil { smallest[id] = isMemory ? ours : ours / outcome.figures(.raw).least }
      }
    }
  }

  /// Returns the number of rounds. An import of a million books takes half a minute. A new process needs no warm-up, and its memory hardly
  /// varies between runs.
  private func rounds(_ size: Int, _ isMemory: Bool) -> Int {
    let most = size > 500_000 ? 2 : 4
    return max(1, min(options.rounds, isMemory ? most / 2 : most))
  }

  private func checkRoom(_ size: Int) throws {
    let attributes = try FileManager.default.attributesOfFileSystem(forPath: folder)
    var free = (attributes[.systemFreeSize] as? NSNumber)?.uint64Value ?? .max
    // The space in a memory folder is limited by the available memory, whatever the file system reports.
    let available = bench_available_memory()
    if bench_is_memory_backed(folder), available > 0 { free = min(free, available) }
    let needed = UInt64(size * Self.room)
    guard free < needed else { return }
    throw UsageError(
      message: "\(size) books need \(needed >> 20) MB in \(folder), which has \(free >> 20) MB; "
        + "leave the size out (--sizes) or name another folder (--memory-folder)")
  }
}
