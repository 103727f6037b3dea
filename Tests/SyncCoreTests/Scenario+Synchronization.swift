import SyncCore
import XCTest
import _SyncSimulation

extension Scenario {
  /// Synchronizes all devices until nothing is left to do, and checks that they have the same objects and the hub the same records.
  func synchronizeAll(line: UInt = #line) throws {
    for _ in 0..<3 { for device in devices { try device.synchronize() } }
    for device in devices {
      XCTAssertEqual(device.objects, devices[0].objects, line: line)
      XCTAssertTrue(try device.isIdle(), line: line)
      XCTAssertTrue(try device.verify().isEqual, line: line)
    }
  }
}
