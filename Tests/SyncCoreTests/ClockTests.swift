import SyncCore
import XCTest
import _SyncSimulation

/// Devices whose wall clocks differ. An edit that was made after having seen another one replaces it, whatever the clocks say.
final class ClockTests: XCTestCase {
  private let now: Int64 = 1_800_000_000_000
  private let hour: Int64 = 3_600_000

  /// Returns a scenario with a folder on two devices, of which the first one's clock is an hour ahead.
  ///
  /// - Parameter isFile: Whether the hub is a file that each device opens itself, so that its clock is that of the device.
  private func scenario(isFile: Bool) throws -> (Scenario, folder: RecordID) {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    (a.wall, b.wall, scenario.time) = (now + hour, now, now)
    let folder = try a.insertFolder("one")
    try synchronize(scenario, isFile: isFile)
    return (scenario, folder)
  }

  /// Synchronizes devices twice.
  private func synchronize(_ scenario: Scenario, _ devices: [Scenario.Device]? = nil, isFile: Bool) throws {
    for _ in 0..<2 { for device in devices ?? scenario.devices { try synchronize(device, isFile: isFile) } }
  }

  private struct Endless: Error {}

  private func synchronize(_ device: Scenario.Device, isFile: Bool) throws {
    var requests = 0
    let (scenario, time) = (device.scenario, device.scenario.time)
    if isFile { scenario.time = device.wall }
    defer { if isFile { scenario.time = time } }
    try device.synchronize { _ in
      requests += 1
      if requests > 50 { throw Endless() }
    }
  }

  private func title(_ device: Scenario.Device, _ folder: RecordID) -> FieldValue? { device.objects[folder]?.values[Scenario.title] }

  private func rename(_ folder: RecordID, _ title: String, on device: Scenario.Device) throws {
    try device.set(Scenario.title, .text(title), of: folder, Scenario.folder)
  }

  private func assertTitles(_ scenario: Scenario, _ folder: RecordID, _ title: String, line: UInt = #line) throws {
    for device in scenario.devices {
      XCTAssertEqual(self.title(device, folder), .text(title), "device \(device.zone.device.value)", line: line)
      XCTAssertEqual(device.pendingCount, 0, line: line)
      XCTAssertTrue(try device.isIdle(), line: line)
    }
  }

  func testAnEditAfterHavingSeenThatOfADeviceWhoseClockIsAheadWins() throws {
    for isFile in [false, true] {
      let (scenario, folder) = try scenario(isFile: isFile)
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      try rename(folder, "ahead", on: a)
      try synchronize(scenario, isFile: isFile)
      XCTAssertEqual(title(b, folder), .text("ahead"))
      for number in 0..<3 {
        try rename(folder, "after \(number)", on: b)
        try synchronize(scenario, [b, a], isFile: isFile)
        try assertTitles(scenario, folder, "after \(number)")
      }
    }
  }

  func testAnEditAfterHavingSeenThatOfADeviceWhoseClockIsAheadWinsOverAPendingOneToo() throws {
    for isFile in [false, true] {
      let (scenario, folder) = try scenario(isFile: isFile)
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      try rename(folder, "ahead", on: a)
      try synchronize(scenario, [a], isFile: isFile)
      try rename(folder, "pending", on: b)
      // It is pulled while the edit of this device is pending.
      if isFile { scenario.time = b.wall }
      guard case .pull(let request)? = try b.handle(.remoteChange).first else { return XCTFail("no pull") }
      _ = try b.handle(scenario.answer(.pull(request)))
      try rename(folder, "after", on: b)
      XCTAssertEqual(title(b, folder), .text("after"))
      b.restart()
      try synchronize(scenario, [b, a], isFile: isFile)
      try assertTitles(scenario, folder, "after")
    }
  }

  /// The later edit wins, by the clocks. A hub with a clock of its own corrects those of the devices.
  func testOfEditsThatHaveNotSeenEachOtherThatWithTheLaterClockWins() throws {
    for isFile in [false, true] {
      let (scenario, folder) = try scenario(isFile: isFile)
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      try rename(folder, "ahead", on: a)
      try synchronize(scenario, [a], isFile: isFile)
      b.wall += 600_000
      a.wall += 600_000
      scenario.time += 600_000
      try rename(folder, "ten minutes later", on: b)
      try synchronize(scenario, [b, a], isFile: isFile)
      try assertTitles(scenario, folder, isFile ? "ahead" : "ten minutes later")
    }
  }

