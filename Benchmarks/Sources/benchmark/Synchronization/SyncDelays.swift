import BenchmarkData
import CipherData
import CipherDataSync
import Foundation
import StaffClasses
import Synchronization

/// W34: the wall time from a save on one device to the merged context of another one. Each device is a process.
@MainActor
struct SyncDelays {
  static let id = "W34"
  static let command = "sync-delays"
  /// The time between two saves, in milliseconds.
  private static let pause = 50
  private let (path, other, hub): (String, String, String)

  init(folder: String) {
    let start = "\(folder)/delays-\(ProcessInfo.processInfo.processIdentifier)"
    (path, other, hub) = (start + ".store", start + ".other.store", start + ".hub")
  }

  /// - Parameters:
  ///   - saves: The number of saves.
  ///   - objects: The number of objects in the stores.
  func measure(saves: Int = 400, objects: Int = 10_000) async throws -> [Concurrency.Figure] {
    defer { for path in [path, other, hub] { StaffStores.remove(path) } }
    let first = try await StaffStores.open(path, hub: hub)
    try StaffStores.fill(first, count: objects)
    let key = Mutex("")
    try await first.createAccount { recoveryKey in key.withLock { $0 = recoveryKey } }
    try await first.synchronize()
    try first.close()
    let container = try await StaffStores.open(other, hub: hub)
    try await container.joinAccount(recoveryKey: key.withLock { $0 })
    try await container.synchronize()

    let context = container.viewContext
    context.automaticallyMergesChangesFromParent = true
    let employee = try context.fetch(Employee.all.where { $0.number == 0 })[0]
    employee.salary = -1
    try context.save()
    try await container.waitUntilSynced()
    let arrivals = Arrivals(employee)
    let observer = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { _ in MainActor.assumeIsolated { arrivals.note() } }
    defer { NotificationCenter.default.removeObserver(observer) }
    let times = path + ".times"
    defer { unlink(times) }
    try await Child.startInBackground([Self.command, path, hub, "\(saves)", times])
    while arrivals.last < Double(saves - 1) { try await Task.sleep(for: .milliseconds(10)) }
    let begins = try JSONDecoder().decode([Double].self, from: try Data(contentsOf: URL(fileURLWithPath: times)))
    try container.close()
    let delays = begins.indices.map { (arrivals.time(of: Double($0)) - begins[$0]) * 1_000 }
    func figure(_ id: String, _ name: String, _ value: Double, must: Double, stretch: Double) -> Concurrency.Figure {
      Concurrency.Figure(id: id, name: name, value: value, must: must, stretch: stretch, isHigherBetter: false, unit: "ms")
    }
    return [
      figure("W34a", "save on one device to the merged context of another: median", delays.percentile(50), must: 50, stretch: 20),
      figure("W34b", "the same: 99th percentile", delays.percentile(99), must: 250, stretch: 100),
    ]
  }

  /// The values that the other device's context has received.
  @MainActor
  private final class Arrivals {
    private let employee: Employee
    private var values: [(value: Double, time: Double)] = []

    init(_ employee: Employee) { self.employee = employee }

    var last: Double { values.last?.value ?? -1 }

    func note() {
      let value = employee.salary
      if value > last { values.append((value, bench_wall_seconds())) }
    }

    /// The time at which the context had a value, or a later one.
    func time(of value: Double) -> Double { values.first { $0.value >= value }?.time ?? .infinity }
  }

  /// Runs in the child process: saves, and records the start of each save.
  static func answer(_ arguments: [String]) async throws -> Child.Answer? {
    guard arguments.count == 5, let saves = Int(arguments[3]) else { return nil }
    let container = try await StaffStores.open(arguments[1], hub: arguments[2])
    try await container.synchronize()
    let context = container.viewContext
    let employee = try context.fetch(Employee.all.where { $0.number == 0 })[0]
    var begins: [Double] = []
    for number in 0..<saves {
      try await Task.sleep(for: .milliseconds(pause))
      employee.salary = Double(number)
      begins.append(bench_wall_seconds())
      try context.save()
    }
    try await container.waitUntilSynced()
    try container.close()
    try JSONEncoder().encode(begins).write(to: URL(fileURLWithPath: arguments[4]))
    return Child.Answer(measured: Measured())
  }
}
