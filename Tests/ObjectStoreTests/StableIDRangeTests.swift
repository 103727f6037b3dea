import Foundation
import ObjectStore
import XCTest
import _TestSupport

/// Stable IDs as consecutive numbers behind random bases.
final class StableIDRangeTests: XCTestCase {
  func testKeysAndIDsCorrespond() throws {
    var random = SeededGenerator(seed: 42)
    var ranges = StableIDRanges()
    var ids: [UUID: Int64] = [:]
    for _ in 0..<20 { ranges.append(StableIDRange(first: Int64.random(in: 1...1 << 44, using: &random))) }
    XCTAssertNil(ranges.id(of: 0))
    for _ in 0..<2_000 {
      let key = Int64.random(in: 1 << 44...(1 << 46) - 1, using: &random)
      let id = try XCTUnwrap(ranges.id(of: key))
      XCTAssertEqual(ranges.key(of: id), key)
      XCTAssertEqual(ids.updateValue(key, forKey: id) ?? key, key)
    }
    XCTAssertNil(ranges.key(of: UUID()))
  }

  func testAKeyBelongsToTheLastRangeThatBeginsBeforeIt() {
    let (one, other) = (StableIDRange(first: 1), StableIDRange(first: 100))
    let ranges = StableIDRanges([other, one])
    XCTAssertEqual(ranges.id(of: 99), one.id(of: 99))
    XCTAssertEqual(ranges.id(of: 100), other.id(of: 100))
    // The first range does not reach the keys of the second one.
    XCTAssertNil(ranges.key(of: one.id(of: 100)))
    XCTAssertEqual(ranges.key(of: one.id(of: 99)), 99)
  }

  func testIDsAreUUIDsOfVersion8AndInOrderOfTheirKeys() {
    let range = StableIDRange(first: 7)
    let texts = [7, 8, 263, 1 << 40].map { range.id(of: $0).uuidString }
    XCTAssertEqual(texts, texts.sorted())
    for text in texts {
      XCTAssertEqual(text.dropFirst(14).first, "8")
      XCTAssertTrue("89AB".contains(text.dropFirst(19).first ?? " "), text)
    }
    XCTAssertEqual(UUID.digest(of: "a"), UUID.digest(of: "a"))
    XCTAssertNotEqual(UUID.digest(of: "a"), UUID.digest(of: "b"))
    XCTAssertEqual(UUID(bytes: UUID.digest(of: "a").bytes), UUID.digest(of: "a"))
  }
}
