import Foundation
import XCTest
import _FaultInjection
import _TestSupport

/// Power losses at many points of workloads: no acknowledged save is lost, and none is applied in part.
final class PowerCutTests: XCTestCase {
  /// The number of power losses per workload.
  private let cutsPerWork = RandomSteps.count(8)

  private func cut(_ works: [ProofWork], isFast: Bool, seed: UInt64) throws {
    guard fault_injection_works() else { return }
    for (number, work) in works.enumerated() {
      let recorded = try Rehearsal.record(work, isFast: isFast)
      for cut in 0..<cutsPerWork {
        let seed = seed &+ UInt64(1_000_000 * number + cut)
        if let problem = PowerCut(recorded, seed: seed).outcome { XCTFail("seed \(seed): \(problem)") }
      }
    }
  }

  func testPowerCutsLoseNoAcknowledgedSaves() throws { try cut(ProofWork.all, isFast: false, seed: 1) }

  func testFastStoresLoseOnlyTheLastSaves() throws { try cut(ProofWork.all, isFast: true, seed: 2) }

  func testIgnoredSyncsAreDetected() throws {
    guard fault_injection_works() else { return }
    let recorded = try Rehearsal.record(.saves, isFast: false)
    let problems = (0..<20).compactMap { PowerCut(recorded, seed: 3 + $0, ignoresSyncs: true).outcome }
    XCTAssertGreaterThan(problems.count, 5)
  }

  func testPowerCutsCountAsOneFault() throws {
    guard fault_injection_works() else { return }
    let recorded = try Rehearsal.record(.saves, isFast: false)
    let cuts: [any ProofCase] = (0..<20).map { PowerCut(recorded, seed: $0) }
    XCTAssertEqual(cuts.map(\.faultCount), Array(repeating: 1, count: 20))
  }
}
