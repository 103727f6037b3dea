import SyncCore
import XCTest
import _SyncSimulation

/// Joins of fields: the laws on which convergence depends.
final class JoinLawTests: XCTestCase {
  func testJoinsOfEachRuleDoNotDependOnOrderGroupingOrRepetition() {
    for rule in JoinLaws.rules { XCTAssertNil(JoinLaws.violation(of: rule, seed: 47, count: 10_000)) }
  }

  func testJoinsOfDifferentRulesDoNotDependOnOrderGroupingOrRepetition() {
    XCTAssertNil(JoinLaws.violation(of: nil, seed: 48, count: 10_000))
  }

  func testTheFieldWithTheGreaterRuleRemains() {
    let (earlier, later) = (Stamp(HybridTime(value: 1), DeviceID(1)), Stamp(HybridTime(value: 2), DeviceID(1)))
    let latest = Record(entity: EntityID(1), [PropertyID(1): .integer(9)], later)
    let greatest = Record(entity: EntityID(1), [PropertyID(1): .integer(5)], earlier, rules: [PropertyID(1): .max])
    XCTAssertEqual(latest.joined(with: greatest), greatest)
    XCTAssertEqual(greatest.joined(with: latest), greatest)
    // A change is merged instead.
    XCTAssertEqual(greatest.applying(latest)[PropertyID(1)]?.value, .integer(9))
    XCTAssertEqual(latest.applying(greatest)[PropertyID(1)]?.value, .integer(9))
  }
}
