import SyncCore
import XCTest
import _SyncSimulation

/// Parents that two devices have moved into each other.
final class TreeTests: XCTestCase {
  private static let model: SyncModel = {
    var model = Scenario.model
    model.entities[Scenario.folder]?.trees = [Scenario.parent]
    return model
  }()

  /// Returns two devices that have folders.
  private func scenario(_ titles: String...) throws -> (Scenario, folders: [RecordID]) {
    let scenario = Scenario()
    for device in scenario.devices { try device.adoptModel(Self.model) }
    let folders = try titles.map { try scenario.devices[0].insertFolder($0) }
    try scenario.synchronizeAll()
    return (scenario, folders)
  }

  private func move(_ folder: RecordID, into parent: RecordID, on device: Scenario.Device) throws {
    try device.set(Scenario.parent, .reference(parent), of: folder, Scenario.folder)
  }

  private func parent(of folder: RecordID, on device: Scenario.Device) -> RecordID? {
    device.objects[folder]?.values[Scenario.parent]?.reference
  }

  func testTheLaterOfTwoMovesIntoEachOtherDoesNotCount() throws {
    for isFirstSentFirst in [true, false] {
      let (scenario, folders) = try scenario("one", "other")
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      (a.wall, b.wall) = (10_000, 20_000)
      try move(folders[0], into: folders[1], on: a)
      try move(folders[1], into: folders[0], on: b)
      for device in isFirstSentFirst ? [a, b] : [b, a] { try device.synchronize(.save) }
      try scenario.synchronizeAll()
      XCTAssertEqual(parent(of: folders[0], on: b), folders[1])
      XCTAssertNil(parent(of: folders[1], on: b))
      XCTAssertEqual(scenario.record(folders[1])?[Scenario.parent]?.value, .superseded)
      let entries = scenario.devices.flatMap(\.journal)
      XCTAssertEqual(entries.map(\.reason), [.cycle])
      XCTAssertEqual(entries.first?.losing[Scenario.parent]?.value, .reference(folders[0]))
      // It does not come back when the other folder is moved elsewhere, and it can be moved again.
      try a.set(Scenario.parent, .null, of: folders[0], Scenario.folder)
      try scenario.synchronizeAll()
      XCTAssertNil(parent(of: folders[1], on: a))
      try move(folders[1], into: folders[0], on: a)
      try scenario.synchronizeAll()
      XCTAssertEqual(parent(of: folders[1], on: b), folders[0])
    }
  }

  func testALongCycleIsOpenedAtOnePlace() throws {
    let (scenario, folders) = try scenario("1", "2", "3", "4")
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try move(folders[0], into: folders[1], on: a)
    try move(folders[2], into: folders[3], on: a)
    b.wall += 10_000
    try move(folders[1], into: folders[2], on: b)
    try move(folders[3], into: folders[0], on: b)
    try scenario.synchronizeAll()
    XCTAssertEqual(folders.map { parent(of: $0, on: a) }, [folders[1], folders[2], folders[3], nil])
  }

  func testAMoveThatIsTakenBackBeforeItIsSentChangesNothing() throws {
    let (scenario, folders) = try scenario("one", "other")
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    b.wall += 10_000
    try move(folders[1], into: folders[0], on: b)
    try move(folders[0], into: folders[1], on: a)
    try a.synchronize(.save)
    // The other device has pulled the move, and takes its own one back.
    for action in try b.handle(.remoteChange) { if case .pull = action { _ = try b.handle(scenario.answer(action)) } }
    XCTAssertNil(parent(of: folders[1], on: b))
    try b.set(Scenario.parent, .null, of: folders[1], Scenario.folder)
    b.restart()
    try scenario.synchronizeAll()
    XCTAssertEqual(parent(of: folders[0], on: b), folders[1])
    XCTAssertNil(parent(of: folders[1], on: a))
  }

  func testAMoveThatLosesAgainstOneThatDoesNotCountIsInTheJournal() throws {
    let (scenario, folders) = try scenario("one", "other")
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    b.wall += 10_000
    try move(folders[0], into: folders[0], on: b)
    try b.synchronize(.save)
    XCTAssertEqual(scenario.record(folders[0])?[Scenario.parent]?.value, .superseded)
    try move(folders[0], into: folders[1], on: a)
    try scenario.synchronizeAll()
    XCTAssertNil(parent(of: folders[0], on: a))
    XCTAssertEqual(a.journal.map { $0.losing[Scenario.parent]?.value }, [.reference(folders[1])])
  }

  func testAnObjectIsNotItsOwnParent() throws {
    let (scenario, folders) = try scenario("one")
    try move(folders[0], into: folders[0], on: scenario.devices[0])
    try scenario.synchronizeAll()
    XCTAssertNil(parent(of: folders[0], on: scenario.devices[1]))
  }

  func testAParentWithoutRoomIsNoCycle() throws {
    let (scenario, folders) = try scenario("parent", "one", "other")
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    var model = Self.model
    model.entities[Scenario.folder]?.capacities = [Scenario.parent: 1]
    for device in [a, b] { try device.adoptModel(model) }
    (a.wall, b.wall) = (10_000, 20_000)
    try move(folders[1], into: folders[0], on: a)
    try move(folders[2], into: folders[0], on: b)
    try scenario.synchronizeAll()
    XCTAssertNil(parent(of: folders[2], on: a))
    XCTAssertEqual(scenario.devices.flatMap(\.journal).map(\.reason), [.destinationTaken])
    // Both parents have room for two moves into each other.
    try move(folders[0], into: folders[2], on: a)
    try move(folders[2], into: folders[0], on: b)
    try scenario.synchronizeAll()
    XCTAssertEqual(scenario.devices.flatMap(\.journal).map(\.reason).filter { $0 == .cycle }.count, 1)
  }

  /// A model can allow cycles: people whose idols admire each other.
  func testACycleOfAnotherRelationshipRemains() throws {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let folders = [try a.insertFolder("one"), try a.insertFolder("other")]
    try scenario.synchronizeAll()
    try move(folders[0], into: folders[1], on: a)
    try move(folders[1], into: folders[0], on: b)
    try scenario.synchronizeAll()
    XCTAssertEqual(folders.map { parent(of: $0, on: a) }, [folders[1], folders[0]])
  }
}
