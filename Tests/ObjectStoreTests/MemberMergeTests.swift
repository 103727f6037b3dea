import ObjectModel
import ObjectStore
import XCTest
import _TestSupport

/// Three-way merges of the members of to-many relationships and of their orders.
final class MemberMergeTests: XCTestCase {
  /// The number of random triples: of whether a member is in the base and on each side, and of its places there.
  private static let tripleCount = 1_000_000

  // MARK: Members

  private static let candidates = (0..<64).map { ObjectReference(entity: 2, key: Int64($0) * 7 + 1) }

  /// Returns the members whose bits are set.
  private func members(_ bits: UInt64) -> [ObjectReference] {
    var (list, rest): ([ObjectReference], UInt64) = ([], bits)
    while rest != 0 {
      list.append(Self.candidates[rest.trailingZeroBitCount])
      rest &= rest - 1
    }
    return list
  }

  private func bits(_ members: [ObjectReference]) -> UInt64 {
    members.reduce(0) { $0 | 1 << UInt64(($1.key - 1) / 7) }
  }

  func testAMillionMembershipsAreMerged() {
    var generator = SeededGenerator(seed: 201)
    for number in 0..<Self.tripleCount / 64 {
      // Most members are in the base and on both sides, or on none.
      let base = generator.next()
      let (mine, theirs) = (base ^ generator.next() & generator.next(), base ^ generator.next() & generator.next())
      let (former, own, others) = (members(base), members(mine), members(theirs))
      let (ownChanges, otherChanges) = (MemberDifference(from: former, to: own), MemberDifference(from: former, to: others))
      let merge = ThreeWayMerge.members(mine: ownChanges, theirs: otherChanges)
      // A member that a side has changed is what that side made it.
      let expected = base ^ ((base ^ mine) | (base ^ theirs))
      guard bits(merge.added) == expected & ~base, bits(merge.removed) == base & ~expected,
        merge.added.count + merge.removed.count == (base ^ expected).nonzeroBitCount
      else { return XCTFail("merge \(number)") }
      if number % 4 != 0 { continue }
      XCTAssertEqual(bits(merge.applied(to: former)), expected)
      XCTAssertEqual(bits(ownChanges.applied(to: others)), expected, "my changes over theirs")
      XCTAssertEqual(bits(otherChanges.applied(to: own)), expected, "symmetry")
      XCTAssertEqual(ownChanges.applied(to: merge.applied(to: former)).count, expected.nonzeroBitCount, "idempotence")
      XCTAssertEqual(MemberDifference(from: former, to: former).applied(to: others), others, "identity of theirs")
      XCTAssertEqual(bits(ownChanges.applied(to: former)), mine, "identity of mine")
    }
  }

  func testAMillionMembersAddedAndRemovedAreKept() {
    var generator = SeededGenerator(seed: 202)
    for number in 0..<Self.tripleCount / 64 {
      // Differences from different bases, such as that of a member that was removed and added again.
      let (added, removed, otherAdded) = (generator.next() & generator.next(), generator.next(), generator.next() & generator.next())
      let mine = MemberDifference(added: members(added), removed: members(removed & ~added))
      let otherRemoved = generator.next() & ~otherAdded
      let theirs = MemberDifference(added: members(otherAdded), removed: members(otherRemoved))
      let merge = ThreeWayMerge.members(mine: mine, theirs: theirs)
      let expected = added | otherAdded
      guard bits(merge.added) == expected, bits(merge.removed) == (removed & ~added | otherRemoved) & ~expected else {
        return XCTFail("merge \(number)")
      }
      if number % 4 != 0 { continue }
      let mirrored = ThreeWayMerge.members(mine: theirs, theirs: mine)
      XCTAssertEqual(bits(mirrored.added), bits(merge.added), "symmetry")
      XCTAssertEqual(bits(mirrored.removed), bits(merge.removed), "symmetry")
      let again = ThreeWayMerge.members(mine: mine, theirs: merge)
      XCTAssertEqual(again.added, merge.added, "idempotence")
      XCTAssertEqual(again.removed, merge.removed, "idempotence")
      // Of three devices, the order in which they meet does not matter.
      let third = MemberDifference(
        added: members(generator.next() & generator.next() & otherRemoved), removed: members(removed & otherAdded))
      let (left, right) = (
        ThreeWayMerge.members(mine: third, theirs: merge),
        ThreeWayMerge.members(mine: ThreeWayMerge.members(mine: third, theirs: mine), theirs: theirs)
      )
      XCTAssertEqual(bits(left.added), bits(right.added), "associativity")
      XCTAssertEqual(bits(left.removed), bits(right.removed), "associativity")
    }
  }

  func testAddedMembersFollowInTheOrderOfTheirAddition() {
    let difference = MemberDifference(from: [1, 2, 3], to: [3, 9, 1, 8])
    XCTAssertEqual(difference.added, [9, 8])
    XCTAssertEqual(difference.removed, [2])
    XCTAssertEqual(difference.applied(to: [8, 2, 7]), [8, 7, 9])
    let merge = ThreeWayMerge.members(mine: difference, theirs: MemberDifference(added: [7, 8], removed: [2]))
    XCTAssertEqual(merge.added, [7, 8, 9])
    XCTAssertEqual(merge.removed, [2])
  }

  func testListsAreArrangedByOtherLists() {
    XCTAssertEqual([1, 2, 3, 4].arranged(by: [9, 3, 1]), [3, 1, 2, 4])
    XCTAssertEqual([1, 2].arranged(by: []), [1, 2])
    XCTAssertEqual([1, 2].followed(by: [3, 2, 4]), [1, 2, 3, 4])
    XCTAssertEqual([].followed(by: [3, 2]), [3, 2])
  }

  // MARK: Orders

