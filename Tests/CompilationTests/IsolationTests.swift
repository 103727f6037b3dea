import Foundation
import XCTest

/// The compiler enforces the isolation of objects: programs that leak one do not compile, correct ones do. Each file of `Fixtures` is
/// compiled against the modules of this build. A line that must be rejected ends in `// ERROR: ` and a part of the diagnostic.
final class IsolationTests: XCTestCase {
  func testCorrectlyIsolatedProgramsCompile() throws {
    try check("KeepsToTheRules")
  }

  func testAnObjectCannotLeaveABackgroundTask() throws {
    try check("LeaksFromBackgroundTask")
  }

  func testAnObjectCannotEnterABackgroundTask() throws {
    try check("LeaksIntoBackgroundTask")
  }

  func testAViewContextObjectCannotBeSentToADetachedTask() throws {
    try check("LeaksFromViewContext")
  }

  func testTheViewContextCannotBeUsedOffTheMainActor() throws {
    try check("UsesViewContextElsewhere")
  }

  func testABackgroundContextCannotBeUsedAfterItWasSent() throws {
    try check("UsesContextFromTwoTasks")
  }

  func testAnObjectCannotLeaveAnActorThatOwnsAContext() throws {
    try check("LeaksFromActor")
    try check("LeaksFromContextActor")
  }

  func testObjectsCannotLeaveAsynchronousTasks() throws {
    try check("LeaksFromAsynchronousTask")
  }

  func testManagedObjectSubclassesCannotBeSendable() throws {
    try check("SendableClass")
  }

  func testObjectsOfGeneratedClassesCannotLeaveTheirContext() throws {
    try Fixture.withLibraryClasses { try Fixture("LeaksGeneratedObjects").check(with: [$0]) }
    try check("SendsUnseenInSwift5")
  }

  // MARK: The Swift 5 language mode, as the article on concurrency describes it

  /// The fixtures that send objects other than through a `Sendable` closure.
  private static let sent = ["SendsUnseenInSwift5", "LeaksFromActor", "LeaksFromViewContext", "UsesContextFromTwoTasks"]
  private static let swift5 = ["-swift-version", "5"]
  private static let strict = swift5 + ["-strict-concurrency=complete"]

  func testSwift5ModeDoesNotWarnAboutGeneratedClassesOfTheSameTarget() throws {
    try Fixture.withLibraryClasses { library in
      let fixture = Fixture("LeaksGeneratedObjects")
      XCTAssertEqual(try fixture.diagnostics(with: [library], flags: Self.swift5).map(\.text), [])
      XCTAssertEqual(Set(try fixture.diagnostics(with: [library], flags: Self.strict).map(\.line)), try fixture.rejectedLines)
    }
  }

  func testSwift5ModeDoesNotWarnAboutSentValues() throws {
    for name in Self.sent {
      let fixture = Fixture(name)
      XCTAssertEqual(try fixture.diagnostics(flags: Self.swift5).map(\.text), [], name)
      XCTAssertEqual(Set(try fixture.diagnostics(flags: Self.strict).map(\.line)), try fixture.rejectedLines, name)
    }
  }

  func testSwift5ModeWarnsAboutManagedObjectsAndContextsInSendableClosures() throws {
    for name in ["LeaksFromBackgroundTask", "LeaksIntoBackgroundTask", "LeaksFromContextActor", "SendableClass"] {
      let found = try Fixture(name).diagnostics(flags: Self.swift5)
      XCTAssertEqual(Set(found.map(\.line)), try Fixture(name).rejectedLines, name)
      XCTAssertTrue(found.allSatisfy { $0.text.contains("warning: ") }, "\(name): \(found)")
    }
  }

  func testSwift5ModeRejectsTheViewContextOffTheMainActor() throws {
    try Fixture("UsesViewContextElsewhere").check(flags: Self.swift5)
  }

  private func check(_ name: String, line: UInt = #line) throws {
    try Fixture(name).check(line: line)
  }
}
