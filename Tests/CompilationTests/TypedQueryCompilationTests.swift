// The compiler checks typed queries: names and types that do not fit are refused, and long conditions are checked quickly.
import Foundation
import XCTest

final class TypedQueryCompilationTests: XCTestCase {
  func testWhatDoesNotFitTheModelIsRefused() throws {
    try Fixture.withLibraryClasses { try Fixture("AsksForWhatIsNotThere").check(beside: [$0]) }
  }

  func testAWrongNameIsOneErrorAboutTheName() throws {
    try Fixture.withLibraryClasses { try Fixture("MisspellsNames").check(beside: [$0], isStrict: true) }
  }

  func testTwelveConditionsAreCheckedFarFromTheLimit() throws {
    // The time is the solver's own for one expression, in seconds; it takes a tenth of one here.
    try Fixture.withLibraryClasses {
      try Fixture("AsksTwelveThings").check(beside: [$0], flags: ["-Xfrontend", "-solver-expression-time-threshold=5"])
    }
  }

  func testAMistakeInALongConditionIsNamed() throws {
    try Fixture.withLibraryClasses {
      try Fixture("AsksTwelveThingsWithAMistake").check(beside: [$0], flags: ["-Xfrontend", "-solver-expression-time-threshold=5"])
    }
  }
}
