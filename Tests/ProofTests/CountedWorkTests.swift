import Foundation
import SQLCipherConnection
import XCTest
import _AllocationCounter
import _TestSupport

/// Ten operations use the pinned number of statements, allocations and instructions. A failure names the operation that costs more.
///
/// Tests/_CountedWork/Costs.txt contains the costs for the build that Scripts/test makes: debug, with the checks of inner tables, which are
/// paused while counting. For that build, statements must match exactly, allocations within 0.2 % plus ten (a few differ between
/// processes), and instructions within 5 %. With another compiler or another SQLCipher, allocations may exceed the costs by 25 % and
/// instructions by 50 %. Scripts/pin-costs rewrites the file.
final class CountedWorkTests: XCTestCase {
  private static let isPinning = ProcessInfo.processInfo.environment["CIPHERDATA_PIN_COSTS"] == "1"

  /// The build and platform, for one of which the costs are exact.
  private func build() throws -> String {
    let version = try output("swift", "--version")
    let compiler = version.split(separator: " ").drop { $0 != "version" }.dropFirst().first.map(String.init) ?? "?"
    #if CIPHERDATA_CHECKS
      let checks = ", with checks"
    #else
      let checks = ""
    #endif
    #if DEBUG
      let configuration = "debug"
    #else
      let configuration = "release"
    #endif
    #if arch(x86_64)
      let machine = "x86_64"
    #else
      let machine = "another machine"
    #endif
    return "Swift \(compiler), SQLite \(LibraryVersion.sqliteName), \(machine), \(configuration)\(checks)"
  }

  /// Runs a program, and fails unless it succeeds.
  private func output(_ command: String...) throws -> String {
    let run = try ProgramRun(command, environment: Self.environment, includesErrors: false)
    XCTAssertEqual(run.status, 0, run.output)
    return run.output
  }

  private func program() -> URL {
    let folder = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL.deletingLastPathComponent()
    return (folder ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()).appendingPathComponent("_CountedWork")
  }

  /// The number of allocations that differ between processes, for an unknown reason.
  private static let comingAndGoing = 10.0

  /// Hashing is the same in every process.
  private static let environment = ["SWIFT_DETERMINISTIC_HASHING": "1"]

  /// Compares measured costs with the pinned ones, or writes them to the file.
  private func compare(_ found: [CountedCost], _ kinds: [WritableKeyPath<CountedCost, Int>], exactTo share: Double, elsewhere: Double)
    throws
  {
    var pinned = try PinnedCosts()
    let build = try build()
    if Self.isPinning {
      pinned.set(found, kinds, for: build)
      return try pinned.write()
    }
    let isKnown = pinned.costs[build] != nil
    let expected = try XCTUnwrap(pinned.costs[build] ?? pinned.costs.min { $0.key < $1.key }?.value)
    XCTAssertEqual(found.map(\.name), expected.map(\.name))
    for (found, expected) in zip(found, expected) {
      for kind in kinds {
        let (is_, was) = (Double(found[keyPath: kind]), Double(expected[keyPath: kind]))
        let what =
          "\(found.name): \(Int(is_)) \(CountedCost.names[kind] ?? "") for \(Int(was)), in \(build) (Scripts/pin-costs, if that is meant)"
        if isKnown {
          XCTAssertLessThanOrEqual(abs(is_ - was), share == 0 ? 0 : (was * share).rounded(.up) + Self.comingAndGoing, what)
        } else {
          XCTAssertLessThanOrEqual(is_, was * elsewhere, what)
        }
      }
    }
  }

  func testTenOperationsMatchThePinnedStatementsAndAllocations() throws {
    guard allocation_counter_counts_allocations() else { return }
    let folder = try TemporaryFolder("CountedWorkTests")
    let lines = try output(program().path, "counts", folder.url.path).split(separator: "\n")
    let found = lines.map { line in
      let fields = line.split(separator: " ")
      return CountedCost(name: String(fields[0]), statements: Int(fields[1]) ?? 0, allocations: Int(fields[2]) ?? 0)
    }
    XCTAssertEqual(found.count, 10)
    try compare(found, [\.statements], exactTo: 0, elsewhere: 1)
    try compare(found, [\.allocations], exactTo: 0.002, elsewhere: 1.25)
  }

  func testTenOperationsMatchThePinnedInstructions() throws {
    // A program with a sanitizer does not run under callgrind.
    guard allocation_counter_counts_allocations() else { return }
    let valgrind = try XCTUnwrap(
      ["/usr/bin/valgrind", "/usr/local/bin/valgrind"].first(where: FileManager.default.isExecutableFile),
      "valgrind is not installed: Scripts/install-dependencies --tests")
    let folder = try TemporaryFolder("CountedWorkTests")
    // valgrind cannot read the debug information of Swift compilers.
    let program = folder.file("works")
    _ = try output("strip", "--strip-debug", "-o", program.path, self.program().path)
    let names = try output(
      valgrind, "--tool=callgrind", "--callgrind-out-file=" + folder.file("counts").path, "--zero-before=counted_work_begins",
      "--dump-before=counted_work_ends", program.path, "instructions", folder.url.path
    ).split(separator: "\n")
    let found = try names.enumerated().map { number, name in
      CountedCost(name: String(name), instructions: try CallgrindFile(folder.file("counts.\(number + 1)")).instructions)
    }
    XCTAssertEqual(found.count, 10)
    try compare(found, [\.instructions], exactTo: 0.05, elsewhere: 1.5)
  }
}
