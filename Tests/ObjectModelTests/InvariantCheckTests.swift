import Foundation
import ObjectModel
import XCTest

/// The checks of the library's inner tables are compiled in if requested, and are cheap.
final class InvariantCheckTests: XCTestCase {
  func testInvariantChecksAreBuiltOnRequest() {
    #if CIPHERDATA_CHECKS
      let areBuilt = true
    #else
      let areBuilt = false
    #endif
    let areRequested = ProcessInfo.processInfo.environment["CIPHERDATA_CHECKS"] == "1"
    XCTAssertEqual(areBuilt, areRequested, "the build was made under another environment")
  }

  #if CIPHERDATA_CHECKS
    func testFullTableChecksRunEachTimeTheTableDoubles() {
      var throttle = CheckThrottle()
      var checks = 0
      for size in 1...10_000 where throttle.isDue(size) { checks += 1 }
      XCTAssertEqual(checks, 14, "each when the table has doubled")
      throttle = CheckThrottle()
      XCTAssertEqual((0..<10).filter { _ in throttle.isDue(0) }.count, 10, "a table of nothing is checked each time")
    }
  #endif
}
