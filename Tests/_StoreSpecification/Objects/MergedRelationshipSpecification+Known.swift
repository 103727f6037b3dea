// Local changes without a net effect do not overwrite link changes by others.
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _TestSupport

extension MergedRelationshipSpecification {
  private static let relationships = [
    ("Node", "tags", "Tag"), ("Tag", "nodes", "Node"), ("Node", "picks", "Tag"), ("Tag", "pickedBy", "Node"), ("Node", "friends", "Node"),
  ]

  private func makeLinkedStore() throws -> OpenStore {
    try makeStore(
      try CompiledModel(
        ManagedObjectModel {
          Entity("Node") {
            Attribute("name", .string)
            Relationship("tags", toMany: "Tag", inverse: "nodes")
            Relationship("picks", toMany: "Tag", inverse: "pickedBy").ordered()
            Relationship("friends", toMany: "Node", inverse: "friends")
          }
          Entity("Tag") {
            Attribute("name", .string)
            Relationship("nodes", toMany: "Node", inverse: "tags")
            Relationship("pickedBy", toMany: "Node", inverse: "picks")
          }
        }))
  }

  private func members(_ key: String, of owner: ManagedObject) throws -> MutableMembers {
    key == "picks" ? try owner.mutableOrderedSetValue(forKey: key) : try owner.mutableSetValue(forKey: key)
  }

  /// Adds or removes a member in another context, and saves.
  private func link(_ owner: ManagedObject, _ key: String, _ member: ManagedObject, _ isMember: Bool, in open: OpenStore) throws {
    let other = open.newContext()
    let members = try members(key, of: other.existingObject(with: owner.objectID))
    let same = try other.existingObject(with: member.objectID)
    if isMember { members.add(same) } else { members.remove(same) }
    try other.save()
  }

  private func stored(_ owner: ManagedObject, _ key: String, in open: OpenStore) throws -> Set<ManagedObjectID> {
    let fresh = open.newContext()
    return Set(try fresh.existingObject(with: owner.objectID).objectIDs(forRelationshipNamed: key))
  }

  /// Saves an object and another one, which is or is not its member, and turns both into faults.
  private func makePair(
    _ entity: String, _ key: String, _ destination: String, isMember: Bool, in open: OpenStore
  ) throws -> (context: ManagedObjectContext, owner: ManagedObject, member: ManagedObject) {
    let context = open.newContext()
    context.automaticallyMergesChangesFromParent = true
    let (owner, member) = (try context.insert(entity), try context.insert(destination))
    if isMember { try members(key, of: owner).add(member) }
    try context.save()
    context.refreshAllObjects()
    return (context, owner, member)
  }

  /// Asserts that the context and the store agree on a link.
  private func assertLink(
    of owner: ManagedObject, _ key: String, isStored: Bool, in open: OpenStore, _ message: String, line: UInt = #line
  ) throws {
    XCTAssertEqual(owner.members(key).isEmpty, !isStored, message, line: line)
    XCTAssertEqual(try stored(owner, key, in: open).isEmpty, !isStored, message, line: line)
  }

  func testRedundantMemberChangesAreNotChanges() throws {
    let open = try makeLinkedStore()
    for (entity, key, destination) in Self.relationships {
      for isMember in [false, true] {
        for isTwice in [false, true] {
          // Removing and adding a member again moves it to the end of an ordered relationship.
          if isTwice, ["picks", "pickedBy"].contains(key) { continue }
          let message = "\(entity).\(key), member \(isMember), twice \(isTwice)"
          let (context, owner, member) = try makePair(entity, key, destination, isMember: isMember, in: open)
          XCTAssertEqual(owner.members(key).count, isMember ? 1 : 0, message)
          let list = try members(key, of: owner)
          if isTwice { if isMember { list.remove(member) } else { list.add(member) } }
          if isMember { list.add(member) } else { list.remove(member) }
          if !isTwice { XCTAssertFalse(context.hasChanges, message) }
          XCTAssertFalse(owner.hasPersistentChangedValues, message)
          XCTAssertFalse(member.hasPersistentChangedValues, message)
          try link(owner, key, member, !isMember, in: open)
          context.processPendingChanges()
          XCTAssertEqual(owner.members(key).isEmpty, isMember, message)
          try context.save()
          try assertLink(of: owner, key, isStored: !isMember, in: open, message)
        }
      }
    }
  }

