import BenchmarkData
import Foundation
import RawSQLCipher

/// Runs the workloads and prints the table of ratios.
@main
struct Benchmark {
  @MainActor
  static func main() async {
    do {
      let options = try Options(CommandLine.arguments.dropFirst())
      if let child = options.child {
        try await Child.run(child)
      } else if options.isSmokeTest {
        try await smoke(options)
      } else if let count = options.mirrorCount {
        try Mirror(count: count, folder: options.memoryFolder).run()
      } else if isDebugBuild() {
        leave(64, "benchmark: built for debugging; build with -c release, or run Scripts/benchmark")
      } else {
        try await run(options)
      }
    } catch let error as UsageError {
      leave(64, "benchmark: \(error.message)\n\(Options.usage)")
    } catch let error as ChecksumMismatch {
      let sums = error.sums.map { "\($0.value) by \($0.key.rawValue)" }.sorted().joined(separator: ", ")
      leave(65, "benchmark: \(error.workload): the sides disagree: \(sums)")
    } catch {
      leave(70, "benchmark: \(error)")
    }
  }

  /// Runs each workload once, and compares the checksums of both sides.
  @MainActor
  private static func smoke(_ options: Options) async throws {
    guard options.archive != nil else { throw UsageError(message: "--smoke needs --archive FILE") }
    try await Setting.with(options) { setting in
      var count = 0
      for workload in setting.workloads() {
        guard workload.sides[.ours] != nil else { throw UsageError(message: "\(workload.id) has no side of ours to compare") }
        let outcome = try await measure(workload, rounds: 0, counting: false)
        print(workload.id, workload.name, String(format: "%016llx", outcome.checksum))
        fflush(nil)
        count += 1
      }
      try await setting.sizes()?.measure { outcome in
        print(outcome.workload.id, outcome.workload.name, String(format: "%016llx", outcome.checksum))
        count += 1
      }
      _ = try await setting.concurrency()?.measure(rounds: 1, seconds: 0.2)
      _ = try await setting.notices()?.measure(commits: 5, idleSeconds: 0)
      _ = try await setting.delays()?.measure(saves: 3, objects: 100)
      print("Both sides agree in \(count) workloads.")
    }
  }

  @MainActor
  private static func run(_ options: Options) async throws {
    try await Setting.with(options) { setting in
      if options.list {
        for workload in setting.workloads() { print(workload.id, workload.name, workload.sides[.ours] == nil ? "(C only)" : "") }
        if setting.concurrency() != nil { print(Concurrency.id, "8 tasks read while one saves (ours only)") }
        if setting.notices() != nil { print(Notices.id, "notification of a commit by another process (ours only)") }
        if setting.delays() != nil { print(SyncDelays.id, "from a save to the context on another device (ours only)") }
        for workload in setting.sizes()?.workloads() ?? [] { print(workload.id, workload.name) }
      } else {
        try await run(options, setting)
      }
    }
  }

  @MainActor
  private static func run(_ options: Options, _ setting: Setting) async throws {
    let machine = Machine(options, state: setting.state, data: setting.data.pointee)
    let report = Report(options: options, machine: machine)
    var json = JSONReport(machine: machine, rounds: options.rounds)
    var lines = [report.heading(), report.head]
    var intervals: [(Double, Double)] = []
    print(lines.joined(separator: "\n"))
    let note = { (outcome: Outcome) in
      intervals += outcome.samples[.ours]?.intervals ?? []
      let line = report.row(outcome)
      print(line)
      fflush(nil)
      lines.append(line)
      json.append(outcome)
    }
    for workload in setting.workloads() {
      if workload.needsArchive, options.archive == nil { continue }
      note(try await measure(workload, rounds: options.rounds, counting: options.counts))
    }
    try await setting.sizes()?.measure(note)
    let figures = [
      { try await setting.concurrency()?.measure(rounds: options.rounds) }, { try await setting.notices()?.measure() },
      { try await setting.delays()?.measure() },
    ]
    for measure in figures {
      for figure in try await measure() ?? [] {
        json.concurrency.append(figure)
        lines.append(report.row(figure))
        print(report.row(figure))
      }
    }
    if let path = options.intervals {
      try intervals.map { "\($0.0) \($0.1)\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
    }
    if let output = options.output { try (lines.joined(separator: "\n") + "\n").write(toFile: output, atomically: true, encoding: .utf8) }
    if let path = options.json { try json.write(to: path) }
  }

  /// Figures of a debug build would be misleading. The package manager defines DEBUG there.
  private static func isDebugBuild() -> Bool {
    #if DEBUG
      true
    #else
      false
    #endif
  }

  private static func leave(_ code: Int32, _ message: String) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(code)
  }
}
