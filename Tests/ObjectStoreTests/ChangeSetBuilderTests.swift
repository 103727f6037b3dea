import ObjectModel
import XCTest
import _StoreSpecification
import _TestSupport

@testable import ObjectStore

/// The combination of changes into change sets.
final class ChangeSetBuilderTests: XCTestCase {
  private let space = ObjectIDSpace.register(storeIdentifier: "ChangeSetBuilderTests", model: SpecificationModels.library)

  private func reference(_ key: Int64) throws -> ObjectReference {
    ObjectReference(entity: try XCTUnwrap(space.model.entity(named: "Book")).number, key: key)
  }

  /// Returns the change set of changes of objects, as (change, key, changed slot).
  private func changeSet(_ changes: [(ChangeSetBuilder.State, Int64, Int)]) throws -> ChangeSet {
    var builder = ChangeSetBuilder(space.model)
    for (change, key, slot) in changes { builder.add(change, try reference(key), SlotMask(slots: [slot])) }
    return builder.changeSet(ofStore: "store", in: space, token: nil, source: nil, author: nil, context: nil)
  }

  private func keys(_ ids: [ManagedObjectID]) -> [Int64] { ids.map(\.key) }

  func testEachObjectIsListedOnce() throws {
    let changes = try changeSet([
      (.inserted, 1, 0), (.updated, 2, 0), (.updated, 3, 1), (.refreshed, 4, 2),
      (.updated, 1, 1), (.deleted, 2, 0), (.inserted, 2, 0), (.refreshed, 3, 2), (.updated, 4, 0), (.refreshed, 5, 2),
      (.inserted, 6, 0), (.deleted, 6, 0), (.deleted, 7, 0), (.updated, 7, 0),
    ])
    XCTAssertEqual(keys(changes.inserted), [1])
    XCTAssertEqual(keys(changes.updated), [2, 3, 4])
    XCTAssertEqual(keys(changes.refreshed), [5])
    XCTAssertEqual(keys(changes.deleted), [6, 7])
    XCTAssertNil(changes.updatedSlots[0], "The object was deleted and inserted again.")
    XCTAssertEqual(changes.updatedSlots[1], SlotMask(slots: [1, 2]))
    XCTAssertEqual(changes.updatedSlots[2], SlotMask(slots: [0, 2]))
    XCTAssertFalse(changes.reordered.isEmpty, "The restored object may have other members.")
  }

  func testAscendingAndRepeatedObjectsAreCombinedAlike() throws {
    var random = SeededGenerator(seed: 42)
    for _ in 0..<500 {
      let changes: [(ChangeSetBuilder.State, Int64, Int)] = (0..<Int.random(in: 1...30, using: &random)).map { _ in
        (
          [.inserted, .updated, .refreshed, .deleted].randomElement(using: &random) ?? .updated, Int64.random(in: 1...8, using: &random),
          Int.random(in: 0...3, using: &random)
        )
      }
      // Sorted by object, the order of the changes of each object remains.
      let sorted = try changeSet(changes.enumerated().sorted { ($0.element.1, $0.offset) < ($1.element.1, $1.offset) }.map(\.element))
      let combined = try changeSet(changes)
      XCTAssertEqual(keys(combined.inserted).sorted(), keys(sorted.inserted))
      XCTAssertEqual(keys(combined.updated).sorted(), keys(sorted.updated))
      XCTAssertEqual(keys(combined.refreshed).sorted(), keys(sorted.refreshed))
      XCTAssertEqual(keys(combined.deleted).sorted(), keys(sorted.deleted))
      func slots(_ changes: ChangeSet) -> [Int64: SlotMask?] {
        Dictionary(uniqueKeysWithValues: changes.updated.enumerated().map { ($1.key, changes.updatedSlots[$0]) })
      }
      XCTAssertEqual(slots(combined), slots(sorted))
    }
  }
}
