import SyncCore
import XCTest
import _SyncSimulation

/// Cases that are easy to get wrong, each with the messages in a given order.
final class SyncScenarioTests: XCTestCase {
  private func assertEqualObjects(_ scenario: Scenario, line: UInt = #line) {
    for device in scenario.devices { XCTAssertEqual(device.objects, scenario.devices[0].objects, line: line) }
  }

  func testWhatOneDeviceSavesReachesTheOther() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let folder = try a.insertFolder("Home")
    let note = try a.insertNote("Milk", in: folder)
    try a.synchronize()
    try b.synchronize()
    XCTAssertEqual(b.objects[note]?.values[Scenario.text], .text("Milk"))
    try b.set(Scenario.text, .text("Bread"), of: note)
    try a.set(Scenario.color, .integer(3), of: note)
    for device in [b, a, b] { try device.synchronize() }
    assertEqualObjects(scenario)
    XCTAssertEqual(
      a.objects[note]?.values, [Scenario.text: .text("Bread"), Scenario.color: .integer(3), Scenario.owner: .reference(folder)])
    XCTAssertEqual(a.pendingCount, 0)
  }

  /// Case 1: a store that was restored from an older copy.
  func testARestoredDeviceTakesANewIdentityBeforeItSends() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let folder = try a.insertFolder("Home")
    try a.synchronize()
    let copy = a.backUp()
    let former = a.zone.device
    let first = try a.insertNote("before", in: folder)
    try a.synchronize()
    a.restore(copy)
    let second = try a.insertNote("after", in: folder)
    // The device does not know that it was restored: the hub has another commit under the number of its next one.
    try a.synchronize()
    try a.synchronize()
    try b.synchronize()
    assertEqualObjects(scenario)
    XCTAssertNotEqual(a.zone.device, former)
    XCTAssertNotNil(b.objects[first])
    XCTAssertNotNil(b.objects[second])
  }

  func testADeletionAfterARestorationReachesWhatTheFormerIdentityHasSent() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for device in [a, b] { try device.synchronize() }
    let folder = try a.insertFolder("Home")
    let copy = a.backUp()
    // The commit is on its way when the store is restored.
    guard case .push(let commit)? = try a.handle(.save).first else { return XCTFail("no commit") }
    a.restore(copy)
    try a.delete(folder, Scenario.folder)
    _ = try a.handle(.copied)
    _ = try scenario.answer(.push(commit))
    a.restart()
    for device in [a, b, a, b] { try device.synchronize() }
    assertEqualObjects(scenario)
    XCTAssertEqual(b.objects, [:])
  }

  /// Case 2: a repeated commit gets its first answer, whatever has happened since.
  func testCase2ACommitWhoseAnswerWasLostIsNotAppliedAgain() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.synchronize()
    let folder = try a.insertFolder("one")
    guard case .push(let commit)? = try a.handle(.save).first else { return XCTFail("no commit") }
    _ = try scenario.answer(.push(commit))
    try b.synchronize()
    try b.set(Scenario.title, .text("two"), of: folder, Scenario.folder)
    try b.synchronize()
    XCTAssertEqual(scenario.commitCount, 2)
    let answer = try scenario.answer(.push(commit))
    XCTAssertEqual(scenario.commitCount, 2)
    _ = try a.handle(answer)
    try a.synchronize()
    assertEqualObjects(scenario)
    XCTAssertEqual(a.objects[folder]?.values[Scenario.title], .text("two"))
  }

  /// Case 3: a wall clock that once was wrong.
  func testCase3AWallClockOf2040DoesNotWinForEver() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let now: Int64 = 1_800_000_000_000
    scenario.time = now
    b.wall = now
    a.wall = 2_210_000_000_000
    let folder = try a.insertFolder("from 2040")
    a.wall = now
    try a.synchronize()
    try b.synchronize()
    XCTAssertEqual(b.objects[folder]?.values[Scenario.title], .text("from 2040"))
    b.wall += 120_000
    scenario.time += 120_000
    try b.set(Scenario.title, .text("later"), of: folder, Scenario.folder)
    try b.synchronize()
    try a.synchronize()
    XCTAssertEqual(a.objects[folder]?.values[Scenario.title], .text("later"))
    XCTAssertEqual(a.pendingCount, 0)
  }

  /// Case 4: killed at any point around freezing and sending, the same bytes go again.
  func testCase4TheSameBytesAreSentAgainAfterAKill() throws {
    for calls in 0..<60 {
      let scenario = Scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      try a.synchronize()
      _ = try a.insertFolder("Home")
      a.kill(afterCalls: calls)
      do { _ = try a.handle(.save) } catch {}
      a.kill(afterCalls: .max)
      let frozen = a.outbox
      a.restart()
      let sent = try a.handle(.save).compactMap { action in
        if case .push(let commit) = action { commit } else { nil }
      }
      if let frozen { XCTAssertEqual(sent, [frozen]) }
      XCTAssertEqual(sent.count, 1)
      a.restart()
      try a.synchronize()
      try b.synchronize()
      assertEqualObjects(scenario)
      XCTAssertEqual(b.objects.count, 1)
      XCTAssertEqual(scenario.commitCount, 1)
    }
  }

  /// Case 7: what is saved between the pull and its import stays, whatever the pull has read.
  func testCase7ARowThatChangesBetweenAPullAndItsImportIsNotOverwritten() throws {
    for pageSize in [1, 1_000] {
      for savedBefore in 0..<3 {
        let scenario = Scenario()
        let (a, b) = (scenario.devices[0], scenario.devices[1])
        let folder = try a.insertFolder("Home")
        let notes = try a.insertNotes(2, in: folder)
        for device in [a, b] { try device.synchronize() }
        for note in notes {
          try b.save(PendingChange(note, entity: Scenario.note, [Scenario.text: .text("theirs"), Scenario.color: .integer(1)]))
        }
        try b.synchronize()
        a.limits.recordsInPage = pageSize
        a.restart()
        a.wall = b.wall + 1
        var pages = 0
        var actions = try a.handle(.remoteChange)
        while let action = actions.first {
          actions.removeFirst()
          let answer = try scenario.answer(action)
          if pages == savedBefore { try a.set(Scenario.text, .text("mine"), of: notes[0]) }
          pages += 1
          actions += try a.handle(answer)
        }
        if pages > savedBefore {
          XCTAssertEqual(a.objects[notes[0]]?.values[Scenario.text], .text("mine"))
          XCTAssertEqual(a.objects[notes[0]]?.values[Scenario.color], .integer(1))
        }
        for device in [a, b] { try device.synchronize() }
        assertEqualObjects(scenario)
        XCTAssertEqual(b.objects[notes[0]]?.values[Scenario.text], .text(pages > savedBefore ? "mine" : "theirs"))
        XCTAssertEqual(b.objects[notes[1]]?.values[Scenario.text], .text("theirs"))
      }
    }
  }

  /// Case 7: the same, if the process is killed at any point of the import.
  func testCase7WhatIsSavedAfterAnInterruptedImportIsNotOverwritten() throws {
    for calls in 0..<80 {
      let scenario = Scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      let folder = try a.insertFolder("Home")
      for device in [a, b] { try device.synchronize() }
      try b.save(PendingChange(folder, entity: Scenario.folder, [Scenario.title: .text("theirs"), Scenario.color: .integer(1)]))
      try b.synchronize()
      a.wall = b.wall + 1
      a.kill(afterCalls: calls)
      do { try a.synchronize() } catch {}
      a.kill(afterCalls: .max)
      a.restart()
      try a.set(Scenario.title, .text("mine"), of: folder, Scenario.folder)
      for device in [a, b] { try device.synchronize() }
      assertEqualObjects(scenario)
      XCTAssertEqual(b.objects[folder]?.values[Scenario.title], .text("mine"))
      XCTAssertEqual(b.objects[folder]?.values[Scenario.color], .integer(1))
    }
  }

  /// Case 12: a required destination is deleted on one device while the other refers to it.
  func testCase12NoDeviceShowsANoteWithoutItsFolder() throws {
    for isDeletionFirst in [true, false] {
      let scenario = Scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      let folder = try a.insertFolder("Home")
      try a.synchronize()
      try b.synchronize()
      try a.delete(folder, Scenario.folder)
      let note = try b.insertNote("Milk", in: folder)
      for device in isDeletionFirst ? [a, b] : [b, a] {
        try device.synchronize()
        device.restart()
      }
      XCTAssertNil(a.objects[note])
      for device in [a, b, a, b] { try device.synchronize() }
      assertEqualObjects(scenario)
      XCTAssertEqual(a.objects, [:])
      XCTAssertEqual(scenario.liveCount, 0)
    }
  }

  /// Case 16: an undo is a new change, which merges with what was imported meanwhile.
  func testCase16AnUndoAfterAnImportIsANewChange() throws {
    for isSent in [true, false] {
      let scenario = Scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      let folder = try a.insertFolder("Home")
      let note = try a.insertNote("one", in: folder)
      for device in [a, b] { try device.synchronize() }
      try a.set(Scenario.text, .text("two"), of: note)
      if isSent { try a.synchronize() }
      b.wall = a.wall + 1
      try b.save(PendingChange(note, entity: Scenario.note, [Scenario.text: .text("three"), Scenario.color: .integer(1)]))
      for device in [b, a] { try device.synchronize() }
      XCTAssertEqual(a.objects[note]?.values[Scenario.text], .text("three"))
      // The application undoes its own change, and does not write what it has not changed.
      try a.set(Scenario.text, .text("one"), of: note)
      for device in [a, b] { try device.synchronize() }
      assertEqualObjects(scenario)
      XCTAssertEqual(b.objects[note]?.values[Scenario.text], .text("one"))
      XCTAssertEqual(b.objects[note]?.values[Scenario.color], .integer(1))
    }
  }

  /// Case 19: a pull does not wait for a push, nor a push for a pull.
  func testPullsAndPushesDoNotWaitForEachOther() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for device in [a, b] { try device.synchronize() }
    let mine = try a.insertFolder("mine")
    guard case .push(let commit)? = try a.handle(.save).first else { return XCTFail("no commit") }
    // While the commit is not answered, what others save arrives.
    let theirs = try b.insertFolder("theirs")
    try b.synchronize()
    guard case .pull(let request)? = try a.handle(.remoteChange).first else { return XCTFail("no pull") }
    _ = try a.handle(scenario.answer(.pull(request)))
    XCTAssertNotNil(a.objects[theirs])
    // While a pull is not answered, the commit is accepted and the next one is sent.
    guard case .pull? = try a.handle(.remoteChange).first else { return XCTFail("no pull") }
    _ = try a.handle(scenario.answer(.push(commit)))
    try a.set(Scenario.title, .text("next"), of: mine, Scenario.folder)
    guard case .push? = try a.handle(.save).first else { return XCTFail("no commit") }
  }

  func testTheProgressOfAPullCountsCommits() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for number in 0..<6 {
      _ = try a.insertFolder("\(number)")
      try a.synchronize()
    }
    b.limits.recordsInPage = 2
    b.restart()
    var progress: [[Int64]] = []
    try b.synchronize { _ in if let (received, total) = b.zone.pullProgress { progress.append([received, total]) } }
    XCTAssertEqual(progress.first, [2, 6])
    XCTAssertEqual(progress.map(\.[1]), progress.map { _ in 6 })
    XCTAssertNil(b.zone.pullProgress)
  }

  func testCommitsThatFollowWhatWasPulledAreNotPulled() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for device in [a, b] { try device.synchronize() }
    let folder = try a.insertFolder("one")
    for title in ["two", "three"] {
      try a.set(Scenario.title, .text(title), of: folder, Scenario.folder)
      try a.synchronize()
    }
    func page(_ device: Scenario.Device) throws -> PullPage? {
      for case .pull(let request) in try device.handle(.remoteChange) {
        let event = try scenario.answer(.pull(request))
        _ = try device.handle(event)
        if case .pulled(.page(let page)) = event { return page }
      }
      return nil
    }
    XCTAssertEqual(try page(a)?.records.count, 0)
    // Commits of both devices alternate: what follows a foreign commit is pulled with it.
    _ = try b.insertFolder("theirs")
    try b.synchronize()
    try a.set(Scenario.title, .text("four"), of: folder, Scenario.folder)
    guard case .push(let commit)? = try a.handle(.save).first else { return XCTFail("no commit") }
    _ = try a.handle(scenario.answer(.push(commit)))
    XCTAssertEqual(try page(a)?.records.count, 2)
    for device in [a, b] { try device.synchronize() }
    assertEqualObjects(scenario)
  }

  func testAnOptionalRelationshipToADeletedObjectIsNil() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let (parent, child) = (try a.insertFolder("parent"), try a.insertFolder("child"))
    for device in [a, b] { try device.synchronize() }
    try a.delete(parent, Scenario.folder)
    try b.set(Scenario.parent, .reference(parent), of: child, Scenario.folder)
    for device in [a, b, a, b] { try device.synchronize() }
    assertEqualObjects(scenario)
    XCTAssertEqual(a.objects[child]?.values[Scenario.parent], .null)
  }

  // MARK: What the simulator has found

  func testAPageThatWasReadBeforeAnAcceptedCommitBringsBackNothing() throws {
    let scenario = Scenario()
    let a = scenario.devices[0]
    let folder = try a.insertFolder("one")
    try a.synchronize()
    guard case .pull(let request)? = try a.handle(.remoteChange).first else { return XCTFail("no pull") }
    let early = try scenario.answer(.pull(request))
    try a.set(Scenario.title, .text("two"), of: folder, Scenario.folder)
    guard case .push(let commit)? = try a.handle(.save).first else { return XCTFail("no commit") }
    _ = try a.handle(scenario.answer(.push(commit)))
    _ = try a.handle(early)
    XCTAssertEqual(a.objects[folder]?.values[Scenario.title], .text("two"))
    try a.set(Scenario.title, .text("three"), of: folder, Scenario.folder)
    try a.synchronize()
    XCTAssertEqual(a.pendingCount, 0)
  }

  func testObjectsFromBeforeSynchronizationAreSentInBoundedCommits() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    a.limits.changesInCommit = 3
    a.restart()
    // Records are sent in the order of their IDs: the folder that all notes require is the last one.
    let notes = (0..<10).map { _ in a.newID() }
    let folder = a.newID()
    a.addExisting(folder, SyncedObject(entity: Scenario.folder, [Scenario.title: .text("Home"), Scenario.parent: .null]))
    for note in notes {
      a.addExisting(note, SyncedObject(entity: Scenario.note, [Scenario.text: .text("old"), Scenario.owner: .reference(folder)]))
    }
    try a.takeInExisting()
    try a.set(Scenario.text, .text("new"), of: notes[0])
    var counts: [Int] = []
    try a.synchronize { action in
      guard case .push(let commit) = action else { return }
      counts.append(commit.records.count)
      try b.synchronize()
      XCTAssertTrue(counts.count <= 4 ? b.objects.isEmpty : b.objects.count == 11, "\(counts): \(b.objects.count) objects")
    }
    XCTAssertEqual(counts, [3, 3, 3, 2, 1])
    try b.synchronize()
    assertEqualObjects(scenario)
    XCTAssertEqual(b.objects[notes[0]]?.values[Scenario.text], .text("new"))
  }

  func testObjectsFromBeforeSynchronizationAreTakenIn() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try b.synchronize()
    let folder = a.newID()
    a.addExisting(folder, SyncedObject(entity: Scenario.folder, [Scenario.title: .text("old"), Scenario.parent: .null]))
    // A save to an object that was not taken in yet sends all of its values.
    try a.set(Scenario.title, .text("new"), of: folder, Scenario.folder)
    for device in [a, b] { try device.synchronize() }
    assertEqualObjects(scenario)
    XCTAssertEqual(b.objects[folder]?.values, [Scenario.title: .text("new"), Scenario.parent: .null])
  }
}
