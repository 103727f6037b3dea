// FailingCallTests: the system's calls fail in works on a store: a typed error, the old or the new state, and it goes on.
import Foundation
import XCTest
import _FaultInjection
import _ProofStore
import _TestSupport

final class FailingCallTests: XCTestCase {
  func testACallThatFailsLeavesTheOldOrTheNewStateAndATypedError() throws {
    guard fault_injection_works() else { return }
    var random = SeededGenerator(seed: 5)
    for work in FailingWork.all {
      // A lock that nobody ever gives costs the whole time that one waits.
      let cases = try FailingWorkBase(work).failingCalls.filter { $0.fault.call != .lock || !$0.fault.lasts }
      XCTAssertGreaterThan(cases.count, 20, work.name)
      for failing in cases.shuffled(using: &random).prefix(RandomSteps.count(5)) {
        if let problem = failing.outcome { XCTFail(problem) }
      }
    }
  }
}
