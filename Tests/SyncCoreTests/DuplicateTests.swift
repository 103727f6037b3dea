import SyncCore
import XCTest
import _SyncSimulation

/// Objects that devices give the same unique values.
final class DuplicateTests: XCTestCase {
  private static let model: SyncModel = {
    var model = Scenario.model
    model.entities[Scenario.folder]?.unique = [UniqueConstraint(7, [Scenario.title])]
    return model
  }()

  private func devices(_ count: Int = 2) throws -> [Scenario.Device] {
    let scenario = Scenario(deviceCount: count)
    for device in scenario.devices { try device.adoptModel(Self.model) }
    return scenario.devices
  }

  private func synchronize(_ devices: [Scenario.Device], line: UInt = #line) throws {
    for _ in 0..<4 { for device in devices { try device.synchronize() } }
    for device in devices {
      XCTAssertEqual(device.objects, devices[0].objects, line: line)
      XCTAssertTrue(try device.isIdle(), line: line)
      XCTAssertTrue(try device.verify().isEqual, line: line)
    }
  }

  private func folders(of device: Scenario.Device) -> [RecordID] {
    device.objects.filter { $0.value.entity == Scenario.folder }.map(\.key).sorted()
  }

  func testCase10TwoObjectsWithOneValueBecomeOneWithTheMembersOfBoth() throws {
    let devices = try devices()
    let folders = try devices.map { try $0.insertFolder("Home") }
    let notes = try zip(devices, folders).map { device, folder in try device.insertNote("Note", in: folder) }
    try synchronize(devices)
    let remaining = self.folders(of: devices[0])
    XCTAssertEqual(remaining.count, 1)
    for note in notes { XCTAssertEqual(devices[0].objects[note]?.values[Scenario.owner], .reference(remaining[0])) }
  }

  func testCase10TwoUniqueValuesSwappedInOneSave() throws {
    let devices = try devices()
    let (home, work) = (try devices[0].insertFolder("Home"), try devices[0].insertFolder("Work"))
    try synchronize(devices)
    try devices[0].save([
      PendingChange(home, entity: Scenario.folder, [Scenario.title: .text("Work")]),
      PendingChange(work, entity: Scenario.folder, [Scenario.title: .text("Home")]),
    ])
    try synchronize(devices)
    for device in devices {
      XCTAssertEqual(device.objects[home]?.values[Scenario.title], .text("Work"))
      XCTAssertEqual(device.objects[work]?.values[Scenario.title], .text("Home"))
    }
  }

  func testAMergeRemainsWhenTheValuesDifferLater() throws {
    let devices = try devices()
    for device in devices { _ = try device.insertFolder("Home") }
    try synchronize(devices)
    let folder = folders(of: devices[0])[0]
    try devices[1].set(Scenario.title, .text("House"), of: folder, Scenario.folder)
    try synchronize(devices)
    XCTAssertEqual(folders(of: devices[0]), [folder])
  }

  func testAnObjectThatIsNamedLikeAnotherOneIsMergedWithIt() throws {
    let devices = try devices(3)
    let (home, work) = (try devices[0].insertFolder("Home"), try devices[0].insertFolder("Work"))
    try synchronize(devices)
    try devices[0].set(Scenario.title, .text("Base"), of: home, Scenario.folder)
    try devices[1].set(Scenario.title, .text("Base"), of: work, Scenario.folder)
    // The third device adds a note to each meanwhile.
    let notes = [try devices[2].insertNote("one", in: home), try devices[2].insertNote("two", in: work)]
    try synchronize(devices)
    let remaining = folders(of: devices[0])
    XCTAssertEqual(remaining.count, 1)
    for note in notes { XCTAssertEqual(devices[0].objects[note]?.values[Scenario.owner], .reference(remaining[0])) }
  }

