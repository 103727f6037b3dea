import SyncCore
import XCTest
import _SyncSimulation

/// Devices that were away for so long that the hub has removed deletions, and differences that are found after an import.
final class ReconciliationTests: XCTestCase {
  /// A scenario with notes in a folder on both devices.
  private func scenario(notes: Int = 20) throws -> (Scenario, folder: RecordID, notes: [RecordID]) {
    let scenario = Scenario()
    let folder = try scenario.devices[0].insertFolder("Home")
    let ids = try scenario.devices[0].insertNotes(notes, in: folder)
    try synchronize(scenario)
    return (scenario, folder, ids)
  }

  private func synchronize(_ scenario: Scenario) throws {
    for _ in 0..<3 { for device in scenario.devices { try device.synchronize() } }
    for device in scenario.devices { XCTAssertTrue(try device.isIdle()) }
  }

  /// Lets the hub remove what is deleted, while the second device is away for a year.
  private func removeDeletions(_ scenario: Scenario) throws {
    let present = scenario.devices[0]
    try present.synchronize()
    for _ in 0..<4 {
      scenario.wait(days: 100)
      try present.synchronize()
    }
    try scenario.cleanUp(from: present)
    XCTAssertEqual(scenario.deletedCount, 0)
    XCTAssertGreaterThan(scenario.floor, 0)
  }

  private func assertEqual(_ scenario: Scenario, file: StaticString = #filePath, line: UInt = #line) throws {
    try synchronize(scenario)
    for device in scenario.devices {
      XCTAssertEqual(device.objects, scenario.devices[0].objects, file: file, line: line)
      XCTAssertEqual(try device.verify(), Verification.Result(), file: file, line: line)
    }
  }

