import SyncCore
import XCTest
import _SyncSimulation

/// Stores that were replaced by an older copy of themselves without noticing it.
final class ForkTests: XCTestCase {
  /// Returns a scenario with a folder on all devices, and a copy of the first device's store.
  private func scenario() throws -> (Scenario, folder: RecordID, copy: Any) {
    let scenario = Scenario()
    let folder = try scenario.devices[0].insertFolder("Home")
    for device in scenario.devices { try device.synchronize() }
    return (scenario, folder, scenario.devices[0].backUp())
  }

  private func synchronize(_ scenario: Scenario, line: UInt = #line) throws {
    for _ in 0..<3 { for device in scenario.devices { try device.synchronize() } }
    for device in scenario.devices {
      XCTAssertEqual(device.objects, scenario.devices[0].objects, line: line)
      XCTAssertTrue(try device.isIdle(), line: line)
    }
  }

  private func texts(_ device: Scenario.Device, _ property: PropertyID = Scenario.text) -> [String] {
    device.objects.values.compactMap { if case .text(let text)? = $0.values[property] { text } else { nil } }.sorted()
  }

  func testANewObjectDoesNotReplaceALostOneWithTheSameID() throws {
    for isPushedFirst in [true, false] {
      let (scenario, folder, copy) = try scenario()
      let a = scenario.devices[0]
      let former = a.zone.device
      let lost = try a.insertNote("lost", in: folder)
      try a.synchronize()
      a.restore(copy)
      XCTAssertEqual(try a.insertNote("new", in: folder), lost)
      var actions = try a.handle(.remoteChange)
      if isPushedFirst { actions.reverse() }
      while let action = actions.first {
        actions.removeFirst()
        actions += try a.handle(scenario.answer(action))
      }
      try synchronize(scenario)
      XCTAssertEqual(texts(scenario.devices[1]), ["lost", "new"])
      XCTAssertNotEqual(a.zone.device, former)
    }
  }

  func testObjectsThatReferToANewObjectStayWithIt() throws {
    let (scenario, _, copy) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let lost = try a.insertFolder("lost")
    try a.insertNote("of the lost one", in: lost)
    try a.synchronize()
    a.restore(copy)
    let new = try a.insertFolder("new")
    XCTAssertEqual(new, lost)
    try a.insertNote("of the new one", in: new)
    try a.set(Scenario.title, .text("renamed"), of: new, Scenario.folder)
    try synchronize(scenario)
    XCTAssertEqual(texts(b, Scenario.title), ["Home", "lost", "renamed"])
    for note in b.objects.values where note.entity == Scenario.note {
      let folder = try XCTUnwrap(note.values[Scenario.owner]?.reference)
      let isOfNew = note.values[Scenario.text] == .text("of the new one")
      XCTAssertEqual(b.objects[folder]?.values[Scenario.title], .text(isOfNew ? "renamed" : "lost"))
    }
  }

  func testTheDeletionOfANewObjectDoesNotDeleteALostOne() throws {
    let (scenario, folder, copy) = try scenario()
    let a = scenario.devices[0]
    let lost = try a.insertNote("lost", in: folder)
    try a.synchronize()
    a.restore(copy)
    XCTAssertEqual(try a.insertNote("new", in: folder), lost)
    try a.delete(lost)
    try synchronize(scenario)
    XCTAssertEqual(texts(scenario.devices[1]), ["lost"])
  }

  func testTheDeletionOfALostObjectDoesNotDeleteANewOne() throws {
    let (scenario, folder, copy) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let lost = try a.insertNote("lost", in: folder)
    for device in [a, b] { try device.synchronize() }
    a.restore(copy)
    XCTAssertEqual(try a.insertNote("new", in: folder), lost)
    try b.delete(lost)
    try b.synchronize()
    try synchronize(scenario)
    XCTAssertEqual(texts(b), ["new"])
  }

  func testWhatBothStatesHaveSavedIsOneObject() throws {
    let (scenario, folder, _) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let note = try a.insertNote("same", in: folder)
    let copy = a.backUp()
    for device in [a, b] { try device.synchronize() }
    try b.set(Scenario.color, .integer(7), of: note)
    try b.synchronize()
    a.restore(copy)
    try a.insertNote("new", in: folder)
    try synchronize(scenario)
    XCTAssertEqual(texts(b), ["new", "same"])
    XCTAssertEqual(b.objects[note]?.values[Scenario.color], .integer(7))
  }

  func testADeletionReachesWhatTheFormerStateHasSent() throws {
    for isPushedFirst in [true, false] {
      let (scenario, folder, _) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      let note = try a.insertNote("sent", in: folder)
      let copy = a.backUp()
      for device in [a, b] { try device.synchronize() }
      XCTAssertEqual(texts(b), ["sent"])
      a.restore(copy)
      try a.delete(note)
      var actions = try a.handle(.remoteChange)
      if isPushedFirst { actions.reverse() }
      while let action = actions.first {
        actions.removeFirst()
        actions += try a.handle(scenario.answer(action))
      }
      try synchronize(scenario)
      XCTAssertEqual(texts(b), [])
    }
  }

