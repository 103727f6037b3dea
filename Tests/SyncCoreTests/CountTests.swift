import SyncCore
import XCTest
import _SyncSimulation

/// To-many relationships with a maximum count: two devices add members that exceed it together.
final class CountTests: XCTestCase {
  private func scenario(_ count: Int = 2) throws -> (Scenario, folder: RecordID) {
    let scenario = Scenario(deviceCount: count)
    let folder = try scenario.devices[0].insertFolder("Home")
    for device in scenario.devices { try device.synchronize() }
    return (scenario, folder)
  }

  private func synchronize(_ scenario: Scenario, line: UInt = #line) throws {
    for _ in 0..<3 { for device in scenario.devices { try device.synchronize() } }
    for device in scenario.devices { XCTAssertEqual(device.objects, scenario.devices[0].objects, line: line) }
  }

  private func insert(_ entity: EntityID, _ property: PropertyID, _ folder: RecordID, on device: Scenario.Device) throws -> RecordID {
    let id = device.newID()
    try device.save(PendingChange(id, entity: entity, [property: .reference(folder)]))
    return id
  }

  private func insertSticker(_ folder: RecordID, on device: Scenario.Device) throws -> RecordID {
    try insert(Scenario.sticker, Scenario.stickerFolder, folder, on: device)
  }

  private func stickers(of folder: RecordID, on device: Scenario.Device) -> Set<RecordID> {
    Set(device.objects.filter { $0.value.values[Scenario.stickerFolder] == .reference(folder) }.keys)
  }

  /// Updates the objects after a save, although the device is not connected.
  private func review(_ device: Scenario.Device) throws {
    _ = try device.handle(.save)
    device.restart()
  }

  func testTheEarliestMembersRemain() throws {
    for isFirstSentFirst in [true, false] {
      let (scenario, folder) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      (a.wall, b.wall) = (10_000, 20_000)
      let mine = try (0..<2).map { _ in try insertSticker(folder, on: a) }
      let theirs = try (0..<2).map { _ in try insertSticker(folder, on: b) }
      for device in isFirstSentFirst ? [a, b] : [b, a] { try device.synchronize() }
      try synchronize(scenario)
      XCTAssertEqual(stickers(of: folder, on: a), Set(mine))
      for id in theirs {
        XCTAssertEqual(a.objects[id]?.values[Scenario.stickerFolder], .null)
        XCTAssertEqual(scenario.record(id)?[Scenario.stickerFolder]?.value, .superseded)
      }
      // One device keeps each of them in its journal.
      let kept = scenario.devices.flatMap(\.journal)
      XCTAssertEqual(Set(kept.map(\.id)), Set(theirs))
      XCTAssertEqual(kept.map(\.reason), [.destinationTaken, .destinationTaken])
      XCTAssertEqual(kept.map { $0.losing[Scenario.stickerFolder]?.value }, [.reference(folder), .reference(folder)])
    }
  }

