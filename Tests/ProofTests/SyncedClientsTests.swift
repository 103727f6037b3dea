import XCTest
import _FaultInjection
import _ProofStore
import _TestSupport

/// Processes are killed and stopped while their stores are synchronized. All devices of an account end with the same, which is everything
/// that was acknowledged.
final class SyncedClientsTests: XCTestCase {
  private func play(_ restoration: SyncedClients.Restoration, seed: UInt64) throws {
    guard fault_injection_works() else { return }
    let scale = SyncedClients.Scale(devices: 2, rounds: 2, kills: 5)
    for number in 0..<RandomSteps.count(1) {
      let clients = SyncedClients(restoration, scale: scale, seed: seed + UInt64(number))
      if let problem = clients.outcome { return XCTFail(problem) }
      // Not everything was excused.
      let counts = clients.counts
      XCTAssertGreaterThan(counts.kills, 10)
      XCTAssertGreaterThan(counts.acknowledged, 20)
      XCTAssertGreaterThan(counts.required, 10)
    }
  }

  func testAcknowledgedSavesReachAllDevicesIfProcessesAreKilled() throws { try play(.nothing, seed: 1) }

  func testRestoredStoresLoseOnlyWhatWasNotSent() throws { try play(.stores, seed: 2) }

  func testRestoredHubsLoseNothing() throws { try play(.hub, seed: 3) }
}
