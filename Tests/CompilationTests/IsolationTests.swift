// The compiler keeps objects in their context's isolation: programs that leak one do not compile, those that keep to the rules do.
import Foundation
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

  private func check(_ name: String, line: UInt = #line) throws {
    let fixture = Self.fixtures.appendingPathComponent(name + ".swift")
    var expected: [Int: String] = [:]
    for (index, text) in try String(contentsOf: fixture, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
      .enumerated()
    {
      if let range = text.range(of: "// ERROR: ") { expected[index + 1] = String(text[range.upperBound...]) }
    }
    let (status, diagnostics) = try Compiler().check([fixture], flags: ["-parse-as-library"])
    let errors = diagnostics.filter { $0.contains("error: ") }
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
}