  func testNothingReturnsWhenAMemberGoes() throws {
    let (scenario, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    (a.wall, b.wall) = (10_000, 20_000)
    let mine = try (0..<2).map { _ in try insertSticker(folder, on: a) }
    let theirs = try insertSticker(folder, on: b)
    try synchronize(scenario)
    try a.set(Scenario.stickerFolder, .null, of: mine[0], Scenario.sticker)
    try synchronize(scenario)
    XCTAssertEqual(stickers(of: folder, on: b), [mine[1]])
    // It can be added again.
    try b.set(Scenario.stickerFolder, .reference(folder), of: theirs, Scenario.sticker)
    try synchronize(scenario)
    XCTAssertEqual(stickers(of: folder, on: a), [mine[1], theirs])
  }

  func testASaveWithinTheMaximumLosesNothing() throws {
    let (scenario, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let first = try (0..<2).map { _ in try insertSticker(folder, on: a) }
    try synchronize(scenario)
    // One goes, another one comes.
    let new = b.newID()
    try b.save(
      PendingChange(first[0], entity: Scenario.sticker, nil),
      PendingChange(new, entity: Scenario.sticker, [Scenario.stickerFolder: .reference(folder)]))
    try review(b)
    XCTAssertEqual(stickers(of: folder, on: b), [first[1], new])
    try synchronize(scenario)
    XCTAssertEqual(stickers(of: folder, on: a), [first[1], new])
    XCTAssertEqual(scenario.devices.flatMap(\.journal), [])
  }

  func testASaveThatExceedsTheMaximumIsReducedOnItsOwnDevice() throws {
    let (scenario, folder) = try scenario()
    let a = scenario.devices[0]
    let all = try (0..<4).map { _ in try insertSticker(folder, on: a) }
    try review(a)
    XCTAssertEqual(stickers(of: folder, on: a), Set(all.prefix(2)))
    try synchronize(scenario)
    XCTAssertEqual(stickers(of: folder, on: scenario.devices[1]), Set(all.prefix(2)))
  }

  func testAnObjectThatRequiresTheRelationshipAppearsWhenAMemberGoes() throws {
    let (scenario, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    (a.wall, b.wall) = (10_000, 20_000)
    func insertSeal(on device: Scenario.Device) throws -> RecordID {
      try insert(Scenario.seal, Scenario.sealFolder, folder, on: device)
    }
    let mine = try (0..<2).map { _ in try insertSeal(on: a) }
    let theirs = try insertSeal(on: b)
    try synchronize(scenario)
    XCTAssertEqual(Set(b.objects.filter { $0.value.entity == Scenario.seal }.keys), Set(mine))
    XCTAssertEqual(scenario.record(theirs)?.isDeleted, false, "nothing is lost")
    try a.delete(mine[0], Scenario.seal)
    try review(a)
    XCTAssertEqual(a.objects[theirs]?.values[Scenario.sealFolder], .reference(folder), "at once, on the device")
    try synchronize(scenario)
    XCTAssertNotNil(b.objects[theirs])
  }

  func testLinks() throws {
    let (scenario, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let notes = try a.insertNotes(4, in: folder)
    try synchronize(scenario)
    (a.wall, b.wall) = (10_000, 20_000)
    for note in notes.prefix(2) { try a.link(note, folder, by: Scenario.pins) }
    for note in notes.suffix(2) { try b.link(note, folder, by: Scenario.pins) }
    try synchronize(scenario)
    XCTAssertEqual(b.links, [[notes[0], folder], [notes[1], folder]])
    // The first one of the others appears, and not the second one.
    try b.unlink(notes[0], folder, by: Scenario.pins)
    try synchronize(scenario)
    XCTAssertEqual(a.links, [[notes[1], folder], [notes[2], folder]])
    // The links of a deleted object do not count.
    try a.delete(notes[1])
    try review(a)
    XCTAssertEqual(a.links, [[notes[2], folder], [notes[3], folder]])
    try synchronize(scenario)
    XCTAssertEqual(b.links, [[notes[2], folder], [notes[3], folder]])
  }

  func testLinksWithoutADirection() throws {
    let (scenario, _) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let people = try (0..<5).map { try a.insertPerson("\($0)") }
    try synchronize(scenario)
    (a.wall, b.wall) = (10_000, 20_000)
    for other in [0, 1] { try a.link(people[other], people[2], by: Scenario.friends) }
    for other in [3, 4] { try b.link(people[2], people[other], by: Scenario.friends) }
    try synchronize(scenario)
    XCTAssertEqual(b.links, [[people[0], people[2]], [people[1], people[2]]], "whichever end it is")
  }

  func testALaterVersionOfTheModelLimitsWhatWasSaved() throws {
    let (scenario, folder) = try scenario()
    var earlier = Scenario.model
    earlier.entities[Scenario.sticker]?.capacities = [:]
    for device in scenario.devices { try device.adoptModel(earlier) }
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let all = try (0..<5).map { _ in try insertSticker(folder, on: a) }
    try synchronize(scenario)
    XCTAssertEqual(stickers(of: folder, on: b), Set(all))
    // Meanwhile one device shows more than the other one.
    try b.adoptModel(Scenario.model)
    XCTAssertEqual(stickers(of: folder, on: b), Set(all.prefix(2)))
    try b.synchronize()
    try a.synchronize()
    try a.adoptModel(Scenario.model)
    try synchronize(scenario)
    XCTAssertEqual(stickers(of: folder, on: a), Set(all.prefix(2)))
  }

  func testManyMembersOfOneObjectAreReadOncePerBatch() throws {
    var model = Scenario.model
    model.entities[Scenario.sticker]?.capacities = [Scenario.stickerFolder: 1_000]
    let (scenario, folder) = try scenario()
    for device in scenario.devices { try device.adoptModel(model) }
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let ids = (0..<1_100).map { _ in a.newID() }
    try a.save(ids.map { PendingChange($0, entity: Scenario.sticker, [Scenario.stickerFolder: .reference(folder)]) })
    try synchronize(scenario)
    XCTAssertEqual(stickers(of: folder, on: b), Set(ids.prefix(1_000)))
    XCTAssertLessThan(b.objectReadCount, 20_000)
  }

  func testWhatWaitsDoesNotReplaceWhatAnApplicationAdds() throws {
    let (scenario, folder) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    (a.wall, b.wall) = (10_000, 20_000)
    let mine = try (0..<2).map { _ in try insert(Scenario.seal, Scenario.sealFolder, folder, on: a) }
    let waiting = try insert(Scenario.seal, Scenario.sealFolder, folder, on: b)
    let notes = try a.insertNotes(4, in: folder)
    try synchronize(scenario)
    (a.wall, b.wall) = (30_000, 40_000)
    for note in notes.prefix(2) { try a.link(note, folder, by: Scenario.pins) }
    try b.link(notes[2], folder, by: Scenario.pins)
    try synchronize(scenario)
    // The application replaces a member by another one.
    let new = a.newID()
    func change(_ note: RecordID, isAdded: Bool) -> PendingChange {
      let link = Scenario.model.link(Scenario.pins, from: note, to: folder)
      let id = Scenario.linkID(note, folder, by: Scenario.pins)
      return isAdded ? .addition(of: link, id, Stamp(.zero, a.zone.device)) : .removal(of: link, id, from: nil)
    }
    try a.save(
      PendingChange(mine[0], entity: Scenario.seal, nil),
      PendingChange(new, entity: Scenario.seal, [Scenario.sealFolder: .reference(folder)]), change(notes[0], isAdded: false),
      change(notes[3], isAdded: true))
    try review(a)
    try synchronize(scenario)
    for device in [a, b] {
      XCTAssertEqual(Set(device.objects.filter { $0.value.entity == Scenario.seal }.keys), [mine[1], new])
      XCTAssertEqual(device.links, [[notes[1], folder], [notes[3], folder]])
    }
    // They still appear when there is nothing else.
    try b.delete(new, Scenario.seal)
    try b.unlink(notes[1], folder, by: Scenario.pins)
    try synchronize(scenario)
    XCTAssertNotNil(a.objects[waiting])
    XCTAssertEqual(a.links, [[notes[2], folder], [notes[3], folder]])
  }

  func testAChangeThatLosesToAReplacedReferenceIsInTheJournal() throws {
    let (scenario, folder) = try scenario(3)
    let (a, b, c) = (scenario.devices[0], scenario.devices[1], scenario.devices[2])
    let (other, sticker) = (try a.insertFolder("Other"), a.newID())
    try a.save(PendingChange(sticker, entity: Scenario.sticker, [Scenario.stickerFolder: .null]))
    for _ in 0..<2 { for device in scenario.devices { try device.synchronize() } }
    (a.wall, c.wall, b.wall) = (10_000, 15_000, 20_000)
    _ = try (0..<2).map { _ in try insertSticker(folder, on: a) }
    try c.set(Scenario.stickerFolder, .reference(other), of: sticker, Scenario.sticker)
    try b.set(Scenario.stickerFolder, .reference(folder), of: sticker, Scenario.sticker)
    for _ in 0..<3 { for device in [a, b] { try device.synchronize() } }
    XCTAssertEqual(scenario.record(sticker)?[Scenario.stickerFolder]?.value, .superseded)
    try synchronize(scenario)
    XCTAssertEqual(a.objects[sticker]?.values[Scenario.stickerFolder], .null)
    XCTAssertEqual(c.journal.map(\.reason), [.laterChange])
    XCTAssertEqual(c.journal.first?.losing[Scenario.stickerFolder]?.value, .reference(other))
  }
}
