import XCTest
import _TestSupport

/// Several processes read and change the lists and registers of one store.
final class ConcurrentOperationsTests: XCTestCase {
  func testOperationsOfEightProcessesHaveAnOrder() throws {
    for number in 0..<RandomSteps.count(2) {
      let operations = ConcurrentOperations(scale: ConcurrentOperations.Scale(operations: 80, kills: number % 2), seed: UInt64(number))
      if let problem = operations.outcome { return XCTFail(problem) }
      // Not everything was excused.
      XCTAssertGreaterThan(operations.counts.committed, 200)
      XCTAssertGreaterThan(operations.counts.aborted, 10)
    }
  }
}
