import Foundation
import XCTest
import _FaultInjection
import _ProofStore
import _TestSupport

/// System calls fail during operations on a store. The result is a typed error, the old or the new state, and a usable store.
final class FailingCallTests: XCTestCase {
  func testFailingCallsLeaveTheOldOrNewStateAndATypedError() throws {
    guard fault_injection_works() else { return }
    var random = SeededGenerator(seed: 5)
    for work in FailingWork.all {
      // A lock that is never granted costs the whole timeout.
      let cases = try FailingWorkBase(work).failingCalls.filter { $0.fault.call != .lock || !$0.fault.lasts }
      XCTAssertGreaterThan(cases.count, 20, work.name)
      for failing in cases.shuffled(using: &random).prefix(RandomSteps.count(5)) {
        if let problem = failing.outcome { XCTFail(problem) }
      }
    }
  }
}
