import BenchmarkData
import CipherData
import CipherDataSync
import Foundation
import StaffClasses

/// W31 to W33: saves of a synchronized store, their export, and the first import of a new device.
@MainActor
struct SyncSides {
  private static let objects = 100_000
  private let folder: String
  private let divisor: Int

  init(_ stores: OurStores, divisor: UInt32) { (folder, self.divisor) = (stores.folder, Int(divisor)) }

  func workloads() -> [Workload] {
    let (small, large) = (max(1, 500 / divisor), 10_000 / divisor)
    func pair(_ id: String, _ name: String, saves: Int, changes: Int) -> Workload {
      Workload(
        id: id, name: name, unit: .milliseconds,
        sides: [
          .ours: writer(id, isSynchronized: true).saving(saves, changes),
          .baseline: writer(id, isSynchronized: false).saving(saves, changes),
        ])
    }
    return [
      pair("W31a", "500 saves of an object of a synchronized store, to the same with a history", saves: small, changes: 1),
      pair("W31b", "a save of 10,000 changes, likewise", saves: 1, changes: large),
      Workload(
        id: "W32", name: "export of 10,000 changed objects", unit: .milliseconds,
        sides: [.ours: writer("W32", isSynchronized: true).exporting(large)]),
      importing("W33a", "first import of 100,000 objects", .milliseconds, cacheSize: 64 << 20),
      importing("W33b", "memory of a first import of 100,000 objects", .megabytes, cacheSize: 4 << 20),
    ]
  }

  private func writer(_ id: String, isSynchronized: Bool) -> Writer {
    Writer("\(folder)/\(id)-\(isSynchronized ? "synced" : "local")", objects: Self.objects / divisor, isSynchronized: isSynchronized)
  }

  /// A store that is changed in each round, which stays open.
  @MainActor
  private final class Writer {
    private let path: String
    private let objects: Int
    private let isSynchronized: Bool
    private var container: PersistentContainer?
    private var employees: [Employee] = []
    /// The employees with smaller numbers are changed.
    private var changed: Int64 = 0
    private var round = 0
    private var measured = Measured()

    private var hub: String { path + ".hub" }

    init(_ path: String, objects: Int, isSynchronized: Bool) {
      (self.path, self.objects, self.isSynchronized) = (path + ".store", objects, isSynchronized)
    }

    private func open() async throws -> PersistentContainer {
      if let container { return container }
      if isSynchronized {
        let synced = try await StaffStores.open(path, hub: hub)
        try StaffStores.fill(synced, count: objects)
        try await synced.createAccount { _ in }
        try await synced.synchronize()
        container = synced
        return synced
      }
      let local = try await StaffStores.open(path, history: .values)
      try StaffStores.fill(local, count: objects)
      container = local
      return local
    }

    private func prepare(_ count: Int) async throws {
      let context = try await open().viewContext
      changed = Int64(count)
      employees = try context.fetch(Employee.all.where { $0.number < changed })
      round += 1
    }

    /// Changes employees in saves of equal size.
    private func save(_ saves: Int, _ changes: Int) throws {
      guard let context = container?.viewContext else { return }
      for save in 0..<saves {
        for index in save * changes..<(save + 1) * changes { employees[index].salary = Double(round) }
        try context.save()
      }
    }

    /// Waits until the hub has everything, and returns the number of changed employees with the values of the round.
    private func finish() async throws -> UInt64 {
      employees = []
      container?.viewContext.reset()
      if let synced = container as? PersistentCloudContainer { try await synced.waitUntilSynced() }
      let value = Double(round)
      return UInt64(try container?.newBackgroundContext().count(for: Employee.all.where { $0.number < changed && $0.salary == value }) ?? 0)
    }

    /// The CPU time of the thread that saves. The process sends the saves at the same time.
    func saving(_ saves: Int, _ changes: Int) -> Side {
      Side(
        prepare: { try await self.prepare(saves * changes) },
        run: {
          let (wall, cpu) = (bench_wall_seconds(), Self.threadSeconds())
          try self.save(saves, changes)
          self.measured = Measured(cpu: Self.threadSeconds() - cpu, wall: bench_wall_seconds() - wall)
        }, finish: finish, report: { self.measured })
    }

    func exporting(_ count: Int) -> Side {
      Side(
        prepare: {
          try await self.prepare(count)
          try self.save(1, count)
        },
        run: { if let synced = self.container as? PersistentCloudContainer { try await synced.waitUntilSynced() } }, finish: finish)
    }

    private static func threadSeconds() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
  }

  // MARK: Import

  private func importing(_ id: String, _ name: String, _ unit: Unit, cacheSize: Int) -> Workload {
    let (source, target) = ("\(folder)/\(id)-source.store", "\(folder)/\(id)-target.store")
    let hub = "\(folder)/\(id).hub"
    let count = Self.objects / divisor
    let state = State()
    let side = Side(
      prepare: {
        StaffStores.remove(target)
        if state.isFilled { return }
        _ = try StaffChild(work: .fill, path: source, hub: hub, count: count).start()
        state.checksum = try StaffChild(work: .send, path: source, hub: hub, count: count).start().checksum
        state.isFilled = true
      },
      run: { state.answer = try StaffChild(work: .join, path: target, hub: hub, count: count, cacheSize: cacheSize).start() },
      finish: {
        guard let answer = state.answer else { return 0 }
        if answer.checksum != state.checksum { throw StaffChild.Difference(path: target) }
        return answer.checksum
      }, report: { state.answer?.measured ?? Measured() })
    return Workload(id: id, name: name, unit: unit, sides: [.ours: side])
  }

  @MainActor
  private final class State {
    var isFilled = false
    var checksum: UInt64 = 0
    var answer: Child.Answer?
  }
}
