import Foundation
import XCTest
import _FaultInjection
import _ProofStore
import _TestSupport

/// Modified bytes in every kind of file of a store: an error that names the file, or the correct contents.
final class DamagedFileTests: XCTestCase {
  func testDamagedFilesAreReportedOrHarmless() throws {
    guard fault_injection_works() else { return }
    let bases = try DamageBase.make()
    var kinds: [StoreFileKind: Int] = [:]
    for number in 0..<RandomSteps.count(150) {
      let damaged = DamagedFile(bases[number % bases.count], seed: UInt64(number))
      kinds[damaged.kind, default: 0] += 1
      if let problem = damaged.outcome { XCTFail(problem) }
    }
    XCTAssertEqual(Set(kinds.keys), Set(StoreFileKind.allCases))
  }
}
