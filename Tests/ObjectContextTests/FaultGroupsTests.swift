import ObjectContext
import ObjectModel
import XCTest

/// The objects that are faulted in together, and for how long a context remembers their group.
final class FaultGroupsTests: XCTestCase {
  private func references(_ keys: Range<Int64>) -> [ObjectReference] { keys.map { ObjectReference(entity: 1, key: $0) } }

  /// The destinations of a group's objects from a position on.
  private func objects(
    of group: FetchGroup, from start: Int = 0, stride: Int = 1, _ destination: (ObjectReference, Int) -> ObjectReference? = { _, _ in nil }
  ) -> [ObjectReference] {
    var found: [ObjectReference] = []
    _ = group.walk(from: start, stride: stride, limit: 100, destination: destination) { reference, _ in
      found.append(reference)
      return true
    }
    return found
  }

  func testReferencesWithConsecutiveKeysUseNoMemory() {
    var run = CompactReferenceArray()
    for reference in references(5..<105) { run.append(reference) }
    XCTAssertEqual(run.byteCount, 0)
    XCTAssertEqual((0..<run.count).map { run[$0] }, references(5..<105))
    let others = references(105..<106) + references(3..<5) + [ObjectReference(entity: 2, key: 5)]
    for reference in others { run.append(reference) }
    XCTAssertEqual((0..<run.count).map { run[$0] }, references(5..<105) + others)
    XCTAssertGreaterThan(run.byteCount, 0)
  }

  func testSiblingsAreObjectsOfTheSameFetch() throws {
    var groups = FaultGroups()
    let first = groups.add(references(1..<4), space: 9)
    let second = groups.add(references(4..<6), space: 9)
    XCTAssertNotEqual(first, second)
    let group = try XCTUnwrap(groups.group(first))
    XCTAssertEqual(group.space, 9)
    XCTAssertEqual(objects(of: group), references(1..<4))
    XCTAssertEqual(objects(of: group, from: 2, stride: -2).map(\.key), [3, 1])
    XCTAssertEqual(objects(of: group, from: 3), [])
    XCTAssertNil(groups.group(0))
  }

  func testBatchSizeIsBoundedByTheStatement() throws {
    var groups = FaultGroups()
    let batches = try [0, 7, 10_000].map { size in
      let number = groups.add(references(1..<3), space: 9, batch: size)
      return try XCTUnwrap(groups.group(number)).batch
    }
    XCTAssertEqual(batches, [FaultGroups.faultBatch, 7, FaultGroups.faultBatch])
  }

  func testTheDestinationsOfSiblingsAreSiblings() throws {
    var groups = FaultGroups()
    let books = try XCTUnwrap(groups.group(groups.add(references(1..<4), space: 9)))
    let authors = groups.destinations(of: books, slot: 2)
    XCTAssertEqual(groups.destinations(of: books, slot: 2), authors)
    XCTAssertNotEqual(groups.destinations(of: books, slot: 3), authors)
    let group = try XCTUnwrap(groups.group(authors))
    let found = objects(of: group) { source, slot in
      // The destination of the second one is unknown.
      source.key == 2 ? nil : ObjectReference(entity: 5, key: source.key * 100 + Int64(slot))
    }
    XCTAssertEqual(found.map(\.key), [102, 302])
    let agents = try XCTUnwrap(groups.group(groups.destinations(of: group, slot: 7)))
    XCTAssertEqual(
      objects(of: agents) { source, slot in ObjectReference(entity: 6, key: source.key * 10 + Int64(slot)) }.map(\.key), [127, 227, 327])
  }

  /// The number of rows read together with the one at a position, including it.
  private func miss(_ position: Int, of number: UInt32, in groups: borrowing FaultGroups) -> Int {
    let group = groups.group(number)
    let found = group?.missRow(Int64(position + 1), at: position, destination: { _, _ in nil }) { _ in true }
    return 1 + (found?.count ?? 0)
  }

  func testMemberGroupContinuesAfterThePreviousGroup() {
    var groups = FaultGroups()
    func add() -> UInt32 { groups.add(references(1..<1_001), membersOf: 3, space: 9) }
    let first = add()
    XCTAssertEqual(miss(0, of: first, in: groups), 4)
    for position in 1..<4 { groups.group(first)?.recordRowUse(at: position) }
    let second = add()
    // Another relationship's group starts with a few.
    let other = groups.add(references(1..<1_001), membersOf: 4, space: 9)
    XCTAssertEqual(miss(0, of: other, in: groups), 4)
    XCTAssertEqual(miss(500, of: second, in: groups), 16)
    // Of these sixteen, one was read.
    XCTAssertEqual(miss(0, of: add(), in: groups), 4)
    // A group without reads provides no information.
    _ = add()
    XCTAssertEqual(miss(0, of: add(), in: groups), 4)
  }

  func testUsedGroupOutlivesUnusedGroups() {
    var groups = FaultGroups()
    let (used, unused) = (groups.add(references(1..<3), space: 9), groups.add(references(3..<5), space: 9))
    for _ in 0..<3 * FaultGroups.limit {
      XCTAssertNotNil(groups.group(used))
      _ = groups.add(references(5..<7), space: 9)
    }
    XCTAssertNotNil(groups.group(used))
    XCTAssertNil(groups.group(unused))
  }

  func testLargeGroupsAreEvictedFirst() {
    var groups = FaultGroups()
    let large = (0..<3).map { _ in groups.add(references(1..<1_000_001), space: 9) }
    XCTAssertNil(groups.group(large[0]))
    XCTAssertNotNil(groups.group(large[2]))
  }

  func testNumbersOfEvictedGroupsAreNotReusedImmediately() {
    var groups = FaultGroups()
    let old = groups.add(references(1..<3), space: 9)
    groups.removeAll()
    XCTAssertNil(groups.group(old))
    XCTAssertNotEqual(groups.add(references(1..<3), space: 9), old)
    XCTAssertNil(groups.group(old))
  }
}
