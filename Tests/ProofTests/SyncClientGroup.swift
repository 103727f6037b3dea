import Foundation
import XCTest
import _ProofStore
import _TestSupport

/// The processes of the devices of all accounts.
struct SyncClientGroup {
  private let world: SyncWorld
  private let scale: SyncedClients.Scale
  private let program: URL
  private var random: SeededGenerator
  private var running: [SyncClient] = []
  /// The devices of the processes, by their numbers.
  private var started: [Int: SyncDevice] = [:]
  private var lastProcess = 0
  private(set) var killCount = 0
  private(set) var stopCount = 0

  /// The number of objects that had to exist at the end, by account.
  private(set) var requiredCounts: [Int: Int] = [:]

  let devices: [SyncDevice]
  var acknowledgedCount: Int { (try? logs().reduce(0) { $0 + $1.acknowledgedCount }) ?? 0 }

  init(world: SyncWorld, scale: SyncedClients.Scale, seed: UInt64) throws {
    (self.world, self.scale) = (world, scale)
    program = try TestProgram.url(of: "_SyncWriter")
    random = SeededGenerator(seed: seed)
    devices = (0..<scale.accounts).flatMap { account in (0..<scale.devices).map { SyncDevice(account: account, number: $0) } }
  }

  /// Returns the logs of all processes that have saved.
  func logs() throws -> [SyncProcessLog] {
    try started.sorted { $0.key < $1.key }.map { try SyncProcessLog(process: $0, device: $1, SyncLogFile.lines(at: world.log($0))) }
  }

  // MARK: Processes

  private mutating func start(_ task: SyncTask, _ plan: SyncClient.Plan = SyncClient.Plan()) throws {
    lastProcess += 1
    let order = SyncOrder(world: world, process: lastProcess, seed: random.next(), task: task)
    if case .write(let device, _, _, _) = task { started[lastProcess] = device }
    try JSONEncoder().encode(order).write(to: world.order(lastProcess))
    running.append(try SyncClient(program, order, plan))
  }

  /// The time for which a single process may run, in seconds.
  private static let patience = 240.0

  /// Runs a process until its end. Returns a problem, or nil.
  mutating func run(_ task: SyncTask) throws -> String? {
    try start(task)
    let end = Date(timeIntervalSinceNow: Self.patience)
    while Date() < end, running.contains(where: \.isRunning) { usleep(2_000) }
    if running.contains(where: \.isRunning) { return "process \(lastProcess) is not done after \(Self.patience) seconds" + kill() }
    return try collect()
  }

  /// Lets processes of all devices run until so many of them were killed, and kills the others. Returns a problem, or nil.
  mutating func play(kills: Int, longest: Double) throws -> String? {
    let end = Date(timeIntervalSinceNow: longest)
    let goal = killCount + kills
    while killCount < goal, Date() < end {
      for device in devices where !running.contains(where: { $0.device == device }) {
        // One process of a device synchronizes; another one takes over when it ends.
        for _ in 0..<(Int.random(in: 0..<4, using: &random) == 0 ? 2 : 1) { try startClient(device) }
      }
      usleep(2_000)
      for client in running where client.isRunning { stopCount += client.advance() }
      if let problem = try collect() { return problem + kill() }
    }
    _ = kill()
    return try collect()
  }

  private mutating func startClient(_ device: SyncDevice) throws {
    var plan = SyncClient.Plan()
    var blow: KillBlow?
    // Few are killed while they begin.
    plan.countsFromOpening = Int.random(in: 0..<8, using: &random) > 0
    plan.end = Double.random(in: 0.1...4, using: &random)
    if Int.random(in: 0..<10, using: &random) < 6 {
      blow = KilledWriters.callBlow(&random, scale: 64)
      plan.end += 2
    }
    if Int.random(in: 0..<3, using: &random) == 0 {
      plan.stop = (at: Double.random(in: 0.1...plan.end, using: &random), duration: Double.random(in: 0.02...1.2, using: &random))
    }
    let steps = Int.random(in: 0..<5, using: &random) == 0 ? Int.random(in: 3...30, using: &random) : 1_000
    try start(.write(device, steps: steps, blow: blow, countsFromOpening: plan.countsFromOpening), plan)
  }