  private func merged(_ base: [Int], _ mine: [Int], _ theirs: [Int]) -> [Int] {
    func references(_ list: [Int]) -> [ObjectReference] { list.map { ObjectReference(entity: 2, key: Int64($0 + 1)) } }
    return ThreeWayMerge.order(base: references(base), mine: references(mine), theirs: references(theirs)).map { Int($0.key) - 1 }
  }

  /// Returns a list with random removals and moves, and a run of new members.
  private func edited(_ list: [Int], new: ClosedRange<Int>, _ generator: inout SeededGenerator) -> [Int] {
    var (result, choice) = (list, generator.next())
    func next(below bound: Int) -> Int {
      defer { choice >>= 6 }
      return bound > 0 ? Int(choice & 63) % bound : 0
    }
    for _ in 0..<next(below: 3) { result.remove(at: next(below: result.count)) }
    for _ in 0..<next(below: 3) {
      let start = next(below: result.count - 4)
      let run = result[start..<start + 4]
      result.removeSubrange(start..<start + 4)
      result.insert(contentsOf: run, at: next(below: result.count + 1))
    }
    if choice & 3 != 0 {
      choice = generator.next()
      result.insert(contentsOf: new, at: next(below: result.count + 1))
    }
    return result
  }

  /// Returns whether members follow each other in a list, if all of them are in it.
  private func isRun(_ members: ClosedRange<Int>, in list: [Int]) -> Bool {
    guard let start = list.firstIndex(of: members.lowerBound) else { return true }
    return Array(list[start...].prefix(members.count)) == Array(members)
  }

  func testAMillionPlacesAreMerged() {
    var generator = SeededGenerator(seed: 203)
    let count = 32
    let base = Array(0..<count)
    for number in 0..<Self.tripleCount / count {
      let mine = edited(base, new: 100...103, &generator)
      let theirs = edited(base, new: number % 5 == 0 ? 100...102 : 200...203, &generator)
      let order = merged(base, mine, theirs)
      if number % 16 != 0 {
        guard isRun(200...203, in: order), number % 5 == 0 || isRun(100...103, in: order) else {
          return XCTFail("merge \(number) separates new members")
        }
        continue
      }
      let (isMine, isTheirs) = (Set(mine), Set(theirs))
      let expected = Set(base.filter { isMine.contains($0) && isTheirs.contains($0) } + (mine + theirs).filter { $0 >= count })
      XCTAssertEqual(order.count, expected.count)
      XCTAssertEqual(Set(order), expected, "merge \(number)")
      XCTAssertEqual(merged(base, base, theirs), theirs, "identity of theirs")
      XCTAssertEqual(merged(base, mine, base), mine, "identity of mine")
      XCTAssertEqual(merged(base, mine, mine), mine)
      XCTAssertEqual(merged(base, mine, order), order, "idempotence")
      XCTAssertEqual(Set(merged(base, theirs, mine)), expected, "both sides' members, whichever side wins")
      // Members that neither side has moved or removed keep their order.
      let moved = Set(movedMembers(base, mine) + movedMembers(base, theirs))
      let left = base.filter { !moved.contains($0) && expected.contains($0) }
      XCTAssertEqual(order.filter(Set(left).contains), left, "merge \(number)")
    }
  }

  /// Returns the members of the base that a side has moved.
  private func movedMembers(_ base: [Int], _ list: [Int]) -> [Int] {
    let left = Set(list)
    func references(_ list: [Int]) -> [ObjectReference] { list.map { ObjectReference(entity: 2, key: Int64($0 + 1)) } }
    return OrderChange(from: references(base.filter(left.contains)), to: references(list)).runs.flatMap(\.members).map { Int($0.key) - 1 }
  }

  func testMovesOfBothSidesAreKept() {
    let base = [1, 2, 3, 4, 5, 6, 7, 8]
    // A run moves to the end here, another to the front there, and both add.
    XCTAssertEqual(
      merged(base, [1, 4, 5, 6, 7, 8, 2, 3, 90], [7, 80, 81, 1, 2, 3, 4, 5, 6, 8]), [7, 80, 81, 1, 4, 5, 6, 8, 2, 3, 90])
  }

  func testAMoveIsKeptWhenItsNeighborMovesOrLeaves() {
    XCTAssertEqual(merged([1, 2, 3, 4, 5], [1, 2, 5, 3, 4], [2, 1, 3, 4, 5]), [2, 5, 1, 3, 4], "the new neighbor has moved")
    XCTAssertEqual(merged([1, 2, 3, 4, 5], [1, 2, 5, 3, 4], [1, 3, 4, 5]), [1, 5, 3, 4], "the new neighbor has left")
    XCTAssertEqual(merged([1, 2, 3], [3, 1, 2], [1, 2]), [1, 2], "the moved member has left")
    XCTAssertEqual(merged([1, 2, 3], [3, 1, 2], [1, 2, 3, 9]), [3, 1, 2, 9])
  }

  func testAMemberMovedByBothSidesHasMyPlace() {
    let (mine, theirs) = ([5, 1, 2, 3, 4], [1, 2, 5, 3, 4])
    XCTAssertEqual(merged([1, 2, 3, 4, 5], mine, theirs), mine)
    XCTAssertEqual(merged([1, 2, 3, 4, 5], theirs, mine), theirs)
  }

  func testMembersAddedAtTheSamePlaceStayTogether() {
    XCTAssertEqual(merged([1], [1, 10, 11], [1, 20, 21]), [1, 10, 11, 20, 21])
    XCTAssertEqual(merged([1], [1, 20, 21], [1, 10, 11]), [1, 20, 21, 10, 11])
    XCTAssertEqual(merged([], [10, 11], [11, 20]), [10, 11, 20], "a member that both have added is in the list once")
  }
}
