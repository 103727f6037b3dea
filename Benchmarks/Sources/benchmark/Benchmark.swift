// Runs the workloads and prints the table of ratios.
import BenchmarkData
import Foundation
import RawFloor

@main
struct Benchmark {
  @MainActor
  static func main() async {
    do {
      let options = try Options(CommandLine.arguments.dropFirst())
      if options.isSmokeTest {
        try await smoke(options)
      } else if isDebugBuild() {
        leave(64, "benchmark: built for debugging; build with -c release, or run Scripts/benchmark")
      } else {
        try await run(options)
      }
    } catch let error as UsageError {
      leave(64, "benchmark: \(error.message)\n\(Options.usage)")
    } catch let error as ChecksumMismatch {
      leave(65, "benchmark: \(error.workload): the sides disagree: \(error.floor) in C, \(error.ours) in ours")
    } catch {
      leave(70, "benchmark: \(error)")
    }
  }

  /// What the sides work on.
  private struct Setting {
    let data: UnsafeMutablePointer<bench_data>
    let state: OpaquePointer
    let sides: [String: Side]
  }

  @MainActor
  private static func withSetting(_ options: Options, _ body: @MainActor (Setting) async throws -> Void) async throws {
    removeLeftovers(in: options.memoryFolder)
    let folder = "\(options.memoryFolder)/\(folderPrefix)\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    guard let data = bench_data_make(options.divisor), let state = floor_open(data, folder, options.diskFolder, options.archive) else {
      throw UsageError(message: "no memory for the data")
    }
    defer {
      floor_close(state)
      bench_data_free(data)
    }
    let sides = options.floorOnly ? [:] : try await OurSide(data: data, folder: folder, options: options).sides()
    try await body(Setting(data: data, state: state, sides: sides))
  }

  /// Runs each workload once, and compares the answers of both sides.
  @MainActor
  private static func smoke(_ options: Options) async throws {
    guard options.archive != nil else { throw UsageError(message: "--smoke needs --archive FILE") }
    try await withSetting(options) { setting in
      var count = 0
      for index in 0..<floor_workload_count() {
        var workload = Workload(floorIndex: index, state: setting.state)
        guard options.includes(workload.id) else { continue }
        workload.ours = setting.sides[workload.id]
        guard workload.ours != nil else { throw UsageError(message: "\(workload.id) has no side of ours to compare") }
        let outcome = try await measure(workload, rounds: 0)
        print(workload.id, workload.name, String(format: "%016llx", outcome.checksum))
        fflush(nil)
        count += 1
      }
      print("Both sides agree in \(count) workloads.")
    }
  }

  @MainActor
  private static func run(_ options: Options) async throws {
    try await withSetting(options) { try await run(options, $0) }
  }

  @MainActor
  private static func run(_ options: Options, _ setting: Setting) async throws {
    let (data, state, sides) = (setting.data, setting.state, setting.sides)
    let report = Report(options: options, state: state, data: data)
    var lines = [report.heading(), Report.head]
    var intervals: [(Double, Double)] = []
    if !options.list { print(lines.joined(separator: "\n")) }
    for index in 0..<floor_workload_count() {
      var workload = Workload(floorIndex: index, state: state)
      guard options.includes(workload.id) else { continue }
      if options.list {
        print(workload.id, workload.name, sides[workload.id] == nil ? "(C only)" : "")
        continue
      }
      if workload.needsArchive, options.archive == nil { continue }
      workload.ours = sides[workload.id]
      let outcome = try await measure(workload, rounds: options.rounds)
      intervals += outcome.intervals
      let line = report.row(outcome)
      print(line)
      fflush(nil)
      lines.append(line)
    }
    if let path = options.intervals {
      try intervals.map { "\($0.0) \($0.1)\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
    }
    if let output = options.output { try (lines.joined(separator: "\n") + "\n").write(toFile: output, atomically: true, encoding: .utf8) }
  }

  private static let folderPrefix = "cipherdata-benchmark-"

  /// Removes the folders of runs that were killed: they would keep memory.
  private static func removeLeftovers(in parent: String) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] where name.hasPrefix(folderPrefix) {
      guard let process = Int32(name.dropFirst(folderPrefix.count)), kill(process, 0) != 0, errno == ESRCH else { continue }
      try? FileManager.default.removeItem(atPath: "\(parent)/\(name)")
    }
  }

  /// A figure from a debug build would mislead; the package manager defines DEBUG there.
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
