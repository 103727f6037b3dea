import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// The members of managed objects are those that a fetch finds, even if others have deleted the members or conflicts have restored them.
public final class DeletedMemberSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testMemberDeletedByAnotherContextIsNotSaved", { $0.testMemberDeletedByAnotherContextIsNotSaved }),
        ("testMemberIsRemovedWithItsRow", { $0.testMemberIsRemovedWithItsRow }),
        ("testRestoredRowIsAMemberOfItsNewOwner", { $0.testRestoredRowIsAMemberOfItsNewOwner }),
        ("testObjectRestoredAfterDeletionLosesItsLinks", { $0.testObjectRestoredAfterDeletionLosesItsLinks }),
        ("testMembersMatchTheStoreAfterConflicts", { $0.testMembersMatchTheStoreAfterConflicts }),
      ] as [(String, (DeletedMemberSpecification) -> () throws -> Void)])
  }

  private static let policies: [MergePolicy] = [.error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback]

  /// Makes a stored item and a tag, and two contexts: one with the objects, and another one.
  private func makePair(
    _ policy: MergePolicy, merges: Bool, linked: Bool = false
  ) throws -> (open: OpenStore, context: ManagedObjectContext, other: ManagedObjectContext, item: ManagedObject, tag: ManagedObject) {
    let open = try makeStore(MergeModel.compiled)
    let (context, other) = (open.context(policy), open.context())
    for context in [context, other] { context.automaticallyMergesChangesFromParent = merges }
    let item = try context.insert("Item", ["a": 1])
    let tag = try context.insert("Tag", ["name": "tag"])
    if linked { try item.setValue([tag] as Set, forKey: "tags") }
    try context.save()
    hold([item, tag])
    return (open, context, other, item, tag)
  }

  // MARK: Single changes

  func testMemberDeletedByAnotherContextIsNotSaved() throws {
    for policy in Self.policies {
      for (isOfTag, changesRow) in [(false, false), (false, true), (true, false), (true, true)] {
        let (open, context, other, item, tag) = try makePair(policy, merges: false)
        other.delete(try other.existingObject(with: tag.objectID))
        try other.save()
        // The context has not merged the change, and no version is checked for a row that is not written.
        if isOfTag { try tag.mutableSetValue(forKey: "items").add(item) } else { try item.mutableSetValue(forKey: "tags").add(tag) }
        if changesRow { try item.setValue(2, forKey: "a") }
        let error = assertStoreError(.objectNotFound) { try context.save() }
        XCTAssertEqual(error?.objectID, tag.objectID, "\(policy)")
        XCTAssertEqual(try open.members(item.objectID, "tags"), [], "\(policy)")
        context.rollback()
        XCTAssertEqual(item.members("tags"), [])
        try item.setValue(3, forKey: "a")
        try context.save()
      }
    }
  }

  func testMemberIsRemovedWithItsRow() throws {
    for policy in [MergePolicy.error, .mergeByPropertyStoreTrump, .rollback] {
      let (open, context, other, item, tag) = try makePair(policy, merges: true)
      try item.mutableSetValue(forKey: "tags").add(tag)
      try item.setValue(2, forKey: "a")
      context.processPendingChanges()
      other.delete(try other.existingObject(with: tag.objectID))
      try other.save()
      context.processPendingChanges()
      XCTAssertEqual(item.members("tags"), [])
      try context.save()
      XCTAssertEqual(try open.members(item.objectID, "tags"), [], "\(policy)")
      XCTAssertEqual(item.members("tags"), [])
      XCTAssertEqual(item.integer("a"), 2)
    }
  }

  func testRestoredRowIsAMemberOfItsNewOwner() throws {
    for policy in [MergePolicy.mergeByPropertyObjectTrump, .overwrite] {
      let (open, context, other, item, tag) = try makePair(policy, merges: true, linked: true)
      let box = try context.insert("Box", ["name": "box"])
      try context.save()
      let theirs = try [item, tag, box].map { try other.existingObject(with: $0.objectID) }
      hold(theirs)
      XCTAssertEqual(theirs[1].members("items"), [theirs[0]])
      XCTAssertEqual(theirs[2].list("items"), [])
      try item.setValue(2, forKey: "a")
      context.processPendingChanges()
      other.delete(theirs[0])
      try other.save()
      XCTAssertEqual(theirs[1].members("items"), [])
      try item.setValue(box, forKey: "box")
      try context.save()
      other.processPendingChanges()
      XCTAssertEqual(theirs[2].list("items").map(\.objectID), [item.objectID], "\(policy)")
      XCTAssertEqual(try open.members(box.objectID, "items"), [item.objectID.reference])
      // Its links were deleted with the row.
      XCTAssertEqual(theirs[1].members("items"), [], "\(policy)")
      XCTAssertEqual(tag.members("items"), [], "\(policy)")
      XCTAssertEqual(try open.members(tag.objectID, "items"), [])
    }
  }

  func testObjectRestoredAfterDeletionLosesItsLinks() throws {
    for policy in [MergePolicy.mergeByPropertyObjectTrump, .overwrite] {
      let (open, context, other, item, tag) = try makePair(policy, merges: true, linked: true)
      XCTAssertEqual([item.members("tags"), tag.members("items")], [[tag], [item]])
      try tag.setValue("mine", forKey: "name")
      context.processPendingChanges()
      other.delete(try other.existingObject(with: tag.objectID))
      try other.save()
      context.processPendingChanges()
      XCTAssertEqual(tag.text("name"), "mine")
      try context.save()
      XCTAssertEqual(try open.value(tag.objectID, "name"), .text("mine"), "\(policy)")
      XCTAssertEqual(try open.members(item.objectID, "tags"), [], "\(policy)")
      XCTAssertEqual([item.members("tags"), tag.members("items")], [[], []], "\(policy)")
    }
  }

  // MARK: Random changes

  func testMembersMatchTheStoreAfterConflicts() throws {
    for (number, policy) in Self.policies.enumerated() { try run(policy, seed: UInt64(139 + number)) }
  }

  private func run(_ policy: MergePolicy, seed: UInt64) throws {
    let open = try makeStore(MergeModel.compiled)
    var random = SeededGenerator(seed: seed)
    let contexts = [open.context(policy), open.context(policy)]
    for context in contexts { context.automaticallyMergesChangesFromParent = true }
    var saveCount = 0
    for step in 0..<RandomSteps.count(400) {
      guard let context = contexts.randomElement(using: &random) else { return }
      if Int.random(in: 0..<8, using: &random) > 0 {
        try change(step, in: context, &random)
        continue
      }
      // Changes that cannot be saved are discarded.
      do {
        try context.save()
        saveCount += 1
      } catch { context.rollback() }
      for context in contexts { context.processPendingChanges() }
      let stored = try lines(open.context())
      for context in contexts where !context.hasChanges {
        let living = try lines(context)
        guard living == stored else {
          return XCTFail("\(policy), seed \(seed), step \(step): \(Set(living).symmetricDifference(stored).sorted())")
        }
      }
    }
    XCTAssertGreaterThan(saveCount, 20)
  }

  private func change(_ step: Int, in context: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    func any(_ entity: String) throws -> ManagedObject? {
      let all = try context.all(entity).sorted { $0.objectID.key < $1.objectID.key }
      hold(all)
      return all.randomElement(using: &random)
    }
    func delete(_ object: ManagedObject?, leaving count: Int) throws {
      if let object, try context.all(object.entity.name).count > count { context.delete(object) }
    }
    let (item, tag, box) = (try any("Item"), try any("Tag"), try any("Box"))
    switch Int.random(in: 0..<14, using: &random) {
    case 0: try context.insert("Tag", ["name": "\(step)"])
    case 1, 2: try context.insert("Item", ["a": step])
    case 3: try context.insert("Box", ["name": "\(step)"])
    case 4, 5: try item?.setValue(step, forKey: "a")
    case 6, 7, 8:
      guard let item, let tag else { return }
      let members = try item.mutableSetValue(forKey: "tags")
      if item.members("tags").contains(tag) { members.remove(tag) } else { members.add(tag) }
    case 9, 10: try item?.setValue(box, forKey: "box")
    case 11: try delete(tag, leaving: 2)
    case 12: try delete(item, leaving: 3)
    default: try delete(box, leaving: 2)
    }
  }

  /// The relationships of all objects in a context.
  private func lines(_ context: ManagedObjectContext) throws -> [String] {
    var lines: [String] = []
    for (entity, key) in [("Item", "tags"), ("Tag", "items"), ("Box", "items")] {
      for object in try context.all(entity) {
        let box = entity == "Item" ? object.object("box")?.objectID.key ?? 0 : 0
        lines.append("\(entity) \(object.objectID.key) \(object.members(key).map(\.objectID.key).sorted()) box \(box)")
      }
    }
    return lines.sorted()
  }
}
