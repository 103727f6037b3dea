import SyncCore
import XCTest
import _SyncSimulation

/// Attributes that a function of the application merges.
final class CustomMergeTests: XCTestCase {
  private static let attribute = PropertyID(7)

  private struct Unmergeable: Error {}

  /// Sets of bits: what one side has added or removed is added or removed.
  private static let bits = MergeFunction("bits") { base, one, other in
    func bits(_ value: FieldValue) -> Int64 { if case .integer(let bits) = value { bits } else { 0 } }
    return .integer(bits(one) & bits(other) | (bits(one) | bits(other)) & ~bits(base))
  }

  /// Returns the scenario's model with a rule for an attribute of notes.
  private static func model(_ function: MergeFunction?, declaresRule: Bool = true) -> SyncModel {
    var model = Scenario.model
    model.entities[Scenario.note]?.merging[attribute] = declaresRule ? .custom : nil
    model.entities[Scenario.note]?.functions[attribute] = function
    return model
  }

  /// Returns a scenario with a note on all devices.
  ///
  /// - Parameter missing: The devices that lack the function.
  private func scenario(
    _ value: Int64, deviceCount: Int = 2, _ function: MergeFunction = bits, missing: Set<Int> = []
  ) throws -> (Scenario, note: RecordID) {
    let scenario = Scenario(deviceCount: deviceCount)
    for (number, device) in scenario.devices.enumerated() {
      try device.adoptModel(Self.model(missing.contains(number) ? nil : function))
    }
    let a = scenario.devices[0]
    let (folder, note) = (try a.insertFolder("Home"), a.newID())
    try a.save(PendingChange(note, entity: Scenario.note, [Scenario.owner: .reference(folder), Self.attribute: .integer(value)]))
    for device in scenario.devices { try device.synchronize() }
    return (scenario, note)
  }

  private func synchronize(_ devices: [Scenario.Device], line: UInt = #line) throws {
    for _ in 0..<3 { for device in devices { try device.synchronize() } }
    for device in devices {
      XCTAssertTrue(try device.isIdle(), line: line)
      XCTAssertTrue(try device.verify().isEqual, line: line)
    }
  }

  private func set(_ value: Int64, of note: RecordID, _ device: Scenario.Device) throws {
    try device.set(Self.attribute, .integer(value), of: note)
  }

  private func value(_ note: RecordID, _ device: Scenario.Device) -> Int64? {
    if case .integer(let value)? = device.objects[note]?.values[Self.attribute] { value } else { nil }
  }

  private func versions(_ note: RecordID, _ scenario: Scenario) -> [ValueVersions.Version] {
    ValueVersions(scenario.record(note)?[Self.attribute]?.value ?? .null).versions
  }

  // MARK: Merging

  func testWhatBothSidesChangeIsMergedInEveryOrder() throws {
    for isFirstSentFirst in [true, false] {
      for (first, second): (Int64, Int64) in [(10_000, 20_000), (20_000, 10_000)] {
        let (scenario, note) = try scenario(0b0011)
        let (a, b) = (scenario.devices[0], scenario.devices[1])
        (a.wall, b.wall) = (first, second)
        try set(0b0101, of: note, a)
        try set(0b1011, of: note, b)
        for device in isFirstSentFirst ? [a, b] : [b, a] { try device.synchronize() }
        try synchronize(scenario.devices)
        XCTAssertEqual(value(note, a), 0b1101)
        XCTAssertEqual(value(note, b), 0b1101)
        // The next save is based on the merged value.
        try set(0b1100, of: note, b)
        try synchronize(scenario.devices)
        XCTAssertEqual(value(note, a), 0b1100)
        XCTAssertEqual(versions(note, scenario).count, 1)
      }
    }
  }

  func testTheBaseIsTheLastValueThatBothSidesKnow() throws {
    let (scenario, note) = try scenario(0b0001)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try set(0b0111, of: note, b)
    // The other device is offline meanwhile.
    for bits: Int64 in [0b01_0001, 0b11_0001, 0b11_0000] {
      try set(bits, of: note, a)
      try a.synchronize()
    }
    try set(0b0011, of: note, b)
    try synchronize(scenario.devices)
    XCTAssertEqual(value(note, a), 0b11_0010)
    XCTAssertEqual(value(note, b), 0b11_0010)
  }

