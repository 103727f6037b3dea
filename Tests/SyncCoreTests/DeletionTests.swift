import SyncCore
import XCTest
import _SyncSimulation

/// Deletions that edits win over, and deletions that other objects deny.
final class DeletionTests: XCTestCase {
  /// Folders come back after edits, and notes deny the deletion of their folders.
  private static func model(folderWins: Bool = true, notesDeny: Bool = false, linksDeny: Bool = false) -> SyncModel {
    var model = Scenario.model
    model.entities[Scenario.folder]?.updateWins = folderWins
    model.entities[Scenario.cover]?.updateWins = folderWins
    if notesDeny { model.entities[Scenario.note]?.denying = [Scenario.owner] }
    if linksDeny { model.entities[Scenario.mentions] = .link(denying: [.linkDestination]) }
    return model
  }

  private func scenario(_ model: SyncModel, deviceCount: Int = 2) throws -> (Scenario, folder: RecordID) {
    let scenario = Scenario(deviceCount: deviceCount)
    for device in scenario.devices { try device.adoptModel(model) }
    let folder = try scenario.devices[0].insertFolder("Home")
    for device in scenario.devices { try device.synchronize() }
    return (scenario, folder)
  }

  private func synchronize(_ scenario: Scenario, line: UInt = #line) throws {
    for _ in 0..<3 { for device in scenario.devices { try device.synchronize() } }
    for device in scenario.devices {
      XCTAssertEqual(device.objects, scenario.devices[0].objects, line: line)
      XCTAssertTrue(try device.isIdle(), line: line)
    }
  }

  // MARK: Edits

  func testAnEditThatADeletionDidNotKnowWins() throws {
    for isDeletionFirst in [true, false] {
      let (scenario, folder) = try scenario(Self.model())
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      // The edit is older than the deletion.
      (a.wall, b.wall) = (20_000, 10_000)
      try a.delete(folder, Scenario.folder)
      try b.set(Scenario.title, .text("Garden"), of: folder, Scenario.folder)
      for device in isDeletionFirst ? [a, b] : [b, a] { try device.synchronize() }
      try synchronize(scenario)
      XCTAssertEqual(a.objects[folder]?.values, [Scenario.title: .text("Garden"), Scenario.parent: .null])
    }
  }

  func testADeletionThatKnowsAllEditsIsKept() throws {
    let (scenario, folder) = try scenario(Self.model())
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try b.set(Scenario.title, .text("Garden"), of: folder, Scenario.folder)
    try synchronize(scenario)
    try a.set(Scenario.color, .integer(1), of: folder, Scenario.folder)
    try a.delete(folder, Scenario.folder)
    try synchronize(scenario)
    XCTAssertEqual(b.objects, [:])
    XCTAssertEqual(scenario.record(folder)?.isDeleted, true)
    XCTAssertEqual(scenario.liveCount, 0, "the hub may truncate it")
  }

  func testADeletionKnowsTheEarlierSavesOfItsDeviceAfterTheyAreStampedAgain() throws {
    for isCopied in [true, false] {
      let (scenario, folder) = try scenario(Self.model())
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      a.wall = isCopied ? 2_000 : 10_000_000
      try a.set(Scenario.title, .text("Garden"), of: folder, Scenario.folder)
      try a.delete(folder, Scenario.folder)
      a.wall = 2_000
      if isCopied {
        _ = try a.handle(.copied)
        a.restart()
      }
      try synchronize(scenario)
      XCTAssertEqual(b.objects, [:])
      // A later edit of the device has an earlier stamp than the ones that were ahead.
      try a.reinsert(folder)
      try synchronize(scenario)
      XCTAssertEqual(b.objects[folder]?.values[Scenario.title], .text("Garden"))
    }
  }

  func testADeletedObjectThatCameBackCanBeDeletedAgain() throws {
    let (scenario, folder) = try scenario(Self.model())
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.delete(folder, Scenario.folder)
    try b.set(Scenario.title, .text("Garden"), of: folder, Scenario.folder)
    try synchronize(scenario)
    XCTAssertNotNil(a.objects[folder])
    try b.delete(folder, Scenario.folder)
    try synchronize(scenario)
    XCTAssertEqual(a.objects, [:])
  }

  func testTwoDeletionsTogetherKnowWhatEitherKnows() throws {
    let (scenario, folder) = try scenario(Self.model(), deviceCount: 3)
    let (a, b, c) = (scenario.devices[0], scenario.devices[1], scenario.devices[2])
    try a.set(Scenario.title, .text("Garden"), of: folder, Scenario.folder)
    try a.delete(folder, Scenario.folder)
    try b.set(Scenario.color, .integer(1), of: folder, Scenario.folder)
    try b.delete(folder, Scenario.folder)
    try synchronize(scenario)
    XCTAssertEqual(c.objects, [:])
  }

