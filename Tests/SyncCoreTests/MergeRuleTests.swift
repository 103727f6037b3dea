import SyncCore
import XCTest
import _SyncSimulation

/// Attributes whose model declares how concurrent values are merged.
final class MergeRuleTests: XCTestCase {
  private static let attribute = PropertyID(7)

  /// Returns the scenario's model with a rule for an attribute of notes.
  private static func model(_ rule: MergeRule?) -> SyncModel {
    var model = Scenario.model
    model.entities[Scenario.note]?.merging[attribute] = rule
    return model
  }

  /// Returns a scenario with a note on all devices.
  ///
  /// - Parameter earlier: The devices whose model does not declare the rule.
  private func scenario(
    _ rule: MergeRule, _ value: FieldValue = .null, deviceCount: Int = 2, earlier: Set<Int> = []
  ) throws -> (Scenario, note: RecordID) {
    let scenario = Scenario(deviceCount: deviceCount)
    for (number, device) in scenario.devices.enumerated() { try device.adoptModel(Self.model(earlier.contains(number) ? nil : rule)) }
    let a = scenario.devices[0]
    let (folder, note) = (try a.insertFolder("Home"), a.newID())
    try a.save(PendingChange(note, entity: Scenario.note, [Scenario.owner: .reference(folder), Self.attribute: value]))
    for device in scenario.devices { try device.synchronize() }
    return (scenario, note)
  }

  private func value(_ note: RecordID, _ device: Scenario.Device) -> FieldValue? { device.objects[note]?.values[Self.attribute] }

  /// Lets two devices set the attribute at the same time, with both orders of sending and both orders of clocks, and checks the result.
  private func check(
    _ rule: MergeRule, from initial: FieldValue = .null, _ one: FieldValue, _ other: FieldValue, is expected: FieldValue, line: UInt = #line
  ) throws {
    for isFirstSentFirst in [true, false] {
      for (first, second): (Int64, Int64) in [(10_000, 20_000), (20_000, 10_000)] {
        let (scenario, note) = try scenario(rule, initial)
        let (a, b) = (scenario.devices[0], scenario.devices[1])
        (a.wall, b.wall) = (first, second)
        try a.set(Self.attribute, one, of: note)
        try b.set(Self.attribute, other, of: note)
        for device in isFirstSentFirst ? [a, b] : [b, a] { try device.synchronize() }
        try scenario.synchronizeAll(line: line)
        XCTAssertEqual(value(note, a), expected, line: line)
      }
    }
  }

  func testWhatWasThereBeforeACounterIsNotSetAgain() {
    for value in [FieldValue.null, .integer(5)] {
      let former = Field(Self.attribute, value, Stamp(HybridTime(value: 1), DeviceID(1)))
      let later = Stamp(HybridTime(value: 2), DeviceID(2))
      let change = Field(Self.attribute, Counter(adding: .integer(3), later).fieldValue, later, .counter)
      let state = Record(entity: Scenario.note, .live([former])).applying(Record(entity: Scenario.note, .live([change])))
      let sum = Counter(state.fields[0].value).sum
      XCTAssertEqual(sum, value == .null ? .integer(3) : .integer(8))
      // The device that has written it sends it again to a restored hub, without knowing the counter.
      XCTAssertEqual(state.applying(Record(entity: Scenario.note, .live([former]))), state)
    }
  }

  func testTheGreatestValueRemains() throws {
    try check(.max, .integer(3), .integer(5), is: .integer(5))
    try check(.max, from: .integer(9), .integer(3), .integer(5), is: .integer(9))
    try check(.max, .null, .integer(-5), is: .integer(-5))
    try check(.max, .real((-1.5).bitPattern), .real((-0.5).bitPattern), is: .real((-0.5).bitPattern))
    try check(.max, .real(Double.nan.bitPattern), .real((-Double.infinity).bitPattern), is: .real((-Double.infinity).bitPattern))
  }

  func testTheSmallestValueRemains() throws {
    try check(.min, .integer(3), .integer(5), is: .integer(3))
    try check(.min, from: .integer(1), .integer(3), .integer(5), is: .integer(1))
    try check(.min, .null, .integer(5), is: .integer(5))
    try check(.min, .real(Double.nan.bitPattern), .real(2.5.bitPattern), is: .real(2.5.bitPattern))
    try check(.min, .real((-1.5).bitPattern), .real((-0.5).bitPattern), is: .real((-1.5).bitPattern))
  }

  func testOptionsOfAllDevicesAreSet() throws {
    try check(.union, .integer(0b001), .integer(0b110), is: .integer(0b111))
    try check(.union, from: .integer(0b1000), .integer(0b001), .null, is: .integer(0b1001))
  }

