import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _TestSupport

/// Saves of rows that others have changed or deleted since they were read, under every merge policy (rows C17 and C18, table 3d).
public final class MergePolicySpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testEveryMergePolicyMatchesTheTable", { $0.testEveryMergePolicyMatchesTheTable }),
        ("testRowDeletedByAnotherContext", { $0.testRowDeletedByAnotherContext }),
        ("testDeletionOfARowChangedByAnotherContext", { $0.testDeletionOfARowChangedByAnotherContext }),
        ("testDeletionOnBothSidesSucceeds", { $0.testDeletionOnBothSidesSucceeds }),
        ("testObjectCheckedWithoutChangesTakesStoredValues", { $0.testObjectCheckedWithoutChangesTakesStoredValues }),
        ("testInterveningWriteCausesARetry", { $0.testInterveningWriteCausesARetry }),
        ("testEndlessInterveningWritesThrow", { $0.testEndlessInterveningWritesThrow }),
        ("testPropertyCanHaveAMergeRule", { $0.testPropertyCanHaveAMergeRule }),
        ("testEntityCanHaveItsOwnPolicy", { $0.testEntityCanHaveItsOwnPolicy }),
        ("testApplicationCanResolveConflicts", { $0.testApplicationCanResolveConflicts }),
        ("testErrorNamesBothSides", { $0.testErrorNamesBothSides }),
        ("testFailedSaveLeavesObjectsUnchanged", { $0.testFailedSaveLeavesObjectsUnchanged }),
        ("testObjectsAreNotifiedAndShowStoredValues", { $0.testObjectsAreNotifiedAndShowStoredValues }),
        ("testOtherContextsReceiveTheSavedChanges", { $0.testOtherContextsReceiveTheSavedChanges }),
        ("testRandomEditsMatchTheTable", { $0.testRandomEditsMatchTheTable }),
      ] as [(String, (MergePolicySpecification) -> () throws -> Void)])
  }

  /// An item read by two contexts: a=1 b=1 c=1.
  private struct Rivals {
    let open: OpenStore
    let context: ManagedObjectContext
    let mine: ManagedObject
    let other: ManagedObjectContext
    let theirs: ManagedObject
    var id: ManagedObjectID { mine.objectID }
  }

  private func rivals(_ policy: MergePolicy) throws -> Rivals {
    let open = try makeStore(MergeModel.compiled)
    let id = try open.insert("Item", ["a": .int(1), "b": .int(1), "c": .int(1), "key": .text("k")])
    let (context, other) = (open.context(policy), open.context())
    return Rivals(
      open: open, context: context, mine: try context.existingObject(with: id), other: other, theirs: try other.existingObject(with: id))
  }

  private func set(_ object: ManagedObject, _ values: [String: Any?]) throws {
    for (key, value) in values { try object.setValue(value, forKey: key) }
  }

  func testEveryMergePolicyMatchesTheTable() throws {
    let table: [(MergePolicy, [Int64?])] = [
      (.mergeByPropertyStoreTrump, [3, 3, 2]), (.mergeByPropertyObjectTrump, [2, 3, 2]), (.overwrite, [2, 1, 2]), (.rollback, [3, 3, 1]),
    ]
    for (policy, expected) in table {
      let rivals = try rivals(policy)
      try set(rivals.mine, ["a": 2, "c": 2])
      try set(rivals.theirs, ["a": 3, "b": 3])
      try rivals.other.save()
      try rivals.context.save()
      XCTAssertEqual(rivals.mine.numbers, expected, "\(policy)")
      XCTAssertEqual(try rivals.open.numbers(rivals.id), expected, "\(policy)")
      XCTAssertFalse(rivals.context.hasChanges || rivals.mine.hasChanges, "\(policy)")
      // It continues from there.
      try set(rivals.mine, ["a": 9])
      try rivals.context.save()
      XCTAssertEqual(try rivals.open.numbers(rivals.id)?[0], 9, "\(policy)")
    }
    let rivals = try rivals(.error)
    try set(rivals.mine, ["a": 2, "c": 2])
    try set(rivals.theirs, ["a": 3, "b": 3])
    try rivals.other.save()
    assertStoreError(.mergeConflict) { try rivals.context.save() }
    XCTAssertEqual(rivals.mine.numbers, [2, 1, 2])
    XCTAssertEqual(try rivals.open.numbers(rivals.id), [3, 3, 1])
  }

  func testRowDeletedByAnotherContext() throws {
    for policy in [MergePolicy.error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback] {
      let rivals = try rivals(policy)
      let (mine, context) = (rivals.mine, rivals.context)
      let box = try context.insert("Box", ["name": "box"])
      let tag = try context.insert("Tag", ["name": "tag"])
      try mine.setValue(box, forKey: "box")
      try mine.setValue([tag], forKey: "tags")
      try context.save()
      rivals.other.refresh(rivals.theirs, mergeChanges: false)
      try set(mine, ["a": 2, "c": 2])
      rivals.other.delete(rivals.theirs)
      try rivals.other.save()
      switch policy.mergeType {
      case .error:
        assertStoreError(.mergeConflict) { try context.save() }
        XCTAssertEqual(mine.numbers, [2, 1, 2])
        XCTAssertNil(try rivals.open.numbers(rivals.id))
      case .mergeByPropertyStoreTrump, .rollback:
        try context.save()
        XCTAssertNil(mine.managedObjectContext, "\(policy)")
        XCTAssertFalse(mine.isDeleted || mine.hasChanges || context.hasChanges)
        XCTAssertNil(try rivals.open.numbers(rivals.id))
        XCTAssertEqual(box.list("items"), [])
        XCTAssertEqual(tag.members("items"), [])
        XCTAssertEqual(mine.integer("a"), 2, "It reads as it was last.")
      case .mergeByPropertyObjectTrump, .overwrite:
        try context.save()
        XCTAssertEqual(try rivals.open.numbers(rivals.id), [2, 1, 2], "\(policy)")
        XCTAssertEqual(mine.numbers, [2, 1, 2])
        XCTAssertEqual(mine.object("box"), box)
        XCTAssertEqual(box.list("items"), [mine])
        XCTAssertEqual(mine.members("tags"), [tag])
        let fresh = rivals.open.context()
        let found = try fresh.existingObject(with: rivals.id)
        XCTAssertEqual(found.members("tags").count, 1, "\(policy)")
        XCTAssertEqual(found.object("box")?.list("items"), [found])
        try set(mine, ["a": 5])
        try context.save()
        XCTAssertEqual(try rivals.open.numbers(rivals.id)?[0], 5)
      }
    }
  }

  func testDeletionOfARowChangedByAnotherContext() throws {
    for policy in [MergePolicy.error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback] {
      let rivals = try rivals(policy)
      let context = rivals.context
      let mine = rivals.mine
      let box = try context.insert("Box", ["name": "box"])
      try mine.setValue(box, forKey: "box")
      let parts = try ["p", "q"].map { try context.insert("Part", ["name": $0, "item": mine]) }
      let twin = try context.insert("Item", ["key": "twin", "twin": mine])
      try context.save()
      rivals.other.refresh(rivals.theirs, mergeChanges: false)
      try set(rivals.theirs, ["a": 3, "b": 3])
      try rivals.other.save()
      context.delete(mine)
      context.processPendingChanges()
      XCTAssertTrue(parts[0].isDeleted)
      XCTAssertNil(twin.object("twin"))
      switch policy.mergeType {
      case .error:
        assertStoreError(.mergeConflict) { try context.save() }
        XCTAssertTrue(mine.isDeleted)
        XCTAssertEqual(try rivals.open.numbers(rivals.id), [3, 3, 1])
      case .mergeByPropertyStoreTrump, .rollback:
        try context.save()
        XCTAssertEqual(mine.managedObjectContext === context, true)
        XCTAssertFalse(mine.isDeleted || context.hasChanges)
        XCTAssertEqual(mine.numbers, [3, 3, 1], "\(policy)")
        XCTAssertEqual(mine.members("parts"), Set(parts), "What went with it is back with it.")
        XCTAssertFalse(parts.contains { $0.isDeleted || $0.managedObjectContext == nil })
        XCTAssertEqual(mine.object("box"), box)
        XCTAssertEqual(box.list("items"), [mine])
        XCTAssertEqual(twin.object("twin"), mine)
        XCTAssertEqual(mine.object("twin"), twin)
        let found = try rivals.open.context().existingObject(with: rivals.id)
        hold([found])
        XCTAssertEqual(try rivals.open.count("Part"), 2)
        XCTAssertEqual(try rivals.open.value(twin.objectID, "twin"), mine.objectID.slot)
      case .mergeByPropertyObjectTrump, .overwrite:
        try context.save()
        XCTAssertNil(mine.managedObjectContext)
        XCTAssertNil(try rivals.open.numbers(rivals.id), "\(policy)")
        XCTAssertEqual(try rivals.open.count("Part"), 0)
        XCTAssertEqual(try rivals.open.value(twin.objectID, "twin"), .null)
      }
    }
  }

  func testDeletionOnBothSidesSucceeds() throws {
    for policy in [MergePolicy.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback] {
      let rivals = try rivals(policy)
      XCTAssertEqual(rivals.mine.numbers, [1, 1, 1])
      rivals.other.delete(rivals.theirs)
      try rivals.other.save()
      rivals.context.delete(rivals.mine)
      try rivals.context.insert("Box", ["name": "new"])
      try rivals.context.save()
      XCTAssertNil(rivals.mine.managedObjectContext, "\(policy)")
      XCTAssertEqual(try rivals.open.count("Box"), 1)
    }
  }

  func testObjectCheckedWithoutChangesTakesStoredValues() throws {
    for policy in [MergePolicy.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback] {
      let rivals = try rivals(policy)
      rivals.context.detectConflicts(for: rivals.mine)
      try set(rivals.theirs, ["a": 3])
      try rivals.other.save()
      try rivals.context.insert("Box", ["name": "new"])
      try rivals.context.save()
      XCTAssertEqual(rivals.mine.numbers, [3, 1, 1], "It has nothing of its own: \(policy)")
      XCTAssertEqual(try rivals.open.count("Box"), 1)
    }
  }

  // MARK: Retries

  func testInterveningWriteCausesARetry() throws {
    for (type, expected, expectedRounds) in [
      (MergePolicy.MergeType.mergeByPropertyStoreTrump, [3, 1, 4] as [Int64?], 2), (.mergeByPropertyObjectTrump, [2, 1, 2], 2),
      (.overwrite, [2, 1, 2], 2),
      // It writes nothing, so no other save can interfere.
      (.rollback, [3, 1, 1], 1),
    ] {
      let coordinator = Mutex<(PersistentStoreCoordinator, ManagedObjectID)?>(nil)
      let rounds = Mutex(0)
      let rivals = try rivals(
        MergePolicy(
          Deciding { _ in
            let round = rounds.withLock { rounds in
              rounds += 1
              return rounds
            }
            if round == 1, let (coordinator, id) = coordinator.withLock({ $0 }) {
              let third = ManagedObjectContext(coordinator: coordinator)
              try third.existingObject(with: id).setValue(4, forKey: "c")
              try third.save()
            }
            return MergeDecision(type)
          }))
      coordinator.withLock { $0 = (rivals.open.coordinator, rivals.id) }
      try set(rivals.mine, ["a": 2, "c": 2])
      try set(rivals.theirs, ["a": 3])
      try rivals.other.save()
      try rivals.context.save()
      XCTAssertEqual(rounds.withLock { $0 }, expectedRounds)
      XCTAssertEqual(rivals.mine.numbers, expected, "\(type)")
      XCTAssertEqual(try rivals.open.numbers(rivals.id), type == .rollback ? [3, 1, 4] : expected, "\(type)")
    }
  }

  func testEndlessInterveningWritesThrow() throws {
    let coordinator = Mutex<(PersistentStoreCoordinator, ManagedObjectID)?>(nil)
    let rivals = try rivals(
      MergePolicy(
        Deciding { conflict in
          if let (coordinator, id) = coordinator.withLock({ $0 }) {
            let third = ManagedObjectContext(coordinator: coordinator)
            try third.existingObject(with: id).setValue(conflict.newVersion, forKey: "b")
            try third.save()
          }
          return MergeDecision(.mergeByPropertyObjectTrump)
        }))
    coordinator.withLock { $0 = (rivals.open.coordinator, rivals.id) }
    try set(rivals.mine, ["a": 2])
    try set(rivals.theirs, ["c": 3])
    try rivals.other.save()
    assertStoreError(.mergeConflict) { try rivals.context.save() }
    XCTAssertTrue(rivals.mine.isUpdated)
    coordinator.withLock { $0 = nil }
    try rivals.context.save()
    XCTAssertEqual(rivals.mine.integer("a"), 2)
    XCTAssertEqual(rivals.mine.integer("c"), 3)
  }

  // MARK: Rules

  func testPropertyCanHaveAMergeRule() throws {
    let sum: MergePolicy = .mergeByPropertyObjectTrump.resolving("Item", "a", as: Int.self) { conflict in
      (conflict.object ?? 0) + (conflict.store ?? 0) - (conflict.original ?? 0)
    }
    let rivals = try rivals(sum)
    try set(rivals.mine, ["a": 11, "b": 5])
    try set(rivals.theirs, ["a": 101, "c": 7])
    try rivals.other.save()
    try rivals.context.save()
    XCTAssertEqual(rivals.mine.numbers, [111, 5, 7])
    XCTAssertEqual(try rivals.open.numbers(rivals.id), [111, 5, 7])
    // If only one side has changed the value, the rule is not applied.
    try set(rivals.mine, ["a": 5])
    rivals.other.refresh(rivals.theirs, mergeChanges: false)
    try set(rivals.theirs, ["b": 6])
    try rivals.other.save()
    try rivals.context.save()
    XCTAssertEqual(try rivals.open.numbers(rivals.id), [5, 6, 7])
  }

  func testEntityCanHaveItsOwnPolicy() throws {
    let rivals = try rivals(.error.resolving("Item", by: .mergeByPropertyObjectTrump).resolving("Sample", by: .rollback))
    let sample = try rivals.context.insert("Sample", ["a": 1, "grade": 1])
    try rivals.context.save()
    let same = try rivals.other.existingObject(with: sample.objectID)
    for object in [rivals.mine, sample] { try set(object, ["a": 2]) }
    for object in [rivals.theirs, same] { try set(object, ["a": 3]) }
    try rivals.other.save()
    try rivals.context.save()
    XCTAssertEqual(rivals.mine.integer("a"), 2)
    XCTAssertEqual(sample.integer("a"), 3)
    let tag = try rivals.context.insert("Tag", ["name": "t"])
    try rivals.context.save()
    try rivals.other.existingObject(with: tag.objectID).setValue("theirs", forKey: "name")
    try rivals.other.save()
    try tag.setValue("mine", forKey: "name")
    assertStoreError(.mergeConflict) { try rivals.context.save() }
  }

  func testApplicationCanResolveConflicts() throws {
    struct ResolverError: Error {}
    let seen = Mutex<[String]>([])
    let policy = MergePolicy(
      Deciding { conflict in
        if try conflict.storeSnapshot?["b"] as? Int64 == 13 { throw ResolverError() }
        let states = [conflict.originalSnapshot, conflict.objectSnapshot, conflict.storeSnapshot]
        try seen.withLock { $0 = try states.map { try $0?.value("a", as: Int.self).map(String.init) ?? "-" } }
        return MergeDecision(.mergeByPropertyStoreTrump, values: ["b": 42])
      })
    let rivals = try rivals(policy)
    try set(rivals.mine, ["a": 2, "c": 2])
    try set(rivals.theirs, ["a": 3])
    try rivals.other.save()
    try rivals.context.save()
    XCTAssertEqual(seen.withLock { $0 }, ["1", "2", "3"])
    XCTAssertEqual(try rivals.open.numbers(rivals.id), [3, 42, 2])
    rivals.other.refresh(rivals.theirs, mergeChanges: false)
    try set(rivals.theirs, ["b": 13])
    try rivals.other.save()
    try set(rivals.mine, ["a": 5])
    XCTAssertThrowsError(try rivals.context.save()) { XCTAssertTrue($0 is ResolverError) }
    XCTAssertTrue(rivals.mine.isUpdated)
  }

  // MARK: Errors

  func testErrorNamesBothSides() throws {
    let rivals = try rivals(.error)
    try set(rivals.mine, ["a": 2, "key": "my secret"])
    try set(rivals.theirs, ["a": 3, "key": "their secret"])
    try rivals.other.save()
    let error = assertStoreError(.mergeConflict) { try rivals.context.save() }
    let conflict = try XCTUnwrap(error?.mergeConflicts.first)
    XCTAssertEqual(error?.coreDataCode, 133020)
    XCTAssertEqual(conflict.object(in: rivals.context), rivals.mine)
    XCTAssertEqual([conflict.oldVersion, conflict.newVersion], [1, 2])
    XCTAssertEqual(try conflict.originalSnapshot?["key"] as? String, "k")
    XCTAssertEqual(try conflict.objectSnapshot?["key"] as? String, "my secret")
    // The other context uses the same coordinator, whose cache has its values.
    XCTAssertEqual(try conflict.cachedSnapshot?["key"] as? String, "their secret")
    XCTAssertNil(conflict.persistedSnapshot)
    let (original, stored) = (try XCTUnwrap(conflict.originalSnapshot), try XCTUnwrap(conflict.storeSnapshot))
    XCTAssertEqual(stored.keys(differingFrom: original), ["a", "key"])
    XCTAssertFalse(conflict.isDeletion)
    for text in ["\(String(describing: error))", "\(conflict)", String(reflecting: conflict)] {
      XCTAssertFalse(text.contains("secret"), "No value is printed.")
    }
    rivals.context.rollback()
    rivals.context.delete(rivals.mine)
    let other = assertStoreError(.mergeConflict) { try rivals.context.save() }
    XCTAssertEqual(other?.mergeConflicts.first?.isDeletion, true)
  }

  func testFailedSaveLeavesObjectsUnchanged() throws {
    let rivals = try rivals(.error.resolving("Item", by: .rollback))
    let tag = try rivals.context.insert("Tag", ["name": "t"])
    try rivals.context.save()
    let same = try rivals.other.existingObject(with: tag.objectID)
    try set(rivals.mine, ["a": 2])
    try set(tag, ["name": "mine"])
    try set(rivals.theirs, ["a": 3])
    try set(same, ["name": "theirs"])
    try rivals.other.save()
    let error = assertStoreError(.mergeConflict) { try rivals.context.save() }
    XCTAssertEqual(error?.mergeConflicts.count, 2)
    XCTAssertEqual(rivals.mine.integer("a"), 2)
    XCTAssertTrue(rivals.mine.isUpdated && tag.isUpdated)
    XCTAssertEqual((rivals.mine as? MergedItem)?.events, [])
    XCTAssertEqual(try rivals.open.numbers(rivals.id)?[0], 3)
  }

  func testObjectsAreNotifiedAndShowStoredValues() throws {
    let rivals = try rivals(.mergeByPropertyObjectTrump)
    let quiet = try rivals.context.insert("Item", ["key": "quiet"])
    try set(rivals.mine, ["a": 2])
    try set(rivals.theirs, ["b": 3])
    try rivals.other.save()
    let changes = rivals.context.changes()
    try rivals.context.save()
    let change = try waitFor { await changes.first { !$0.refreshed.isEmpty || $0.kind == .didSave } }
    XCTAssertEqual(change?.refreshed, [rivals.id])
    XCTAssertEqual((rivals.mine as? MergedItem)?.events, [.mergePolicy])
    XCTAssertEqual((quiet as? MergedItem)?.events, [])
    XCTAssertEqual(rivals.mine.numbers, [2, 3, 1])
    XCTAssertEqual(try rivals.open.row(rivals.id)?.version, 3)
  }

  func testOtherContextsReceiveTheSavedChanges() throws {
    let rivals = try rivals(.mergeByPropertyStoreTrump)
    try set(rivals.mine, ["a": 2, "c": 2])
    try set(rivals.theirs, ["a": 3])
    try rivals.other.save()
    XCTAssertEqual(rivals.theirs.numbers, [3, 1, 1])
    rivals.other.automaticallyMergesChangesFromParent = true
    try set(rivals.theirs, ["b": 8])
    try rivals.context.save()
    rivals.other.processPendingChanges()
    XCTAssertEqual(rivals.theirs.numbers, [3, 8, 2], "Its own unsaved change stays.")
    try rivals.other.save()
    XCTAssertEqual(try rivals.open.numbers(rivals.id), [3, 8, 2])
  }

  // MARK: Random changes

  /// Random changes and deletions by two contexts, compared with the table applied to plain dictionaries.
  func testRandomEditsMatchTheTable() throws {
    for type in MergePolicy.MergeType.allCases where type != .error {
      var random = SeededGenerator(seed: UInt64(4_711 + type.rawValue))
      let open = try makeStore(MergeModel.compiled)
      let (context, other) = (open.context(MergePolicy(merge: type)), open.context())
      context.retainsRegisteredObjects = true
      var ids: [ManagedObjectID] = []
      for index in 0..<30 {
        ids.append(try open.insert("Item", ["a": .int(Int64(index)), "b": .int(0), "c": .int(0)]))
      }
      for round in 0..<12 {
        var expected: [ManagedObjectID: (isChangedHere: Bool, numbers: [Int64?]?)] = [:]
        for id in ids {
          let base = try open.numbers(id)
          guard let base else { continue }
          let (mine, theirs) = (try context.existingObject(with: id), try other.existingObject(with: id))
          context.refresh(mine, mergeChanges: false)
          other.refresh(theirs, mergeChanges: false)
          _ = mine.numbers
          let my = try edit(mine, base, &random, in: context)
          let their = try edit(theirs, base, &random, in: other)
          var isChangedHere = true
          if case .none = my { isChangedHere = false }
          if case .values(let values) = my, values == base { isChangedHere = false }
          expected[id] = (isChangedHere, outcome(type, base, my, their))
        }
        try other.save()
        try context.save()
        for (id, (isChangedHere, numbers)) in expected {
          XCTAssertEqual(try open.numbers(id), numbers, "\(type), round \(round)")
          if isChangedHere { XCTAssertEqual(context.registeredObject(for: id)?.numbers, numbers, "\(type), round \(round)") }
        }
        if try open.count("Item") == 0 { break }
      }
    }
  }

  /// The change by one side: none, new values, or a deletion.
  private enum Edit {
    case none
    case values([Int64?])
    case deletion
  }

  private func edit(
    _ object: ManagedObject, _ base: [Int64?], _ random: inout SeededGenerator, in context: ManagedObjectContext
  ) throws -> Edit {
    switch Int.random(in: 0..<20, using: &random) {
    case 0:
      context.delete(object)
      return .deletion
    case 1..<8: return .none
    default:
      var values = base
      for (index, key) in ["a", "b", "c"].enumerated() where Bool.random(using: &random) {
        values[index] = Int.random(in: 0..<5, using: &random) == 0 ? nil : Int64.random(in: 0..<100, using: &random)
        try object.setValue(values[index], forKey: key)
      }
      return .values(values)
    }
  }

  private func outcome(_ type: MergePolicy.MergeType, _ base: [Int64?], _ mine: Edit, _ theirs: Edit) -> [Int64?]? {
    let storeWins = type == .mergeByPropertyStoreTrump || type == .rollback
    switch (mine, theirs) {
    case (.none, .none): return base
    case (.none, .values(let values)), (.values(let values), .none): return values
    case (.none, .deletion), (.deletion, .deletion), (.deletion, .none): return nil
    case (.deletion, .values(let values)): return values != base && storeWins ? values : nil
    case (.values(let values), .deletion):
      // A value that is set back is not a change.
      return values == base || storeWins ? nil : values
    case (.values(let mine), .values(let theirs)):
      if mine == base { return theirs }
      if theirs == base { return mine }
      return base.indices.map { index in
        switch type {
        case .error, .rollback: theirs[index]
        case .overwrite: mine[index]
        case .mergeByPropertyStoreTrump: theirs[index] != base[index] ? theirs[index] : mine[index]
        case .mergeByPropertyObjectTrump: mine[index] != base[index] ? mine[index] : theirs[index]
        }
      }
    }
  }
}

/// A resolver that calls a function.
private struct Deciding: MergeResolver {
  let decide: @Sendable (MergeConflict) throws -> MergeDecision
  func decision(for conflict: MergeConflict) throws -> MergeDecision { try decide(conflict) }
}