  func testCountedAmountsThatADeletionDidNotKnowWin() throws {
    var model = Self.model()
    model.entities[Scenario.folder]?.merging = [Scenario.color: .counter]
    let (scenario, folder) = try scenario(model)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    // The amount that the deletion knows is later than the one that it does not know.
    (a.wall, b.wall) = (30_000, 20_000)
    try a.set(Scenario.color, .integer(2), of: folder, Scenario.folder)
    try b.set(Scenario.color, .integer(5), of: folder, Scenario.folder)
    try a.delete(folder, Scenario.folder)
    try synchronize(scenario)
    XCTAssertEqual(a.objects[folder]?.values[Scenario.color], .integer(7))
    try a.delete(folder, Scenario.folder)
    try synchronize(scenario)
    // What was counted is there when the deletion is undone, once.
    try a.reinsert(folder)
    try synchronize(scenario)
    XCTAssertEqual(b.objects[folder]?.values[Scenario.color], .integer(7))
  }

  /// Another device counts the attribute, which it has not changed.
  func testADeletionKnowsAValueThatIsCountedSince() {
    let known = Record(entity: Scenario.folder, [Scenario.color: .integer(2)], Stamp(HybridTime(milliseconds: 5), DeviceID(1)))
    let stamp = Stamp(HybridTime(milliseconds: 6), DeviceID(1))
    let mark = DeletionMark(seeing: known)
    let deletion = Record(entity: Scenario.folder, .live([Field(.deletion, .deletion(mark), stamp, .deletion)]))
    let unchanged = Field(Scenario.color, .null, stamp, .counter)
    let counted = known.applying(Record(entity: Scenario.folder, .live([unchanged])))
    XCTAssertEqual(counted[Scenario.color]?.rule, .counter)
    XCTAssertTrue(counted.joined(with: deletion).isDeleted)
    let added = Field(Scenario.color, Counter(adding: .integer(1), stamp).fieldValue, stamp, .counter)
    XCTAssertFalse(known.applying(Record(entity: Scenario.folder, .live([added]))).joined(with: deletion).isDeleted)
  }

  func testTheDeletionOfADeviceWithoutTheDeclarationIsFinal() throws {
    let (scenario, folder) = try scenario(Self.model())
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.adoptModel(Scenario.model)
    try a.delete(folder, Scenario.folder)
    try b.set(Scenario.title, .text("Garden"), of: folder, Scenario.folder)
    try synchronize(scenario)
    XCTAssertEqual(b.objects, [:])
    XCTAssertEqual(scenario.record(folder)?.isTombstone, true)
  }

  // MARK: Undo

  /// Published trouble of peers: an identifier that is deleted and inserted again.
  func testDeletionAndReinsertionOfOneIdentifier() throws {
    for isSentBetween in [true, false] {
      let (scenario, folder) = try scenario(Self.model())
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      for number: Int64 in 1...3 {
        try a.delete(folder, Scenario.folder)
        if isSentBetween {
          try synchronize(scenario)
          XCTAssertEqual(b.objects, [:])
        }
        try a.reinsert(folder)
        try a.set(Scenario.color, .integer(number), of: folder, Scenario.folder)
        try synchronize(scenario)
        XCTAssertEqual(b.objects[folder]?.values[Scenario.title], .text("Home"))
        XCTAssertEqual(b.objects[folder]?.values[Scenario.color], .integer(number))
      }
    }
  }

  func testLinksThatWereNotRemovedExistAgainWithTheirEnds() throws {
    let (scenario, folder) = try scenario(Self.model())
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let (home, other) = (try a.insertFolder("other"), try a.insertFolder("third"))
    let note = try a.insertNote("Milk", in: home)
    try a.link(note, folder)
    try a.link(note, other)
    try synchronize(scenario)
    try a.unlink(note, other)
    try a.delete(folder, Scenario.folder)
    try b.set(Scenario.title, .text("Garden"), of: folder, Scenario.folder)
    try synchronize(scenario)
    XCTAssertEqual(a.links, [[note, folder]])
    try a.delete(folder, Scenario.folder)
    try synchronize(scenario)
    XCTAssertEqual(b.links, [])
    try b.reinsert(folder)
    _ = try b.handle(.save)
    XCTAssertEqual(b.links, [[note, folder]], "at once, on the device")
    b.restart()
    try synchronize(scenario)
  }

