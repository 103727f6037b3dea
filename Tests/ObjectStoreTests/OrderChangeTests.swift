import ObjectModel
import XCTest
import _TestSupport

@testable import ObjectStore

/// Orders as moves of members relative to their neighbors.
final class OrderChangeTests: XCTestCase {
  private func members(_ keys: Int64...) -> [ObjectReference] { keys.map { ObjectReference(entity: 1, key: $0) } }
  private func members(_ keys: some Sequence<Int64>) -> [ObjectReference] { keys.map { ObjectReference(entity: 1, key: $0) } }
  private func run(after: Int64?, _ keys: Int64...) -> OrderChange.Run {
    OrderChange.Run(after: after.map { ObjectReference(entity: 1, key: $0) }, members: keys.map { ObjectReference(entity: 1, key: $0) })
  }

  func testAChangeContainsOnlyMovedMembers() {
    func runs(_ old: [ObjectReference], _ new: [ObjectReference]) -> [OrderChange.Run] { OrderChange(from: old, to: new).runs }
    XCTAssertEqual(runs(members(1, 2, 3), members(1, 2, 3)), [])
    XCTAssertEqual(runs([], []), [])
    XCTAssertEqual(runs([], members(1, 2)), [run(after: nil, 1, 2)])
    XCTAssertEqual(runs(members(1, 2, 3), members(1, 9, 2, 3)), [run(after: 1, 9)])
    XCTAssertEqual(runs(members(1, 2, 3), members(9, 8, 1, 2, 3, 7)), [run(after: nil, 9, 8), run(after: 3, 7)])
    XCTAssertEqual(runs(members(1, 2, 3, 4), members(4, 1, 2, 3)), [run(after: nil, 4)])
    XCTAssertEqual(runs(members(1, 2, 3, 4), members(1, 4)), [], "members that leave are not mentioned")
    XCTAssertEqual(runs(members(1, 2, 3, 4), []), [])
    XCTAssertEqual(runs(members(1, 2, 3, 4, 5), members(5, 2, 3, 1)), [run(after: nil, 5), run(after: 3, 1)])
  }

  func testOneMoreOfTenThousandIsOneRunOfOneMember() {
    let old = members(1...10_000)
    var new = old
    new.insert(ObjectReference(entity: 1, key: 20_000), at: 5_000)
    XCTAssertEqual(OrderChange(from: old, to: new).runs, [run(after: 5_000, 20_000)])
    XCTAssertEqual(OrderChange(from: old, to: new).applied(to: old), new)
  }

  func testAppliedChangesResultInTheNewOrder() {
    var generator = SeededGenerator(seed: 7)
    for round in 0..<4_000 {
      let count = Int64.random(in: 0...(round % 20 == 0 ? 200 : 9), using: &generator)
      let old = count == 0 ? [] : members(1...count).shuffled(using: &generator)
      var new = old
      new.removeAll { _ in Int.random(in: 0..<5, using: &generator) == 0 }
      for key in 0..<Int64.random(in: 0...4, using: &generator) {
        new.insert(ObjectReference(entity: 2, key: key + 1), at: Int.random(in: 0...new.count, using: &generator))
      }
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: new.shuffle(using: &generator)
      case 1 where !new.isEmpty:
        let moved = new.remove(at: Int.random(in: new.indices, using: &generator))
        new.insert(moved, at: Int.random(in: 0...new.count, using: &generator))
      default: break
      }
      let change = OrderChange(from: old, to: new)
      let removed = Set(old).subtracting(new)
      XCTAssertEqual(change.applied(to: old, without: removed), new, "\(old) \(new)")
      // Members can also leave before, as by a link that was removed earlier.
      XCTAssertEqual(change.applied(to: old.filter { !removed.contains($0) }), new)
      XCTAssertEqual(change.applied(to: new), new, "applying a change twice changes nothing")
      let moved = change.runs.flatMap(\.members)
      XCTAssertEqual(Set(moved).count, moved.count)
      XCTAssertTrue(change.runs.allSatisfy { run in run.after.map { !moved.contains($0) } ?? true }, "runs are relative to kept members")
      // Runs can be applied separately.
      let apart = change.runs.reduce(old) { OrderChange(runs: [$1]).applied(to: $0) }
      XCTAssertEqual(apart.filter { !removed.contains($0) }, new)
    }
  }

  func testRunsOfConsecutiveChangesCanBeJoined() {
    var generator = SeededGenerator(seed: 8)
    for _ in 0..<2_000 {
      let old = members(1...8)
      let middle = Array(old.shuffled(using: &generator).prefix(6)) + members(10)
      let new = Array((middle + members(11, 12)).shuffled(using: &generator).prefix(7))
      let runs = OrderChange(from: old, to: middle).runs + OrderChange(from: middle, to: new).runs
      XCTAssertEqual(OrderChange(runs: runs).applied(to: old, without: Set(old + middle).subtracting(new)), new)
    }
  }

  func testTheFewestMembersAreMoved() {
    // Compared with all subsequences.
    var generator = SeededGenerator(seed: 9)
    for _ in 0..<300 {
      let new = members(1...Int64.random(in: 1...7, using: &generator)).shuffled(using: &generator)
      let longest = (0..<(1 << new.count)).lazy.map { mask in new.indices.filter { mask & 1 << $0 != 0 }.map { new[$0].key } }
        .filter { $0 == $0.sorted() }.map(\.count).max()
      let moved = OrderChange(from: new.sorted { $0.key < $1.key }, to: new).runs.flatMap(\.members)
      XCTAssertEqual(moved.count, new.count - (longest ?? 0))
    }
  }

  func testArbitraryRunsNeverTrap() {
    var generator = SeededGenerator(seed: 10)
    for _ in 0..<3_000 {
      func some(_ maximum: Int) -> [ObjectReference] {
        (0..<Int.random(in: 0...maximum, using: &generator)).map { _ in
          ObjectReference(entity: 1, key: Int64.random(in: 1...5, using: &generator))
        }
      }
      let runs = (0..<Int.random(in: 0...4, using: &generator)).map { _ in OrderChange.Run(after: some(1).first, members: some(4)) }
      let (old, left) = (some(5), Set(some(2)))
      let new = OrderChange(runs: runs).applied(to: old, without: left)
      XCTAssertEqual(Set(new), Set(old + runs.flatMap(\.members)).subtracting(left))
    }
    XCTAssertEqual(
      OrderChange(runs: [run(after: 9, 5)]).applied(to: members(1, 2)), members(1, 2, 5), "behind an unknown member, to the end")
  }
}
