import SyncCore
import XCTest
import _SyncSimulation

/// Many-to-many relationships, and to-many relationships without an inverse.
final class LinkTests: XCTestCase {
  /// Returns a scenario with a folder and a note on all devices.
  private func scenario(deviceCount: Int = 2) throws -> (Scenario, note: RecordID, folder: RecordID) {
    let scenario = Scenario(deviceCount: deviceCount)
    let a = scenario.devices[0]
    let folder = try a.insertFolder("Home")
    let note = try a.insertNote("Milk", in: folder)
    for device in scenario.devices { try device.synchronize() }
    return (scenario, note, folder)
  }

  private func synchronize(_ scenario: Scenario, line: UInt = #line) throws {
    for _ in 0..<3 { for device in scenario.devices { try device.synchronize() } }
    for device in scenario.devices {
      XCTAssertEqual(device.objects, scenario.devices[0].objects, line: line)
      XCTAssertTrue(try device.isIdle(), line: line)
      XCTAssertTrue(try device.verify().isEqual, line: line)
    }
  }

  func testAnAdditionWinsOverAConcurrentRemovalWhateverTheClocksSay() throws {
    for isRemovalSentFirst in [true, false] {
      for (adding, removing): (Int64, Int64) in [(10_000, 20_000), (20_000, 10_000), (10_000, 10_000)] {
        let (scenario, note, folder) = try scenario()
        let (a, b) = (scenario.devices[0], scenario.devices[1])
        try a.link(note, folder)
        try synchronize(scenario)
        XCTAssertEqual(b.links, [[note, folder]])
        (a.wall, b.wall) = (adding, removing)
        // One device removes the link. The other one does so too, and adds it again.
        try b.unlink(note, folder)
        try a.unlink(note, folder)
        try a.link(note, folder)
        XCTAssertEqual(b.links, [])
        for device in isRemovalSentFirst ? [b, a] : [a, b] { try device.synchronize() }
        try synchronize(scenario)
        XCTAssertEqual(b.links, [[note, folder]])
      }
    }
  }

  func testAnAdditionOnAThirdDeviceWinsOverARemovalThatDidNotKnowIt() throws {
    let (scenario, note, folder) = try scenario(deviceCount: 3)
    let (a, b, c) = (scenario.devices[0], scenario.devices[1], scenario.devices[2])
    try a.link(note, folder)
    for device in [a, b] { try device.synchronize() }
    try c.link(note, folder)
    b.wall = 50_000
    try b.unlink(note, folder)
    try synchronize(scenario)
    XCTAssertEqual(a.links, [[note, folder]])
    // Who has seen both removes both.
    try b.unlink(note, folder)
    try synchronize(scenario)
    XCTAssertEqual(a.links, [])
  }

