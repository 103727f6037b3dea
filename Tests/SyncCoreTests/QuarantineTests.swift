import SyncCore
import XCTest
import _SyncSimulation

/// Case 14: a record that cannot be opened.
final class QuarantineTests: XCTestCase {
  /// Returns a scenario in which the second device cannot open the first of two notes.
  private func scenario() throws -> (Scenario, unreadable: RecordID, other: RecordID) {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let folder = try a.insertFolder("Home")
    let (unreadable, other) = (try a.insertNote("1", in: folder), try a.insertNote("1", in: folder))
    for device in [a, b] { try device.synchronize() }
    try write("2", to: unreadable, of: scenario)
    return (scenario, unreadable, other)
  }

  /// Changes a note on the first device, which the second device cannot open from now on.
  private func write(_ text: String, to note: RecordID, of scenario: Scenario) throws {
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.set(Scenario.text, .text(text), of: note)
    let name = b.keys.name(of: note)
    b.keys.isMissing = { $0.name == name }
    for device in [a, b] { try device.synchronize() }
  }

  func testLaterCommitsGoOn() throws {
    let (scenario, unreadable, other) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    XCTAssertEqual(try b.quarantinedCount(), 1)
    XCTAssertEqual(b.objects[unreadable]?.values[Scenario.text], .text("1"))
    try a.set(Scenario.text, .text("2"), of: other)
    try a.synchronize()
    try b.synchronize()
    XCTAssertEqual(b.objects[other]?.values[Scenario.text], .text("2"))
    try b.set(Scenario.color, .integer(2), of: other)
    try b.synchronize()
    try a.synchronize()
    XCTAssertEqual(a.objects[other]?.values[Scenario.color], .integer(2))
    XCTAssertEqual(try b.quarantinedCount(), 1)
    XCTAssertEqual(try b.verify(), Verification.Result())
  }

  func testARecordIsOpenedWhenItsKeyArrives() throws {
    let (scenario, unreadable, _) = try scenario()
    let b = scenario.devices[1]
    b.restart()
    b.keys.isMissing = { _ in false }
    try b.synchronize(.keysChanged)
    XCTAssertEqual(try b.quarantinedCount(), 0)
    XCTAssertEqual(b.objects[unreadable]?.values[Scenario.text], .text("2"))
  }

  func testARecordLeavesTheQuarantineWhenItIsReplaced() throws {
    let (scenario, unreadable, _) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    b.keys.isMissing = { _ in false }
    try a.set(Scenario.text, .text("3"), of: unreadable)
    for device in [a, b] { try device.synchronize() }
    XCTAssertEqual(try b.quarantinedCount(), 0)
    XCTAssertEqual(b.objects[unreadable]?.values[Scenario.text], .text("3"))
  }

  func testAnObjectRemainsWhenItsRecordIsReplacedByOneThatCannotBeOpened() throws {
    for count in [1, 5] {
      let scenario = Scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      b.limits.changesInCommit = 2
      b.restart()
      let folder = try a.insertFolder("Home")
      for device in [a, b] { try device.synchronize() }
      let notes = try b.insertNotes(count, in: folder)
      // The answer to the last part is lost, and the other device replaces a record.
      var actions = try b.handle(.save)
      while case .push(let commit)? = actions.first {
        let answer = try scenario.answer(.push(commit))
        actions = commit.part.isLast ? [] : try b.handle(answer)
      }
      try a.synchronize()
      try a.set(Scenario.color, .integer(7), of: notes[0])
      try a.synchronize()
      let name = b.keys.name(of: notes[0])
      b.keys.isMissing = { $0.name == name && $0.sequence > 2 }
      b.restart()
      try b.synchronize()
      XCTAssertEqual(try b.quarantinedCount(), 1)
      XCTAssertEqual(b.objects[notes[0]]?.values[Scenario.text], .text("note"))
      XCTAssertFalse(try b.isIdle(), "what was saved may not be on the hub")
      b.keys.isMissing = { _ in false }
      try b.synchronize(.keysChanged)
      XCTAssertTrue(try b.isIdle())
      XCTAssertEqual(a.objects, b.objects)
    }
  }

