import ObjectModel
import ObjectStore
import XCTest
import _TestSupport

@testable import ObjectContext

/// Objects are hashed by identity, with a good distribution.
final class ObjectHashTests: XCTestCase {
  private final class Special: ManagedObject {}

  private func objects(_ count: Int) -> [ManagedObject] {
    (0..<count).map { number in
      let seed = ManagedObjectSeed(invalidObjectOf: ManagedObjectID(space: 0, entityNumber: 0, key: Int64(number + 1)))
      return number % 2 == 0 ? ManagedObject(seed) : Special(seed)
    }
  }

  func testSetFindsOnlyItsObjects() {
    let (members, others) = (objects(3_000), objects(3_000))
    let set = Set(members)
    XCTAssertEqual(set.count, members.count)
    XCTAssertTrue(members.allSatisfy(set.contains))
    XCTAssertFalse(others.contains(where: set.contains))
    XCTAssertEqual(set.union(others).subtracting(others), set)
    let numbers = Dictionary(uniqueKeysWithValues: members.enumerated().map { ($1, $0) })
    for (number, object) in members.enumerated() { XCTAssertEqual(numbers[object], number) }
  }

  func testAnObjectIsTheSameInAnyHashable() {
    let members = objects(50)
    let set = Set(members.map { AnyHashable($0) })
    for object in members { XCTAssertTrue(set.contains(AnyHashable(object))) }
    XCTAssertEqual(Set(members.map(\.hashValue)).count, members.count)
    XCTAssertEqual(members[0].hashValue, members[0].hashValue)
  }

  /// Random numbers would fill 63 of 100 buckets. With adjacent addresses, a few more or fewer are filled.
  func testObjectHashesAreWellDistributed() {
    let members = objects(4_096)
    for seed in [0, 1, 0x7F00_1234_5670, -48] {
      let places = Set(members.map { $0._rawHashValue(seed: seed) & 4_095 })
      XCTAssertGreaterThan(places.count, 2_200, "seed \(seed)")
    }
  }
}
