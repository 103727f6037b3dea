import CipherDataToolKit
import Foundation
import XCTest

/// The tool on systems with restricted or unusual resources. Scripts/test-hosts tests those that need mounts and other users.
final class UnusualHostTests: XCTestCase {
  /// The commands of a store's whole life.
  private static let works = [
    ["import", "test.store", "lines.json", "--entity", "Tag"], ["backup", "test.store", "copy.store"], ["key", "rotate", "test.store"],
    ["decrypt", "test.store", "plain"],
    ["fetch", "test.store", "--entity", "Tag", "--properties", "name", "--sort", "name", "--format", "csv"],
  ]

  /// Runs all commands, and returns the output of the last one.
  @discardableResult
  private func live(
    environment: [String: String] = [:], through wrapper: [String] = [], status expected: Int32 = 0, file: StaticString = #filePath,
    line: UInt = #line
  ) async throws -> (fixture: ToolFixture, answer: String) {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    _ = try fixture.folder.file("lines.json", (0..<20).map { "{\"name\":\"tag \($0) ä\"}\n" }.joined())
    var answer = ""
    for work in Self.works {
      let result = try fixture.run(work, environment: environment, through: wrapper)
      // Commands with output fail if they cannot print.
      if result.status != expected || expected == 0 { XCTAssertEqual(result.status, 0, "\(work): \(result.error)", file: file, line: line) }
      answer = result.output
    }
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n", file: file, line: line)
    XCTAssertEqual(try fixture.run(["fetch", "test.store", "--entity", "Tag", "--count"]).output, "20\n", file: file, line: line)
    return (fixture, answer)
  }

  private func shell(_ before: String, _ after: String = "") -> [String] { ["/bin/sh", "-c", "\(before) exec \"$@\" \(after)", "sh"] }

  func testEmptyEnvironmentIsSufficient() async throws {
    let (_, answer) = try await live(through: ["/usr/bin/env", "-i"] + libraries)
    XCTAssertTrue(answer.contains("tag 7 ä"), answer)
  }