  func testADeviceThatComesBackAfterAYearFetchesOnlyWhatDiffers() throws {
    let (scenario, folder, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for id in notes.prefix(5) { try a.delete(id) }
    try a.set(Scenario.text, .text("changed"), of: notes[6])
    let new = try a.insertNote("new", in: folder)
    try removeDeletions(scenario)
    XCTAssertNotNil(b.objects[notes[0]])
    var fetched: [RecordName] = []
    try b.synchronize { action in
      if case .verify(let request) = action, case .records(let names) = request.query { fetched += names }
    }
    // The five deleted ones, the changed one, the new one, and the folder of the commits in between.
    XCTAssertEqual(fetched.count, 8)
    let result = try XCTUnwrap(b.takeReconciliationResult())
    XCTAssertEqual([result.differenceCount, result.fetchedCount, result.removedCount, result.resent.count], [8, 3, 5, 0])
    for id in notes.prefix(5) { XCTAssertNil(b.objects[id]) }
    XCTAssertEqual(b.objects[notes[6]]?.values[Scenario.text], .text("changed"))
    XCTAssertNotNil(b.objects[new])
    try assertEqual(scenario)
  }

  func testUnsentEditsOfAnObjectWhoseDeletionWasRemovedAreKept() throws {
    let (scenario, _, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.delete(notes[0])
    try a.delete(notes[1])
    try b.set(Scenario.text, .text("unsent"), of: notes[0])
    try removeDeletions(scenario)
    try assertEqual(scenario)
    for device in scenario.devices {
      XCTAssertEqual(device.objects[notes[0]]?.values[Scenario.text], .text("unsent"))
      XCTAssertNil(device.objects[notes[1]])
    }
  }

  func testAnObjectThatIsEditedAndThenDeletedIsSentWhole() throws {
    let (scenario, folder, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.delete(notes[0])
    try b.set(Scenario.text, .text("unsent"), of: notes[0])
    // A commit does not have room for all saves.
    try b.insertNotes(500, in: folder)
    try b.delete(notes[0])
    try removeDeletions(scenario)
    var isThere = false
    try b.synchronize { _ in
      guard let record = scenario.record(notes[0]), !record.isDeleted else { return }
      XCTAssertEqual(record[Scenario.owner]?.value, .reference(folder))
      isThere = true
    }
    XCTAssertTrue(isThere)
    try assertEqual(scenario)
    XCTAssertNil(a.objects[notes[0]])
  }

  func testWhatUnsentObjectsRequireIsKept() throws {
    let (scenario, folder, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for id in notes { try a.delete(id) }
    try a.delete(folder, Scenario.folder)
    let note = try b.insertNote("unsent", in: folder)
    try removeDeletions(scenario)
    try assertEqual(scenario)
    for device in scenario.devices {
      XCTAssertEqual(device.objects[note]?.values[Scenario.owner], .reference(folder))
      XCTAssertEqual(device.objects[folder]?.values[Scenario.title], .text("Home"))
      XCTAssertNil(device.objects[notes[0]])
    }
  }

  func testADeletionThatWasMadeWhileAwayIsSent() throws {
    let (scenario, _, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.delete(notes[0])
    try b.delete(notes[1])
    try b.delete(notes[0])
    try removeDeletions(scenario)
    try assertEqual(scenario)
    XCTAssertNil(a.objects[notes[1]])
    XCTAssertNil(a.objects[notes[0]])
  }

  func testACommitOfADeviceThatIsBehindIsRefused() throws {
    let (scenario, folder, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for id in notes { try a.delete(id) }
    try a.delete(folder, Scenario.folder)
    _ = try b.insertNote("unsent", in: folder)
    let push = try XCTUnwrap(try b.handle(.save).first { if case .push = $0 { true } else { false } })
    try removeDeletions(scenario)
    guard case .pushed(_, .truncated) = try scenario.answer(push) else { return XCTFail("The hub has accepted it.") }
  }

  func testADeviceThatWasNeverThereReceivesNoDeletions() throws {
    let (scenario, _, notes) = try scenario()
    let a = scenario.devices[0]
    for id in notes.prefix(10) { try a.delete(id) }
    try synchronize(scenario)
    XCTAssertEqual(scenario.deletedCount, 10)
    let c = scenario.addDevice()
    var pulled = 0
    var actions = try c.handle(.remoteChange)
    while let action = actions.popLast() {
      let event = try scenario.answer(action)
      if case .pulled(.page(let page)) = event { pulled += page.records.count }
      actions += try c.handle(event)
    }
    XCTAssertEqual(pulled, 11)
    try assertEqual(scenario)
  }

  func testAnObjectThatIsDeletedDuringAnInitialDownloadIsDeleted() throws {
    let (scenario, _, notes) = try scenario()
    let a = scenario.devices[0]
    let c = scenario.addDevice()
    c.limits.recordsInPage = 4
    c.restart()
    var pages = 0
    try c.synchronize { action in
      guard case .pull = action else { return }
      pages += 1
      if pages == 3 {
        for id in notes { try a.delete(id) }
        try a.synchronize(.save)
      }
    }
    XCTAssertGreaterThan(pages, 5)
    for id in notes { XCTAssertNil(c.objects[id]) }
    try assertEqual(scenario)
  }

  func testAnInitialDownloadThatIsInterruptedForAYearBeginsAgain() throws {
    let (scenario, _, notes) = try scenario()
    let a = scenario.devices[0]
    let c = scenario.addDevice()
    c.limits.recordsInPage = 4
    c.restart()
    var actions = try c.handle(.remoteChange)
    for _ in 0..<2 { actions = try c.handle(scenario.answer(try XCTUnwrap(actions.first))) }
    XCTAssertEqual(c.objects.count, 0)
    for id in notes.prefix(10) { try a.delete(id) }
    for _ in 0..<4 {
      scenario.wait(days: 100)
      for device in scenario.devices.prefix(2) { try device.synchronize() }
    }
    try scenario.cleanUp(from: a)
    XCTAssertEqual(scenario.deletedCount, 0)
    c.restart()
    try c.synchronize()
    for id in notes.prefix(10) { XCTAssertNil(c.objects[id]) }
    try assertEqual(scenario)
  }

  func testDeletionsAreKeptForDevicesThatAreThere() throws {
    let (scenario, _, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.delete(notes[0])
    try a.synchronize()
    // Later than the least time, and before the second device is taken for absent.
    scenario.wait(days: 60)
    try a.synchronize()
    try scenario.cleanUp(from: a)
    XCTAssertEqual(scenario.deletedCount, 1)
    try b.synchronize()
    scenario.wait(days: 2)
    for device in scenario.devices { try device.synchronize() }
    try scenario.cleanUp(from: a)
    XCTAssertEqual(scenario.deletedCount, 0)
    try b.synchronize { action in if case .verify = action { XCTFail("The device knows all deletions.") } }
    try assertEqual(scenario)
  }

  func testAFreshDeletionIsKept() throws {
    let (scenario, _, notes) = try scenario()
    try scenario.devices[0].delete(notes[0])
    try synchronize(scenario)
    scenario.wait(days: 29)
    for device in scenario.devices { try device.synchronize() }
    try scenario.cleanUp(from: scenario.devices[0])
    XCTAssertEqual(scenario.deletedCount, 1)
  }

  func testOtherDevicesPushDuringAReconciliation() throws {
    let (scenario, folder, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for id in notes.prefix(3) { try a.delete(id) }
    try removeDeletions(scenario)
    b.limits.recordsInPage = 2
    b.restart()
    var steps = 0
    try b.synchronize { action in
      guard case .verify = action else { return }
      steps += 1
      let id = notes[4 + steps % 10]
      if steps % 3 == 0 { try a.delete(id) } else { try a.set(Scenario.text, .text("\(steps)"), of: id) }
      _ = try a.insertNote("during \(steps)", in: folder)
      try a.synchronize(.save)
    }
    XCTAssertGreaterThan(steps, 2)
    XCTAssertEqual(b.objects, a.objects)
    try assertEqual(scenario)
  }

  func testAnInterruptedReconciliationBeginsAgain() throws {
    for calls in stride(from: 5, to: 400, by: 17) {
      let (scenario, _, notes) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      try a.delete(notes[0])
      try b.set(Scenario.text, .text("unsent"), of: notes[1])
      try removeDeletions(scenario)
      b.kill(afterCalls: calls)
      try? b.synchronize()
      b.kill(afterCalls: .max)
      b.restart()
      try assertEqual(scenario)
      XCTAssertNil(b.objects[notes[0]])
    }
  }

  func testARecordThatCanBeOpenedDuringAReconciliationIsRemovedIfTheHubDoesNotHaveIt() throws {
    let (scenario, folder, _) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let note = try a.insertNote("new", in: folder)
    b.keys.isMissing = { [name = b.keys.name(of: note)] in $0.name == name }
    try synchronize(scenario)
    try a.delete(note)
    try removeDeletions(scenario)
    var isReopened = false
    try b.synchronize { action in
      guard case .verify(let request) = action, case .records = request.query else { return }
      b.keys.isMissing = { _ in false }
      _ = try b.handle(.keysChanged)
      isReopened = b.objects[note] != nil
    }
    XCTAssertTrue(isReopened)
    try assertEqual(scenario)
    XCTAssertNil(b.objects[note])
  }

  func testAnAnswerThatArrivesDuringAReconciliationBringsNothingBack() throws {
    let (scenario, folder, _) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let note = try b.insertNote("new", in: folder)
    let accepted = try scenario.answer(XCTUnwrap(b.handle(.save).first))
    try a.synchronize()
    try a.delete(note)
    try removeDeletions(scenario)
    var requestCount = 0
    try b.synchronize { action in
      if case .verify = action { requestCount += 1 }
      if requestCount == 1 { _ = try b.handle(accepted) }
    }
    XCTAssertGreaterThan(requestCount, 0)
    XCTAssertNil(b.objects[note])
    try assertEqual(scenario)
  }

  func testARepeatedFirstRequestDoesNotAcknowledgeWhatWasDeletedSince() throws {
    let (scenario, _, notes) = try scenario()
    let (a, c) = (scenario.devices[0], scenario.addDevice())
    let request = try XCTUnwrap(c.handle(.remoteChange).first)
    let answer = try scenario.answer(request)
    try a.delete(notes[0])
    try a.synchronize(.save)
    scenario.wait(days: 2)
    _ = try scenario.answer(request)
    _ = try c.handle(answer)
    XCTAssertNotNil(c.objects[notes[0]])
    XCTAssertLessThanOrEqual(try XCTUnwrap(scenario.acknowledged(by: c)), c.zone.base.sequence)
    try assertEqual(scenario)
  }

  func testTheHubKeepsDeletionsUntilAReconciliationIsImported() throws {
    let (scenario, _, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.delete(notes[0])
    try removeDeletions(scenario)
    struct Interruption: Error {}
    var isCompared = false
    XCTAssertThrowsError(
      try b.synchronize { action in
        guard case .pull = action else {
          if !isCompared { scenario.wait(days: 2) }  // The hub records again what the device has pulled.
          return isCompared = true
        }
        if !isCompared { return }
        _ = try scenario.answer(action)
        throw Interruption()
      })
    XCTAssertTrue(isCompared)
    XCTAssertEqual(scenario.acknowledged(by: b), b.zone.base.sequence)
    // What is deleted meanwhile does not return by an edit of the device.
    try a.delete(notes[1])
    try a.synchronize(.save)
    scenario.wait(days: 40)
    try a.synchronize()
    try scenario.cleanUp(from: a)
    b.restart()
    try b.set(Scenario.text, .text("changed"), of: notes[1])
    try assertEqual(scenario)
    XCTAssertNil(a.objects[notes[1]])
  }

  func testAHubThatWasRestoredAfterDeletionsWereRemovedIsReconciledWith() throws {
    let (scenario, _, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.delete(notes[0])
    try b.set(Scenario.text, .text("unsent"), of: notes[1])
    try removeDeletions(scenario)
    scenario.restoreHub(scenario.backUpHub(), incarnation: 2)
    try assertEqual(scenario)
    XCTAssertNil(a.objects[notes[0]], "A device that was away has sent the object again.")
  }

  func testACommitThatWasAcceptedBeforeTheDeviceWasAwayIsNotSentAgain() throws {
    let (scenario, _, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try b.set(Scenario.text, .text("sent"), of: notes[1])
    // The answer is lost.
    for action in try b.handle(.save) { _ = try scenario.answer(action) }
    try a.synchronize()
    try a.delete(notes[1])
    try removeDeletions(scenario)
    b.restart()
    try assertEqual(scenario)
    XCTAssertNil(a.objects[notes[1]], "The edit was sent, and the deletion was later.")
  }

  // MARK: Sums

  func testWhatWasDeletedAfterALostAnswerDoesNotComeBack() throws {
    let (scenario, folder, _) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let (deleted, edited, link) = (try b.insertNote("deleted", in: folder), try b.insertNote("edited", in: folder), Scenario.linkID)
    try b.link(deleted, edited)
    // The hub accepts the commit, and its answer is lost.
    for action in try b.handle(.save) { if case .push = action { _ = try scenario.answer(action) } }
    try a.synchronize()
    XCTAssertNotNil(a.objects[deleted])
    try a.delete(deleted)
    try a.delete(edited)
    try b.set(Scenario.text, .text("later"), of: edited)
    try removeDeletions(scenario)
    try assertEqual(scenario)
    for device in scenario.devices {
      XCTAssertNil(device.objects[deleted])
      XCTAssertNil(device.objects[link(deleted, edited, Scenario.mentions)])
      // The device has changed it without knowing the deletion.
      XCTAssertEqual(device.objects[edited]?.values[Scenario.text], .text("later"))
      XCTAssertEqual(device.objects[edited]?.values[Scenario.owner], .reference(folder))
    }
  }

  func testAWrongRecordOfTheHubIsNoticedAfterAnImport() throws {
    let (scenario, folder, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.set(Scenario.text, .text("changed"), of: notes[0])
    try a.synchronize()
    // The page lacks a record.
    var actions = try b.handle(.remoteChange)
    guard case .pulled(.page(var page)) = try scenario.answer(try XCTUnwrap(actions.first)) else { return XCTFail("no page") }
    page.records = []
    actions = try b.handle(.pulled(.page(page)))
    XCTAssertTrue(actions.contains { if case .verify = $0 { true } else { false } })
    while let action = actions.popLast() { actions += try b.handle(scenario.answer(action)) }
    XCTAssertEqual(b.takeReconciliationResult()?.differenceCount, 1)
    XCTAssertEqual(b.objects[notes[0]]?.values[Scenario.text], .text("changed"))
    _ = folder
    try assertEqual(scenario)
  }

  func testADamagedRecordIsNoticedWhenItIsChangedElsewhere() throws {
    for isRemoved in [true, false] {
      let (scenario, _, notes) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      b.damage(notes[0]) { entry in
        entry.base = isRemoved ? nil : entry.base.map { RecordEntry.VersionedRecord($0.sequence, Digest(1, 2, 3, 4), $0.record) }
      }
      try a.set(Scenario.text, .text("changed"), of: notes[0])
      try a.synchronize()
      try b.synchronize()
      XCTAssertNotNil(b.takeReconciliationResult())
      try assertEqual(scenario)
    }
  }

  func testARequestedReconciliationRepairsDamagedRecords() throws {
    let (scenario, _, notes) = try scenario()
    let b = scenario.devices[1]
    b.damage(notes[0]) { $0.base = nil }
    b.damage(notes[1]) { $0.base = $0.base.map { RecordEntry.VersionedRecord($0.sequence + 50, Digest(1, 2, 3, 4), $0.record) } }
    XCTAssertEqual(try b.verify().differences.count, 2)
    try b.synchronize(.reconcile)
    XCTAssertEqual(b.takeReconciliationResult()?.differenceCount, 2)
    try assertEqual(scenario)
  }

  func testAHubWhoseSumIsWrongIsReportedOnce() throws {
    let (scenario, _, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    // Another version, of which the sum does not know.
    scenario.damageSum()
    for round in 0..<3 {
      try a.set(Scenario.text, .text("\(round)"), of: notes[0])
      try a.synchronize()
      try b.synchronize()
      XCTAssertEqual(b.takeReconciliationResult()?.isSumWrong, round == 0 ? true : nil)
    }
    try assertEqual(scenario)
  }

  func testACommitInConflictWithWhatNoPullBringsIsResolved() throws {
    let (scenario, folder, notes) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    // The device does not know the version of the hub.
    b.damage(notes[0]) { $0.base = $0.base.map { RecordEntry.VersionedRecord($0.sequence, Digest(1, 2, 3, 4), $0.record) } }
    try b.set(Scenario.text, .text("edited"), of: notes[0])
    try b.synchronize()
    XCTAssertTrue(try b.isIdle())
    _ = folder
    try assertEqual(scenario)
    XCTAssertEqual(a.objects[notes[0]]?.values[Scenario.text], .text("edited"))
  }

  // MARK: Size

  func testFewDifferencesInManyRecordsTakeFewBytes() throws {
    let scenario = Scenario()
    let folder = try scenario.devices[0].insertFolder("Home")
    var notes: [RecordID] = []
    for _ in 0..<4 { notes += try scenario.devices[0].insertNotes(1_000, in: folder) }
    try synchronize(scenario)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for id in notes.prefix(3_400) where id.low % 68 == 0 { try a.set(Scenario.text, .text("changed"), of: id) }
    for id in notes.suffix(10) { try a.delete(id) }
    try removeDeletions(scenario)
    var (bytes, requests) = (0, 0)
    var actions = try b.handle(.remoteChange)
    while let action = actions.popLast() {
      let event = try scenario.answer(action)
      if case .verified(let request, let answer) = event {
        bytes += answer.approximateSize
        requests += 1
        switch request.query {
        case .sums(let ranges): bytes += 3 * ranges.count
        case .versions(let ranges, _, _): bytes += 3 * ranges.count
        case .records(let names): bytes += 32 * names.count
        }
      }
      actions += try b.handle(event)
    }
    let result = try XCTUnwrap(b.takeReconciliationResult())
    XCTAssertEqual(result.differenceCount, 61)
    XCTAssertLessThan(bytes, 60 << 10)
    XCTAssertLessThan(requests, 20)
    XCTAssertEqual(b.objects, a.objects)
  }
}
