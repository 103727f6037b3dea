import SyncCore
import XCTest
import _SyncSimulation

/// Saves with large values, whose chunks must be on the hub before a commit names them.
final class AssetScenarioTests: XCTestCase {
  private typealias Device = Scenario.Device

  /// Returns a scenario of two devices with a note.
  private func scenario(_ change: (inout SyncModel) -> Void = { _ in }) throws -> (Scenario, Device, Device, note: RecordID) {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
    var model = Scenario.model
    change(&model)
    for device in [a, b] { try device.adoptModel(model) }
    let note = try a.insertNote("Milk", in: try a.insertFolder("Home"))
    try a.synchronize()
    try b.synchronize()
    return (scenario, a, b, note)
  }

  private func value(_ number: UInt64) -> FieldValue { .asset(Scenario.asset(number)) }

  func testASaveWaitsForItsLargeValueAndLaterSavesWaitForIt() throws {
    let (_, a, b, note) = try scenario()
    try a.set(Scenario.text, .text("before"), of: note)
    try a.set(Scenario.color, value(1), of: note)
    try a.set(Scenario.text, .text("after"), of: note)
    try a.synchronize()
    try b.synchronize()
    XCTAssertEqual(a.pendingCount, 2)
    XCTAssertEqual(b.objects[note]?.values[Scenario.text], .text("before"))
    XCTAssertNil(b.objects[note]?.values[Scenario.color])
    try a.upload(1)
    try a.synchronize()
    try b.synchronize()
    XCTAssertEqual(a.pendingCount, 0)
    XCTAssertEqual(b.objects[note]?.values[Scenario.text], .text("after"))
    XCTAssertEqual(b.objects[note]?.values[Scenario.color], value(1))
    XCTAssertEqual(a.objects, b.objects)
  }

  /// Case 6: only the last value has bytes.
  func testCase6AValueThatWasReplacedTwiceIsSentInItsLastState() throws {
    let (_, a, b, note) = try scenario()
    for number: UInt64 in 1...3 { try a.set(Scenario.color, value(number), of: note) }
    try a.synchronize()
    XCTAssertEqual(a.pendingCount, 3)
    try a.upload(3)
    try a.synchronize()
    try b.synchronize()
    XCTAssertEqual(a.pendingCount, 0)
    for device in [a, b] { XCTAssertEqual(device.objects[note]?.values[Scenario.color], value(3)) }
  }

  func testAValueThatWasRemovedOrWhoseObjectWasDeletedIsNotWaitedFor() throws {
    let (_, a, b, note) = try scenario()
    let other = try a.insertNote("Bread", in: try a.insertFolder("Away"))
    try a.set(Scenario.color, value(1), of: note)
    try a.set(Scenario.color, .null, of: note)
    try a.set(Scenario.color, value(2), of: other)
    try a.delete(other)
    try a.synchronize()
    try b.synchronize()
    XCTAssertEqual(a.pendingCount, 0)
    XCTAssertEqual(b.objects[note]?.values[Scenario.color], .null)
    XCTAssertEqual(a.objects, b.objects)
  }

  func testALargeValueOfAnObjectThatIsHiddenIsNotWaitedFor() throws {
    let (_, a, b, _) = try scenario()
    let folder = try a.insertFolder("Away")
    try a.synchronize()
    try b.synchronize()
    try b.delete(folder)
    let other = try a.insertNote("Bread", in: folder)
    try a.set(Scenario.color, value(1), of: other)
    _ = try a.insertFolder("Later")
    try b.synchronize()
    try a.synchronize()
    XCTAssertNil(a.objects[other])
    XCTAssertEqual(a.pendingCount, 0)
    try b.synchronize()
    XCTAssertEqual(a.objects, b.objects)
  }

  func testALargeValueOfAnObjectThatWasDeletedAndInsertedAgainDelaysTheDeletion() throws {
    let (_, a, b, note) = try scenario { $0.entities[Scenario.note]?.updateWins = true }
    let folder = try XCTUnwrap(a.objects[note]?.values[Scenario.owner])
    let other = a.newID()
    let values: [PropertyID: FieldValue] = [Scenario.text: .text("Bread"), Scenario.owner: folder, Scenario.color: value(1)]
    a.addExisting(other, SyncedObject(entity: Scenario.note, values))
    try a.takeInExisting()
    try a.delete(other)
    try a.reinsert(other)
    try a.set(Scenario.color, value(2), of: other)
    try a.synchronize()
    XCTAssertEqual(a.pendingCount, 3)
    try a.upload(2)
    try a.synchronize()
    try b.synchronize()
    XCTAssertEqual(a.pendingCount, 0)
    for device in [a, b] { XCTAssertEqual(device.objects[other]?.values[Scenario.color], value(2)) }
  }

  /// A device without the bytes sends a former value in place of one that a restored hub has lost. Another device has the bytes.
  func testALostLargeValueDoesNotGiveItsStampToTheFormerOne() throws {
    for (former, last): (UInt64, UInt64) in [(1, 2), (2, 1)] {
      let (scenario, a, b, note) = try scenario()
      func set(_ number: UInt64) throws {
        try a.upload(number)
        try a.set(Scenario.color, value(number), of: note)
        for device in [a, b] { try device.synchronize() }
      }
      try set(former)
      let copy = scenario.backUpHub()
      try set(last)
      scenario.restoreHub(copy, incarnation: 9)
      b.loseAsset(Scenario.color, of: note)
      try b.synchronize()
      XCTAssertEqual(b.objects[note]?.values[Scenario.color], value(former))
      try a.upload(last)
      for device in [a, b] { try device.synchronize() }
      for device in [a, b] { XCTAssertEqual(device.objects[note]?.values[Scenario.color], value(last)) }
    }
  }

  func testACommitWhoseChunkIsMissingIsRefusedAndFrozenAgain() throws {
    let (scenario, a, b, note) = try scenario()
    let sealed = try a.upload(1)
    scenario.loseChunks(of: sealed)
    try a.set(Scenario.color, value(1), of: note)
    let push = try XCTUnwrap(try a.handle(.save).compactMap { if case .push(let commit) = $0 { commit } else { nil } }.first)
    guard case .pushed(_, .missingChunks(let ids, _)) = try scenario.answer(.push(push)) else { return XCTFail("not refused") }
    XCTAssertEqual(ids, sealed.sealed?.chunks)
    // With the chunk, the same bytes are accepted.
    try a.upload(1)
    guard case .pushed(_, .accepted) = try scenario.answer(.push(push)) else { return XCTFail("not accepted") }
    try a.synchronize()
    try b.synchronize()
    XCTAssertEqual(a.pendingCount, 0)
    XCTAssertEqual(b.objects[note]?.values[Scenario.color], value(1))
  }

  func testADeviceContinuesAfterARefusal() throws {
    let (scenario, a, b, note) = try scenario()
    scenario.loseChunks(of: try a.upload(1))
    try a.set(Scenario.color, value(1), of: note)
    let push = try XCTUnwrap(try a.handle(.save).compactMap { if case .push(let commit) = $0 { commit } else { nil } }.first)
    let refusal = try scenario.answer(.push(push))
    // Meanwhile the value was replaced.
    try a.set(Scenario.color, value(2), of: note)
    try a.upload(2)
    try a.upload(1)
    _ = try a.handle(refusal)
    XCTAssertNotEqual(a.outbox?.digest, push.digest)
    a.restart()
    try a.synchronize()
    try b.synchronize()
    XCTAssertEqual(a.pendingCount, 0)
    for device in [a, b] { XCTAssertEqual(device.objects[note]?.values[Scenario.color], value(2)) }
  }
}
