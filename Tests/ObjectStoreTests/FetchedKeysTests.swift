import ObjectStore
import XCTest
import _TestSupport

/// Keys added in any order are returned sorted, in batches.
final class FetchedKeysTests: XCTestCase {
  private func taken(_ keys: [Int64], batch: Int) -> [[Int64]] {
    let found = FetchedKeys()
    for key in keys { found.insert(key, entity: 3) }
    var portions: [[Int64]] = []
    while case let next = found.removeFirst(batch), !next.isEmpty { portions.append(next) }
    return portions
  }

  func testKeysAreReturnedInOrderAndOnce() {
    for keys in [Array(1...2_000), Array(1...2_000).shuffled(), [7, 1 << 40, 512, 511, 513, -1, -700, .max, 7], []] as [[Int64]] {
      for batch in [1, 3, 500, .max] {
        let portions = taken(keys, batch: batch)
        XCTAssertEqual(portions.flatMap { $0 }, Set(keys).sorted())
        XCTAssertTrue(portions.dropLast().allSatisfy { $0.count == batch })
      }
    }
  }

  func testKeysOfFullAndPartialPagesAreReturnedInOrderAndOnce() {
    var generator = SeededGenerator(seed: 12)
    let all = Array(Int64(-5_000)...20_000)
    let holes = all.filter { $0 % 4_096 > 700 || $0 % 3 != 0 }
    let pages = stride(from: 0, to: all.count, by: 512).map { Array(all[$0..<min($0 + 512, all.count)]) }
    for keys in [
      all, all.reversed(), holes, holes.reversed(), all + all, all + holes.reversed(), pages.shuffled(using: &generator).flatMap { $0 },
      holes.shuffled(using: &generator),
    ] {
      let portions = taken(keys, batch: 777)
      XCTAssertEqual(portions.flatMap { $0 }, Set(keys).sorted())
    }
  }

  func testConsecutiveKeysUseNoExtraMemory() {
    let found = FetchedKeys()
    for key in Int64(1)...1_000_000 { found.insert(key, entity: 3) }
    // The first page lacks the key 0, the last one is not full.
    XCTAssertLessThanOrEqual(found.separatePageCount, 2)
    var last: Int64 = 0
    while let key = found.removeFirst(10_000).last { last = key }
    XCTAssertEqual(last, 1_000_000)
  }

  func testEntityIsTakenFromTheKeys() {
    let found = FetchedKeys()
    XCTAssertNil(found.entity)
    found.insert(1, entity: 3)
    XCTAssertEqual(found.entity, 3)
  }
}
