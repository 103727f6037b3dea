import SyncCore
import XCTest

final class RecordSetTests: XCTestCase {
  func testTheSameRecordsAsASetInAscendingOrder() {
    var generator = SplitMix(state: 5)
    for spread in [70, 1_000, UInt64.max] {
      var (compact, expected) = (RecordSet(), Set<RecordID>())
      for _ in 0..<2_000 {
        let id = RecordID(high: .random(in: 0...2, using: &generator), low: .random(in: 0..<spread, using: &generator))
        XCTAssertEqual(compact.contains(id), expected.contains(id))
        XCTAssertEqual(compact.insert(id), expected.insert(id).inserted)
        XCTAssertTrue(compact.contains(id))
      }
      XCTAssertEqual(compact.count, expected.count)
      XCTAssertEqual(Array(compact), expected.sorted())
    }
  }

  func testTheFirstAndTheLastIDsOfAWord() {
    let lows: [UInt64] = [0, 63, 64, 127, .max - 63, .max]
    var set = RecordSet()
    set.formUnion(lows.reversed().map { RecordID(high: .max, low: $0) })
    set.formUnion([RecordID(high: .max, low: 63)])
    XCTAssertEqual(set.map(\.low), lows)
    XCTAssertFalse(set.contains(RecordID(high: .max, low: 1)))
    XCTAssertFalse(set.contains(RecordID(high: 0, low: 0)))
    XCTAssertEqual(Array(RecordSet()), [])
  }

  private struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var value = state
      value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
      value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
      return value ^ (value >> 31)
    }
  }
}