  func testADeviceWithoutARelationshipLeavesItsLinksAlone() throws {
    let devices = try devices(3)
    var earlier = Self.model
    earlier.entities[Scenario.mentions] = nil
    let folders = [try devices[0].insertFolder("Home"), try devices[0].insertFolder("Work")]
    for folder in folders { try devices[0].link(folder, folder) }
    for device in devices { try device.synchronize() }
    try devices[2].adoptModel(earlier)
    // The device without the relationship is the first one to merge them.
    try devices[0].set(Scenario.title, .text("Base"), of: folders[0], Scenario.folder)
    try devices[0].synchronize()
    try devices[2].set(Scenario.title, .text("Base"), of: folders[1], Scenario.folder)
    for _ in 0..<3 { for device in devices.reversed() { try device.synchronize() } }
    let remaining = self.folders(of: devices[0])
    XCTAssertEqual(remaining.count, 1)
    for device in devices.prefix(2) {
      XCTAssertEqual(device.objects.filter { $0.value.isLink }.map(\.key), [Scenario.linkID(remaining[0], remaining[0])])
    }
    try devices[2].adoptModel(Self.model)
    try synchronize(devices)
  }

  func testValuesThatAreNilAreNotCompared() throws {
    let devices = try devices()
    for device in devices { try device.set(Scenario.title, .null, of: device.insertFolder("Home"), Scenario.folder) }
    try synchronize(devices)
    XCTAssertEqual(folders(of: devices[0]).count, 2)
  }

  func testDevicesThatChooseDifferentSuccessorsKeepOneObject() throws {
    let (one, other) = (RecordID(high: 0, low: 1), RecordID(high: 0, low: 2))
    let stamp = Stamp(HybridTime(milliseconds: 5), DeviceID(1))
    let devices = try devices()
    try devices[0].hold(Record(entity: Scenario.folder, [Scenario.title: .text("Home"), .successor: .reference(other)], stamp), of: one)
    try devices[0].hold(Record(entity: Scenario.folder, [Scenario.title: .text("Home"), .successor: .reference(one)], stamp), of: other)
    try synchronize(devices)
    XCTAssertEqual(folders(of: devices[1]), [one])
  }

  func testADeletionInACycleOfSuccessorsDeletesTheObject() throws {
    let ids = (1...3).map { RecordID(high: 0, low: $0) }
    let stamp = Stamp(HybridTime(milliseconds: 5), DeviceID(1))
    let devices = try devices()
    for (id, successor) in zip(ids, ids[1...] + ids[..<1]) {
      let values: [PropertyID: FieldValue] = [Scenario.title: .text("Home"), .successor: .reference(successor)]
      try devices[0].hold(Record(entity: Scenario.folder, values, stamp), of: id)
    }
    try synchronize(devices)
    XCTAssertEqual(folders(of: devices[1]), [ids[0]])
    // The device that deletes it does not know of the merges.
    try devices[0].hold(Record(entity: Scenario.folder, .deleted(Stamp(HybridTime(milliseconds: 6), DeviceID(2)))), of: ids[2])
    try synchronize(devices)
    XCTAssertEqual(folders(of: devices[1]), [])
  }

