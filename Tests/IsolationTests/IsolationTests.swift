// The compiler keeps objects in their context's isolation: programs that leak one do not compile, those that keep to the rules do.
import Foundation
import ObjectContext
import XCTest

/// Each file of `Fixtures` is compiled against the modules of this build. A line that must be refused ends in `// ERROR: ` and a part of the diagnostic.
final class IsolationTests: XCTestCase {
  func testProgramsThatKeepObjectsInTheirContextCompile() throws {
    try check("KeepsToTheRules")
  }

  func testAnObjectCannotLeaveABackgroundTask() throws {
    try check("LeaksFromBackgroundTask")
  }

  func testAnObjectCannotBeTakenIntoABackgroundTask() throws {
    try check("LeaksIntoBackgroundTask")
  }

  func testAnObjectOfTheViewContextCannotGoToADetachedTask() throws {
    try check("LeaksFromViewContext")
  }

  func testTheViewContextCannotBeUsedOffTheMainActor() throws {
    try check("UsesViewContextElsewhere")
  }

  func testABackgroundContextCannotBeUsedAfterItWasGivenAway() throws {
    try check("UsesContextFromTwoTasks")
  }

  func testAnObjectCannotLeaveAnActorThatOwnsAContext() throws {
    try check("LeaksFromActor")
    try check("LeaksFromContextActor")
  }

  func testAClassOfObjectsCannotBeMadeSendable() throws {
    try check("SendableClass")
  }

  func testEveryFixtureIsCompiledByATest() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.fixtures.path).filter { $0.hasSuffix(".swift") }
    XCTAssertEqual(names.count, 9)
  }

  // MARK: Compiling

  private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Fixtures")

  private static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Where this build's modules lie: beside the test bundle.
  private static func modules() throws -> URL {
    let candidates = [Bundle(for: IsolationTests.self).bundleURL, Bundle.main.bundleURL, URL(fileURLWithPath: CommandLine.arguments[0])]
    for start in candidates {
      var folder = start
      for _ in 0..<4 {
        let modules = folder.appendingPathComponent("Modules")
        if FileManager.default.fileExists(atPath: modules.appendingPathComponent("ObjectContext.swiftmodule").path) { return modules }
        folder.deleteLastPathComponent()
      }
    }
    throw XCTSkip("This build keeps its modules elsewhere than beside the test bundle.")
  }

  private func check(_ name: String, line: UInt = #line) throws {
    let fixture = Self.fixtures.appendingPathComponent(name + ".swift")
    var expected: [Int: String] = [:]
    for (index, text) in try String(contentsOf: fixture, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
      .enumerated()
    {
      if let range = text.range(of: "// ERROR: ") { expected[index + 1] = String(text[range.upperBound...]) }
    }
    let (status, errors) = try compile(fixture)
    XCTAssertEqual(status == 0, expected.isEmpty, errors.joined(separator: "\n"), line: line)
    for (place, text) in expected {
      XCTAssertTrue(
        errors.contains { $0.contains("\(name).swift:\(place):") && $0.contains(text) },
        "line \(place) of \(name) compiles, or is refused for another reason:\n" + errors.joined(separator: "\n"), line: line)
    }
    for error in errors where !expected.keys.contains(where: { error.contains("\(name).swift:\($0):") }) {
      XCTFail("unexpected: \(error)", line: line)
    }
  }

  /// Compiles one file as far as the checks of isolation go, and gives the status and the errors.
  private func compile(_ file: URL) throws -> (status: Int32, errors: [String]) {
    let compiler = Process()
    compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    compiler.arguments = [
      "swiftc", "-emit-sil", "-o", "/dev/null", "-parse-as-library", "-swift-version", "6", "-module-name", "Fixture", "-I",
      try Self.modules().path, "-I", Self.root.appendingPathComponent("Sources/CLibcrypto").path, file.path,
    ]
    let output = Pipe()
    compiler.standardOutput = output
    compiler.standardError = output
    compiler.standardInput = FileHandle.nullDevice
    try compiler.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    compiler.waitUntilExit()
    let errors = text.split(separator: "\n").map(String.init).filter { $0.contains(": error: ") && !$0.contains("`-") }
    return (compiler.terminationStatus, errors)
  }
}
