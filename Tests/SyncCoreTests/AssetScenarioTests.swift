import SyncCore
import XCTest
import _SyncSimulation

/// Saves with large values, whose chunks must be on the hub before a commit names them.
final class AssetScenarioTests: XCTestCase {
  private typealias Device = Scenario.Device

  /// Returns a scenario of two devices with a note.
  private func scenario() throws -> (Scenario, Device, Device, note: RecordID) {
    let scenario = Scenario()
    let (a, b) = (scenario.devices[0], scenario.devices[1])
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
