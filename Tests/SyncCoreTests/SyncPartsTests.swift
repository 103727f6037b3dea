import SyncCore
import XCTest
import _SyncSimulation

/// Saves that are sent in parts, because they have more changes than a commit can have.
final class SyncPartsTests: XCTestCase {
  /// Returns a scenario with a folder on all devices, and commits of at most three changes.
  private func scenario(_ deviceCount: Int = 2) throws -> (Scenario, RecordID) {
    let scenario = Scenario(deviceCount: deviceCount)
    for device in scenario.devices {
      device.limits.changesInCommit = 3
      device.limits.recordsInPage = 4
      device.limits.recordsInBatch = 5
      device.restart()
    }
    let folder = try scenario.devices[0].insertFolder("Home")
    for device in scenario.devices { try device.synchronize() }
    return (scenario, folder)
  }

  private func assertEqualObjects(_ scenario: Scenario, count: Int, line: UInt = #line) throws {
    for _ in 0..<3 { for device in scenario.devices { try device.synchronize() } }
    for device in scenario.devices {
      XCTAssertEqual(device.objects, scenario.devices[0].objects, line: line)
      XCTAssertEqual(device.objects.count, count, line: line)
      XCTAssertEqual(device.pendingCount, 0, line: line)
    }
  }

  /// Cases 17 and 18: the changes of a batch request become visible at once, also to a device that joins meanwhile.
  func testCases17And18TheChangesOfALargeSaveAreVisibleAtOnce() throws {
    let (scenario, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.insertNotes(10, in: folder)
    var parts: [CommitPart] = []
    try a.synchronize { action in
      guard case .push(let commit) = action else { return }
      XCTAssertLessThanOrEqual(commit.records.count, 3)
      parts.append(commit.part)
      let joining = scenario.addDevice()
      for device in [b, joining] {
        try device.synchronize()
        XCTAssertEqual(device.objects.count, 1, "before part \(commit.part.number)")
      }
    }
    XCTAssertEqual(parts.map(\.number), [0, 1, 2, 3])
    XCTAssertEqual(parts.map(\.isLast), [false, false, false, true])
    XCTAssertEqual(scenario.commitCount, 2)
    XCTAssertEqual(scenario.stagedPartCount, 0)
    try assertEqualObjects(scenario, count: 11)
  }

  func testALargeSaveIsReadAndImportedInPortions() throws {
    let scenario = Scenario()
    for device in scenario.devices {
      device.limits.changesInCommit = 40
      device.limits.recordsInBatch = 50
      device.limits.recordsInPage = 60
      device.restart()
    }
    let folder = try scenario.devices[0].insertFolder("Home")
    try scenario.devices[0].insertNotes(600, in: folder)
    try assertEqualObjects(scenario, count: 601)
    for device in scenario.devices { XCTAssertLessThanOrEqual(device.largestPortion, 51) }
  }

  func testAnImportReadsEachObjectOnce() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let count = 1_200
    try a.insertNotes(count, in: a.insertFolder("Home"))
    try a.synchronize()
    // The notes depend on the folder, from which they are found too.
    let before = b.objectReadCount
    try b.synchronize()
    XCTAssertEqual(b.objects.count, count + 1)
    XCTAssertLessThanOrEqual(b.objectReadCount - before, count + 1)
  }

  func testASaveOfLargeValuesIsSentInParts() throws {
    let (scenario, folder) = try scenario()
    let a = scenario.devices[0]
    a.limits.changesInCommit = 400
    a.limits.bytesInCommit = 1_000
    a.restart()
    let text = String(repeating: "x", count: 600)
    let values: [PropertyID: FieldValue] = [Scenario.text: .text(text), Scenario.owner: .reference(folder)]
    try a.save((0..<5).map { _ in PendingChange(a.newID(), entity: Scenario.note, values) })
    var counts: [Int] = []
    try a.synchronize { action in if case .push(let commit) = action { counts.append(commit.records.count) } }
    XCTAssertEqual(counts, [2, 2, 1])
    try assertEqualObjects(scenario, count: 6)
  }

