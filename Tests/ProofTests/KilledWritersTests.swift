import Foundation
import XCTest
import _FaultInjection
import _TestSupport

/// Processes are killed in every operation on a store. Acknowledged changes are present, and the surviving processes are not affected.
final class KilledWritersTests: XCTestCase {
  private func play(_ themes: [KillTheme], rounds: Int) throws -> (kills: Int, acknowledged: Int) {
    let writer = try KillWriter()
    var figures = (kills: 0, acknowledged: 0)
    for number in 0..<RandomSteps.count(rounds * themes.count) {
      let round = KilledWriters(writer, theme: themes[number % themes.count], seed: UInt64(number))
      if let problem = round.outcome { XCTFail(problem) }
      figures.kills += round.faultCount
      figures.acknowledged += round.acknowledgedWorks
    }
    return figures
  }

  func testAcknowledgedWritesSurviveAKilledProcess() throws {
    guard fault_injection_works() else { return }
    let figures = try play(KillTheme.all, rounds: 4)
    XCTAssertGreaterThan(figures.kills, 40)
    XCTAssertGreaterThan(figures.acknowledged, 40)
  }

  func testMigrationBackupsAreCompleteOrAbsent() throws {
    guard fault_injection_works() else { return }
    let figures = try play(KillTheme.copyingThemes, rounds: 12)
    XCTAssertGreaterThan(figures.kills, 10)
    XCTAssertGreaterThan(figures.acknowledged, 5)
  }

  func testKilledToolOperationsAreAtomic() throws {
    guard fault_injection_works() else { return }
    let figures = try play(KillTheme.toolThemes, rounds: 1)
    XCTAssertGreaterThan(figures.kills, 5)
    XCTAssertGreaterThan(figures.acknowledged, 5)
  }
}
