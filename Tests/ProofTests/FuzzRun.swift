import Foundation
import _TestSupport

/// One parser under libFuzzer, with a seed, for a number of inputs in a separate process.
struct FuzzRun: ProofCase {
  let program: URL
  let target: String
  let seed: UInt64
  let inputs: Int
  /// The folder of the inputs found so far, which grows from run to run, and of the process's output.
  let folder: URL

  var description: String { "\(target), seed \(seed)" }
  var faultCount: Int { inputs }

  private var corpus: URL { folder.appendingPathComponent("fuzz/corpus/\(target)", isDirectory: true) }
  private var findings: URL { folder.appendingPathComponent("fuzz/findings/\(target)-\(seed)", isDirectory: true) }

  func keep(in place: URL) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: findings.path) {
      try FileManager.default.copyItem(at: findings.appendingPathComponent(name), to: place.appendingPathComponent(name))
    }
  }

  func problem() throws -> String? {
    // Try the inputs of earlier runs before new ones.
    let known = try found()
    for file in known {
      if let problem = try play([file.path]) { return problem }
    }
    if !FileManager.default.fileExists(atPath: corpus.path) {
      try FileManager.default.createDirectory(at: corpus, withIntermediateDirectories: true)
      if let problem = try play(["--seeds", corpus.path]) { return problem }
    }
    try FileManager.default.createDirectory(at: findings, withIntermediateDirectories: true)
    // The corpus in the repository is read; new inputs are written to the first folder.
    let kept = Fixtures.repository.appendingPathComponent("Fuzzing/Corpora/\(target)").path
    return try play(
      [
        "-runs=\(inputs)", "-seed=\(seed % 0xFFFF_FFFF)", "-max_len=65536", "-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1",
        "-artifact_prefix=\(findings.path)/", corpus.path,
      ] + (FileManager.default.fileExists(atPath: kept) ? [kept] : []))
  }

  private func found() throws -> [URL] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: findings.path) else { return [] }
    return names.filter { !$0.hasSuffix(".log") }.sorted().map { findings.appendingPathComponent($0) }
  }

  /// Runs the program. Returns its last output if it fails.
  private func play(_ arguments: [String]) throws -> String? {
    let process = Process()
    process.executableURL = program
    process.arguments = [target] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    try FileManager.default.createDirectory(at: findings, withIntermediateDirectories: true)
    let log = findings.appendingPathComponent("output.log")
    guard FileManager.default.createFile(atPath: log.path, contents: nil), let output = FileHandle(forWritingAtPath: log.path) else {
      throw TortureError.noAnswer(log.path)
    }
    defer { try? output.close() }
    process.standardOutput = output
    process.standardError = output
    try process.run()
    process.waitUntilExit()
    if process.terminationStatus == 0, process.terminationReason == .exit { return nil }
    let lines = String(decoding: try Data(contentsOf: log), as: UTF8.self).split(separator: "\n")
    let reported = lines.filter { $0.contains("PROBLEM") || $0.contains("ERROR") || $0.contains("Fatal error") || $0.hasPrefix("SUMMARY") }
    return reported.isEmpty ? "it ended with \(process.terminationStatus): \(lines.last ?? "")" : reported.prefix(3).joined(separator: "; ")
  }
}