  func testASaveStaysAfterOneThatWaitsIfTheClockIsSetBack() throws {
    let (scenario, unreadable, _) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    b.wall += 3_600_000
    try b.set(Scenario.color, .integer(7), of: unreadable)
    try b.synchronize(.save)
    b.wall -= 3_600_000
    try b.set(Scenario.color, .integer(8), of: unreadable)
    try b.synchronize()
    XCTAssertEqual(b.objects[unreadable]?.values[Scenario.color], .integer(8))
    b.keys.isMissing = { _ in false }
    try b.synchronize(.keysChanged)
    try a.synchronize()
    XCTAssertEqual(a.objects[unreadable]?.values[Scenario.color], .integer(8))
  }

  func testWhatWaitsGetsNoStampOfTheFuture() throws {
    for isAlone in [true, false] {
      let (scenario, unreadable, other) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      b.wall += 3_600_000
      if isAlone {
        try b.set(Scenario.color, .integer(7), of: unreadable)
      } else {
        try b.save(
          PendingChange(unreadable, entity: Scenario.note, [Scenario.color: .integer(7)]),
          PendingChange(other, entity: Scenario.note, [Scenario.color: .integer(7)]))
      }
      try b.synchronize(.save)
      b.wall -= 3_600_000
      try b.set(Scenario.title, .text("later"), of: unreadable)
      try b.synchronize()
      b.keys.isMissing = { _ in false }
      try b.synchronize(.keysChanged)
      try a.synchronize()
      XCTAssertEqual(a.objects[unreadable]?.values[Scenario.color], .integer(7))
      XCTAssertEqual(a.objects, b.objects)
      for id in [unreadable, other] {
        let time = try XCTUnwrap(scenario.record(id)?.latestStamp?.time.milliseconds)
        XCTAssertLessThan(time, scenario.time + DeviceClock.tolerance)
      }
    }
  }

  func testAChangeOfTheRecordWaitsAndOthersAreSent() throws {
    let (scenario, unreadable, other) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try b.save(
      PendingChange(unreadable, entity: Scenario.note, [Scenario.color: .integer(7)]),
      PendingChange(other, entity: Scenario.note, [Scenario.color: .integer(7)]))
    try b.synchronize()
    try a.synchronize()
    XCTAssertEqual(a.objects[other]?.values[Scenario.color], .integer(7))
    XCTAssertNil(a.objects[unreadable]?.values[Scenario.color])
    XCTAssertEqual(b.objects[unreadable]?.values[Scenario.color], .integer(7), "visible on its device")
    XCTAssertFalse(try b.isIdle())
    b.keys.isMissing = { _ in false }
    try b.synchronize(.keysChanged)
    try a.synchronize()
    XCTAssertTrue(try b.isIdle())
    for device in [a, b] {
      XCTAssertEqual(device.objects[unreadable]?.values[Scenario.color], .integer(7))
      XCTAssertEqual(device.objects[unreadable]?.values[Scenario.text], .text("2"))
    }
  }