  /// A save stays one object, also if it was sent under an identity that the restored state has never had.
  func testWhatALostIdentityHasSentIsTheSameObject() throws {
    let (scenario, folder, copy) = try scenario()
    let a = scenario.devices[0]
    try a.insertNote("lost", in: folder)
    try a.synchronize()
    a.restore(copy)
    try a.insertNote("new", in: folder)
    try a.insertNote("other", in: folder)
    // The device notices the replacement, but has not pulled what was lost yet.
    for case .push(let commit) in try a.handle(.remoteChange) { _ = try a.handle(scenario.answer(.push(commit))) }
    let second = a.backUp()
    for _ in 0..<2 {
      a.restore(second)
      try a.synchronize(.copied)
    }
    try synchronize(scenario)
    XCTAssertEqual(texts(scenario.devices[1]).filter { $0 == "other" }.count, 1)
  }

  /// A copy that notices again that an object has the record of another one gives the same record to it.
  func testWhatGotAnotherRecordIsOneObjectAfterASecondRestoration() throws {
    let (scenario, folder, copy) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let lost = try a.insertNote("lost", in: folder)
    try a.synchronize()
    a.restore(copy)
    XCTAssertEqual(try a.insertNote("new", in: folder), lost)
    let second = a.backUp()
    for _ in 0..<3 {
      try synchronize(scenario)
      XCTAssertEqual(texts(b), ["lost", "new"])
      a.restore(second)
    }
  }

  /// A copy sends the pending saves in other commits than the former identity, of which one may arrive at any time.
  func testASaveThatACopySendsAgainIsNeverVisibleInPart() throws {
    for formerLimit in [1, 2, 8] {
      for limit in [1, 2, 8] {
        for count in 1...4 {
          for accepted in 0..<3 { for arrival in 0..<5 { try sendAgain(formerLimit, limit, count, accepted, arrival) } }
        }
      }
    }
  }

  /// - Parameters:
  ///   - formerLimit: The number of changes in commits of the former identity.
  ///   - limit: The number of changes in commits of the copy.
  ///   - count: The number of saves before the copy. There are others after it.
  ///   - accepted: How many commits, or parts of them, the former identity has sent with an answer.
  ///   - arrival: The number of requests of the copy before the next one of them arrives.
  private func sendAgain(_ formerLimit: Int, _ limit: Int, _ count: Int, _ accepted: Int, _ arrival: Int) throws {
    let (scenario, folder, _) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let notes = try a.insertNotes(2, in: folder)
    for device in [a, b] { try device.synchronize() }
    let inserted = [a.newID(), a.newID()]
    func insertion(_ number: Int) -> PendingChange {
      PendingChange(inserted[number], entity: Scenario.note, [Scenario.text: .text("\(number)"), Scenario.owner: .reference(folder)])
    }
    func change(_ id: RecordID, _ color: Int64) -> PendingChange {
      PendingChange(id, entity: Scenario.note, [Scenario.color: .integer(color)])
    }
    func deletion(_ number: Int) -> PendingChange { PendingChange(inserted[number], entity: Scenario.note, nil) }
    let saves = [
      [insertion(0), change(notes[0], 1)], [insertion(1), change(inserted[0], 2), change(notes[1], 2)],
      [deletion(0), change(notes[0], 3)], [deletion(1), change(notes[1], 4)],
    ]
    var visible = [a.objects]
    func save(_ changes: [PendingChange]) throws {
      try a.save(changes)
      visible.append(a.objects)
    }
    func check() throws {
      try b.synchronize()
      XCTAssertTrue(visible.contains(b.objects), "\((formerLimit, limit, count, accepted, arrival)): \(b.objects)")
    }
    for changes in saves.prefix(count) { try save(changes) }
    a.limits.changesInCommit = formerLimit
    a.restart()
    var late: SyncClient.Action?
    var answers = 0
    var actions = try a.handle(.save)
    while let action = actions.first, late == nil {
      actions.removeFirst()
      if case .push = action {
        if answers == accepted { late = action }
        answers += 1
      }
      if late == nil { actions += try a.handle(scenario.answer(action)) }
    }
    a.limits.changesInCommit = limit
    a.restart()
    for changes in saves.dropFirst(count) { try save(changes) }
    var requests = 0
    func deliverLate() throws {
      if let late { _ = try scenario.answer(late) }
      late = nil
      try check()
    }
    try a.synchronize(.copied) { _ in
      if requests == arrival { try deliverLate() }
      requests += 1
      try check()
    }
    try deliverLate()
    try synchronize(scenario)
    XCTAssertEqual(b.objects, visible.last, "\((formerLimit, limit, count, accepted, arrival))")
  }

  func testAForkIsNoticedByAPull() throws {
    let (scenario, folder, copy) = try scenario()
    let a = scenario.devices[0]
    let former = a.zone.device
    try a.insertNote("lost", in: folder)
    try a.synchronize()
    a.restore(copy)
    try a.synchronize()
    XCTAssertNotEqual(a.zone.device, former)
    XCTAssertEqual(texts(a), ["lost"])
  }

  /// What the device has sent itself is no sign of a fork.
  func testADeviceKeepsItsIdentityWhenItPullsItsOwnCommits() throws {
    let (scenario, folder, _) = try scenario()
    let a = scenario.devices[0]
    let identity = a.zone.device
    for _ in 0..<3 {
      try a.insertNote("note", in: folder)
      // The answer is lost.
      guard case .push(let commit)? = try a.handle(.save).first else { return XCTFail("no commit") }
      _ = try scenario.answer(.push(commit))
      a.restart()
      try a.synchronize()
    }
    let backup = scenario.backUpHub()
    try a.insertNote("note", in: folder)
    try a.synchronize()
    scenario.restoreHub(backup, incarnation: nil)
    try synchronize(scenario)
    XCTAssertEqual(a.zone.device, identity)
    XCTAssertEqual(texts(a).count, 4)
  }
}
