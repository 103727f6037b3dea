import XCTest

@testable import ObjectStore

final class RowKeySetTests: XCTestCase {
  func testItBehavesLikeASet() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<50 {
      let range = Int64.random(in: 1...10_000, using: &generator)
      var (keys, expected) = (RowKeySet(), Set<Int64>())
      for _ in 0..<500 {
        let key = Int64.random(in: -range...range, using: &generator)
        XCTAssertEqual(keys.insert(key), expected.insert(key).inserted)
      }
      XCTAssertEqual(keys.count, expected.count)
      var listed: [Int64] = []
      keys.forEach { listed.append($0) }
      XCTAssertEqual(listed, expected.sorted())
      for key in -range...range { XCTAssertEqual(keys.contains(key), expected.contains(key)) }
    }
  }

  func testListsHaveALimitedLength() {
    var keys = RowKeySet()
    XCTAssertTrue(keys.isEmpty)
    for key: Int64 in 1...200_000 { keys.insert(key) }
    var (next, longest): (Int64, Int) = (1, 0)
    keys.forEachList { list in
      longest = max(longest, list.count)
      XCTAssertEqual(list.first, next)
      next += Int64(list.count)
    }
    XCTAssertEqual(next, 200_001)
    XCTAssertLessThanOrEqual(longest, 1 << 16)
  }

  func testRangesContainAllKeysAndALimitedNumberOfThem() {
    var generator = SystemRandomNumberGenerator()
    for size in [1, 7, 1_000, 100_000] {
      var (keys, expected) = (RowKeySet(), Set<Int64>())
      for _ in 0..<(size == 1 ? 300 : 5_000) {
        let key = Int64.random(in: 1...150_000, using: &generator)
        keys.insert(key)
        expected.insert(key)
      }
      var (last, found, ranges): (Int64, Int, Int) = (0, 0, 0)
      keys.forEachRange(of: size) { range in
        XCTAssertGreaterThan(range.lowerBound, last)
        last = range.upperBound
        let count = expected.count { range.contains($0) }
        XCTAssertLessThanOrEqual(count, size)
        found += count
        ranges += 1
      }
      XCTAssertEqual(found, expected.count)
      XCTAssertEqual(ranges, (expected.count + size - 1) / size)
    }
    RowKeySet().forEachRange(of: 5) { _ in XCTFail("no keys") }
  }

  func testKeysTakeAFractionOfAByteIfManyAreNeighbors() {
    var (dense, half, few) = (RowKeySet(), RowKeySet(), RowKeySet())
    for key: Int64 in 1...1_000_000 { dense.insert(key) }
    for key: Int64 in 1...1_000_000 { half.insert(key * 2) }
    for key: Int64 in 1...10_000 { few.insert(key * 100) }
    XCTAssertLessThan(dense.byteCount, 140_000)
    XCTAssertLessThan(half.byteCount, 280_000)
    XCTAssertLessThan(few.byteCount, 45_000)
    for key: Int64 in 1...10_000 { XCTAssertTrue(few.contains(key * 100) && !few.contains(key * 100 + 1)) }
  }
}
