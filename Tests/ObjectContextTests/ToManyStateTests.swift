import ObjectModel
import XCTest
import _TestSupport

@testable import ObjectContext

/// The current members of a relationship, from the stored ones and later changes.
final class ToManyStateTests: XCTestCase {
  private func makeRelationship() throws -> CompiledRelationship {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Owner") { Relationship("members", toMany: "Member", inverse: "owner") }
        Entity("Member") { Relationship("owner", to: "Owner", inverse: "members") }
      })
    return try XCTUnwrap(model.entity(named: "Owner")?.toManyRelationships.first)
  }

  private func reference(_ key: Int64) -> ObjectReference { ObjectReference(entity: 0, key: key) }

  func testRemovedMemberWithADeletedRowIsNotCountedTwice() throws {
    let state = ToManyState(relationship: try makeRelationship(), base: (1...3).map(reference))
    state.remove(reference(2))
    XCTAssertEqual(state.count, 2)
    state.forget([reference(2)])
    XCTAssertEqual(state.members, [reference(1), reference(3)])
    XCTAssertEqual(state.count, 2)
  }

  func testMembersMatchAReferenceList() throws {
    let relationship = try makeRelationship()
    for seed in 1...30 as ClosedRange<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let stored = (1...Int64.random(in: 1...30, using: &generator)).map(reference)
      let state = ToManyState(relationship: relationship, base: stored)
      var expected = Set(stored)
      for step in 0..<200 {
        let member = reference(.random(in: 1...40, using: &generator))
        switch Int.random(in: 0..<9, using: &generator) {
        case 0...3: XCTAssertEqual(state.add(member), expected.insert(member).inserted)
        case 4...6: XCTAssertEqual(state.remove(member), expected.remove(member) != nil)
        case 7: state.commit { $0 }
        default:
          // Its row was deleted, and it was not added again.
          if state.added.contains(member) { continue }
          state.forget([member])
          expected.remove(member)
        }
        XCTAssertEqual(Set(state.members), expected, "seed \(seed), step \(step)")
        XCTAssertEqual(state.count, expected.count, "seed \(seed), step \(step)")
        XCTAssertEqual(state.contains(member), expected.contains(member))
      }
    }
  }
}