  func testThreeDevicesMergeInEveryOrder() throws {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      let (scenario, note) = try scenario(0b0001, deviceCount: 3)
      for (number, device) in scenario.devices.enumerated() { try set(0b0001 | 2 << Int64(number), of: note, device) }
      try set(0b1000, of: note, scenario.devices[2])
      for number in order { try scenario.devices[number].synchronize() }
      try synchronize(scenario.devices)
      for device in scenario.devices { XCTAssertEqual(value(note, device), 0b1110) }
    }
  }

  func testACorrectedClockKeepsWhatWasSavedBefore() throws {
    let (scenario, note) = try scenario(0b0001)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    a.wall = 10_000_000
    try set(0b0011, of: note, a)
    try set(0b0101, of: note, b)
    try synchronize(scenario.devices)
    a.wall = 2_000
    for expected: Int64 in [0b1111, 0b1110, 0b0110] {
      try set(expected, of: note, a)
      try synchronize(scenario.devices)
      XCTAssertEqual(value(note, b), expected)
    }
  }

  func testASaveThatIsSentAgainUnderAnotherIdentityIsOneVersion() throws {
    let (scenario, note) = try scenario(0b0001)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try set(0b0011, of: note, a)
    let pending = a.backUp()
    try synchronize(scenario.devices)
    try set(0b0010, of: note, b)
    try synchronize(scenario.devices)
    a.restore(pending)
    try a.synchronize(.copied)
    try synchronize(scenario.devices)
    XCTAssertEqual(value(note, a), 0b0010)
    XCTAssertEqual(value(note, b), 0b0010)
  }

  func testAValueFromBeforeTheRuleIsTheBase() throws {
    let (scenario, note) = try scenario(0)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    for device in scenario.devices { try device.adoptModel(Self.model(nil, declaresRule: false)) }
    let other = a.newID()
    let folder = a.objects[note]?.values[Scenario.owner] ?? .null
    try a.save(PendingChange(other, entity: Scenario.note, [Scenario.owner: folder, Self.attribute: .integer(0b0011)]))
    try synchronize(scenario.devices)
    for device in scenario.devices { try device.adoptModel(Self.model(Self.bits)) }
    try set(0b0110, of: other, a)
    try set(0b1011, of: other, b)
    try synchronize(scenario.devices)
    XCTAssertEqual(value(other, a), 0b1110)
    XCTAssertEqual(value(other, b), 0b1110)
  }

  func testAnObjectFromBeforeSynchronizationIsTheBase() throws {
    let (scenario, note) = try scenario(0)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    let (old, folder) = (a.newID(), a.objects[note]?.values[Scenario.owner] ?? .null)
    // Copies of one store.
    for device in [a, b] {
      device.addExisting(old, SyncedObject(entity: Scenario.note, [Scenario.owner: folder, Self.attribute: .integer(0b0011)]))
      try device.takeInExisting()
    }
    try set(0b0110, of: old, a)
    try set(0b1011, of: old, b)
    try synchronize(scenario.devices)
    XCTAssertEqual(value(old, a), 0b1110)
    XCTAssertEqual(value(old, b), 0b1110)
  }

  // MARK: Without the function

  func testADeviceWithoutTheFunctionKeepsAllValues() throws {
    let (scenario, note) = try scenario(0b0001, deviceCount: 3, missing: [2])
    let (a, b, c) = (scenario.devices[0], scenario.devices[1], scenario.devices[2])
    (a.wall, b.wall, c.wall) = (10_000, 20_000, 30_000)
    try set(0b0011, of: note, a)
    try set(0b0101, of: note, b)
    try synchronize(scenario.devices)
    XCTAssertEqual([a, b].map { value(note, $0) }, [0b0111, 0b0111])
    XCTAssertEqual(value(note, c), 0b0101, "the last one")
    try c.set(Scenario.text, .text("other"), of: note)
    try synchronize(scenario.devices)
    XCTAssertEqual(value(note, a), 0b0111)
    // It replaces what it shows, and nothing else.
    try set(0b1001, of: note, c)
    try synchronize(scenario.devices)
    XCTAssertEqual([a, b, c].map { value(note, $0) }, [0b1011, 0b1011, 0b1001])
    // With the function, it shows what the others do.
    try c.adoptModel(Self.model(Self.bits))
    XCTAssertEqual(value(note, c), 0b1011)
    try set(0b1000, of: note, c)
    try synchronize(scenario.devices)
    XCTAssertEqual([a, b, c].map { value(note, $0) }, [0b1000, 0b1000, 0b1000])
  }

  func testADeviceWhoseModelDoesNotDeclareTheRuleKeepsAllValues() throws {
    let (scenario, note) = try scenario(0b0001, deviceCount: 3)
    let (a, b, c) = (scenario.devices[0], scenario.devices[1], scenario.devices[2])
    try c.adoptModel(Self.model(nil, declaresRule: false))
    (a.wall, b.wall, c.wall) = (10_000, 20_000, 30_000)
    try set(0b0011, of: note, a)
    try set(0b0101, of: note, b)
    try synchronize(scenario.devices)
    try set(0b1101, of: note, c)
    try synchronize(scenario.devices)
    XCTAssertEqual([a, b, c].map { value(note, $0) }, [0b1111, 0b1111, 0b1101])
  }

  // MARK: Failures

  func testAValueFromBeforeTheRuleThatArrivesAgainCountsOnce() {
    let (one, other) = (DeviceID(1), DeviceID(2))
    func record(_ field: Field) -> Record { Record(entity: Scenario.note, .live([field])) }
    let former = record(Field(Self.attribute, .integer(1), Stamp(HybridTime(value: 5), one), .min))
    let known = ValueVersions(of: former[Self.attribute])
    let edit = known.setting(.integer(3), Stamp(HybridTime(value: 7), other), replacing: .integer(1), settled: known, Self.bits)
    let change = record(Field(Self.attribute, edit.fieldValue, Stamp(HybridTime(value: 7), other), .custom))
    XCTAssertEqual(ValueVersions((former as Record?).applying(change)?[Self.attribute]?.value ?? .null), edit)
    XCTAssertEqual(ValueVersions((change as Record?).applying(former)?[Self.attribute]?.value ?? .null), edit)
  }

  func testTheLastValueRemainsIfTheFunctionFailsAndTheOtherIsInAJournal() throws {
    let function = MergeFunction("failing") { _, _, _ in throw Unmergeable() }
    let (scenario, note) = try scenario(1, function)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    (a.wall, b.wall) = (10_000, 20_000)
    try set(9, of: note, a)
    try set(5, of: note, b)
    try a.set(Scenario.text, .text("imported nevertheless"), of: note)
    try synchronize(scenario.devices)
    XCTAssertEqual([a, b].map { value(note, $0) }, [5, 5])
    XCTAssertEqual(b.objects[note]?.values[Scenario.text], .text("imported nevertheless"))
    XCTAssertEqual(a.unmerged, [UnmergedValue(note, Scenario.note, Self.attribute, .failed("Unmergeable"))])
    let entries = scenario.devices.flatMap(\.journal)
    XCTAssertEqual(entries.map(\.reason), [.failedMerge])
    XCTAssertEqual(entries.first?.losing[Self.attribute]?.value, .integer(9))
    XCTAssertEqual(entries.first?.winning?[Self.attribute]?.value, .integer(5))
    // What is saved then replaces both.
    try set(6, of: note, a)
    try synchronize(scenario.devices)
    XCTAssertEqual([a, b].map { value(note, $0) }, [6, 6])
  }

  func testAFunctionThatDependsOnTheOrderIsNotUsed() throws {
    let function = MergeFunction("ordered") { _, one, _ in one }
    let (scenario, note) = try scenario(1, function)
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    (a.wall, b.wall) = (20_000, 10_000)
    try set(9, of: note, a)
    try set(5, of: note, b)
    try synchronize(scenario.devices)
    XCTAssertEqual([a, b].map { value(note, $0) }, [9, 9])
    XCTAssertEqual(Set(scenario.devices.flatMap(\.unmerged).map(\.failure)), [.ordered])
  }

  // MARK: Encoding

  func testVersionsInVersionsAreRefused() throws {
    let seen = try XCTUnwrap(ValueVersions.Seen(validating: [.init(DeviceID(1), HybridTime(value: 1))]))
    let stamp = Stamp(HybridTime(value: 1), DeviceID(1))
    let inner = try XCTUnwrap(ValueVersions(validating: [.init(stamp, .integer(1))], seen: seen))
    XCTAssertNil(ValueVersions(validating: [.init(stamp, inner.fieldValue)], seen: seen))
    XCTAssertNil(ValueVersions(validating: [.init(Stamp(HybridTime(value: 2), DeviceID(1)), .integer(1))], seen: seen), "not seen")
    let record = Record(entity: EntityID(1), .live([Field(Self.attribute, inner.fieldValue, stamp, .custom)]))
    let bytes = RecordCoding.encode(record, of: RecordID(high: 1, low: 2))
    XCTAssertEqual(try RecordCoding.decode(bytes).record, record)
    for count in 1..<bytes.count { XCTAssertThrowsError(try RecordCoding.decode(Array(bytes.prefix(count)))) }
    let plain = Record(entity: EntityID(1), .live([Field(Self.attribute, .integer(1), stamp, .custom)]))
    XCTAssertThrowsError(try RecordCoding.decode(RecordCoding.encode(plain, of: RecordID(high: 1, low: 2))))
  }
}