  func testTheFirstValueRemains() throws {
    for (first, second): (Int64, Int64) in [(10_000, 20_000), (20_000, 10_000)] {
      let (scenario, note) = try scenario(.firstWriter)
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      (a.wall, b.wall) = (first, second)
      try a.set(Self.attribute, .text("a"), of: note)
      try b.set(Self.attribute, .text("b"), of: note)
      for device in [b, a] { try device.synchronize() }
      try scenario.synchronizeAll()
      XCTAssertEqual(value(note, a), .text(first < second ? "a" : "b"))
      try a.set(Self.attribute, .text("later"), of: note)
      try a.set(Self.attribute, .null, of: note)
      try scenario.synchronizeAll()
      XCTAssertEqual(value(note, a), .text(first < second ? "a" : "b"))
    }
  }

  func testDifferencesOfAllDevicesAreAdded() throws {
    try check(.counter, from: .integer(10), .integer(13), .integer(5), is: .integer(8))
    try check(.counter, .integer(2), .integer(3), is: .integer(5))
    try check(.counter, from: .real(0.5.bitPattern), .real(2.5.bitPattern), .real(1.0.bitPattern), is: .real(3.0.bitPattern))
  }

  func testAValueThatDoesNotWinIsReplacedInTheNextRound() throws {
    for isEarlier in [false, true] {
      let (scenario, note) = try scenario(.max, .integer(9), earlier: isEarlier ? [1] : [])
      let device = scenario.devices[1]
      try device.set(Self.attribute, .integer(3), of: note)
      XCTAssertEqual(value(note, device), .integer(3))
      _ = try device.handle(.save)
      XCTAssertEqual(value(note, device), .integer(9))
    }
  }

  func testACommitThatIsSentRepeatedlyCountsOnce() throws {
    let (scenario, note) = try scenario(.counter, .integer(10))
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let copy = a.backUp()
    try a.set(Self.attribute, .integer(11), of: note)
    let pending = a.backUp()
    try scenario.synchronizeAll()
    XCTAssertEqual(value(note, b), .integer(11))
    // An older state of the store sends the save again, under another identity.
    for event in [SyncClient.Event.copied, .remoteChange] {
      a.restore(pending)
      try a.synchronize(event)
      try scenario.synchronizeAll()
      XCTAssertEqual(value(note, a), .integer(11))
    }
    // A state without the save gets it back.
    a.restore(copy)
    try a.set(Self.attribute, .integer(15), of: note)
    try a.synchronize(.copied)
    try scenario.synchronizeAll()
    XCTAssertEqual(value(note, a), .integer(16))
  }

  func testADeviceReplacesItsDotsByATotal() throws {
    let (scenario, note) = try scenario(.counter, .integer(0))
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for number in 1...20 {
      try a.set(Self.attribute, .integer(Int64(2 * number - 1)), of: note)
      try scenario.synchronizeAll()
      try b.set(Self.attribute, .integer(Int64(2 * number)), of: note)
      try scenario.synchronizeAll()
    }
    XCTAssertEqual(value(note, a), .integer(40))
    let counter = Counter(scenario.record(note)?[Self.attribute]?.value ?? .null)
    XCTAssertLessThanOrEqual(counter.entries.count, 4)
  }

  func testACounterIsExactWhenAClockIsCorrected() throws {
    let (scenario, note) = try scenario(.counter, .integer(0))
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    a.wall = 10_000_000
    try a.set(Self.attribute, .integer(1), of: note)
    try b.set(Self.attribute, .integer(10), of: note)
    try scenario.synchronizeAll()
    a.wall = 2_000
    for expected: Int64 in 12...20 {
      try a.set(Self.attribute, .integer(expected), of: note)
      try scenario.synchronizeAll()
      XCTAssertEqual(value(note, b), .integer(expected))
    }
  }

  func testACounterIsExactAfterAHubWasRestored() throws {
    let (scenario, note) = try scenario(.counter, .integer(5))
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let copy = scenario.backUpHub()
    for expected: Int64 in 6...9 {
      try (expected % 2 == 0 ? a : b).set(Self.attribute, .integer(expected), of: note)
      try scenario.synchronizeAll()
    }
    scenario.restoreHub(copy, incarnation: 2)
    try b.set(Self.attribute, .integer(10), of: note)
    try scenario.synchronizeAll()
    XCTAssertEqual(value(note, a), .integer(10))
  }

  func testNullCountsAsZero() throws {
    let (scenario, note) = try scenario(.counter, .integer(5))
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.set(Self.attribute, .null, of: note)
    try b.set(Self.attribute, .integer(7), of: note)
    try scenario.synchronizeAll()
    XCTAssertEqual(value(note, a), .integer(2))
  }