  /// The record may have been damaged on its way: it has the version of the hub, so nothing else shows that it has to be fetched again.
  func testAComparisonFetchesRecordsAgainThatCouldNotBeOpened() throws {
    for isInterrupted in [false, true] {
      let (scenario, unreadable, other) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      try b.save(
        PendingChange(unreadable, entity: Scenario.note, [Scenario.color: .integer(7)]),
        PendingChange(other, entity: Scenario.note, [Scenario.color: .integer(7)]))
      try b.synchronize()
      // It still cannot be opened.
      try b.synchronize(.reconcile)
      XCTAssertEqual(try b.quarantinedCount(), 1)
      try a.synchronize()
      XCTAssertNil(a.objects[unreadable]?.values[Scenario.color])
      XCTAssertEqual(a.objects[unreadable]?.values[Scenario.text], .text("2"))
      XCTAssertEqual(b.objects[unreadable]?.values[Scenario.color], .integer(7), "What waits remains.")
      b.keys.isMissing = { _ in false }
      if isInterrupted {
        _ = try b.handle(.reconcile)
        b.restart()
        try b.synchronize(.save)
      } else {
        try b.synchronize(.reconcile)
      }
      XCTAssertEqual(try b.quarantinedCount(), 0)
      try a.synchronize()
      for device in [a, b] {
        XCTAssertEqual(device.objects[unreadable]?.values[Scenario.color], .integer(7))
        XCTAssertEqual(device.objects[unreadable]?.values[Scenario.text], .text("2"))
        XCTAssertTrue(try device.isIdle())
      }
      XCTAssertEqual(try b.verify(), Verification.Result())
    }
  }

  /// The device's version of the model does not declare the rule, so two saves together have another result than one after the other.
  func testAValueThatWaitsIsMergedAlthoughALaterOneIsNotSentYet() throws {
    let (scenario, unreadable, other) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    var model = Scenario.model
    model.entities[Scenario.note]?.merging[Scenario.color] = .union
    try a.adoptModel(model)
    b.keys.isMissing = { _ in false }
    try b.synchronize(.keysChanged)
    try a.save(PendingChange(unreadable, entity: Scenario.note, [Scenario.color: .integer(1)], rules: [Scenario.color: .union]))
    for device in [a, b] { try device.synchronize() }
    try write("3", to: unreadable, of: scenario)
    b.limits.changesInCommit = 2
    b.restart()
    try b.save(
      PendingChange(unreadable, entity: Scenario.note, [Scenario.color: .integer(4)]),
      PendingChange(other, entity: Scenario.note, [Scenario.text: .text("4")]))
    try b.set(Scenario.color, .integer(8), of: unreadable)
    _ = try b.handle(.save)
    XCTAssertEqual(b.objects[unreadable]?.values[Scenario.color], .integer(13))
    b.keys.isMissing = { _ in false }
    for event in [SyncClient.Event.keysChanged, .pushFailed] { try b.synchronize(event) }
    try a.synchronize()
    for device in [a, b] { XCTAssertEqual(device.objects[unreadable]?.values[Scenario.color], .integer(13)) }
  }

  func testARecordThatIsSentAgainDuringAReconciliationStaysInTheQuarantine() throws {
    let scenario = Scenario(deviceCount: 3)
    let (a, b, c) = (scenario.devices[0], scenario.devices[1], scenario.devices[2])
    let note = try a.insertNote("1", in: a.insertFolder("Home"))
    for device in scenario.devices { try device.synchronize() }
    try a.delete(note)
    try a.synchronize()
    scenario.wait(days: 400)
    try scenario.cleanUp(from: a)
    // Another device that was away sends the note again, because it has an unsent edit.
    try c.set(Scenario.text, .text("2"), of: note)
    b.keys.isMissing = { [name = b.keys.name(of: note)] in $0.name == name }
    var (comparisonCount, isSent) = (0, false)
    try b.synchronize { action in
      switch action {
      case .verify(let request): if case .sums = request.query { comparisonCount += 1 }
      case .pull where comparisonCount > 0 && !isSent:
        isSent = true
        try c.synchronize()
      default: break
      }
    }
    XCTAssertTrue(isSent)
    XCTAssertEqual(comparisonCount, 1)
    XCTAssertEqual(try b.quarantinedCount(), 1)
    b.keys.isMissing = { _ in false }
    try b.synchronize(.keysChanged)
    XCTAssertEqual(b.objects[note]?.values[Scenario.text], .text("2"))
    XCTAssertEqual(try b.verify(), Verification.Result())
  }
}
