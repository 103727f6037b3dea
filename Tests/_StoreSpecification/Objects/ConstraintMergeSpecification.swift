import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Saves with unique values that exist already, under every merge policy (rows C19 and M16, table 3d).
public final class ConstraintMergeSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testEveryMergePolicyMatchesTheTable", { $0.testEveryMergePolicyMatchesTheTable }),
        ("testErrorContainsBothObjectsAndTheirValues", { $0.testErrorContainsBothObjectsAndTheirValues }),
        ("testNewObjectAdoptsTheStoredIdentity", { $0.testNewObjectAdoptsTheStoredIdentity }),
        ("testRegisteredStoredObjectSurvives", { $0.testRegisteredStoredObjectSurvives }),
        ("testRelationshipsAreMovedToTheSurvivor", { $0.testRelationshipsAreMovedToTheSurvivor }),
        ("testOrderedMembersAreAppendedToTheStoredOnes", { $0.testOrderedMembersAreAppendedToTheStoredOnes }),
        ("testOneToOneRelationshipsAreMovedToTheSurvivor", { $0.testOneToOneRelationshipsAreMovedToTheSurvivor }),
        ("testNewObjectsAreMergedIntoTheFirst", { $0.testNewObjectsAreMergedIntoTheFirst }),
        ("testSeveralNewObjectsAreMergedIntoAStoredOne", { $0.testSeveralNewObjectsAreMergedIntoAStoredOne }),
        ("testUpdateToDuplicateValues", { $0.testUpdateToDuplicateValues }),
        ("testObjectThatMatchesTwoStoredObjects", { $0.testObjectThatMatchesTwoStoredObjects }),
        ("testCompoundConstraintsCompareAllTheirValues", { $0.testCompoundConstraintsCompareAllTheirValues }),
        ("testInheritedConstraints", { $0.testInheritedConstraints }),
        ("testARuleMergesValues", { $0.testARuleMergesValues }),
        ("testApplicationCanResolveConflicts", { $0.testApplicationCanResolveConflicts }),
        ("testStoredRowCanChangeDuringTheMerge", { $0.testStoredRowCanChangeDuringTheMerge }),
        ("testIDsObtainedBeforeTheSaveAreReplaced", { $0.testIDsObtainedBeforeTheSaveAreReplaced }),
        ("testThousandConflictsAreMerged", { $0.testThousandConflictsAreMerged }),
        ("testRandomImportsLeaveOneObjectPerKey", { $0.testRandomImportsLeaveOneObjectPerKey }),
      ] as [(String, (ConstraintMergeSpecification) -> () throws -> Void)])
  }

  private static let policies: [MergePolicy] = [.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback]
  private func isStores(_ policy: MergePolicy) -> Bool {
    policy.mergeType == .mergeByPropertyStoreTrump || policy.mergeType == .rollback
  }

  private func row(_ a: Int64, _ b: Int64?, _ key: String) -> [String: Slot] {
    ["a": .int(a), "b": b.map { .int($0) } ?? .null, "key": .text(key)]
  }

  func testEveryMergePolicyMatchesTheTable() throws {
    for (policy, expected): (MergePolicy, [Int64?]) in [
      // Unset values do not count, except under the policy that overwrites everything.
      (.mergeByPropertyObjectTrump, [2, 1, 7]), (.overwrite, [2, 0, nil]), (.mergeByPropertyStoreTrump, [1, 1, 7]), (.rollback, [1, 1, 7]),
    ] {
      let open = try makeStore(MergeModel.compiled)
      let id = try open.insert("Item", row(1, 1, "k").merging(["c": .int(7)]) { $1 })
      let context = open.context(policy)
      let new = try context.insert("Item", ["key": "k", "a": 2])
      try context.save()
      XCTAssertEqual(try open.count("Item"), 1, "\(policy)")
      XCTAssertEqual(try open.numbers(id), expected, "\(policy)")
      XCTAssertEqual(new.numbers, expected, "\(policy)")
      XCTAssertFalse(context.hasChanges || new.isInserted || new.hasChanges)
      XCTAssertEqual((new as? MergedItem)?.events, [.mergePolicy])
    }
    let open = try makeStore(MergeModel.compiled)
    try open.insert("Item", row(1, 1, "k"))
    let context = open.context()
    let new = try context.insert("Item", ["key": "k", "a": 2])
    assertStoreError(.constraintConflict) { try context.save() }
    XCTAssertTrue(new.isInserted)
  }

  func testErrorContainsBothObjectsAndTheirValues() throws {
    let open = try makeStore(MergeModel.compiled)
    let id = try open.insert("Item", row(1, 1, "secret"))
    let context = open.context()
    let new = try context.insert("Item", ["key": "secret", "a": 2])
    let pair = try (0..<2).map { try context.insert("Item", ["code": "twice", "a": $0]) }
    let error = try XCTUnwrap(assertStoreError(.constraintConflict) { try context.save() })
    XCTAssertEqual(error.coreDataCode, 133021)
    XCTAssertEqual(error.constraintConflicts.count, 2)
    let stored = try XCTUnwrap(error.constraintConflicts.first { $0.constraint == ["key"] })
    XCTAssertEqual(stored.databaseObjectID, id)
    XCTAssertEqual(stored.databaseObject(in: context)?.integer("a"), 1)
    XCTAssertEqual(try stored.databaseSnapshot?["a"] as? Int64, 1)
    XCTAssertEqual(stored.objects(in: context), [new])
    XCTAssertEqual(try stored.objectSnapshots.map { try $0["a"] as? Int64 }, [2])
    let pending = try XCTUnwrap(error.constraintConflicts.first { $0.constraint == ["code"] })
    XCTAssertNil(pending.databaseObjectID)
    XCTAssertNil(pending.databaseSnapshot)
    XCTAssertEqual(Set(pending.objects(in: context)), Set(pair))
    XCTAssertFalse("\(error) \(error.constraintConflicts)".contains("secret"))
  }

  func testNewObjectAdoptsTheStoredIdentity() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let id = try open.insert("Item", row(1, 1, "k"))
      let context = open.context(policy)
      let new = try context.insert("Item", ["key": "k", "a": 2])
      try context.save()
      XCTAssertEqual(new.objectID, id, "\(policy)")
      XCTAssertTrue(context.registeredObject(for: id) === new)
      XCTAssertTrue(try context.existingObject(with: id) === new)
      try new.setValue(9, forKey: "a")
      try context.save()
      XCTAssertEqual(try open.numbers(id)?[0], 9)
      context.delete(new)
      try context.save()
      XCTAssertEqual(try open.count("Item"), 0)
    }
  }

  func testRegisteredStoredObjectSurvives() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let id = try open.insert("Item", row(1, 1, "k"))
      let context = open.context(policy)
      let stored = try context.existingObject(with: id)
      // It has a change of its own, which is saved as well.
      try stored.setValue(5, forKey: "c")
      let new = try context.insert("Item", ["key": "k", "a": 2])
      try context.save()
      let expected: [Int64?] = isStores(policy) ? [1, 1, 5] : policy.mergeType == .overwrite ? [2, 0, nil] : [2, 1, 5]
      XCTAssertEqual(stored.numbers, expected, "\(policy)")
      XCTAssertEqual(try open.numbers(id), expected, "\(policy)")
      XCTAssertTrue(stored.managedObjectContext === context)
      XCTAssertNil(new.managedObjectContext)
      XCTAssertEqual(new.objectID, id, "Who has the new object finds the survivor by its ID.")
      XCTAssertEqual(new.integer("a"), 2)
      XCTAssertFalse(context.hasChanges || new.hasChanges)
    }
  }

  func testRelationshipsAreMovedToTheSurvivor() throws {
    for policy in Self.policies {
      for isAtHand in [true, false] {
        let open = try makeStore(MergeModel.compiled)
        let setup = open.context()
        let oldTag = try setup.insert("Tag", ["name": "old"])
        let old = try setup.insert("Item", ["key": "k", "a": 1, "tags": Set([oldTag])])
        let oldPart = try setup.insert("Part", ["name": "old", "item": old])
        try setup.save()
        let context = open.context(policy)
        let held = isAtHand ? try context.existingObject(with: old.objectID) : nil
        if let held { XCTAssertEqual(held.members("parts").count, 1) }
        let tag = try context.insert("Tag", ["name": "new"])
        let box = try context.insert("Box", ["name": "box"])
        let new = try context.insert("Item", ["key": "k", "tags": Set([tag]), "box": box])
        let part = try context.insert("Part", ["name": "new", "item": new])
        try context.save()
        let survivor = held ?? new
        XCTAssertEqual(survivor.objectID, old.objectID)
        XCTAssertEqual(part.object("item"), survivor, "\(policy), \(isAtHand)")
        XCTAssertEqual(Set(survivor.members("parts").map(\.objectID)), [oldPart.objectID, part.objectID])
        XCTAssertEqual(Set(survivor.members("tags").map(\.objectID)), [oldTag.objectID, tag.objectID])
        XCTAssertEqual(tag.members("items"), [survivor])
        XCTAssertEqual(survivor.object("box"), isStores(policy) ? nil : box)
        XCTAssertEqual(box.list("items"), isStores(policy) ? [] : [survivor])
        let fresh = open.context()
        let found = try fresh.existingObject(with: old.objectID)
        XCTAssertEqual(found.members("parts").count, 2, "\(policy), \(isAtHand)")
        XCTAssertEqual(found.members("tags").count, 2)
        XCTAssertEqual(found.object("box")?.text("name"), isStores(policy) ? nil : "box")
        XCTAssertFalse(context.hasChanges)
      }
    }
  }

  func testOrderedMembersAreAppendedToTheStoredOnes() throws {
    for policy in Self.policies {
      let model = SpecificationModels.compile([
        SpecificationModels.entity(
          "Box", [SpecificationModels.text("name"), SpecificationModels.toMany("items", "Item", "box", ordered: true)], unique: [["name"]]),
        SpecificationModels.entity("Item", [SpecificationModels.text("key"), SpecificationModels.toOne("box", "Box", "items")]),
      ])
      let open = try makeStore(model)
      let setup = open.newContext()
      let box = try setup.insert("Box", ["name": "box"])
      try box.setValue(try ["a", "b"].map { try setup.insert("Item", ["key": $0]) }, forKey: "items")
      try setup.save()
      let context = ManagedObjectContext(coordinator: open.coordinator, mergePolicy: policy)
      let new = try context.insert("Box", ["name": "box"])
      try new.setValue(try ["c", "d"].map { try context.insert("Item", ["key": $0]) }, forKey: "items")
      try context.save()
      XCTAssertEqual(new.objectID, box.objectID)
      XCTAssertEqual(new.list("items").compactMap { $0.text("key") }, ["a", "b", "c", "d"], "\(policy)")
      let fresh = open.newContext()
      XCTAssertEqual(
        try fresh.existingObject(with: box.objectID).list("items").compactMap { $0.text("key") }, ["a", "b", "c", "d"], "\(policy)")
    }
  }

  func testOneToOneRelationshipsAreMovedToTheSurvivor() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let setup = open.context()
      let old = try setup.insert("Item", ["key": "k"])
      let oldTwin = try setup.insert("Item", ["key": "old twin", "twin": old])
      try setup.save()
      let context = open.context(policy)
      let new = try context.insert("Item", ["key": "k"])
      let twin = try context.insert("Item", ["key": "new twin", "twin": new])
      try context.save()
      let winner = isStores(policy) ? oldTwin : twin
      XCTAssertEqual(try open.value(old.objectID, "twin"), winner.objectID.slot, "\(policy)")
      XCTAssertEqual(try open.value(oldTwin.objectID, "twin"), winner === oldTwin ? old.objectID.slot : .null, "\(policy)")
      XCTAssertEqual(try open.value(twin.objectID, "twin"), winner === twin ? old.objectID.slot : .null, "\(policy)")
      XCTAssertEqual(new.object("twin")?.objectID, winner.objectID)
      XCTAssertEqual(twin.object("twin"), winner === twin ? new : nil)
    }
  }

  func testNewObjectsAreMergedIntoTheFirst() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let context = open.context(policy)
      let first = try context.insert("Item", ["key": "k", "a": 1, "c": 1])
      let second = try context.insert("Item", ["key": "k", "a": 2, "b": 5])
      let part = try context.insert("Part", ["name": "p", "item": second])
      try context.save()
      let expected: [Int64?] = isStores(policy) ? [1, 0, 1] : policy.mergeType == .overwrite ? [2, 5, nil] : [2, 5, 1]
      XCTAssertEqual(first.numbers, expected, "\(policy)")
      XCTAssertEqual(try open.count("Item"), 1)
      XCTAssertEqual(try open.numbers(first.objectID), expected)
      XCTAssertNil(second.managedObjectContext)
      XCTAssertEqual(second.objectID, first.objectID)
      XCTAssertEqual(part.object("item"), first)
      XCTAssertEqual(first.members("parts"), [part])
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testSeveralNewObjectsAreMergedIntoAStoredOne() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let id = try open.insert("Item", row(1, 1, "k"))
      let context = open.context(policy)
      let new = try (2...4).map { try context.insert("Item", ["key": "k", "a": $0]) }
      let parts = try new.map { try context.insert("Part", ["name": "p", "item": $0]) }
      try context.save()
      XCTAssertEqual(try open.numbers(id)?[0], isStores(policy) ? 1 : 4, "\(policy)")
      XCTAssertEqual(try open.count("Item"), 1)
      XCTAssertEqual(Set(parts.compactMap { $0.object("item")?.objectID }), [id])
      XCTAssertEqual(new.filter { $0.managedObjectContext != nil }.count, 1)
      XCTAssertEqual(Set(new.map(\.objectID)), [id])
    }
  }

  func testUpdateToDuplicateValues() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let first = try open.insert("Item", row(1, 1, "k"))
      let second = try open.insert("Item", row(2, 2, "l"))
      let context = open.context(policy)
      let object = try context.existingObject(with: second)
      try object.setValue("k", forKey: "key")
      try object.setValue(9, forKey: "a")
      switch policy.mergeType {
      case .mergeByPropertyStoreTrump:
        try context.save()
        XCTAssertEqual(object.text("key"), "l")
        XCTAssertEqual(try open.numbers(second), [9, 2, nil], "Other changes are saved.")
      case .rollback:
        try context.save()
        XCTAssertEqual(object.text("key"), "l")
        XCTAssertEqual(object.numbers, [2, 2, nil])
      default:
        let error = assertStoreError(.constraintConflict) { try context.save() }
        XCTAssertEqual(error?.constraintConflicts.first?.databaseObjectID, first)
        XCTAssertTrue(error?.message.contains("neither is deleted") ?? false)
        XCTAssertTrue(object.isUpdated)
      }
      XCTAssertEqual(try open.numbers(first), [1, 1, nil])
      XCTAssertEqual(try open.count("Item"), 2)
    }
  }

  func testObjectThatMatchesTwoStoredObjects() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let first = try open.insert("Item", row(1, 1, "k"))
      let second = try open.insert("Item", ["a": .int(2), "code": .text("c")])
      let context = open.context(policy)
      let new = try context.insert("Item", ["key": "k", "code": "c", "a": 3])
      if isStores(policy) {
        try context.save()
        XCTAssertEqual(new.objectID, first, "\(policy)")
        XCTAssertNil(new.text("code"))
      } else {
        let error = assertStoreError(.constraintConflict) { try context.save() }
        XCTAssertEqual(Set(error?.constraintConflicts.compactMap(\.databaseObjectID) ?? []).isEmpty, false)
        XCTAssertTrue(new.isInserted)
      }
      XCTAssertEqual(try open.numbers(first), [1, 1, nil])
      XCTAssertEqual(try open.numbers(second)?[0], 2)
    }
    // By two constraints, it can match one object.
    let open = try makeStore(MergeModel.compiled)
    let id = try open.insert("Item", row(1, 1, "k").merging(["code": .text("c")]) { $1 })
    let context = open.context(.mergeByPropertyObjectTrump)
    try context.insert("Item", ["key": "k", "code": "c", "a": 3])
    try context.save()
    XCTAssertEqual(try open.numbers(id), [3, 1, nil])
    XCTAssertEqual(try open.count("Item"), 1)
  }

  func testCompoundConstraintsCompareAllTheirValues() throws {
    let open = try makeStore(MergeModel.compiled)
    let id = try open.insert("Item", ["x": .int(1), "y": .int(2), "a": .int(1)])
    let context = open.context(.mergeByPropertyObjectTrump)
    try context.insert("Item", ["x": 1, "y": 2, "a": 5])
    try context.insert("Item", ["x": 1, "a": 6])
    try context.insert("Item", ["x": 1, "a": 7])
    try context.insert("Item", ["x": 2, "y": 2, "a": 8])
    try context.save()
    XCTAssertEqual(try open.numbers(id)?[0], 5)
    XCTAssertEqual(try open.count("Item"), 4)
  }

  func testInheritedConstraints() throws {
    for policy in Self.policies {
      let open = try makeStore(MergeModel.compiled)
      let sample = try open.insert("Sample", row(1, 1, "k").merging(["grade": .int(1)]) { $1 })
      let plain = try open.insert("Item", row(2, 2, "l"))
      // A new object of a superentity is merged into the stored one of the subentity.
      let context = open.context(policy)
      let new = try context.insert("Item", ["key": "k", "a": 9])
      let part = try context.insert("Part", ["item": new])
      try context.save()
      XCTAssertEqual(try open.numbers(sample)?[0], isStores(policy) ? 1 : 9, "\(policy)")
      XCTAssertEqual(try open.value(sample, "grade"), .int(1))
      XCTAssertEqual(part.object("item")?.objectID, sample)
      XCTAssertNil(new.managedObjectContext, "It is no object of the survivor's entity.")
      // One of a subentity has values that a stored object of the superentity cannot have.
      try context.insert("Sample", ["key": "l", "grade": 3, "a": 9])
      if isStores(policy) {
        try context.save()
      } else {
        let error = assertStoreError(.constraintConflict) { try context.save() }
        XCTAssertTrue(error?.message.contains("cannot be merged") ?? false)
      }
      XCTAssertEqual(try open.numbers(plain), [2, 2, nil])
      XCTAssertEqual(try open.count("Item"), 2)
    }
  }

  func testARuleMergesValues() throws {
    let open = try makeStore(MergeModel.compiled)
    let id = try open.insert("Item", row(10, 1, "k"))
    let policy: MergePolicy = .mergeByPropertyStoreTrump.resolving("Item", "a", as: Int.self) { conflict in
      XCTAssertNil(conflict.original)
      return (conflict.object ?? 0) + (conflict.store ?? 0)
    }
    let context = open.context(policy)
    for _ in 0..<3 { try context.insert("Item", ["key": "k", "a": 2, "b": 9]) }
    try context.save()
    XCTAssertEqual(try open.numbers(id), [16, 1, nil])
  }

  func testApplicationCanResolveConflicts() throws {
    struct Latest: MergeResolver {
      func decision(for conflict: ConstraintConflict) throws -> MergeDecision {
        let stored = try conflict.databaseSnapshot?.value("c", as: Int.self) ?? 0
        let mine = try conflict.objectSnapshots.compactMap { try $0.value("c", as: Int.self) }.max() ?? 0
        return MergeDecision(mine > stored ? .mergeByPropertyObjectTrump : .rollback)
      }
    }
    let open = try makeStore(MergeModel.compiled)
    let id = try open.insert("Item", row(1, 1, "k").merging(["c": .int(5)]) { $1 })
    let context = open.context(MergePolicy(Latest()))
    try context.insert("Item", ["key": "k", "a": 2, "c": 4])
    try context.save()
    XCTAssertEqual(try open.numbers(id), [1, 1, 5])
    try context.insert("Item", ["key": "k", "a": 3, "c": 6])
    try context.save()
    XCTAssertEqual(try open.numbers(id), [3, 1, 6])
  }

  func testStoredRowCanChangeDuringTheMerge() throws {
    struct InterferingResolver: MergeResolver {
      let coordinator: PersistentStoreCoordinator
      let id: ManagedObjectID
      func decision(for conflict: MergeConflict) throws -> MergeDecision { MergeDecision(.mergeByPropertyObjectTrump) }
      func decision(for conflict: ConstraintConflict) throws -> MergeDecision {
        let other = ManagedObjectContext(coordinator: coordinator)
        try other.existingObject(with: id).setValue(77, forKey: "c")
        try other.save()
        return MergeDecision(.mergeByPropertyObjectTrump)
      }
    }
    let open = try makeStore(MergeModel.compiled)
    let id = try open.insert("Item", row(1, 1, "k"))
    let context = open.context(MergePolicy(InterferingResolver(coordinator: open.coordinator, id: id)))
    let new = try context.insert("Item", ["key": "k", "a": 2])
    try context.save()
    XCTAssertEqual(try open.numbers(id), [2, 1, 77])
    XCTAssertEqual(new.numbers, [2, 1, 77])
    XCTAssertEqual(new.objectID, id)
  }

  func testIDsObtainedBeforeTheSaveAreReplaced() throws {
    let open = try makeStore(MergeModel.compiled)
    let id = try open.insert("Item", row(1, 1, "k"))
    let context = open.context(.mergeByPropertyObjectTrump)
    let new = try context.insert("Item", ["key": "k", "a": 2])
    try context.obtainPermanentIDs(for: [new])
    XCTAssertNotEqual(new.objectID, id)
    let part = try context.insert("Part", ["item": new])
    try context.save()
    XCTAssertEqual(new.objectID, id)
    XCTAssertEqual(part.object("item"), new)
    XCTAssertEqual(try open.value(part.objectID, "item"), id.slot)
  }

  func testThousandConflictsAreMerged() throws {
    let open = try makeStore(MergeModel.compiled)
    let setup = open.context()
    for index in 0..<1_000 { try setup.insert("Item", ["key": "\(index)", "a": 0, "b": index]) }
    try setup.save()
    let context = open.context(.mergeByPropertyObjectTrump)
    let new = try (500..<1_500).map { index in
      let item = try context.insert("Item", ["key": "\(index)", "a": index])
      try context.insert("Part", ["name": "\(index)", "item": item])
      return item
    }
    try context.save()
    XCTAssertEqual(try open.count("Item"), 1_500)
    XCTAssertEqual(new.map { $0.integer("a") }, (500..<1_500).map { Int64($0) })
    XCTAssertEqual(new.map { $0.integer("b") }, (500..<1_500).map { $0 < 1_000 ? Int64($0) : 0 })
    XCTAssertEqual(new.filter { $0.members("parts").count == 1 }.count, 1_000)
  }

  /// Imports with random keys, compared with a dictionary.
  func testRandomImportsLeaveOneObjectPerKey() throws {
    for policy in Self.policies {
      var random = SeededGenerator(seed: UInt64(99 + policy.mergeType.rawValue))
      let open = try makeStore(MergeModel.compiled)
      let context = open.context(policy)
      var expected: [String: [Int64?]] = [:]
      for _ in 0..<8 {
        for _ in 0..<20 {
          let key = "\(Int.random(in: 0..<40, using: &random))"
          let names = ["a", "b", "c"].filter { _ in Bool.random(using: &random) }
          var values: [Int64?] = [nil, 0, nil]
          let object = try context.insert("Item", ["key": key])
          for name in names {
            let value = Int64.random(in: 1...9, using: &random)
            try object.setValue(value, forKey: name)
            values[["a": 0, "b": 1, "c": 2][name] ?? 0] = value
          }
          guard let known = expected[key] else {
            expected[key] = values
            continue
          }
          switch policy.mergeType {
          case .overwrite: expected[key] = values
          case .mergeByPropertyObjectTrump:
            expected[key] = ["a", "b", "c"].enumerated().map { names.contains($1) ? values[$0] : known[$0] }
          default: break
          }
        }
        try context.save()
        if Bool.random(using: &random) { context.reset() }
      }
      let objects = try open.context().all("Item")
      hold(objects)
      XCTAssertEqual(objects.count, expected.count, "\(policy)")
      let context2 = open.context()
      var found: [String: [Int64?]] = [:]
      for object in try context2.all("Item") { found[object.text("key") ?? ""] = object.numbers }
      XCTAssertEqual(found, expected, "\(policy)")
    }
  }
}
