import SyncCore
import XCTest
import _SyncSimulation

final class VerificationTests: XCTestCase {
  private func scenario(notes: Int = 40) throws -> (Scenario, [RecordID]) {
    let scenario = Scenario()
    let folder = try scenario.devices[0].insertFolder("Home")
    let ids = try scenario.devices[0].insertNotes(notes, in: folder)
    try scenario.devices[0].delete(ids[0])
    for _ in 0..<2 { for device in scenario.devices { try device.synchronize() } }
    return (scenario, ids)
  }

  func testEqualRecordsHaveEqualDigests() throws {
    let (scenario, _) = try scenario()
    for device in scenario.devices {
      var requests = 0
      XCTAssertEqual(try device.verify { _ in requests += 1 }, Verification.Result())
      XCTAssertEqual(requests, 1)
    }
  }

  func testEachDifferenceIsNamed() throws {
    let (scenario, ids) = try scenario()
    let a = scenario.devices[0]
    // Missing on the hub, another version on the hub, and missing on the device.
    scenario.damage(ids[1], isRemoved: true)
    scenario.damage(ids[2], { $0.version = Digest(1, 2, 3, 4) })
    a.damage(ids[3]) { $0.base = nil }
    let result = try a.verify()
    XCTAssertFalse(result.hasMore)
    XCTAssertEqual(result.differences.count, 3)
    let byID = Dictionary(uniqueKeysWithValues: result.differences.map { ($0.id, $0) })
    XCTAssertNil(byID[ids[1]]?.hub ?? nil)
    XCTAssertNotNil(byID[ids[1]]?.device ?? nil)
    XCTAssertEqual(byID[ids[2]]?.hub, Digest(1, 2, 3, 4))
    XCTAssertNil(byID[nil]?.device ?? nil)
    XCTAssertNotNil(byID[nil]?.hub ?? nil)
    XCTAssertEqual(try scenario.devices[1].verify().differences.count, 2)
  }

  func testAtMostAHundredDifferencesAreNamed() throws {
    let (scenario, ids) = try scenario(notes: 300)
    for id in ids.dropFirst(50) { scenario.damage(id, { $0.version = .zero }) }
    let result = try scenario.devices[0].verify()
    XCTAssertEqual(result.differences.count, 100)
    XCTAssertTrue(result.hasMore)
  }

  func testDeletedRecordsDoNotCount() throws {
    let (scenario, ids) = try scenario()
    scenario.damage(ids[0], isRemoved: true)
    for device in scenario.devices { XCTAssertTrue(try device.verify().isEqual) }
  }

  func testSwappedVersionsAreADifference() throws {
    let (scenario, ids) = try scenario()
    var versions: [Digest] = []
    for id in ids[1...2] { scenario.damage(id, { versions.append($0.version) }) }
    for (id, version) in zip(ids[1...2], versions.reversed()) { scenario.damage(id, { $0.version = version }) }
    XCTAssertEqual(try scenario.devices[1].verify().differences.count, 2)
  }

  func testAVerificationBeginsAgainAfterACommit() throws {
    let (scenario, ids) = try scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    var (digests, lists) = (0, 0)
    scenario.damage(ids[1], { $0.version = .zero })
    let result = try a.verify { request in
      if case .sums(of: [.all]) = request.query { digests += 1 } else { lists += 1 }
      if digests == 1 {
        try b.set(Scenario.text, .text("new"), of: ids[2])
        try b.synchronize()
      }
    }
    XCTAssertEqual(digests, 2)
    XCTAssertGreaterThan(lists, 0)
    XCTAssertEqual(result.differences.map(\.id), [ids[1]])
  }
}
