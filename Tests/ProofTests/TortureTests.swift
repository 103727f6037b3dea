import Foundation
import XCTest
import _FaultInjection
import _TestSupport

/// The parts of the proof that Scripts/torture runs, each in a separate process. Without its environment variables they do nothing.
final class TortureTests: XCTestCase {
  private func run(_ part: String, _ settings: [String: String], folder: URL) throws {
    let seed = settings["CIPHERDATA_TORTURE_SEED"].flatMap(UInt64.init) ?? 1
    let seconds = settings["CIPHERDATA_TORTURE_SECONDS"].flatMap(Double.init) ?? .infinity
    let target = settings["CIPHERDATA_TORTURE_TARGET"].flatMap(Int.init) ?? .max
    let run = TortureRun(part: part, folder: folder, end: Date(timeIntervalSinceNow: min(seconds, 1e9)), target: target)
    let again = settings["CIPHERDATA_TORTURE_AGAIN"].flatMap(Int.init)
    func play(_ cases: some TorturePart) throws {
      var cases = cases
      guard let again else { return try run.run(&cases) }
      let outcome = try cases.makeCase(again)?.outcome
      print(outcome.map { "FAILED \($0)" } ?? "SURVIVED \(part) \(again)")
    }
    switch part {
    case "power": try play(PowerTorture(seed: seed))
    case "io": try play(CallTorture(seed: seed))
    case "memory": try play(MemoryTorture(seed: seed))
    case "kills": try play(KillTorture(KillTheme.all, seed: seed))
    case "tool-kills": try play(KillTorture(KillTheme.toolThemes + KillTheme.copyingThemes, seed: seed))
    case "sync": try play(SyncTorture(seed: seed))
    case "operations": try play(OperationTorture(seed: seed))
    case "bytes": try play(DamageTorture(seed: seed, folder: folder))
    case "fuzz": try play(FuzzTorture(seed: seed, folder: folder))
    default: throw TortureError.noSuchPart(part)
    }
  }

  func testRunChildRole() throws {
    let settings = ProcessInfo.processInfo.environment
    guard let part = settings["CIPHERDATA_TORTURE_PART"], let folder = settings["CIPHERDATA_TORTURE_FOLDER"] else { return }
    try run(part, settings, folder: URL(fileURLWithPath: folder, isDirectory: true))
  }

  /// Cases every third of which fails; some end the process.
  private struct Cases: TorturePart {
    struct Case: ProofCase {
      var number: Int
      var description: String { "case \(number)" }
      func problem() throws -> String? { number % 3 == 2 ? "wrong" : nil }
      func keep(in folder: URL) throws { try Data("evidence".utf8).write(to: folder.appendingPathComponent("file")) }
    }
    func makeCase(_ number: Int) throws -> (any ProofCase)? { number < 10 ? Case(number: number) : nil }
  }

  func testRunsResumeAndKeepFailures() throws {
    let folder = try TemporaryFolder("TortureTests")
    func figures(target: Int) throws -> TortureFigures {
      var cases = Cases()
      try TortureRun(part: "some", folder: folder.url, end: .distantFuture, target: target, tell: { _ in }).run(&cases)
      return try JSONDecoder().decode(TortureFigures.self, from: Data(contentsOf: folder.file("some.json")))
    }
    let first = try figures(target: 4)
    XCTAssertEqual([first.tried, first.survived, first.bad, first.next], [4, 3, 1, 4])
    // The process ended in the next case.
    try Data("4".utf8).write(to: folder.file("some.running"))
    let second = try figures(target: 100)
    XCTAssertEqual([second.tried, second.survived, second.bad, second.next], [10, 6, 4, 10])
    XCTAssertTrue(second.isComplete)
    let kept = folder.fileNames().filter { $0.hasSuffix("problem.txt") }
    XCTAssertEqual(kept, ["failures/some-2", "failures/some-4", "failures/some-5", "failures/some-8"].map { $0 + "/problem.txt" })
    XCTAssertEqual(try String(contentsOf: folder.file("failures/some-8/files/file"), encoding: .utf8), "evidence")
  }
}
