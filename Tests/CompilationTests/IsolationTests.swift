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

  func testNothingCanLeaveWorkThatWaits() throws {
    try check("LeaksFromAsynchronousTask")
  }

  func testAClassOfObjectsCannotBeMadeSendable() throws {
    try check("SendableClass")
  }

  private func check(_ name: String, line: UInt = #line) throws {
    try Fixture(name).check(line: line)
  }
}