  func testAProcessThatIsKilledAtAnyPointSendsAllParts() throws {
    for calls in 0..<220 {
      let (scenario, folder) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      try a.insertNotes(7, in: folder)
      a.kill(afterCalls: calls)
      do { try a.synchronize() } catch {}
      a.kill(afterCalls: .max)
      a.restart()
      try b.synchronize()
      XCTAssertTrue([1, 8].contains(b.objects.count), "\(b.objects.count) objects")
      try assertEqualObjects(scenario, count: 8)
      XCTAssertEqual(scenario.commitCount, 2, "killed at call \(calls)")
    }
  }

  func testRepeatedPartsGetTheirFirstAnswers() throws {
    let (scenario, folder) = try scenario()
    let a = scenario.devices[0]
    try a.insertNotes(7, in: folder)
    var sent: [SyncClient.Action] = []
    try a.synchronize { action in
      guard case .push = action else { return }
      sent.append(action)
      // All parts so far arrive again, before the next one.
      for action in sent { _ = try scenario.answer(action) }
    }
    for action in sent { _ = try scenario.answer(action) }
    XCTAssertEqual(scenario.commitCount, 2)
    try assertEqualObjects(scenario, count: 8)
  }

  func testAConflictWithAnEarlierPartIsNoticedAtTheLastPart() throws {
    let (scenario, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let notes = try a.insertNotes(7, in: folder)
    for device in [a, b] { try device.synchronize() }
    try a.save(notes.map { PendingChange($0, entity: Scenario.note, [Scenario.text: .text("all")]) })
    var isChanged = false
    try a.synchronize { action in
      guard case .push(let commit) = action, commit.part.isLast, !isChanged else { return }
      isChanged = true
      for note in notes { try b.set(Scenario.color, .integer(7), of: note) }
      try b.synchronize()
    }
    XCTAssertTrue(isChanged)
    try assertEqualObjects(scenario, count: 8)
    for note in notes {
      XCTAssertEqual(b.objects[note]?.values[Scenario.text], .text("all"))
      XCTAssertEqual(b.objects[note]?.values[Scenario.color], .integer(7))
    }
    XCTAssertEqual(scenario.stagedPartCount, 0)
  }

  func testChangesOfOtherRecordsDoNotInterruptALargeSave() throws {
    let (scenario, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.insertNotes(10, in: folder)
    var parts = 0
    try a.synchronize { action in
      guard case .push(let commit) = action else { return }
      parts += 1
      XCTAssertEqual(commit.part.number, Int64(parts - 1))
      _ = try b.insertNote("other", in: folder)
      try b.synchronize()
      for action in try a.handle(.remoteChange) { _ = try a.handle(scenario.answer(action)) }
    }
    try assertEqualObjects(scenario, count: 11 + parts)
  }

  func testPartsOfAnAbandonedCommitAreDropped() throws {
    let (scenario, folder) = try scenario()
    let a = scenario.devices[0]
    try a.insertNotes(7, in: folder)
    guard case .push(let first)? = try a.handle(.save).first else { return XCTFail("no commit") }
    _ = try a.handle(scenario.answer(.push(first)))
    XCTAssertEqual(scenario.stagedPartCount, 1)
    guard let second = a.outbox else { return XCTFail("no second part") }
    // The device begins again.
    _ = try a.handle(.pushed(second.digest, .incomplete(hubTime: scenario.time)))
    guard let again = a.outbox else { return XCTFail("no commit") }
    XCTAssertEqual(again.part.number, 0)
    XCTAssertGreaterThan(again.deviceSequence, first.deviceSequence)
    _ = try scenario.answer(.push(again))
    XCTAssertEqual(scenario.stagedPartCount, 1)
    // A late part of the former commit changes nothing.
    guard case .pushed(_, .forked) = try scenario.answer(.push(second)) else { return XCTFail("accepted") }
    a.restart()
    try assertEqualObjects(scenario, count: 8)
    XCTAssertEqual(scenario.stagedPartCount, 0)
  }

  func testPartsOfACommitThatIsNotContinuedAreDropped() throws {
    for isCommitInParts in [true, false] {
      let (scenario, folder) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      let copy = a.backUp()
      try a.insertNotes(7, in: folder)
      guard case .push(let first)? = try a.handle(.save).first else { return XCTFail("no commit") }
      _ = try scenario.answer(.push(first))
      XCTAssertEqual(scenario.stagedPartCount, 1)
      // The store is replaced by a copy, which has another identity.
      a.restore(copy)
      try a.synchronize(.copied)
      scenario.time += Hub.Limits().partLifetime
      b.wall = scenario.time
      let count = isCommitInParts ? 7 : Int(Hub.Limits().commitsUntilCleanup)
      if isCommitInParts {
        try b.insertNotes(count, in: folder)
        try b.synchronize()
      } else {
        for _ in 0..<count {
          try b.insertNotes(1, in: folder)
          try b.synchronize()
        }
      }
      XCTAssertEqual(scenario.stagedPartCount, 0)
      // A late part of it is refused, so that its device would begin again.
      var second = first
      second.deviceSequence = first.deviceSequence
      second.part = CommitPart(number: 1, previous: first.digest, isLast: true)
      guard case .pushed(_, .incomplete) = try scenario.answer(.push(second)) else { return XCTFail("accepted") }
      try assertEqualObjects(scenario, count: 1 + count)
    }
  }

  func testPartsThatDoNotBelongTogetherAreRefused() throws {
    let (scenario, folder) = try scenario()
    let a = scenario.devices[0]
    try a.insertNotes(7, in: folder)
    guard case .push(let first)? = try a.handle(.save).first else { return XCTFail("no commit") }
    guard case .push(var second)? = try a.handle(scenario.answer(.push(first))).first else { return XCTFail("no second part") }
    // A part of the same number with other bytes.
    var other = first
    other.digest = second.digest
    guard case .pushed(_, .forked) = try scenario.answer(.push(other)) else { return XCTFail("accepted") }
    // A part after another one than the hub has.
    second.part = CommitPart(number: 1, previous: .zero, isLast: false)
    guard case .pushed(_, .incomplete) = try scenario.answer(.push(second)) else { return XCTFail("accepted") }
    second.part = CommitPart(number: 2, previous: first.digest, isLast: true)
    guard case .pushed(_, .incomplete) = try scenario.answer(.push(second)) else { return XCTFail("accepted") }
    XCTAssertEqual(scenario.stagedPartCount, 1)
  }

  func testAHubThatWasRestoredBetweenPartsGetsAllOfThem() throws {
    for restoredBefore in 1...3 {
      let (scenario, folder) = try scenario()
      let a = scenario.devices[0]
      let copy = scenario.backUpHub()
      try a.insertNotes(10, in: folder)
      var isRestored = false
      try a.synchronize { action in
        guard case .push(let commit) = action, commit.part.number == restoredBefore, !isRestored else { return }
        isRestored = true
        scenario.restoreHub(copy, incarnation: nil)
      }
      XCTAssertTrue(isRestored)
      try assertEqualObjects(scenario, count: 11)
    }
  }

  /// The parts of the copy and of the original are not mixed.
  func testACopyOfADeviceDoesNotContinueItsParts() throws {
    let (scenario, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let notes = try a.insertNotes(7, in: folder)
    for device in [a, b] { try device.synchronize() }
    try a.save(notes.map { PendingChange($0, entity: Scenario.note, [Scenario.text: .text("all")]) })
    guard case .push(let first)? = try a.handle(.save).first else { return XCTFail("no commit") }
    let copy = a.backUp()
    let identity = a.zone.device
    guard case .push(let second)? = try a.handle(scenario.answer(.push(first))).first else { return XCTFail("no second part") }
    _ = try scenario.answer(.push(second))
    a.restore(copy)
    // What the copy sends as the second part is based on another state.
    try b.set(Scenario.color, .integer(1), of: notes[6])
    try b.synchronize()
    for action in try a.handle(.remoteChange) {
      if case .pull = action { _ = try a.handle(scenario.answer(action)) }
    }
    a.restart()
    try assertEqualObjects(scenario, count: 8)
    XCTAssertNotEqual(a.zone.device, identity)
    XCTAssertEqual(b.objects[notes[0]]?.values[Scenario.text], .text("all"))
  }
}
