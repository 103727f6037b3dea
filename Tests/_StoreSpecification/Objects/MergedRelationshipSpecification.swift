import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Both ends of relationships agree after a merge policy has resolved a conflict (row C18).
public final class MergedRelationshipSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testMembersAreMergedAsDifferences", { $0.testMembersAreMergedAsDifferences }),
        ("testMergedOrderKeepsAdditionsOfBothSides", { $0.testMergedOrderKeepsAdditionsOfBothSides }),
        ("testOrdersOfBothSidesAreMerged", { $0.testOrdersOfBothSidesAreMerged }),
        ("testAMemberMovedToAnotherOwnerKeepsItsPlaceThere", { $0.testAMemberMovedToAnotherOwnerKeepsItsPlaceThere }),
        ("testOverriddenToOneIsRemovedFromItsOwner", { $0.testOverriddenToOneIsRemovedFromItsOwner }),
        ("testOneToOneStaysOneToOne", { $0.testOneToOneStaysOneToOne }),
        ("testReferencesToADeletedObjectAreCleared", { $0.testReferencesToADeletedObjectAreCleared }),
        ("testDeletingADestinationReferencedByTheStoreConflicts", { $0.testDeletingADestinationReferencedByTheStoreConflicts }),
        ("testDeletedTreeIsRestoredCompletely", { $0.testDeletedTreeIsRestoredCompletely }),
        ("testRedundantMemberChangesAreNotChanges", { $0.testRedundantMemberChangesAreNotChanges }),
        ("testPendingLinkFoundRedundantIsNotSaved", { $0.testPendingLinkFoundRedundantIsNotSaved }),
        ("testRefreshRemovesPendingLinksFromBothEnds", { $0.testRefreshRemovesPendingLinksFromBothEnds }),
        ("testAContextAndItsStoreAgreeAfterASave", { $0.testAContextAndItsStoreAgreeAfterASave }),
      ] as [(String, (MergedRelationshipSpecification) -> () throws -> Void)])
  }

  private static let policies: [MergePolicy] = [.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback]

  /// Returns the objects with the given IDs in a context.
  private func objects(_ ids: [ManagedObjectID], in context: ManagedObjectContext) throws -> [ManagedObject] {
    let objects = try ids.map { try context.existingObject(with: $0) }
    hold(objects)
    return objects
  }

  func testMembersAreMergedAsDifferences() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let (context, other) = (open.context(policy), open.context())
      let item = try context.insert("Item", ["a": 1])
      let tags = try (0..<4).map { try context.insert("Tag", ["name": "\($0)"]) }
      try item.setValue(Set(tags[..<2]), forKey: "tags")
      try context.save()
      let same = try objects([item.objectID] + tags.map(\.objectID), in: other)
      try same[0].mutableSetValue(forKey: "tags").add(same[4])
      try same[0].mutableSetValue(forKey: "tags").remove(same[2])
      try same[0].setValue(3, forKey: "a")
      try other.save()
      try item.mutableSetValue(forKey: "tags").add(tags[2])
      try item.mutableSetValue(forKey: "tags").remove(tags[0])
      try item.setValue(2, forKey: "a")
      try context.save()
      XCTAssertEqual(item.members("tags"), [tags[2], tags[3]], "\(policy)")
      XCTAssertEqual(tags.map { $0.members("items").count }, [0, 0, 1, 1], "\(policy)")
      let fresh = open.context()
      let found = try objects([item.objectID], in: fresh)
      XCTAssertEqual(Set(found[0].members("tags").map(\.objectID)), [tags[2].objectID, tags[3].objectID])
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testMergedOrderKeepsAdditionsOfBothSides() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let (context, other) = (open.context(policy), open.context())
      let box = try context.insert("Box", ["name": "box"])
      let items = try (0..<5).map { try context.insert("Item", ["key": "\($0)"]) }
      try box.setValue(Array(items[..<3]), forKey: "items")
      try context.save()
      let same = try objects([box.objectID] + items.map(\.objectID), in: other)
      try same[0].mutableOrderedSetValue(forKey: "items").insert(same[4], at: 0)
      try same[0].setValue("theirs", forKey: "name")
      try other.save()
      try box.mutableOrderedSetValue(forKey: "items").insert(items[4], at: 1)
      try box.mutableOrderedSetValue(forKey: "items").remove(items[0])
      try box.setValue("mine", forKey: "name")
      try context.save()
      let keys = box.list("items").compactMap { $0.text("key") }
      XCTAssertEqual(Set(keys), ["1", "2", "3", "4"], "\(policy)")
      XCTAssertLessThan(keys.firstIndex(of: "4") ?? 9, keys.firstIndex(of: "1") ?? -1)
      let fresh = open.context()
      let found = try objects([box.objectID], in: fresh)[0]
      XCTAssertEqual(found.list("items").compactMap { $0.text("key") }, keys, "\(policy)")
    }
  }

  /// Returns a box with items 0 to 4, in a context and in another one that has read it.
  private func makeBox(_ context: ManagedObjectContext, _ other: ManagedObjectContext) throws -> (box: ManagedObject, same: ManagedObject) {
    let box = try context.insert("Box", ["name": "box"])
    try box.setValue(try (0..<5).map { try context.insert("Item", ["key": "\($0)"]) }, forKey: "items")
    try context.save()
    let same = try objects([box.objectID], in: other)[0]
    hold(box.list("items") + same.list("items"))
    XCTAssertEqual(keys(box), keys(same))
    return (box, same)
  }

  private func keys(_ box: ManagedObject) -> [String] { box.list("items").compactMap { $0.text("key") } }

  func testOrdersOfBothSidesAreMerged() throws {
    for policy in Self.policies + [.error] {
      let open = try makeStore(MergeModel.compiled)
      let (context, other) = (open.context(policy), open.context())
      let (box, same) = try makeBox(context, other)
      let theirs = try same.mutableOrderedSetValue(forKey: "items")
      theirs.insert(try other.insert("Item", ["key": "x"]), at: 1)
      theirs.insert(same.list("items")[5], at: 0)
      try other.save()
      XCTAssertEqual(keys(same), ["4", "0", "x", "1", "2", "3"])
      try box.mutableOrderedSetValue(forKey: "items").insert(try context.insert("Item", ["key": "y"]), at: 3)
      try box.mutableOrderedSetValue(forKey: "items").insert(box.list("items")[1], at: 0)
      try context.save()
      let fresh = open.context()
      XCTAssertEqual(keys(try objects([box.objectID], in: fresh)[0]), ["1", "4", "0", "x", "2", "y", "3"], "\(policy)")
    }
  }

  func testAMemberMovedToAnotherOwnerKeepsItsPlaceThere() throws {
    let open = try makeStore(MergeModel.compiled)
    let (context, other) = (open.context(), open.context())
    let (box, same) = try makeBox(context, other)
    let (items, shelf) = (same.list("items"), try other.insert("Box", ["name": "other"]))
    try shelf.setValue([items[4], items[3], items[2]], forKey: "items")
    try other.save()
    try box.setValue(Array(box.list("items").reversed()), forKey: "items")
    try context.save()
    let fresh = open.context()
    XCTAssertEqual(try objects([box.objectID, shelf.objectID], in: fresh).map(keys), [["1", "0"], ["4", "3", "2"]])
  }

  func testOverriddenToOneIsRemovedFromItsOwner() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let (context, other) = (open.context(policy), open.context())
      let boxes = try (0..<3).map { try context.insert("Box", ["name": "\($0)"]) }
      let item = try context.insert("Item", ["a": 1, "box": boxes[0]])
      try context.save()
      for box in boxes { XCTAssertEqual(box.list("items").count, box === boxes[0] ? 1 : 0) }
      let same = try objects([item.objectID] + boxes.map(\.objectID), in: other)
      try same[0].setValue(same[3], forKey: "box")
      try other.save()
      try item.setValue(boxes[1], forKey: "box")
      XCTAssertEqual(boxes[1].list("items"), [item])
      try context.save()
      let winner = [.mergeByPropertyStoreTrump, .rollback].contains(policy.mergeType) ? 2 : 1
      XCTAssertEqual(item.object("box"), boxes[winner], "\(policy)")
      XCTAssertEqual(boxes.map { $0.list("items").count }, (0..<3).map { $0 == winner ? 1 : 0 }, "\(policy)")
      XCTAssertEqual(try open.value(item.objectID, "box"), boxes[winner].objectID.slot)
      XCTAssertEqual(try open.members(boxes[winner].objectID, "items"), [item.objectID.reference])
    }
  }

  func testOneToOneStaysOneToOne() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let (context, other) = (open.context(policy), open.context())
      let items = try (0..<4).map { try context.insert("Item", ["key": "\($0)"]) }
      try items[0].setValue(items[1], forKey: "twin")
      try context.save()
      let same = try objects(items.map(\.objectID), in: other)
      try same[0].setValue(same[2], forKey: "twin")
      try other.save()
      try items[0].setValue(items[3], forKey: "twin")
      try context.save()
      let winner = [.mergeByPropertyStoreTrump, .rollback].contains(policy.mergeType) ? 2 : 3
      let expected = (0..<4).map { index -> Slot in
        index == 0 ? items[winner].objectID.slot : index == winner ? items[0].objectID.slot : .null
      }
      XCTAssertEqual(try items.map { try open.value($0.objectID, "twin") }, expected, "\(policy)")
      for (index, item) in items.enumerated() {
        context.refresh(item, mergeChanges: true)
        XCTAssertEqual(item.object("twin"), index == 0 ? items[winner] : index == winner ? items[0] : nil, "\(policy)")
      }
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testReferencesToADeletedObjectAreCleared() throws {
    for policy in [MergePolicy.mergeByPropertyStoreTrump, .rollback] {
      let open = try makeStore(MergeModel.compiled)
      let (context, other) = (open.context(policy), open.context())
      let (first, second) = (try context.insert("Item", ["key": "1"]), try context.insert("Item", ["key": "2"]))
      let box = try context.insert("Box", ["name": "box"])
      let tag = try context.insert("Tag", ["name": "tag"])
      try context.save()
      let same = try objects([box.objectID], in: other)
      other.delete(same[0])
      try other.save()
      try box.setValue("mine", forKey: "name")
      try first.setValue(box, forKey: "box")
      try second.setValue(box, forKey: "box")
      try second.setValue([tag], forKey: "tags")
      try second.setValue(7, forKey: "a")
      try context.save()
      XCTAssertNil(box.managedObjectContext)
      XCTAssertNil(first.object("box"))
      XCTAssertEqual(second.integer("a"), 7)
      XCTAssertEqual(tag.members("items"), [second])
      XCTAssertEqual(try open.value(first.objectID, "box"), .null, "\(policy)")
      XCTAssertEqual(try open.value(second.objectID, "box"), .null)
    }
  }

  func testDeletingADestinationReferencedByTheStoreConflicts() throws {
    let open = try makeStore(MergeModel.compiled)
    let (context, other) = (open.context(.mergeByPropertyObjectTrump), open.context())
    let item = try context.insert("Item", ["a": 1])
    let box = try context.insert("Box", ["name": "box"])
    try context.save()
    let same = try objects([item.objectID, box.objectID], in: other)
    // The other context puts the item into the box that is deleted here, while this context changes another value of it.
    try same[0].setValue(same[1], forKey: "box")
    try other.save()
    try item.setValue(2, forKey: "a")
    context.delete(box)
    let error = assertStoreError(.mergeConflict) { try context.save() }
    XCTAssertTrue(error?.message.contains("Item.box") ?? false, "\(String(describing: error))")
    XCTAssertEqual(try open.count("Box"), 1)
  }

  func testDeletedTreeIsRestoredCompletely() throws {
    let open = try makeStore(MergeModel.compiled)
    let (context, other) = (open.context(.mergeByPropertyStoreTrump), open.context())
    let item = try context.insert("Item", ["a": 1])
    let tag = try context.insert("Tag", ["name": "t", "items": [item]])
    let parts = try (0..<50).map { try context.insert("Part", ["name": "\($0)", "item": item]) }
    let lone = try context.insert("Part", ["name": "lone"])
    try context.save()
    let same = try objects([item.objectID], in: other)
    try same[0].setValue(3, forKey: "a")
    try other.save()
    XCTAssertEqual(tag.members("items"), [item])
    context.delete(lone)
    context.delete(item)
    try context.save()
    XCTAssertEqual(item.integer("a"), 3)
    XCTAssertEqual(item.members("parts"), Set(parts))
    XCTAssertEqual(tag.members("items"), [item])
    XCTAssertEqual(item.members("tags"), [tag])
    XCTAssertNil(lone.managedObjectContext)
    XCTAssertEqual(try open.count("Part"), 50)
    XCTAssertFalse(context.hasChanges)
    context.delete(item)
    try context.save()
    XCTAssertEqual(try open.count("Part"), 0)
  }
}
