import Foundation
import ObjectModel
import XCTest

/// The checks of the library's inner tables are compiled in if requested, and are cheap.
final class InvariantCheckTests: XCTestCase {
  func testTheChecksAreBuiltWhereTheyAreAskedFor() {
    #if CIPHERDATA_CHECKS
      let areBuilt = true
    #else
      let areBuilt = false
    #endif
    let areAskedFor = ProcessInfo.processInfo.environment["CIPHERDATA_CHECKS"] == "1"
    XCTAssertEqual(areBuilt, areAskedFor, "the build was made under another environment")
  }

  #if CIPHERDATA_CHECKS
    func testChecksOfWholeTablesComeAsSeldomAsTheTableIsLarge() {
      var pacer = CheckPacer()
      var checks = 0
      for size in 1...10_000 where pacer.isDue(size) { checks += 1 }
      XCTAssertEqual(checks, 14, "each when the table has doubled")
      pacer = CheckPacer()
      XCTAssertEqual((0..<10).filter { _ in pacer.isDue(0) }.count, 10, "a table of nothing is checked each time")
    }
  #endif
}