  func testPendingLinkFoundRedundantIsNotSaved() throws {
    let open = try makeLinkedStore()
    for (entity, key, destination) in Self.relationships {
      for isMember in [false, true] {
        let message = "\(entity).\(key), member \(isMember)"
        let (context, owner, member) = try makePair(entity, key, destination, isMember: isMember, in: open)
        let list = try members(key, of: owner)
        if isMember { list.add(member) } else { list.remove(member) }
        XCTAssertEqual(owner.members(key).count, isMember ? 1 : 0, message)
        XCTAssertFalse(member.hasPersistentChangedValues, message)
        try link(owner, key, member, !isMember, in: open)
        context.processPendingChanges()
        XCTAssertEqual(owner.members(key).isEmpty, isMember, message)
        try context.save()
        try assertLink(of: owner, key, isStored: !isMember, in: open, message)
      }
    }
  }

  func testRefreshRemovesPendingLinksFromBothEnds() throws {
    let open = try makeLinkedStore()
    for (entity, key, destination) in Self.relationships {
      for isMember in [false, true] {
        let message = "\(entity).\(key), member \(isMember)"
        let (context, owner, member) = try makePair(entity, key, destination, isMember: isMember, in: open)
        XCTAssertEqual(owner.members(key).count, isMember ? 1 : 0, message)
        let list = try members(key, of: owner)
        if isMember { list.remove(member) } else { list.add(member) }
        context.refresh(owner, mergeChanges: false)
        XCTAssertFalse(member.hasPersistentChangedValues, message)
        try link(owner, key, member, !isMember, in: open)
        context.processPendingChanges()
        try context.save()
        try assertLink(of: owner, key, isStored: !isMember, in: open, message)
      }
    }
  }

  /// Links are added and removed at random in a context and in others, with members loaded or not. After each save, the context agrees with
  /// the store.
  func testAContextAndItsStoreAgreeAfterASave() throws {
    let open = try makeLinkedStore()
    var random = SeededGenerator(seed: 77)
    let context = open.newContext()
    context.automaticallyMergesChangesFromParent = true
    context.mergePolicy = .mergeByPropertyObjectTrump
    var objects: [String: [ManagedObject]] = [:]
    for entity in ["Node", "Tag"] { objects[entity] = try (0..<3).map { try context.insert(entity, ["name": "\($0)"]) } }
    try context.save()
    context.refreshAllObjects()
    var (saveCount, log): (Int, [String]) = (0, [])
    for step in 0..<RandomSteps.count(3_000) {
      guard let (entity, key, destination) = Self.relationships.randomElement(using: &random),
        let owner = objects[entity]?.randomElement(using: &random), let member = objects[destination]?.randomElement(using: &random)
      else { return XCTFail("There are no objects.") }
      let roll = Int.random(in: 0..<20, using: &random)
      log.append("\(roll) \(entity) \(owner.objectID.key).\(key) \(member.objectID.key)")
      switch roll {
      case ..<5: try members(key, of: owner).add(member)
      case ..<10: try members(key, of: owner).remove(member)
      case ..<13: _ = owner.members(key)
      case ..<15: try link(owner, key, member, true, in: open)
      case ..<17: try link(owner, key, member, false, in: open)
      case 17: context.processPendingChanges()
      default:
        try context.save()
        saveCount += 1
        for (entity, key, _) in Self.relationships {
          for owner in objects[entity] ?? [] {
            let shown = Set(owner.members(key).map(\.objectID))
            guard shown == (try stored(owner, key, in: open)) else {
              return XCTFail("step \(step), \(entity) \(owner.objectID.key).\(key) shows \(shown.map(\.key)): \(log)")
            }
          }
        }
        log = []
        if roll == 18 { context.refreshAllObjects() }
      }
    }
    XCTAssertGreaterThan(saveCount, 100)
  }
}