  /// The library path of these tests, for runs in a separate folder.
  private var libraries: [String] {
    ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ["LD_LIBRARY_PATH=\($0)"] } ?? []
  }

  func testLocaleDoesNotAffectStoredOrPrintedValues() async throws {
    for locale in ["C", "no_SUCH.locale", "\u{FFFD}"] {
      let (_, answer) = try await live(environment: ["LC_ALL": locale, "LANG": locale, "LANGUAGE": locale])
      XCTAssertTrue(answer.contains("tag 7 ä"), "\(locale): \(answer)")
    }
  }

  func testHomeAndTemporaryFoldersAreNotRequired() async throws {
    try await live(environment: ["HOME": "/no/such/folder", "TMPDIR": "/no/such/folder"])
    try await live(environment: ["HOME": "relative", "TMPDIR": "/proc/self/exe"])
  }

  /// Files are readable and writable by their owner only, under any mask.
  func testFilesArePrivateToTheirOwnerForAnyMask() async throws {
    for mask in ["000", "077", "777"] {
      let fixture = try await live(through: shell("umask \(mask);")).fixture
      for name in ["test.store", "test.store.keys", "copy.store", "copy.store.keys", "plain"] {
        let attributes = try FileManager.default.attributesOfItem(atPath: fixture.path(name))
        XCTAssertEqual(attributes[.posixPermissions] as? Int, 0o600, "\(name) with the mask \(mask)")
      }
    }
  }

  /// The next opened file would get the number of a closed descriptor, and receive the output.
  func testClosedStandardDescriptorsAreNotReusedForStoreFiles() async throws {
    let closings: [(String, Int32)] = [("<&- 2>&-", 0), (">&-", 74), ("<&- >&- 2>&-", 74)]
    for (closing, status) in closings { try await live(through: shell("", closing), status: status) }
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let result = try fixture.run(["fetch", "test.store", "--entity", "Tag", "--count"], through: shell("", ">&-"))
    XCTAssertEqual(result.status, 74)
    XCTAssertTrue(result.error.contains("Bad file descriptor"), result.error)
  }

  func testFullOutputDevicesAreReported() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let result = try fixture.run(["info", "test.store"], through: shell("", ">/dev/full"))
    XCTAssertEqual(result.status, 74)
    XCTAssertTrue(result.error.contains("No space left on device"), result.error)
  }

  func testSixteenDescriptorsAreSufficient() async throws {
    try await live(through: shell("ulimit -n 16 || exit 99;"))
  }

  /// Opening a named pipe and closing it before reading loses what was written to it.
  func testNamedPipesAreReadFromTheBeginning() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let result = try fixture.run(
      ["import", "test.store", "pipe", "--entity", "Tag"],
      through: ["/bin/sh", "-c", "mkfifo pipe; echo '{\"name\":\"one\"}' >pipe & exec timeout -s KILL 30 \"$@\"", "sh"])
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertTrue(result.error.contains("1 object inserted"), result.error)
  }

  func testStoreSurvivesAFileSizeLimit() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    _ = try fixture.folder.file("lines.json", (0..<5_000).map { "{\"name\":\"\($0) \(String(repeating: "x", count: 100))\"}\n" }.joined())
    let works = [
      ["import", "test.store", "lines.json", "--entity", "Tag"], ["backup", "test.store", "copy.store"], ["compact", "test.store"],
      ["key", "rotate", "test.store"], ["decrypt", "test.store", "plain"],
    ]
    for work in works {
      // In blocks of 512 bytes: 64 KiB, which the store already exceeds. SIGXFSZ ends a process that does not ignore it.
      let result = try fixture.run(work, through: shell("ulimit -f 128 || exit 99; trap '' XFSZ;"))
      XCTAssertEqual(result.status, 74, "\(work): \(result.error)")
      XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n", "\(work)")
      XCTAssertEqual(try fixture.run(["fetch", "test.store", "--entity", "Tag", "--count"]).output, "0\n", "\(work)")
    }
    XCTAssertFalse(FileManager.default.fileExists(atPath: fixture.path("copy.store")))
    XCTAssertFalse(FileManager.default.fileExists(atPath: fixture.path("plain")))
    XCTAssertEqual(try fixture.run(works[0]).status, 0)
    XCTAssertEqual(try fixture.run(["fetch", "test.store", "--entity", "Tag", "--count"]).output, "5000\n")
  }

  /// The files and folders whose paths contain `store`.
  private func names(_ fixture: ToolFixture) throws -> [String] {
    (FileManager.default.subpaths(atPath: fixture.folder.url.path) ?? []).filter { $0.contains("store") }
  }

  func testNamesThatAreNotUTF8AreRejected() async throws {
    let fixture = try ToolFixture()
    let model = TestStack.schemas.appendingPathComponent("DebianArchive.xcdatamodeld").path
    let before = try names(fixture)
    let result = try fixture.run(
      ["--model", model], through: ["/bin/sh", "-c", "exec \"$1\" create \"$(printf 'a\\377b.store')\" \"$2\" \"$3\" \"$4\" \"$5\"", "sh"])
    XCTAssertEqual(result.status, 64)
    XCTAssertTrue(result.error.contains("is not UTF-8"), result.error)
    XCTAssertEqual(try names(fixture), before)
    // A folder with such a name does not lead to files elsewhere.
    let elsewhere = try fixture.run(
      ["create", "test.store", "--model", model],
      through: [
        "/bin/sh", "-c", "mkdir \"$(printf 'd\\377')\" && cp passphrase \"$(printf 'd\\377')\" && cd \"$(printf 'd\\377')\" && exec \"$@\"",
        "sh",
      ])
    XCTAssertEqual(elsewhere.status, 73, elsewhere.error)
    XCTAssertEqual(try names(fixture), before)
  }
}
