import Foundation
import _SyncSimulation

#if PLANTED_FAULTS
  import SyncCore
#endif

/// Runs simulations of synchronization: see Scripts/simulate.
@main
struct SimulateSync {
  static func main() throws {
    var arguments = Array(CommandLine.arguments.dropFirst())
    guard let command = arguments.first else { return usage() }
    arguments.removeFirst()
    switch (command, arguments.count) {
    case ("run", 2):
      guard let first = UInt64(arguments[0]), let count = UInt64(arguments[1]) else { return usage() }
      exit(run(first..<first + count) ? 0 : 1)
    case ("laws", 1):
      guard let count = Int(arguments[0]) else { return usage() }
      exit(checkLaws(count) ? 0 : 1)
    case ("plant", 2): try plant(from: URL(fileURLWithPath: arguments[0]), to: URL(fileURLWithPath: arguments[1]))
    #if PLANTED_FAULTS
      case ("faults", 1):
        guard let count = UInt64(arguments[0]) else { return usage() }
        exit(find(EnabledFault.names, in: 0..<count) ? 0 : 1)
      case ("only", 3...):
        guard let first = UInt64(arguments[0]), let count = UInt64(arguments[1]) else { return usage() }
        exit(find(Array(arguments[2...]), in: first..<first + count) ? 0 : 1)
    #endif
    default: usage()
    }
  }

  private static func usage() {
    FileHandle.standardError.write(Data("usage: _SimulateSync run FIRST COUNT | laws COUNT | plant REPOSITORY FOLDER\n".utf8))
    exit(64)
  }

  /// Runs seeds, and prints the failures, the first ones as tests.
  private static func run(_ seeds: Range<UInt64>) -> Bool {
    let start = Date()
    var failures: [String: Int] = [:]
    for seed in seeds {
      let (setup, events) = SimulationRun.plan(seed)
      if let failure = SimulationRun.failure(setup, events) {
        failures[failure.invariant, default: 0] += 1
        print("seed \(seed): \(failure)")
        if failures.values.reduce(0, +) <= 3 {
          let short = SimulationRun.shortened(setup, events, failure)
          print("shortened to \(short.events.count) events: \(short.failure)")
          print(SimulationRun.test(setup, short.events))
        }
        fflush(nil)
      }
      let done = seed - seeds.lowerBound + 1
      if done % 10_000 == 0 { print("\(done) of \(seeds.count) seeds") }
    }
    let seconds = Int(Date().timeIntervalSince(start))
    print("\(seeds.count) seeds in \(seconds) s, \(failures.values.reduce(0, +)) failures \(failures)")
    return failures.isEmpty
  }

  /// Checks the laws of joins with random triples of each rule.
  private static func checkLaws(_ count: Int) -> Bool {
    let violations = ([nil] + JoinLaws.rules).compactMap { JoinLaws.violation(of: $0, seed: 49, count: count) }
    print("\(count) triples of each rule, \(violations.count) violations \(violations.joined(separator: "\n"))")
    return violations.isEmpty
  }

  #if PLANTED_FAULTS
    /// Enables each fault, and runs seeds until one fails. At least 95 % of the faults must be found.
    private static func find(_ names: [String], in seeds: Range<UInt64>) -> Bool {
      var missed = 0
      for name in names {
        guard let index = EnabledFault.names.firstIndex(of: name) else {
          print("\(name): not in the list")
          missed += 1
          continue
        }
        (EnabledFault.number, EnabledFault.count) = (index + 1, 0)
        let (found, reached) = find(in: seeds)
        if found == nil { missed += 1 }
        let result = found ?? "not found, although its code ran \(EnabledFault.count) times in \(reached) seeds"
        FileHandle.standardOutput.write(Data("\(name): \(result)\n".utf8))
      }
      print("\(names.count - missed) of \(names.count) faults found")
      return missed * 20 <= names.count
    }

    /// Runs seeds until one fails.
    ///
    /// - Returns: The failure, and in how many seeds the code of the enabled fault ran.
    private static func find(in seeds: Range<UInt64>) -> (failure: String?, reached: Int) {
      var reached = 0
      for seed in seeds {
        let former = EnabledFault.count
        let (setup, events) = SimulationRun.plan(seed)
        if let failure = SimulationRun.failure(setup, events) { return ("seed \(seed), \(failure.invariant)", reached + 1) }
        if EnabledFault.count > former { reached += 1 }
      }
      return (nil, reached)
    }
  #endif

  /// Writes the sources of SyncCore with all faults.
  private static func plant(from repository: URL, to folder: URL) throws {
    let source = repository.appendingPathComponent("Sources/SyncCore")
    let list = repository.appendingPathComponent("Tests/_SyncSimulation/PlantedFaults.txt")
    var sources: [String: String] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: source.path) where path.hasSuffix(".swift") {
      sources[path] = try String(contentsOf: source.appendingPathComponent(path), encoding: .utf8)
    }
    let faults = try PlantedFault.list(String(contentsOf: list, encoding: .utf8))
    for (path, text) in try PlantedFault.plant(faults, in: sources) {
      let file = folder.appendingPathComponent(path)
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try text.write(to: file, atomically: true, encoding: .utf8)
    }
  }
}
