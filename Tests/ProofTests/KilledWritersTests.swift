// KilledWritersTests: processes are killed in every work on a store: what they were told is there, and those that come through notice nothing.
import Foundation
import XCTest
import _FaultInjection
import _TestSupport

final class KilledWritersTests: XCTestCase {
  func testWhatWasAcknowledgedOutlivesTheProcessThatIsKilled() throws {
    guard fault_injection_works() else { return }
    let writer = try KillWriter()
    var (kills, acknowledged) = (0, 0)
    for number in 0..<RandomSteps.count(4 * KillTheme.all.count) {
      let round = KilledWriters(writer, theme: number % KillTheme.all.count, seed: UInt64(number))
      if let problem = round.outcome { XCTFail(problem) }
      kills += round.count
      acknowledged += round.acknowledgedWorks
    }
    XCTAssertGreaterThan(kills, 40)
    XCTAssertGreaterThan(acknowledged, 40)
  }
}
