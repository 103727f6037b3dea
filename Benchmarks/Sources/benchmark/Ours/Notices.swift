import BenchmarkData
import CipherData
import Foundation
import LibraryClasses
import Synchronization

/// W23: the wall time from a commit in another process to the notification here, and the number of wake-ups while there are no writes.
@MainActor
struct Notices {
  static let id = "W23"
  static let command = "notices"
  private static let idleSeconds = 10.0
  private let path: String

  init(folder: String) { path = "\(folder)/notices-\(ProcessInfo.processInfo.processIdentifier).store" }

  /// - Parameters:
  ///   - commits: The number of durable commits that the other process makes.
  ///   - idleSeconds: The time without writes at the end.
  func measure(commits: Int = 1_000, idleSeconds: Double = idleSeconds) async throws -> [Concurrency.Figure] {
    OurStores.remove(path)
    defer { OurStores.remove(path) }
    let container = try OurStores.container(path, durability: .full)
    container.persistentStoreDescriptions[0].postsRemoteChangeNotifications = true
    try await container.loadPersistentStores()
    let received = Mutex<[Double]>([])
    let observer = NotificationCenter.default.addObserver(forName: .persistentStoreRemoteChange, object: nil, queue: nil) { _ in
      let now = bench_wall_seconds()
      received.withLock { $0.append(now) }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let times = path + ".times"
    defer { unlink(times) }
    _ = try Child.start([Self.command, path, "\(commits)", times])
    // The last notification may still be pending.
    try await Task.sleep(for: .milliseconds(500))
    let notices = received.withLock { $0 }
    let written = try JSONDecoder().decode([[Double]].self, from: try Data(contentsOf: URL(fileURLWithPath: times)))
    // The time from each save's return to the first notification since its start, which may come before the return.
    var next = 0
    let delays = written.map { save in
      while next < notices.count, notices[next] < save[0] { next += 1 }
      return next < notices.count ? max(0, notices[next] - save[1]) * 1_000 : .infinity
    }
    let before = Self.wakeUps()
    try await Task.sleep(for: .seconds(idleSeconds))
    let wakeUpCount = Self.wakeUps() - before
    try container.close()
    func figure(_ id: String, _ name: String, _ value: Double, _ unit: String, must: Double, stretch: Double) -> Concurrency.Figure {
      Concurrency.Figure(id: id, name: name, value: value, must: must, stretch: stretch, isHigherBetter: false, unit: unit)
    }
    return [
      figure("W23a", "commit to notification in another process, on disk, FULL: median", delays.percentile(50), "ms", must: 2, stretch: 1),
      figure("W23b", "the same: 99th percentile", delays.percentile(99), "ms", must: 30, stretch: 10),
      figure("W23c", "wake-ups of the observer thread without writes, 10 s", Double(wakeUpCount), "", must: 0, stretch: 0),
    ]
  }

  /// The number of times that the watching thread blocked and resumed, as the system counts it.
  private static func wakeUps() -> Int {
    let tasks = "/proc/self/task"
    for task in (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? [] {
      // The system truncates thread names to 15 characters.
      guard let status = try? String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8),
        status.hasPrefix("Name:\tCipherData.Watc\n")
      else { continue }
      let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
      return line.flatMap { Int($0.split(separator: "\t")[1]) } ?? 0
    }
    return 0
  }

  /// Runs in the child process: saves, and records the start and the return of each save.
  static func answer(_ arguments: [String]) async throws -> Child.Answer? {
    guard arguments.count == 4, let commits = Int(arguments[2]) else { return nil }
    let container = try await OurStores.open(arguments[1], durability: .full)
    let context = container.viewContext
    let author = Author(context: context)
    (author.name, author.email, author.born) = ("A", "a@example.org", 0)
    try context.save()
    var times: [[Double]] = []
    for number in 0..<commits {
      // Long enough for a separate notification of each save.
      try await Task.sleep(for: .milliseconds(10))
      author.born = Int64(number)
      let begin = bench_wall_seconds()
      try context.save()
      times.append([begin, bench_wall_seconds()])
    }
    try container.close()
    try JSONEncoder().encode(times).write(to: URL(fileURLWithPath: arguments[3]))
    return Child.Answer(measured: Measured(cpu: 0, wall: 0), checksum: UInt64(commits))
  }
}

extension [Double] {
  /// The value that `percent` percent do not exceed.
  func percentile(_ percent: Int) -> Double {
    let sorted = sorted()
    return sorted.isEmpty ? 0 : sorted[Swift.min(sorted.count - 1, sorted.count * percent / 100)]
  }
}