  /// Another property of a record whose stamps are ahead can be changed too.
  func testADeviceSendsItsEditsOfRecordsThatAreAhead() throws {
    let (scenario, folder) = try scenario(isFile: true)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let note = try b.insertNote("note", in: folder)
    try synchronize(scenario, isFile: true)
    try a.set(Scenario.text, .text("ahead"), of: note)
    try synchronize(scenario, [a], isFile: true)
    try b.set(Scenario.color, .integer(7), of: note)
    try synchronize(scenario, [b, a], isFile: true)
    for device in [a, b] {
      XCTAssertEqual(device.objects[note]?.values[Scenario.text], .text("ahead"))
      XCTAssertEqual(device.objects[note]?.values[Scenario.color], .integer(7))
      XCTAssertEqual(device.pendingCount, 0)
    }
  }

  func testAHubWhoseClockWasAheadAcceptsEditsAfterItsCorrection() throws {
    let (scenario, folder) = try scenario(isFile: false)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    scenario.time += hour
    try synchronize(scenario, isFile: false)
    try rename(folder, "by the wrong clock", on: a)
    try synchronize(scenario, isFile: false)
    scenario.time = b.wall
    try rename(folder, "by the right clock", on: b)
    try synchronize(scenario, [b, a], isFile: false)
    try assertTitles(scenario, folder, "by the right clock")
    // What nothing explains is corrected still.
    a.wall += 3 * hour
    a.restart()
    try rename(folder, "far ahead", on: a)
    a.wall -= 3 * hour
    try synchronize(scenario, [a, b], isFile: false)
    try assertTitles(scenario, folder, "far ahead")
    try rename(folder, "last", on: b)
    try synchronize(scenario, [b, a], isFile: false)
    try assertTitles(scenario, folder, "last")
    XCTAssertLessThan(scenario.record(folder)?.latestStamp?.time.milliseconds ?? .max, now + hour + 60_000)
  }

  /// A copy does not know whether an earlier save is in the zone, with the time of a clock that was set back since.
  func testASaveStaysAfterEarlierOnesThatAFormerIdentityHasSent() throws {
    let (scenario, folder) = try scenario(isFile: true)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try rename(folder, "first", on: a)
    scenario.time = a.wall
    guard case .push(let commit)? = try a.handle(.save).first else { return XCTFail("no commit") }
    _ = try scenario.answer(.push(commit))
    a.restart()
    try rename(folder, "second", on: a)
    (a.wall, scenario.time) = (now, now)
    try a.synchronize(.copied)
    try synchronize(scenario, [b, a], isFile: true)
    try assertTitles(scenario, folder, "second")
    XCTAssertNotEqual(a.zone.device, commit.device)
    XCTAssertEqual(b.zone.base.sequence, a.zone.base.sequence)
  }

  /// A device whose clock is wrong by years does not lock out the others from a hub that is a file.
  func testAClockOf2040DoesNotKeepOtherDevicesFromAFile() throws {
    let (scenario, folder) = try scenario(isFile: true)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    a.wall = 2_210_000_000_000
    try rename(folder, "from 2040", on: a)
    try synchronize(scenario, isFile: true)
    a.wall = now
    for number in 0..<3 {
      try rename(folder, "b \(number)", on: b)
      try synchronize(scenario, [b, a], isFile: true)
      try assertTitles(scenario, folder, "b \(number)")
      try rename(folder, "a \(number)", on: a)
      try synchronize(scenario, [a, b], isFile: true)
      try assertTitles(scenario, folder, "a \(number)")
    }
  }

  func testARefusalOfACommitThatWasListedDoesNotSettleTheNextOne() throws {
    let (scenario, folder) = try scenario(isFile: false)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    b.limits.recordsInPage = 1
    b.restart()
    try b.synchronize()
    // Long after everything that the zone has.
    scenario.time += hour
    b.wall += hour
    let first = try b.insertNote("first", in: folder)
    guard case .push(let commit)? = try b.handle(.save).first else { return XCTFail("no commit") }
    // The hub refuses the commit while its clock is set back, and then accepts it. Only the refusal arrives, after the commit was listed.
    scenario.time -= hour
    let refusal = try scenario.answer(.push(commit))
    guard case .pushed(_, .ahead) = refusal else { return XCTFail("not refused") }
    scenario.time += hour
    _ = try scenario.answer(.push(commit))
    var actions = try b.handle(.remoteChange)
    XCTAssertEqual(actions.count, 1)
    actions = try actions.flatMap { try b.handle(scenario.answer($0)) }
    XCTAssertEqual(b.zone.staging?.listedOutbox, commit.digest)
    let second = try b.insertNote("second", in: folder)
    actions += try b.handle(refusal)
    while let action = actions.first {
      actions.removeFirst()
      actions += try b.handle(scenario.answer(action))
    }
    for device in [a, b] { try device.synchronize() }
    XCTAssertNotNil(a.objects[first])
    XCTAssertNotNil(a.objects[second])
    XCTAssertEqual(a.objects, b.objects)
  }
}
