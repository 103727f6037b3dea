import SyncCore
import XCTest
import _SyncSimulation

/// Hubs that are restored from an older state, with or without a new incarnation.
final class HubRestorationTests: XCTestCase {
  private func assertEqualObjects(_ scenario: Scenario, line: UInt = #line) {
    for device in scenario.devices { XCTAssertEqual(device.objects, scenario.devices[0].objects, line: line) }
  }

  func testPagesFromBeforeAndAfterTheRestorationOfAHubAreNotMixed() throws {
    for incarnation: UInt64? in [nil, 7] {
      let scenario = Scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      b.limits.recordsInPage = 1
      b.restart()
      let folder = try a.insertFolder("Home")
      let (first, second) = (a.newID(), a.newID())
      try a.save(
        PendingChange(first, entity: Scenario.note, [Scenario.text: .text("1"), Scenario.owner: .reference(folder)]),
        PendingChange(second, entity: Scenario.note, [Scenario.text: .text("1"), Scenario.owner: .reference(folder)]))
      try a.synchronize()
      let copy = scenario.backUpHub()
      try a.set(Scenario.text, .text("2"), of: first)
      try a.synchronize()
      // The first page lacks what was written again after the backup.
      guard case .pull(let request)? = try b.handle(.remoteChange).first else { return XCTFail("no pull") }
      var actions = try b.handle(scenario.answer(.pull(request)))
      scenario.restoreHub(copy, incarnation: incarnation)
      while let action = actions.first {
        actions.removeFirst()
        actions += try b.handle(scenario.answer(action))
        XCTAssertTrue([0, 3].contains(b.objects.count), "\(b.objects.count) objects")
      }
      for device in [a, b] { try device.synchronize() }
      assertEqualObjects(scenario)
      XCTAssertEqual(a.objects[first]?.values[Scenario.text], .text("2"), "the restored hub had lost it")
    }
  }

