// FoundKeysTests: keys that come in any order are given in their own, in portions.
import ObjectStore
import XCTest

final class FoundKeysTests: XCTestCase {
  private func taken(_ keys: [Int64], portion: Int) -> [[Int64]] {
    let found = FoundKeys()
    for key in keys { found.insert(key, entity: 3) }
    var portions: [[Int64]] = []
    while case let next = found.takeFirst(portion), !next.isEmpty { portions.append(next) }
    return portions
  }

  func testKeysAreTakenInOrderAndOnce() {
    for keys in [Array(1...2_000), Array(1...2_000).shuffled(), [7, 1 << 40, 512, 511, 513, -1, -700, .max, 7], []] as [[Int64]] {
      for portion in [1, 3, 500, .max] {
        let portions = taken(keys, portion: portion)
        XCTAssertEqual(portions.flatMap { $0 }, Set(keys).sorted())
        XCTAssertTrue(portions.dropLast().allSatisfy { $0.count == portion })
      }
    }
  }

  func testTheEntityIsThatOfTheKeys() {
    let found = FoundKeys()
    XCTAssertNil(found.entity)
    found.insert(1, entity: 3)
    XCTAssertEqual(found.entity, 3)
  }
}
