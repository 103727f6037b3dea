import Foundation
import Synchronization
import _ProofStore
import _TestSupport

/// Eight processes perform random operations on one store, some until they are killed, and a check of what they have read. The seed
/// determines the operations; the interleaving of the processes is random.
struct ConcurrentOperations: ProofCase {
  /// The numbers of a case.
  struct Scale {
    var processes = 8
    /// The number of operations of each process.
    var operations = 2_500
    /// The greatest number of processes that are killed.
    var kills = 2
    /// The time for which the processes may run, in seconds.
    var longest = 900.0
  }

  let scale: Scale
  let seed: UInt64
  private let result = Result()

  /// The statistics of a finished case.
  struct Counts: Sendable {
    var operations = 0
    var committed = 0
    /// Operations without effect: another process was first, or they were undone.
    var aborted = 0
    var killed = 0
  }

  /// The statistics and the files of a finished case.
  private final class Result: Sendable {
    let counts = Mutex(Counts())
    let folder = Mutex<TemporaryFolder?>(nil)
  }

  init(scale: Scale = Scale(), seed: UInt64) { (self.scale, self.seed) = (scale, seed) }

  var description: String { "operations, seed \(seed)" }
  var counts: Counts { result.counts.withLock { $0 } }
  var faultCount: Int { counts.operations }
  var acknowledgedWorks: Int { counts.committed }

  func keep(in folder: URL) throws {
    guard let played = result.folder.withLock({ $0 }) else { return }
    for name in try FileManager.default.contentsOfDirectory(atPath: played.url.path) {
      try FileManager.default.copyItem(at: played.file(name), to: folder.appendingPathComponent(name))
    }
  }

  func problem() throws -> String? {
    let folder = try TemporaryFolder("ConcurrentOperations")
    result.folder.withLock { $0 = folder }
    let program = try TestProgram.url(of: "_OperationWriter")
    var random = SeededGenerator(seed: seed)
    let hasHistory = Bool.random(using: &random)
    func start(_ number: Int, _ task: OperationOrder.Task) throws -> Process {
      let order = OperationOrder(
        folder: folder.url, process: number, seed: random.next(), operations: scale.operations, hasHistory: hasHistory, task: task)
      return try Self.start(program, order)
    }
    if let problem = Self.wait(for: [try start(0, .create)], until: Date(timeIntervalSinceNow: scale.longest)) { return problem }
    let processes = try (1...scale.processes).map { try start($0, .operate) }
    var kills: [(process: Process, at: Date)] = []
    for process in processes.shuffled(using: &random).prefix(Int.random(in: 0...scale.kills, using: &random)) {
      kills.append((process, Date(timeIntervalSinceNow: Double.random(in: 0.5...5, using: &random))))
    }
    if let problem = Self.wait(for: processes, until: Date(timeIntervalSinceNow: scale.longest), kills) { return problem }
    let last = scale.processes + 1
    if let problem = Self.wait(for: [try start(last, .read)], until: Date(timeIntervalSinceNow: scale.longest)) { return problem }
    func operations(_ number: Int) throws -> [RecordedOperation] {
      try OperationLog.operations(at: OperationOrder.log(of: number, in: folder.url), process: number)
    }
    let all = try (1...scale.processes).flatMap(operations)
    guard let read = try operations(last).first else { return "there is no last read" }
    result.counts.withLock { counts in
      counts.operations = all.count
      counts.committed = all.count { $0.outcome == .committed }
      counts.aborted = all.count { $0.outcome == .aborted }
      counts.killed = processes.count(where: Self.wasKilled)
    }
    let anomalies = OperationHistory(all, last: read).anomalies
    return anomalies.isEmpty ? nil : anomalies.prefix(8).map(\.description).joined(separator: "\n")
  }

  // MARK: Processes

  private static func start(_ program: URL, _ order: OperationOrder) throws -> Process {
    let process = Process()
    process.executableURL = program
    process.arguments = [String(decoding: try JSONEncoder().encode(order), as: UTF8.self)]
    process.standardInput = FileHandle.nullDevice
    try process.run()
    return process
  }

  /// Waits for the end of processes, and kills some before. Returns a problem, or nil.
  private static func wait(for processes: [Process], until end: Date, _ kills: [(process: Process, at: Date)] = []) -> String? {
    var kills = kills
    while processes.contains(where: \.isRunning) {
      kills.removeAll { kill in
        guard Date() >= kill.at else { return false }
        if kill.process.isRunning { Foundation.kill(kill.process.processIdentifier, SIGKILL) }
        return true
      }
      if Date() > end {
        for process in processes where process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
        return "a process is not done in time"
      }
      usleep(5_000)
    }
    for (number, process) in processes.enumerated() where process.terminationStatus != 0 && !wasKilled(process) {
      return "process \(number) has ended with \(process.terminationStatus)"
    }
    return nil
  }

  private static func wasKilled(_ process: Process) -> Bool {
    process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
  }
}