  func testARemovalOfWhatBothHaveSeenRemainsUntilTheNextAddition() throws {
    let (scenario, note, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    (a.wall, b.wall) = (50_000, 10_000)
    try a.link(note, folder)
    try synchronize(scenario)
    try b.unlink(note, folder)
    try synchronize(scenario)
    XCTAssertEqual(a.links, [])
    XCTAssertEqual(scenario.record(Scenario.linkID(note, folder))?.isDeleted, false)
    for device in [b, a, b] {
      try device.link(note, folder)
      try synchronize(scenario)
      XCTAssertEqual(a.links, [[note, folder]])
      let other = device === a ? b : a
      try other.unlink(note, folder)
      try synchronize(scenario)
      XCTAssertEqual(a.links, [])
    }
  }

  func testTheSameLinkOfTwoDevicesIsOneAndIsRemovedByOneRemoval() throws {
    for isBaseline in [true, false] {
      let (scenario, note, folder) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      for device in [a, b] {
        if isBaseline {
          let link = Scenario.model.link(Scenario.mentions, from: note, to: folder)
          device.addExisting(Scenario.linkID(note, folder), SyncedObject(entity: Scenario.mentions, link.values))
          try device.takeInExisting()
        } else {
          try device.link(note, folder)
        }
      }
      try synchronize(scenario)
      XCTAssertEqual(a.links, [[note, folder]])
      XCTAssertEqual(scenario.liveCount, 3)
      try a.unlink(note, folder)
      try synchronize(scenario)
      XCTAssertEqual(b.links, [])
    }
  }

  func testALinkFromBeforeSynchronizationIsAnAdditionAlsoIfTheRecordArrivesFirst() throws {
    let (scenario, note, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let link = Scenario.model.link(Scenario.mentions, from: note, to: folder)
    b.addExisting(Scenario.linkID(note, folder), SyncedObject(entity: Scenario.mentions, link.values))
    try a.link(note, folder)
    try a.unlink(note, folder)
    for device in [a, b] { try device.synchronize() }
    XCTAssertEqual(b.links, [[note, folder]], "the removal did not know it")
    try synchronize(scenario)
    XCTAssertEqual(a.links, [[note, folder]])
    try a.unlink(note, folder)
    try synchronize(scenario)
    XCTAssertEqual(b.links, [])
  }

  /// Copies of one store have the same links before synchronization begins.
  func testTheRemovalOfALinkFromBeforeSynchronizationReachesDevicesThatHadItToo() throws {
    let (scenario, note, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let link = Scenario.model.link(Scenario.mentions, from: note, to: folder)
    for device in [a, b] { device.addExisting(Scenario.linkID(note, folder), SyncedObject(entity: Scenario.mentions, link.values)) }
    try a.takeInExisting()
    try a.unlink(note, folder)
    try a.synchronize()
    try b.takeInExisting()
    try synchronize(scenario)
    XCTAssertEqual(b.links, [])
  }

  func testALinkOfASymmetricRelationshipHasNoDirection() throws {
    let (scenario, note, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let other = try a.insertNote("Bread", in: folder)
    try synchronize(scenario)
    try a.link(note, other, by: Scenario.related)
    try b.link(other, note, by: Scenario.related)
    try synchronize(scenario)
    XCTAssertEqual(a.links.count, 1)
    try b.unlink(note, other, by: Scenario.related)
    try synchronize(scenario)
    XCTAssertEqual(a.links, [])
  }

  func testALinkIsDeletedWithAnEndOnAllDevices() throws {
    for isRemovedToo in [true, false] {
      for isEndOfTheOther in [true, false] {
        let (scenario, note, folder) = try scenario()
        let (a, b) = (scenario.devices[0], scenario.devices[1])
        let other = try a.insertNote("Bread", in: folder)
        try a.link(note, folder)
        try a.link(note, other, by: Scenario.related)
        try synchronize(scenario)
        // Meanwhile the other device adds links of the object.
        if isEndOfTheOther { try b.link(other, folder) }
        let end = isEndOfTheOther ? other : note
        if isRemovedToo { try a.unlink(note, other, by: Scenario.related) }
        try a.delete(end)
        XCTAssertFalse(a.links.contains { $0.contains(end) }, "at once, on the device")
        try synchronize(scenario)
        XCTAssertEqual(b.links, isEndOfTheOther ? [[note, folder]] : [])
        XCTAssertEqual(scenario.record(Scenario.linkID(note, other, by: Scenario.related))?.isDeleted, true)
        XCTAssertEqual(scenario.liveCount, isEndOfTheOther ? 3 : 2)
      }
    }
  }

  /// Case 5: undoing the deletion of an object inserts it under another ID.
  func testCase5UndoingADeletionBringsLinksBackUnderNewIDs() throws {
    let (scenario, note, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.link(note, folder)
    try synchronize(scenario)
    try a.delete(note)
    try a.synchronize()
    let again = try a.insertNote("Milk", in: folder)
    try a.link(again, folder)
    try synchronize(scenario)
    XCTAssertEqual(b.links, [[again, folder]])
    XCTAssertEqual(scenario.record(Scenario.linkID(note, folder))?.isDeleted, true)
    XCTAssertEqual(scenario.record(Scenario.linkID(again, folder))?.isDeleted, false)
  }

  func testADeviceCarriesLinksThroughThatItsModelLacks() throws {
    let earlierModels = [Scenario.folder, Scenario.mentions].map { missing in
      SyncModel(entities: Scenario.model.entities.filter { $0.key != missing })
    }
    for earlier in earlierModels {
      let scenario = Scenario(deviceCount: 3)
      let (a, b, c) = (scenario.devices[0], scenario.devices[1], scenario.devices[2])
      try b.adoptModel(earlier)
      let folder = try a.insertFolder("Home")
      let other = try a.insertFolder("Other")
      try a.link(folder, other)
      for device in [a, b, c] { try device.synchronize() }
      XCTAssertEqual(b.links, [])
      try c.unlink(folder, other)
      try c.link(other, folder)
      for device in [c, b, a, b] { try device.synchronize() }
      XCTAssertEqual(a.links, [[other, folder]])
      XCTAssertTrue(try b.isIdle())
      // A hub that was restored gets the links from the device that cannot show them.
      let empty = Scenario(deviceCount: 0).backUpHub()
      scenario.restoreHub(empty, incarnation: 2)
      try b.synchronize()
      try b.synchronize()
      try b.adoptModel(Scenario.model)
      XCTAssertEqual(b.links, [[other, folder]])
      try synchronize(scenario)
      XCTAssertEqual(a.links, [[other, folder]])
    }
  }

  /// A former state of the store may have sent the addition.
  func testTheRemovalOfALinkIsSentEvenIfTheHubNeverHadIt() throws {
    let (scenario, note, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.link(note, folder)
    let copy = a.backUp()
    // The commit is on its way when the store is restored.
    guard case .push(let commit)? = try a.handle(.save).first else { return XCTFail("no commit") }
    a.restore(copy)
    try a.unlink(note, folder)
    try a.synchronize(.copied)
    _ = try scenario.answer(.push(commit))
    try synchronize(scenario)
    XCTAssertEqual(b.links, [])
  }

  func testALinkThatWasAddedAndRemovedBeforeItWasSentIsNeverVisible() throws {
    let (scenario, note, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.link(note, folder)
    try a.unlink(note, folder)
    try synchronize(scenario)
    XCTAssertEqual(b.links, [])
    XCTAssertEqual(scenario.record(Scenario.linkID(note, folder))?.additions, [])
    try b.link(note, folder)
    try synchronize(scenario)
    XCTAssertEqual(a.links, [[note, folder]])
  }

  /// A save that is sent again under another identity adds no second time what was removed meanwhile.
  func testARestoredDeviceDoesNotAddALinkAgain() throws {
    let (scenario, note, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.link(note, folder)
    let copy = a.backUp()
    try synchronize(scenario)
    try b.unlink(note, folder)
    try synchronize(scenario)
    for event in [SyncClient.Event.copied, .remoteChange] {
      a.restore(copy)
      XCTAssertEqual(a.links, [[note, folder]])
      try a.synchronize(event)
      try synchronize(scenario)
      XCTAssertEqual(a.links, [])
    }
  }

  func testARemovalRemainsWhenAClockIsCorrected() throws {
    for isRemoved in [true, false] {
      let (scenario, note, folder) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      a.wall = 10_000_000
      try a.link(note, folder)
      if isRemoved { try a.unlink(note, folder) }
      try synchronize(scenario)
      XCTAssertEqual(b.links, isRemoved ? [] : [[note, folder]])
      let record = try XCTUnwrap(scenario.record(Scenario.linkID(note, folder)))
      XCTAssertTrue(record.stamps.allSatisfy { $0.time.milliseconds < 1_000_000 })
      try b.link(note, folder)
      try synchronize(scenario)
      try b.unlink(note, folder)
      try synchronize(scenario)
      XCTAssertEqual(a.links, [])
    }
  }

  func testLinksOfAnObjectThatGetsAnotherRecordFollowIt() throws {
    let (scenario, note, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let copy = a.backUp()
    let lost = try a.insertNote("lost", in: folder)
    try a.link(lost, folder)
    try a.synchronize()
    a.restore(copy)
    let new = try a.insertNote("new", in: folder)
    XCTAssertEqual(new, lost)
    try a.link(new, folder)
    try a.link(new, note, by: Scenario.related)
    try synchronize(scenario)
    let renewed = try XCTUnwrap(b.objects.first { $0.value.values[Scenario.text] == .text("new") }?.key)
    XCTAssertNotEqual(renewed, lost)
    XCTAssertTrue(b.links.contains([lost, folder]))
    XCTAssertTrue(b.links.contains([renewed, folder]))
    XCTAssertEqual(b.objects[Scenario.linkID(renewed, note, by: Scenario.related)]?.isLink, true)
    XCTAssertEqual(b.links.count, 3)
    // Each has its own link.
    try b.unlink(lost, folder)
    try synchronize(scenario)
    XCTAssertEqual(a.objects[Scenario.linkID(renewed, folder)]?.isLink, true)
    XCTAssertEqual(a.links.count, 2)
  }
}