  func testASaveInPartsIsSentWholeAlthoughTwoOfItsLinksBecomeOne() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    b.limits.changesInCommit = 1
    for device in scenario.devices { try device.adoptModel(Self.model) }
    let folders = try ["one", "other", "target"].map { try a.insertFolder($0) }
    let note = try a.insertNote("before", in: folders[2])
    try synchronize([a, b])
    let links = folders.prefix(2).map { Link(Scenario.mentions, from: $0, to: folders[2], isSymmetric: false) }
    let additions = zip(links, folders).map {
      PendingChange.addition(of: $0, Scenario.linkID($1, folders[2]), Stamp(.zero, b.zone.device))
    }
    try b.save(additions + [PendingChange(note, entity: Scenario.note, [Scenario.text: .text("after")])])
    // The folders become one when the hub has a part of the save.
    try a.set(Scenario.title, .text("one"), of: folders[1], Scenario.folder)
    try a.synchronize(.save)
    let first = try XCTUnwrap(b.handle(.save).first)
    let second = try XCTUnwrap(b.handle(scenario.answer(first)).first)
    guard case .push(let commit) = second, commit.part.number == 1 else { return XCTFail("\(second)") }
    b.restart()
    try synchronize([a, b])
    XCTAssertEqual(self.folders(of: a).count, 2)
    XCTAssertEqual(a.links.count, 1)
    XCTAssertEqual(a.objects[note]?.values[Scenario.text], .text("after"))
  }

  func testAnObjectThatAppearsWhenItsRivalIsMergedIsCompared() throws {
    let scenario = Scenario(deviceCount: 4)
    let devices = scenario.devices
    var model = Self.model
    model.entities[Scenario.lock]?.unique = [UniqueConstraint(8, [Scenario.title])]
    for device in devices { try device.adoptModel(model) }
    func insertLock(of folder: RecordID, _ title: String, on device: Scenario.Device) throws -> RecordID {
      let id = device.newID()
      try device.save(PendingChange(id, entity: Scenario.lock, [Scenario.lockFolder: .reference(folder), Scenario.title: .text(title)]))
      return id
    }
    let folders = try ["one", "two", "three"].map { try devices[0].insertFolder($0) }
    try synchronize(devices)
    // The last device does not send its lock yet.
    devices[3].wall += 10
    let rival = try insertLock(of: folders[0], "y", on: devices[3])
    func pull() throws {
      for action in try devices[3].handle(.remoteChange) {
        if case .pull = action { _ = try devices[3].handle(scenario.answer(action)) }
      }
    }
    let hidden = try insertLock(of: folders[0], "x", on: devices[1])
    try devices[1].synchronize()
    try pull()
    XCTAssertNil(devices[3].objects[hidden])
    // It is merged into another object. At the same time, one arrives with the title of the hidden one.
    _ = try insertLock(of: folders[1], "y", on: devices[0])
    _ = try insertLock(of: folders[2], "x", on: devices[0])
    try devices[0].synchronize(.save)
    try pull()
    XCTAssertNil(devices[3].objects[rival])
    let titles = devices[3].objects.values.filter { $0.entity == Scenario.lock }.compactMap { $0.values[Scenario.title] }
    XCTAssertEqual(titles.sorted(), [.text("x"), .text("y")])
    // The requests that were left out are forgotten.
    devices[3].restart()
    try synchronize(devices)
  }

  /// It appears together with an object that it requires, which becomes the successor of the one that had its destination.
  func testAnObjectThatAppearsWithASuccessorIsCompared() throws {
    let scenario = Scenario(deviceCount: 3)
    let (a, b, c) = (scenario.devices[0], scenario.devices[1], scenario.devices[2])
    var model = Self.model
    model.entities[Scenario.lock]?.unique = [UniqueConstraint(8, [Scenario.title])]
    model.entities[Scenario.note]?.unique = [UniqueConstraint(9, [Scenario.text])]
    for device in scenario.devices { try device.adoptModel(model) }
    let folder = try a.insertFolder("Home")
    try synchronize(scenario.devices)
    func insertLock(_ title: String, on device: Scenario.Device) throws -> RecordID {
      let id = device.newID()
      try device.save(PendingChange(id, entity: Scenario.lock, [Scenario.lockFolder: .reference(folder), Scenario.title: .text(title)]))
      return id
    }
    b.wall += 10_000
    let (hidden, lock) = (try insertLock("old", on: a), try insertLock("new", on: b))
    let note = try a.insertNote("note", in: hidden)
    try synchronize(scenario.devices)
    XCTAssertEqual([hidden, note].map { c.objects[$0] }, [nil, nil])
    // The text is free on the third device.
    try c.insertNote("note", in: folder)
    try b.set(Scenario.title, .text("old"), of: lock, Scenario.lock)
    try b.synchronize(.save)
    for action in try c.handle(.remoteChange) { if case .pull = action { _ = try c.handle(scenario.answer(action)) } }
    XCTAssertNotNil(c.objects[hidden])
    XCTAssertEqual(c.objects.values.count { $0.values[Scenario.text] == .text("note") }, 1)
    c.restart()
    try synchronize(scenario.devices)
  }
}
