import XCTest
import _TestSupport

@testable import SQLCipherStore

final class SortedKeysTests: XCTestCase {
  func testKeySortMatchesComparisonSort() {
    var generator = SeededGenerator(seed: 5)
    let ranges: [ClosedRange<Int64>] = [
      1...1, 1...2_000, 1...4_000_000, 1_000_000...8_000_000_000, -900...900, 1...(1 << 33), 1...(1 << 46), .min ... .max,
    ]
    for count in [0, 1, 2, 255, 256, 257, 5_000] {
      for range in ranges {
        let keys = (0..<count).map { _ in Int64.random(in: range, using: &generator) }
        XCTAssertEqual(keys.sortedKeys(), keys.sorted(), "\(count) of \(range)")
        XCTAssertEqual(keys.sorted().sortedKeys(), keys.sorted())
        XCTAssertEqual(Array(keys.sorted().reversed()).sortedKeys(), keys.sorted())
      }
    }
  }

  func testExtremeKeysAreSorted() {
    let keys = [Int64.max, 0, .min, -1, 1] + (0..<300).map { Int64($0 * 7919 % 300) }
    XCTAssertEqual(keys.sortedKeys(), keys.sorted())
    let near = (0..<300).map { Int64.min + Int64($0 * 7919 % 300) }
    XCTAssertEqual(near.sortedKeys(), near.sorted())
  }
}
