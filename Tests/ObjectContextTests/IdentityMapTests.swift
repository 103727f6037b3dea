import ObjectModel
import ObjectStore
import XCTest
import _TestSupport

@testable import ObjectContext

/// The identity map returns the last registered object of each key, for any keys and removals.
final class IdentityMapTests: XCTestCase {
  private func makeObject(_ key: Int64) -> ManagedObject {
    ManagedObject(ManagedObjectSeed(invalidObjectOf: ManagedObjectID(space: 0, entityNumber: 0, key: key)))
  }

  /// Keys of every kind: adjacent, distant, negative, at the ends of pages and of the array.
  private func randomKey(_ generator: inout SeededGenerator) -> Int64 {
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: .random(in: 1...1_000, using: &generator)
    case 1: .random(in: 1...40, using: &generator) * 512 - .random(in: 0...1, using: &generator)
    case 2: (Int64(1) << 24) + .random(in: -600...600, using: &generator)
    case 3: (Int64(1) << 40) + .random(in: 0...600, using: &generator)
    case 4: -.random(in: 1...600, using: &generator)
    default: .random(in: 1...(Int64(1) << 46), using: &generator)
    }
  }

  func testIdentityMapMatchesADictionary() {
    for seed in 1...20 as ClosedRange<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var map = IdentityMap()
      defer { map.deallocate() }
      var expected: [Int64: ManagedObject] = [:]
      // The map retains nothing.
      var living: [ManagedObject] = []
      var keys: [Int64] = []
      for step in 0..<600 {
        let known = keys.randomElement(using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0...3:
          let key = randomKey(&generator)
          let object = makeObject(key)
          living.append(object)
          keys.append(key)
          expected[key] = object
          map.insert(object, key: key)
        case 4:
          guard let known else { continue }
          let object = makeObject(known)
          living.append(object)
          expected[known] = object
          map.insert(object, key: known)
        case 5, 6:
          guard let known, let object = expected.removeValue(forKey: known) else { continue }
          map.remove(known, ifSame: object)
        default:
          // Removing another object does not affect the key's object.
          guard let known, let other = living.randomElement(using: &generator), expected[known] !== other else { continue }
          map.remove(known, ifSame: other)
        }
        XCTAssertEqual(map.count, expected.count, "seed \(seed), step \(step)")
      }
      for key in keys { XCTAssertTrue(map.object(key) === expected[key], "seed \(seed), key \(key)") }
      var visited: [ObjectIdentifier] = []
      map.forEach { visited.append(ObjectIdentifier($0)) }
      XCTAssertEqual(visited.count, expected.count)
      XCTAssertEqual(Set(visited), Set(expected.values.map { ObjectIdentifier($0) }))
    }
  }

  func testAnEmptyMapHasNothing() {
    var map = IdentityMap()
    for key in [0, 1, 511, 512, -1, Int64.max, .min] { XCTAssertNil(map.object(key)) }
    map.remove(7, ifSame: makeObject(7))
    XCTAssertEqual(map.count, 0)
    // When the map is empty, it starts again at any key.
    for key in [7, 1 << 45, -9] as [Int64] {
      let object = makeObject(key)
      map.insert(object, key: key)
      XCTAssertTrue(map.object(key) === object)
      map.remove(key, ifSame: object)
      XCTAssertEqual(map.count, 0)
      XCTAssertNil(map.object(key))
    }
    map.deallocate()
  }

  func testAnObjectThatIsRegisteredAgainIsCountedOnce() {
    var map = IdentityMap()
    let (first, second) = (makeObject(600), makeObject(600))
    map.insert(first, key: 600)
    map.insert(first, key: 600)
    XCTAssertEqual(map.count, 1)
    map.insert(second, key: 600)
    XCTAssertEqual(map.count, 1)
    map.remove(600, ifSame: first)
    XCTAssertTrue(map.object(600) === second)
    map.remove(600, ifSame: second)
    XCTAssertEqual(map.count, 0)
    map.deallocate()
  }
}