  func testACommitThatTheHubLostAfterItsAnswerIsSentAgain() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.synchronize()
    let copy = scenario.backUpHub()
    let folder = try a.insertFolder("Home")
    guard case .push(let commit)? = try a.handle(.save).first else { return XCTFail("no commit") }
    // Accepted, but not pulled: the hub is restored to what the device has pulled.
    _ = try a.handle(scenario.answer(.push(commit)))
    scenario.restoreHub(copy, incarnation: nil)
    for device in [a, b] { try device.synchronize() }
    XCTAssertNotNil(b.objects[folder])
    try a.set(Scenario.title, .text("again"), of: folder, Scenario.folder)
    for device in [a, b] { try device.synchronize() }
    assertEqualObjects(scenario)
  }

  func testALateAnswerOfALostCommitIsComparedWithThePagesBeforeIt() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    b.limits.recordsInPage = 1
    b.restart()
    let folder = try a.insertFolder("Home")
    for device in [a, b] { try device.synchronize() }
    let copy = scenario.backUpHub()
    let note = try b.insertNote("lost", in: folder)
    guard case .push(let commit)? = try b.handle(.save).first else { return XCTFail("no commit") }
    let answer = try scenario.answer(.push(commit))
    // The hub is restored, and gets another commit with the same number.
    scenario.restoreHub(copy, incarnation: nil)
    try a.insertNote("other", in: folder)
    try a.synchronize()
    // The answer arrives after the page with that commit, when the last page has been requested.
    var actions = try b.handle(.remoteChange)
    XCTAssertEqual(actions.count, 1)
    actions = try actions.flatMap { try b.handle(scenario.answer($0)) }
    XCTAssertEqual(b.zone.staging?.point.sequence, 2)
    actions += try b.handle(answer)
    while let action = actions.first {
      actions.removeFirst()
      actions += try b.handle(scenario.answer(action))
    }
    for device in [a, b] { try device.synchronize() }
    XCTAssertNotNil(a.objects[note])
    XCTAssertTrue(try b.isIdle())
    assertEqualObjects(scenario)
  }

  func testALateAnswerDoesNotHideALaterStateOfARecord() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    b.limits.recordsInPage = 1
    b.restart()
    let folder = try a.insertFolder("Home")
    let note = try a.insertNote("1", in: folder)
    for device in [a, b] { try device.synchronize() }
    let copy = scenario.backUpHub()
    for _ in 0..<2 {
      try a.insertNote("other", in: folder)
      try a.synchronize()
    }
    try b.set(Scenario.color, .integer(7), of: note)
    guard case .push(let commit)? = try b.handle(.save).first else { return XCTFail("no commit") }
    let answer = try scenario.answer(.push(commit))
    guard case .pushed(_, .accepted(let point, _)) = answer else { return XCTFail("not accepted") }
    // The hub is restored, gets the same commit again under a lower number, and then a later state of its record.
    scenario.restoreHub(copy, incarnation: nil)
    _ = try scenario.answer(.push(commit))
    try a.synchronize()
    try a.set(Scenario.text, .text("2"), of: note)
    try a.synchronize()
    XCTAssertEqual(Int64(scenario.commitCount), point.sequence)
    // The first answer arrives when all commits are listed, and the last page has been requested.
    var actions = try b.handle(.remoteChange)
    while b.zone.staging?.point.sequence != point.sequence {
      guard let action = actions.first else { return XCTFail("no request") }
      actions.removeFirst()
      actions += try b.handle(scenario.answer(action))
    }
    actions += try b.handle(answer)
    while let action = actions.first {
      actions.removeFirst()
      actions += try b.handle(scenario.answer(action))
    }
    for device in [a, b] { try device.synchronize() }
    XCTAssertEqual(b.objects[note]?.values[Scenario.text], .text("2"))
    XCTAssertEqual(a.objects[note]?.values[Scenario.color], .integer(7))
    assertEqualObjects(scenario)
  }

  /// An accepted commit that the hub lost has a greater number than a later commit of another device to the same records.
  func testASaveIsNotVisibleInPartAfterTheAnswerOfALostCommit() throws {
    for (recordsInPage, isAnsweredFirst) in [(1, true), (2, true), (100, true), (1, false), (2, false), (100, false)] {
      let scenario = Scenario(deviceCount: 3)
      let (a, b, c) = (scenario.devices[0], scenario.devices[1], scenario.devices[2])
      b.limits.recordsInPage = recordsInPage
      b.restart()
      let folder = try a.insertFolder("Home")
      let note = try a.insertNote("1", in: folder)
      for device in [a, b, c] { try device.synchronize() }
      let copy = scenario.backUpHub()
      try c.insertNote("lost", in: folder)
      try c.synchronize()
      try b.set(Scenario.color, .integer(7), of: note)
      guard case .push(let commit)? = try b.handle(.save).first else { return XCTFail("no commit") }
      let answer = try scenario.answer(.push(commit))
      scenario.restoreHub(copy, incarnation: nil)
      let other = a.newID()
      try a.save(
        PendingChange(note, entity: Scenario.note, [Scenario.text: .text("2")]),
        PendingChange(other, entity: Scenario.note, [Scenario.text: .text("2"), Scenario.owner: .reference(folder)]))
      try a.synchronize()
      // The request of the pull was sent before the answer arrives, or what it brings was imported before.
      var actions = try b.handle(.remoteChange)
      var isAnswered = false
      while !isAnswered || !actions.isEmpty {
        if !isAnswered, isAnsweredFirst || b.zone.base.sequence == 2 || actions.isEmpty {
          actions += try b.handle(answer)
          isAnswered = true
        } else {
          actions += try b.handle(scenario.answer(actions.removeFirst()))
        }
        XCTAssertEqual(b.objects[note]?.values[Scenario.text] == .text("2"), b.objects[other] != nil, "\(recordsInPage) records in a page")
      }
      for _ in 0..<2 { for device in [a, b, c] { try device.synchronize() } }
      XCTAssertEqual(c.objects[note]?.values[Scenario.text], .text("2"))
      XCTAssertEqual(a.objects[note]?.values[Scenario.color], .integer(7))
      XCTAssertEqual(a.objects.count, 4)
      assertEqualObjects(scenario)
    }
  }

  /// What was complete on all devices stays so, also if the hub has lost more than a commit can have.
  func testWhatARestoredHubHasLostIsVisibleAtOnce() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    a.limits.changesInCommit = 3
    a.restart()
    let folder = try a.insertFolder("Home")
    for device in [a, b] { try device.synchronize() }
    let copy = scenario.backUpHub()
    try a.insertNotes(10, in: folder)
    try a.synchronize()
    scenario.restoreHub(copy, incarnation: 9)
    var pushes = 0
    try a.synchronize { action in
      guard case .push = action else { return }
      pushes += 1
      try b.synchronize()
      XCTAssertEqual(b.objects.count, 1)
    }
    XCTAssertEqual(pushes, 4)
    try b.synchronize()
    XCTAssertEqual(b.objects.count, 11)
    assertEqualObjects(scenario)
  }
}