  /// Kills all processes.
  private mutating func kill() -> String {
    for client in running { client.kill() }
    for client in running { client.wait() }
    return ""
  }

  /// Removes the processes that have ended. Returns the first problem, or nil.
  private mutating func collect() throws -> String? {
    let ended = running.filter { !$0.isRunning }
    running.removeAll { !$0.isRunning }
    killCount += ended.count(where: \.wasKilled)
    for client in ended {
      let log = try SyncLogFile.lines(at: world.log(client.order.process))
      for case .failed(let problem) in log { return "process \(client.order.process) of \(client.order.task): \(problem)" }
      if let end = client.unexpectedEnd {
        let output = (try? String(contentsOf: world.output(client.order.process), encoding: .utf8)) ?? ""
        return "process \(client.order.process) of \(client.order.task) ended with \(end): \(output.suffix(2_000))"
      }
    }
    return nil
  }

  // MARK: Results

  /// Lets an account become quiet, and checks what its devices have. Returns a problem, or nil.
  mutating func settle(_ account: Int, _ restorations: [SyncRestoration]) throws -> String? {
    if let problem = try run(.settle(account: account, devices: scale.devices)) { return problem }
    let result = try JSONDecoder().decode(SyncResult.self, from: Data(contentsOf: world.result(lastProcess)))
    let logs = try logs().filter { $0.device.account == account }
    let verification = SyncVerification(result, logs, restorations)
    requiredCounts[account] = verification.requiredCount
    return verification.problem()
  }
}

/// A process of a device.
final class SyncClient {
  /// When a process is stopped and continued, and when it is killed, in seconds. It may end before.
  struct Plan {
    /// Whether the times begin when the store is open, not with the process.
    var countsFromOpening = false
    var stop: (at: Double, duration: Double)?
    var end = Double.infinity
  }

  let order: SyncOrder
  private let process = Process()
  private var plan: Plan
  private var start: Date?
  private var isStopped = false

  init(_ program: URL, _ order: SyncOrder, _ plan: Plan) throws {
    (self.order, self.plan) = (order, plan)
    process.executableURL = program
    process.arguments = [String(decoding: try JSONEncoder().encode(order), as: UTF8.self)]
    let output = order.world.output(order.process)
    guard FileManager.default.createFile(atPath: output.path, contents: nil) else { throw TortureError.noAnswer(output.path) }
    let file = try FileHandle(forWritingTo: output)
    process.standardOutput = file
    process.standardError = file
    process.standardInput = FileHandle.nullDevice
    try process.run()
    try file.close()
  }

  var device: SyncDevice? {
    if case .write(let device, _, _, _) = order.task { device } else { nil }
  }
  var isRunning: Bool { process.isRunning }

  /// Does what is due. Returns the number of stops.
  func advance() -> Int {
    guard let start else {
      let size = (try? FileManager.default.attributesOfItem(atPath: order.world.log(order.process).path)[.size]) as? Int ?? 0
      if !plan.countsFromOpening || size > 0 { start = Date() }
      return 0
    }
    let passed = -start.timeIntervalSinceNow
    if passed >= plan.end {
      kill()
    } else if let stop = plan.stop, passed >= stop.at {
      if !isStopped {
        isStopped = true
        Foundation.kill(process.processIdentifier, SIGSTOP)
        return 1
      } else if passed >= stop.at + stop.duration {
        plan.stop = nil
        Foundation.kill(process.processIdentifier, SIGCONT)
      }
    }
    return 0
  }

  func kill() { if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) } }
  func wait() { process.waitUntilExit() }

  var wasKilled: Bool { process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL }
  /// How the process has ended, if that was neither by itself nor by a kill.
  var unexpectedEnd: String? {
    if wasKilled { return nil }
    if process.terminationReason == .uncaughtSignal { return "signal \(process.terminationStatus)" }
    return process.terminationStatus == 0 ? nil : "status \(process.terminationStatus)"
  }
}
