import SyncCore
import XCTest
import _SyncSimulation

/// Values that lose are kept, also if the device does not know yet what they have changed.
final class JournalTests: XCTestCase {
  /// Returns two devices with a note. One has inserted it and received no answer, the other has changed it.
  private func scenario() throws -> (one: Scenario.Device, other: Scenario.Device, note: RecordID) {
    let scenario = Scenario()
    let (one, other) = (scenario.devices[0], scenario.devices[1])
    let folder = try one.insertFolder("Home")
    for device in scenario.devices { try device.synchronize() }
    let note = try one.insertNote("first", in: folder)
    for action in try one.handle(.save) { _ = try scenario.answer(action) }
    one.restart()
    try other.synchronize()
    try other.set(Scenario.text, .text("of the other"), of: note)
    try other.synchronize(.save)
    return (one, other, note)
  }

  func testAChangeOfWhatWasSentAndNotAcknowledgedIsKept() throws {
    let (one, other, note) = try scenario()
    one.wall = other.wall + 10_000
    try one.set(Scenario.text, .text("of one"), of: note)
    try one.synchronize()
    XCTAssertEqual(one.objects[note]?.values[Scenario.text], .text("of one"))
    XCTAssertEqual(one.journal.map(\.reason), [.laterChange])
    XCTAssertEqual(one.journal.first?.losing[Scenario.text]?.value, .text("of the other"))
    XCTAssertEqual(one.journal.first?.winning?[Scenario.text]?.value, .text("of one"))
  }

  func testAChangeThatALaterOneHasReplacedMeanwhileIsKept() throws {
    let (one, other, note) = try scenario()
    try one.set(Scenario.text, .text("of one"), of: note)
    other.wall = one.wall + 10_000
    try other.set(Scenario.text, .text("later"), of: note)
    try other.synchronize(.save)
    try one.synchronize()
    XCTAssertEqual(one.objects[note]?.values[Scenario.text], .text("later"))
    XCTAssertEqual(one.journal.first?.losing[Scenario.text]?.value, .text("of one"))
  }

  func testAChangeOfWhatWasSentAndDeletedBeforeTheAnswerIsKept() throws {
    let (one, _, note) = try scenario()
    try one.delete(note)
    try one.synchronize()
    XCTAssertNil(one.objects[note])
    XCTAssertEqual(one.journal.map(\.reason), [.deletion])
    XCTAssertEqual(one.journal.first?.losing[Scenario.text]?.value, .text("of the other"))
  }

  func testAChangeOfWhatAFormerIdentityHasSentIsKept() throws {
    for isDeleted in [true, false] {
      let (one, other, note) = try scenario()
      one.wall = other.wall + 10_000
      if isDeleted { try one.delete(note) } else { try one.set(Scenario.text, .text("of one"), of: note) }
      _ = try one.handle(.copied)
      one.restart()
      try one.synchronize()
      XCTAssertEqual(one.objects[note]?.values[Scenario.text], isDeleted ? nil : .text("of one"))
      XCTAssertEqual(one.journal.map(\.reason), [isDeleted ? .deletion : .laterChange])
      XCTAssertEqual(one.journal.first?.losing[Scenario.text]?.value, .text("of the other"))
    }
  }

  /// Returns a scenario in which the first device has deleted a note on the hub, because the folder was deleted, and has received no answer.
  private func scenarioWithoutAnswer() throws -> (Scenario, note: RecordID) {
    let scenario = Scenario()
    let (one, other) = (scenario.devices[0], scenario.devices[1])
    let folder = try one.insertFolder("Home")
    for device in scenario.devices { try device.synchronize() }
    try other.delete(folder, Scenario.folder)
    try other.synchronize(.save)
    let note = try one.insertNote("Milk", in: folder)
    for push in try one.handle(.save) { _ = try one.handle(scenario.answer(push)) }
    for pull in try one.handle(.remoteChange) {
      for push in try one.handle(scenario.answer(pull)) { _ = try scenario.answer(push) }
    }
    return (scenario, note)
  }