  func testADeletionKnowsAnEarlierReinsertionOfItsDeviceUnderAnotherIdentity() throws {
    for isSent in [true, false] {
      let (scenario, folder) = try scenario(Self.model())
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      try a.delete(folder, Scenario.folder)
      try a.reinsert(folder)
      // The hub accepts the former identity's commit, and no answer arrives.
      if isSent { for action in try a.handle(.save) { _ = try scenario.answer(action) } }
      try a.delete(folder, Scenario.folder)
      _ = try a.handle(.copied)
      a.restart()
      XCTAssertEqual(a.objects, [:])
      try synchronize(scenario)
      XCTAssertEqual(b.objects, [:])
      try b.reinsert(folder)
      try synchronize(scenario)
      XCTAssertNotNil(a.objects[folder])
    }
  }

  func testAChildOfADeletedObjectIsHiddenUntilThatComesBack() throws {
    let (scenario, folder) = try scenario(Self.model())
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.delete(folder, Scenario.folder)
    let note = try b.insertNote("Milk", in: folder)
    try synchronize(scenario)
    XCTAssertEqual(a.objects, [:])
    XCTAssertEqual(scenario.record(note)?.isDeleted, false)
    try a.reinsert(folder)
    try synchronize(scenario)
    XCTAssertNotNil(b.objects[note])
  }

  func testADeletedObjectDoesNotHoldAOneToOneRelationship() throws {
    let (scenario, folder) = try scenario(Self.model())
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    (a.wall, b.wall) = (10_000, 20_000)
    let (earlier, later) = (try a.insertCover(of: folder), try b.insertCover(of: folder))
    try b.delete(later, Scenario.cover)
    try synchronize(scenario)
    XCTAssertEqual(a.objects[earlier]?.values[Scenario.coverFolder], .reference(folder))
    XCTAssertEqual(scenario.record(earlier)?[Scenario.coverFolder]?.value, .reference(folder))
  }

  // MARK: Deny

  func testAnObjectIsNotDeletedWhileAnotherOneRefersToIt() throws {
    for isDeletionFirst in [true, false] {
      let (scenario, folder) = try scenario(Self.model(notesDeny: true))
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      try a.delete(folder, Scenario.folder)
      let note = try b.insertNote("Milk", in: folder)
      for device in isDeletionFirst ? [a, b] : [b, a] { try device.synchronize() }
      XCTAssertNotNil(b.objects[folder])
      try synchronize(scenario)
      XCTAssertNotNil(a.objects[note])
      XCTAssertEqual(scenario.record(folder)?.isDeleted, false)
      // Nothing has lost but the deletion, which has no values.
      for device in [a, b] { XCTAssertEqual(device.journal.map(\.reason), []) }
      // It is final: the object remains without the reference.
      try b.delete(note)
      try synchronize(scenario)
      XCTAssertNotNil(a.objects[folder])
      try a.delete(folder, Scenario.folder)
      try synchronize(scenario)
      XCTAssertEqual(b.objects, [:])
    }
  }

  func testAPendingReferenceDeniesOnlyAsLongAsItIsThere() throws {
    let (scenario, folder) = try scenario(Self.model(notesDeny: true))
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let other = try b.insertFolder("other")
    try synchronize(scenario)
    try a.delete(folder, Scenario.folder)
    try a.synchronize()
    let note = try b.insertNote("Milk", in: folder)
    // It is pulled, and nothing is sent.
    guard let pull = try b.handle(.remoteChange).first else { return XCTFail("no pull") }
    _ = try b.handle(scenario.answer(pull))
    XCTAssertNotNil(b.objects[folder])
    try b.set(Scenario.owner, .reference(other), of: note)
    _ = try b.handle(.save)
    XCTAssertNil(b.objects[folder])
    b.restart()
    try synchronize(scenario)
    XCTAssertEqual(a.objects[note]?.values[Scenario.owner], .reference(other))
    XCTAssertNil(a.objects[folder])
  }

  func testAnObjectWhoseDeletionIsDeniedDeniesOthers() throws {
    var model = Self.model(notesDeny: true)
    model.entities[Scenario.folder]?.denying = [Scenario.parent]
    let (scenario, folder) = try scenario(model)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let inner = try a.insertFolder("inner")
    try a.set(Scenario.parent, .reference(folder), of: inner, Scenario.folder)
    try synchronize(scenario)
    try a.delete(inner, Scenario.folder)
    try a.delete(folder, Scenario.folder)
    try a.synchronize()
    let note = try b.insertNote("Milk", in: inner)
    try synchronize(scenario)
    XCTAssertEqual(a.objects[note]?.values[Scenario.owner], .reference(inner))
    XCTAssertEqual(a.objects[inner]?.values[Scenario.parent], .reference(folder))
    XCTAssertNotNil(a.objects[folder])
  }

