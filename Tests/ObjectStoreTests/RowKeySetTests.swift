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
}
