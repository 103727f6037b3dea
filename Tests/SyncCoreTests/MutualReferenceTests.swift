import SyncCore
import XCTest
import _SyncSimulation

/// One-to-one relationships that are their own inverse: both ends agree on all devices.
final class MutualReferenceTests: XCTestCase {
  private func scenario(deviceCount: Int = 2, _ count: Int = 4) throws -> (Scenario, [RecordID]) {
    let scenario = Scenario(deviceCount: deviceCount)
    let people = try (0..<count).map { try scenario.devices[0].insertPerson("\($0)") }
    for device in scenario.devices { try device.synchronize() }
    return (scenario, people)
  }

  private func synchronize(_ scenario: Scenario, line: UInt = #line) throws {
    try scenario.synchronizeAll(line: line)
    for device in scenario.devices {
      for (id, object) in device.objects {
        guard let spouse = object.values[Scenario.spouse]?.reference else { continue }
        XCTAssertEqual(device.objects[spouse]?.values[Scenario.spouse], .reference(id), line: line)
      }
    }
  }

  private func spouse(_ id: RecordID, _ device: Scenario.Device) -> RecordID? { device.objects[id]?.values[Scenario.spouse]?.reference }

  func testTheLaterOfTwoMarriagesRemainsAtBothEnds() throws {
    for isFirstSentFirst in [true, false] {
      let (scenario, people) = try scenario()
      let (a, b) = (scenario.devices[0], scenario.devices[1])
      (a.wall, b.wall) = (10_000, 20_000)
      try a.marry(people[0], people[1])
      try b.marry(people[2], people[0])
      for device in isFirstSentFirst ? [a, b] : [b, a] { try device.synchronize() }
      try synchronize(scenario)
      XCTAssertEqual(people.map { spouse($0, a) }, [people[2], nil, people[0], nil])
      XCTAssertEqual(scenario.record(people[1])?[Scenario.spouse]?.value, .superseded)
      XCTAssertEqual(scenario.devices.flatMap(\.journal).count { $0.reason == .destinationTaken }, 1)
      // The former spouse does not return when the other one leaves.
      try b.marry(people[0], nil)
      try synchronize(scenario)
      XCTAssertEqual(people.map { spouse($0, a) }, [nil, nil, nil, nil])
      try a.marry(people[1], people[0])
      try synchronize(scenario)
      XCTAssertEqual(people.map { spouse($0, b) }, [people[1], people[0], nil, nil])
    }
  }

  func testADivorceThatIsLaterThanAMarriageElsewhereEndsIt() throws {
    let (scenario, people) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.marry(people[0], people[1])
    try synchronize(scenario)
    (a.wall, b.wall) = (20_000, 10_000)
    try a.marry(people[0], nil)
    try b.marry(people[1], people[2])
    try synchronize(scenario)
    XCTAssertEqual(people.map { spouse($0, b) }, [nil, nil, nil, nil])
  }

  func testAChainOfMarriagesConvergesInEveryOrder() throws {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      let (scenario, people) = try scenario(deviceCount: 3)
      for (number, device) in scenario.devices.enumerated() {
        device.wall = Int64(10_000 * (number + 1))
        try device.marry(people[number], people[number + 1])
      }
      for number in order { try scenario.devices[number].synchronize() }
      try synchronize(scenario)
      XCTAssertEqual(people.map { spouse($0, scenario.devices[0]) }, [nil, nil, people[3], people[2]])
    }
  }

  func testADeletedSpouseIsNil() throws {
    let (scenario, people) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    try a.save(PendingChange(people[1], entity: Scenario.person, nil))
    try b.marry(people[0], people[1])
    try synchronize(scenario)
    XCTAssertNil(spouse(people[0], a))
    XCTAssertNil(a.objects[people[1]])
    try b.marry(people[0], people[2])
    try synchronize(scenario)
    XCTAssertEqual(spouse(people[2], a), people[0])
  }
}
