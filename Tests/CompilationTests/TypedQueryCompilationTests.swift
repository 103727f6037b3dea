import Foundation
import XCTest

/// The compiler checks typed queries: mismatched names and types are rejected, and long conditions type-check quickly.
final class TypedQueryCompilationTests: XCTestCase {
  func testQueriesThatDoNotMatchTheModelAreRejected() throws {
    try Fixture.withLibraryClasses { try Fixture("AsksForWhatIsNotThere").check(with: [$0]) }
  }

  func testAWrongNameIsOneErrorAboutTheName() throws {
    try Fixture.withLibraryClasses { try Fixture("MisspellsNames").check(with: [$0], isStrict: true) }
  }

  func testTwelveConditionsAreTypeCheckedWellWithinTheLimit() throws {
    // The limit is the solver's time for one expression in seconds. It takes 0.1 s here.
    try Fixture.withLibraryClasses {
      try Fixture("AsksTwelveThings").check(with: [$0], flags: ["-Xfrontend", "-solver-expression-time-threshold=5"])
    }
  }

  func testErrorsInLongConditionsAreDiagnosed() throws {
    try Fixture.withLibraryClasses {
      try Fixture("AsksTwelveThingsWithAMistake").check(with: [$0], flags: ["-Xfrontend", "-solver-expression-time-threshold=5"])
    }
  }
}
