import XCTest
import _TestSupport

@testable import SQLCipherStore

/// Sparse order numbers ascend, and as few as possible are replaced.
final class OrderKeysTests: XCTestCase {
  private let gap = OrderKeys.gap

  func testOrderedNumbersAreKept() {
    XCTAssertEqual(OrderKeys.assign([nil, nil]), [gap, 2 * gap])
    XCTAssertEqual(OrderKeys.assign([10, 20, nil]), [10, 20, 20 + gap])
    XCTAssertEqual(OrderKeys.assign([nil, 10, 20]), [10 - gap, 10, 20])
    XCTAssertEqual(OrderKeys.assign([10, nil, 20]), [10, 15, 20])
    XCTAssertEqual(OrderKeys.assign([30, 10, 20]), [10 - gap, 10, 20], "one moves to the front")
    XCTAssertEqual(OrderKeys.assign([]), [])
  }

  func testExhaustedGapsRenumberAll() {
    XCTAssertEqual(OrderKeys.assign([10, nil, 11]), [gap, 2 * gap, 3 * gap])
    XCTAssertEqual(OrderKeys.assign([.max, nil]), [gap, 2 * gap])
    XCTAssertEqual(OrderKeys.assign([nil, .min]), [gap, 2 * gap])
    XCTAssertEqual(OrderKeys.assign([.min, nil, .max]), [gap, 2 * gap, 3 * gap], "they are further apart than a number can express")
    XCTAssertEqual(OrderKeys.assign([.min, .max]), [.min, .max])
  }

  func testEqualNumbersBecomeDistinct() {
    let keys = OrderKeys.assign([5, 5])
    XCTAssertLessThan(keys[0], keys[1])
    XCTAssertTrue(keys.contains(5), "one of them stays")
  }

  /// The greatest number of keys that can stay: the length of a longest strictly ascending subsequence, found by exhaustive search.
  private func maximumKeptCount(_ keys: [Int64?]) -> Int {
    var best: [Int] = []
    for (index, key) in keys.enumerated() {
      guard let key else {
        best.append(0)
        continue
      }
      let before = (0..<index).filter { keys[$0] ?? .max < key }.map { best[$0] }.max() ?? 0
      best.append(before + 1)
    }
    return best.max() ?? 0
  }

  func testRandomOrdersAscendAndKeepAsManyAsPossible() {
    var generator = SeededGenerator(seed: 77)
    for round in 0..<3_000 {
      let count = Int.random(in: 0...12, using: &generator)
      let spread: Int64 = [8, 40, gap * 4, .max].randomElement(using: &generator) ?? 8
      let current: [Int64?] = (0..<count).map { _ in
        Int.random(in: 0..<3, using: &generator) == 0 ? nil : .random(in: -spread...spread, using: &generator)
      }
      let keys = OrderKeys.assign(current)
      XCTAssertEqual(keys.count, count)
      XCTAssertTrue(zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }, "round \(round): \(current) became \(keys)")
      let isFresh = keys == (0..<count).map { Int64($0 + 1) * gap }
      let kept = zip(current, keys).filter { $0 == $1 }.count
      XCTAssertTrue(isFresh || kept == maximumKeptCount(current), "round \(round): \(current) became \(keys)")
    }
  }

  func testInsertingAtOnePositionRarelyRenumbers() {
    var keys = OrderKeys.assign([nil, nil])
    var renumbered = 0
    for _ in 0..<200 {
      let before = keys
      keys = OrderKeys.assign([keys[0], nil] + keys.dropFirst().map { $0 })
      if keys[0] != before[0] || keys.dropFirst(2).elementsEqual(before.dropFirst()) == false { renumbered += 1 }
    }
    XCTAssertEqual(keys.count, 202)
    XCTAssertLessThanOrEqual(renumbered, 200 / 20, "each gap is halved twenty times")
  }
}