  func testALinkDeniesTheDeletionOfItsEnd() throws {
    let (scenario, folder) = try scenario(Self.model(linksDeny: true))
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let note = try a.insertNote("Milk", in: try a.insertFolder("other"))
    try synchronize(scenario)
    try a.delete(folder, Scenario.folder)
    try b.link(note, folder)
    try synchronize(scenario)
    XCTAssertNotNil(a.objects[folder])
    try b.unlink(note, folder)
    try synchronize(scenario)
    XCTAssertNotNil(a.objects[folder])
  }

  func testADeletionHasSeenTheReferencesOfHiddenObjects() throws {
    var model = Self.model()
    model.entities[Scenario.lock]?.denying = [Scenario.lockFolder]
    let (scenario, folder) = try scenario(model)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    (a.wall, b.wall) = (10_000, 20_000)
    let (hidden, later) = (try a.insertLock(of: folder), try b.insertLock(of: folder))
    try synchronize(scenario)
    XCTAssertNil(a.objects[hidden])
    try a.save(PendingChange(later, entity: Scenario.lock, nil), PendingChange(folder, entity: Scenario.folder, nil))
    try synchronize(scenario)
    XCTAssertEqual(b.objects, [:])
  }

  /// A reference denies a deletion, and is then replaced by one of the deleted object, which exists for that reason alone.
  func testAReplacedReferenceDoesNotDenyADeletion() throws {
    var model = Self.model()
    model.entities[Scenario.folder]?.exclusive = [Scenario.parent]
    model.entities[Scenario.folder]?.denying = [Scenario.parent]
    model.entities[Scenario.note]?.references[Scenario.parent] = false
    // The IDs determine the order in which records are pulled.
    for skipped in 0..<8 {
      let (scenario, folder) = try scenario(model)
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      (a.wall, b.wall) = (10_000, 20_000)
      try b.set(Scenario.parent, .reference(folder), of: folder, Scenario.folder)
      try b.synchronize()
      try b.delete(folder, Scenario.folder)
      // The objects are written one by one: the child, the folder, the note.
      b.limits.recordsInBatch = 1
      b.restart()
      for _ in 0..<skipped { _ = a.newID() }
      let (note, child) = (a.newID(), a.newID())
      try a.save(
        PendingChange(note, entity: Scenario.note, [Scenario.owner: .reference(folder), Scenario.parent: .reference(child)]),
        PendingChange(child, entity: Scenario.folder, [Scenario.title: .text("Child"), Scenario.parent: .reference(folder)]))
      // The other device pulls before this one has superseded the reference on the hub.
      var commitCount = 0
      try a.synchronize { action in
        guard case .push = action else { return }
        commitCount += 1
        if commitCount == 2 { try b.synchronize() }
      }
      try synchronize(scenario)
      XCTAssertNil(a.objects[folder])
      XCTAssertNil(a.objects[note])
      XCTAssertEqual(a.objects[child]?.values[Scenario.parent], .null)
    }
  }

  // MARK: No Action

  func testAReferenceToADeletedObjectIsNil() throws {
    let (scenario, folder) = try scenario(Scenario.model)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let cover = try a.insertCover(of: folder)
    try synchronize(scenario)
    // The delete rule No Action leaves the reference as it is.
    try a.delete(folder, Scenario.folder)
    try synchronize(scenario)
    XCTAssertEqual(b.objects[cover]?.values[Scenario.coverFolder], .null)
  }

  // MARK: Encoding

  func testAMarkTakesFewBytes() throws {
    let (scenario, folder) = try scenario(Self.model())
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for number: UInt64 in 100..<120 { try a.set(PropertyID(number), .integer(1), of: folder, Scenario.folder) }
    try synchronize(scenario)
    let size = RecordCoding.encode(try XCTUnwrap(scenario.record(folder)), of: folder).count
    try b.delete(folder, Scenario.folder)
    try synchronize(scenario)
    let record = try XCTUnwrap(scenario.record(folder))
    XCTAssertLessThan(RecordCoding.encode(record, of: folder).count, size + 40)
    XCTAssertEqual(try RecordCoding.decode(RecordCoding.encode(record, of: folder)).record, record)
  }
}
