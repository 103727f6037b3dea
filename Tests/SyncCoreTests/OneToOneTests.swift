import SyncCore
import XCTest
import _SyncSimulation

/// One-to-one relationships: two devices set different referrers of one object.
final class OneToOneTests: XCTestCase {
  private func scenario() throws -> (Scenario, folder: RecordID) {
    let scenario = Scenario()
    let folder = try scenario.devices[0].insertFolder("Home")
    for device in scenario.devices { try device.synchronize() }
    return (scenario, folder)
  }

  private func synchronize(_ scenario: Scenario, line: UInt = #line) throws {
    for _ in 0..<3 { for device in scenario.devices { try device.synchronize() } }
    for device in scenario.devices { XCTAssertEqual(device.objects, scenario.devices[0].objects, line: line) }
  }

  func testTheLaterOfTwoReferencesRemains() throws {
    for isFirstSentFirst in [true, false] {
      let (scenario, folder) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      (a.wall, b.wall) = (10_000, 20_000)
      let (earlier, later) = (try a.insertCover(of: folder), try b.insertCover(of: folder))
      for device in isFirstSentFirst ? [a, b] : [b, a] { try device.synchronize() }
      try synchronize(scenario)
      XCTAssertEqual(a.objects[earlier]?.values[Scenario.coverFolder], .null)
      XCTAssertEqual(a.objects[later]?.values[Scenario.coverFolder], .reference(folder))
      XCTAssertEqual(scenario.record(earlier)?[Scenario.coverFolder]?.value, .superseded)
      // The relationship stays nil when the other object releases the destination.
      try b.set(Scenario.coverFolder, .null, of: later, Scenario.cover)
      try synchronize(scenario)
      XCTAssertEqual(a.objects[earlier]?.values[Scenario.coverFolder], .null)
      // It can be set again.
      try a.set(Scenario.coverFolder, .reference(folder), of: earlier, Scenario.cover)
      try synchronize(scenario)
      XCTAssertEqual(b.objects[earlier]?.values[Scenario.coverFolder], .reference(folder))
    }
  }

  func testAnEditOfTheReplacedReferenceIsNotLost() throws {
    let (scenario, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    (a.wall, b.wall) = (10_000, 20_000)
    let other = try a.insertFolder("Other")
    let (earlier, later) = (try a.insertCover(of: folder), try b.insertCover(of: folder))
    try a.synchronize()
    // Before the later reference arrives, the application moves the object elsewhere.
    try a.set(Scenario.coverFolder, .reference(other), of: earlier, Scenario.cover)
    try b.synchronize()
    try b.synchronize()
    try synchronize(scenario)
    XCTAssertEqual(b.objects[earlier]?.values[Scenario.coverFolder], .reference(other))
    XCTAssertEqual(a.objects[later]?.values[Scenario.coverFolder], .reference(folder))
  }

  func testAnObjectThatRequiresATakenDestinationAppearsAgainWhenThatIsFree() throws {
    for isSavedByTheOther in [true, false] {
      let (scenario, folder) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      (a.wall, b.wall) = (10_000, 20_000)
      let (earlier, later) = (try a.insertLock(of: folder), try b.insertLock(of: folder))
      try synchronize(scenario)
      XCTAssertNil(a.objects[earlier])
      XCTAssertNotNil(a.objects[later])
      XCTAssertEqual(scenario.record(earlier)?.isDeleted, false, "nothing is lost")
      let device = isSavedByTheOther ? a : b
      try device.delete(later, Scenario.lock)
      _ = try device.handle(.save)
      XCTAssertEqual(device.objects[earlier]?.values[Scenario.lockFolder], .reference(folder), "at once, on the device")
      device.restart()
      try synchronize(scenario)
      XCTAssertNotNil(b.objects[earlier])
    }
  }

  func testAHiddenReferrerIsDeletedWithItsDestination() throws {
    let (scenario, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    (a.wall, b.wall) = (10_000, 20_000)
    let (earlier, later) = (try a.insertLock(of: folder), try b.insertLock(of: folder))
    try synchronize(scenario)
    try b.save(PendingChange(later, entity: Scenario.lock, nil), PendingChange(folder, entity: Scenario.folder, nil))
    try synchronize(scenario)
    XCTAssertEqual(scenario.record(earlier)?.isDeleted, true)
    XCTAssertEqual(a.objects, [:])
  }
}
