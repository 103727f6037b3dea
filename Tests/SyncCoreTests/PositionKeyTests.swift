import XCTest
import _SyncSimulation

@testable import SyncCore

/// Keys of members in ordered relationships.
final class PositionKeyTests: XCTestCase {
  private let (one, other) = (DeviceID(0x1234_5678_9ABC_DEF0), DeviceID(0xFEDC_BA98_7654_3210))

  /// Returns a key in the middle of the list, and adds it.
  private func insert(_ keys: inout [PositionKey], at position: Int, by device: DeviceID) -> PositionKey {
    let before = position > 0 ? keys[position - 1] : nil
    let after = position < keys.count ? keys[position] : nil
    let key = PositionKey.run(of: 1, after: before, before: after, by: device)[0]
    if let before { XCTAssertLessThan(before, key) }
    if let after { XCTAssertLessThan(key, after) }
    keys.insert(key, at: position)
    return key
  }

  func testKeysAreBetweenTheirNeighborsWhereverMembersAreInserted() {
    var random = SimulationRandom(1)
    for _ in 0..<20 {
      var keys: [PositionKey] = (0..<random.number(below: 5)).map { PositionKey(baseline: $0) }
      for _ in 0..<400 {
        _ = insert(&keys, at: random.number(below: keys.count + 1), by: DeviceID(UInt64(1 + random.number(below: 3))))
      }
      XCTAssertEqual(keys, keys.sorted())
      XCTAssertEqual(Set(keys).count, keys.count)
    }
  }

  func testRunsAreBetweenTheirNeighbors() {
    var random = SimulationRandom(2)
    var keys: [PositionKey] = []
    for _ in 0..<500 {
      let (position, count) = (random.number(below: keys.count + 1), 1 + random.number(below: 5))
      let run = PositionKey.run(
        of: count, after: position > 0 ? keys[position - 1] : nil, before: position < keys.count ? keys[position] : nil,
        by: random.chance(0.5) ? one : other)
      XCTAssertEqual(run.count, count)
      keys.insert(contentsOf: run, at: position)
    }
    XCTAssertEqual(keys, keys.sorted())
  }

  func testKeysOfAppendedMembersStayShort() {
    var (last, size) = (PositionKey(baseline: 2), 0)
    for index in 0..<100_000 {
      last = PositionKey.run(of: 1, after: last, before: nil, by: index % 3 == 0 ? one : other)[0]
      size = max(size, last.bytes.count)
    }
    XCTAssertLessThanOrEqual(size, 16)
  }

  func testKeysOfMembersInFrontStayShort() {
    var (first, size) = (PositionKey(baseline: 0), 0)
    for index in 0..<100_000 {
      first = PositionKey.run(of: 1, after: nil, before: first, by: index % 3 == 0 ? one : other)[0]
      size = max(size, first.bytes.count)
    }
    XCTAssertLessThanOrEqual(size, 16)
  }

  func testKeysOfMembersInsertedAfterEachOtherStayShort() {
    var (last, size) = (PositionKey(baseline: 0), 0)
    for _ in 0..<1_000 {
      last = PositionKey.run(of: 1, after: last, before: PositionKey(baseline: 1), by: one)[0]
      size = max(size, last.bytes.count)
    }
    XCTAssertLessThanOrEqual(size, 24)
  }

  /// Each device inserts members one after the other at the same place, as in typing, and forwards, backwards or as one run.
  func testConcurrentRunsAtOnePlaceAreNotMixed() {
    for (before, after) in [(nil, nil), (PositionKey(baseline: 0), nil), (nil, PositionKey(baseline: 0))]
      + [(PositionKey(baseline: 0), PositionKey(baseline: 1))]
    {
      for (mine, theirs) in [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 1), (2, 2)] {
        let runs = [(mine, one), (theirs, other)].map { way, device in
          way == 2 ? PositionKey.run(of: 10, after: before, before: after, by: device) : Self.keys(way == 0, before, after, device)
        }
        let merged = (runs[0].map { ($0, 0) } + runs[1].map { ($0, 1) }).sorted { $0.0 < $1.0 }.map(\.1)
        XCTAssertEqual(zip(merged, merged.dropFirst()).filter { $0 != $1 }.count, 1, "\(before as Any) \(after as Any) \(mine) \(theirs)")
      }
    }
  }

  private static func keys(_ isForwards: Bool, _ before: PositionKey?, _ after: PositionKey?, _ device: DeviceID) -> [PositionKey] {
    var (before, after, keys): (PositionKey?, PositionKey?, [PositionKey]) = (before, after, [])
    for _ in 0..<10 {
      let key = PositionKey.run(of: 1, after: before, before: after, by: device)[0]
      keys.append(key)
      if isForwards { before = key } else { after = key }
    }
    return keys
  }

  func testADeviceThatAppendsToTheRunOfAnotherOneDoesNotSeparateIt() {
    let run = PositionKey.run(of: 3, after: nil, before: nil, by: one)
    let appended = PositionKey.run(of: 2, after: run[2], before: nil, by: other)
    let continued = PositionKey.run(of: 2, after: run[2], before: nil, by: one)
    XCTAssertEqual((run + continued + appended).sorted(), run + continued + appended)
  }

  func testAKeyOfUnknownFormHasAPlace() {
    for bytes in [[], [0xFF], [0x80, 1, 2], [0x5F], [0xA7, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0x80]] as [[UInt8]] {
      let unknown = PositionKey(bytes: bytes)
      for run in [
        PositionKey.run(of: 2, after: unknown, before: nil, by: one),
        PositionKey.run(of: 2, after: unknown, before: PositionKey(bytes: bytes + [255]), by: one),
      ] {
        XCTAssertLessThan(unknown, run[0])
        XCTAssertLessThan(run[0], run[1])
      }
      XCTAssertEqual(PositionKey.run(of: 2, after: nil, before: unknown, by: one).count, 2)
    }
  }

  func testEqualKeysOfTwoMembersAreFollowedByOthers() {
    let key = PositionKey(baseline: 3)
    XCTAssertLessThan(key, PositionKey.run(of: 1, after: key, before: key, by: one)[0])
  }

  func testKeysOfLargeListsFromBeforeSynchronizationAreInOrder() {
    let indexes = [0, 1, 31, 32, 33, 287, 288, 70_000, 1 << 24, 1 << 32]
    let keys = indexes.map { PositionKey(baseline: $0) }
    XCTAssertEqual(keys, keys.sorted())
  }

  func testAPositionIsEncodedInARecord() throws {
    let key = PositionKey.run(of: 1, after: nil, before: nil, by: one)[0]
    let stamp = Stamp(HybridTime(milliseconds: 5), one)
    let property = PropertyID.position(through: PropertyID(7))
    let record = Record(entity: EntityID(1), [PropertyID(7): .reference(RecordID(high: 1, low: 2)), property: .position(key)], stamp)
    let (id, decoded) = try RecordCoding.decode(RecordCoding.encode(record, of: RecordID(high: 0, low: 1)))
    XCTAssertEqual(id, RecordID(high: 0, low: 1))
    XCTAssertEqual(decoded, record)
  }
}