  func testValuesFromBeforeSynchronizationAreMerged() throws {
    for (rule, expected): (MergeRule, Int64) in [(.max, 8), (.min, 3), (.counter, 11), (.union, 11), (.firstWriter, 3)] {
      let scenario = Scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      for device in [a, b] { try device.adoptModel(Self.model(rule)) }
      let folder = try a.insertFolder("Home")
      try scenario.synchronizeAll()
      let note = a.newID()
      // Copies of one store.
      for device in [a, b] {
        device.addExisting(note, SyncedObject(entity: Scenario.note, [Scenario.owner: .reference(folder), Self.attribute: .integer(3)]))
        try device.takeInExisting()
      }
      try a.set(Self.attribute, .integer(rule == .counter ? 11 : 8), of: note)
      try scenario.synchronizeAll()
      XCTAssertEqual(value(note, b), .integer(expected), "\(rule)")
    }
  }

  func testValuesFromBeforeSynchronizationAreMergedAlsoIfTheRecordArrivesFirst() throws {
    for (rule, expected): (MergeRule, Int64) in [(.max, 5), (.min, 3), (.counter, 5), (.union, 7)] {
      let scenario = Scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      for device in [a, b] { try device.adoptModel(Self.model(rule)) }
      let folder = try a.insertFolder("Home")
      try scenario.synchronizeAll()
      let note = a.newID()
      // Copies of one store, of which one was changed before it was synchronized.
      for (device, number, text) in [(a, 3, "new"), (b, 5, "old")] as [(Scenario.Device, Int64, String)] {
        let values = [Scenario.owner: .reference(folder), Scenario.text: .text(text), Self.attribute: FieldValue.integer(number)]
        device.addExisting(note, SyncedObject(entity: Scenario.note, values))
      }
      try a.takeInExisting()
      try a.synchronize()
      try b.synchronize()
      try scenario.synchronizeAll()
      XCTAssertEqual(value(note, a), .integer(expected), "\(rule)")
      XCTAssertEqual(b.objects[note]?.values[Scenario.text], .text("new"))
    }
  }

  // MARK: Versions of the model

  func testAnEditOfADeviceWithAnEarlierModelIsMergedByTheRule() throws {
    let cases: [(MergeRule, Int64)] = [(.max, 12), (.min, 10), (.union, 14), (.firstWriter, 10), (.counter, 12)]
    for (rule, expected) in cases {
      for isSentFirst in [true, false] {
        let (scenario, note) = try scenario(rule, .integer(10), earlier: [1])
        let (a, b) = (scenario.devices[0], scenario.devices[1])
        try a.set(Scenario.text, .text("other"), of: note)
        try b.set(Self.attribute, .integer(12), of: note)
        for device in isSentFirst ? [b, a] : [a, b] { try device.synchronize() }
        try scenario.synchronizeAll()
        XCTAssertEqual(value(note, a), .integer(expected), "\(rule)")
        XCTAssertEqual(scenario.record(note)?[Self.attribute]?.rule, rule)
      }
    }
  }

  func testAnEarlierDeviceDoesNotUndoWhatOthersHaveCounted() throws {
    let (scenario, note) = try scenario(.counter, .integer(10), deviceCount: 3, earlier: [2])
    let (a, b, c) = (scenario.devices[0], scenario.devices[1], scenario.devices[2])
    try a.set(Self.attribute, .integer(13), of: note)
    try scenario.synchronizeAll()
    // It sets a value, from what it has.
    try c.set(Self.attribute, .integer(20), of: note)
    try scenario.synchronizeAll()
    try b.set(Self.attribute, .integer(21), of: note)
    try scenario.synchronizeAll()
    XCTAssertEqual(value(note, c), .integer(21))
  }

  func testWhatWasThereBeforeTheModelDeclaredTheRuleIsMerged() throws {
    let cases: [(MergeRule, Int64)] = [(.max, 14), (.min, 10), (.union, 14), (.firstWriter, 10), (.counter, 15)]
    for (rule, expected) in cases {
      let (scenario, note) = try scenario(rule, .integer(10), earlier: [0, 1])
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      for device in [a, b] { try device.adoptModel(Self.model(rule)) }
      XCTAssertEqual(value(note, a), .integer(10))
      try a.set(Self.attribute, .integer(rule == .counter ? 14 : 12), of: note)
      try b.set(Self.attribute, .integer(rule == .counter ? 11 : 14), of: note)
      try scenario.synchronizeAll()
      XCTAssertEqual(value(note, b), .integer(expected), "\(rule)")
    }
  }
}