  private func assertNoteIsInTheJournal(of scenario: Scenario, line: UInt = #line) {
    let journals = scenario.devices.map(\.journal)
    XCTAssertEqual(journals.flatMap { $0 }.map(\.reason), [.destinationDeleted], line: line)
    XCTAssertEqual(journals[0].first?.losing[Scenario.text]?.value, .text("Milk"), line: line)
  }

  func testWhatAFormerIdentityHasDeletedWithItsDestinationIsKept() throws {
    let (scenario, note) = try scenarioWithoutAnswer()
    let one = scenario.devices[0]
    _ = try one.handle(.copied)
    one.restart()
    try one.synchronize()
    XCTAssertEqual(scenario.record(note)?.isTombstone, true)
    assertNoteIsInTheJournal(of: scenario)
  }

  func testWhatADeviceHasDeletedIsInTheJournalAlsoIfTheHubHasRemovedTheDeletion() throws {
    let (scenario, note) = try scenarioWithoutAnswer()
    let (one, other) = (scenario.devices[0], scenario.devices[1])
    one.restart()
    try other.synchronize()
    scenario.wait(days: 400)
    _ = try other.insertFolder("Work")
    try other.synchronize(.save)
    try scenario.cleanUp(from: other)
    XCTAssertNil(scenario.record(note))
    try one.synchronize()
    XCTAssertNil(one.objects[note])
    assertNoteIsInTheJournal(of: scenario)
  }

  /// An edit loses against a deletion, and wins when the object comes back before the save is accepted.
  func testAnEditOfAnObjectThatComesBackWhileItsSaveIsSentIsKept() throws {
    let scenario = Scenario(deviceCount: 3)
    let (a, b, c) = (scenario.devices[0], scenario.devices[1], scenario.devices[2])
    let folder = try a.insertFolder("Home")
    let note = try a.insertNote("first", in: folder)
    for device in scenario.devices { try device.synchronize() }
    try c.set(Scenario.text, .text("of a device that is away"), of: note)
    try a.delete(note)
    try a.synchronize()
    b.wall = 20_000
    try b.save(
      PendingChange(note, entity: Scenario.note, [Scenario.text: .text("edited")]),
      PendingChange(folder, entity: Scenario.folder, [Scenario.title: .text("Work")]))
    var push: SyncClient.Action?
    func receive() throws {
      var actions = try b.handle(.remoteChange)
      while let action = actions.popLast() {
        if case .push = action { push = push ?? action } else { actions += try b.handle(scenario.answer(action)) }
      }
    }
    try receive()
    XCTAssertNil(b.objects[note])
    scenario.wait(days: 400)
    try a.synchronize()
    try scenario.cleanUp(from: a)
    try c.synchronize()
    XCTAssertNotNil(c.objects[note])
    try receive()
    var actions = [try XCTUnwrap(push)]
    while let action = actions.popLast() { actions += try b.handle(scenario.answer(action)) }
    for _ in 0..<2 { for device in scenario.devices { try device.synchronize() } }
    for device in scenario.devices {
      XCTAssertEqual(device.objects[note]?.values[Scenario.text], .text("edited"))
      XCTAssertEqual(device.objects[folder]?.values[Scenario.title], .text("Work"))
      XCTAssertEqual(try device.verify(), Verification.Result())
    }
  }

  func testNothingIsKeptIfNothingElseWasChanged() throws {
    let (one, other, note) = try scenario()
    try other.set(Scenario.text, .text("of the other again"), of: note)
    try other.synchronize(.save)
    try one.synchronize()
    XCTAssertEqual(one.objects[note]?.values[Scenario.text], .text("of the other again"))
    XCTAssertEqual(one.journal, [])
    XCTAssertEqual(other.journal, [])
  }
}
