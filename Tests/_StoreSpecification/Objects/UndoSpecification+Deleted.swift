// Undoing a deletion restores members, whatever happened to their owner since.
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

extension UndoSpecification {
  private typealias Change =
    @Sendable (_ owner: ManagedObject, _ key: String, _ deleted: ManagedObject, _ other: ManagedObject) throws -> Void

  private static let relationships: [(owner: String, key: String, member: String)] = [
    ("Item", "tags", "Tag"), ("Tag", "items", "Item"), ("Owner", "friends", "Owner"), ("Tag", "notes", "Note"),
    ("Owner", "items", "Item"), ("Item", "parts", "Item"),
  ]

  private static func set(_ members: [ManagedObject], _ key: String, of owner: ManagedObject) throws {
    let isOrdered = owner.entity.relationships.first { $0.name == key }?.isOrdered ?? false
    try owner.setValue(isOrdered ? members : Set(members), forKey: key)
  }

  private static func members(_ key: String, of owner: ManagedObject) throws -> MutableMembers {
    let isOrdered = owner.entity.relationships.first { $0.name == key }?.isOrdered ?? false
    return isOrdered ? try owner.mutableOrderedSetValue(forKey: key) : try owner.mutableSetValue(forKey: key)
  }

  private static let changes: [(name: String, run: Change)] = [
    ("none", { owner, key, _, _ in try set([], key, of: owner) }),
    ("another one", { owner, key, _, other in try set([other], key, of: owner) }),
    ("those there are", { owner, key, _, _ in try set(members(key, of: owner).objects, key, of: owner) }),
    ("one more", { owner, key, _, other in try set([other] + members(key, of: owner).objects, key, of: owner) }),
    ("without the deleted one", { owner, key, deleted, _ in try members(key, of: owner).remove(deleted) }),
    ("with another one", { owner, key, _, other in try members(key, of: owner).add(other) }),
  ]

  func testMembersAssignedAfterADeletionAreRestored() throws {
    let open = try makeStore(UndoGraph.model)
    for (entity, key, destination) in Self.relationships {
      for (name, change) in Self.changes {
        for (isRead, isSaved) in [(false, false), (true, false), (false, true), (true, true)] {
          // Links without an inverse cannot be found in other rows after their object is deleted.
          if isSaved, key == "notes" { continue }
          let message = "\(entity).\(key), \(name), read \(isRead), saved \(isSaved)"
          let context = open.newContext()
          let owner = try context.insert(entity)
          let members = try (0..<3).map { _ in try context.insert(destination) }
          let other = try context.insert(destination)
          try Self.set(members, key, of: owner)
          try context.save()
          context.refreshAllObjects()
          context.undoManager = ContextUndoManager()
          let isOrdered = try Self.members(key, of: owner).isOrdered
          func shown() -> [ManagedObject] { isOrdered ? owner.list(key) : members.filter(owner.members(key).contains) }
          if isRead { XCTAssertEqual(shown(), members, message) }
          context.delete(members[1])
          context.processPendingChanges()
          try change(owner, key, members[1], other)
          context.processPendingChanges()
          let changed = shown()
          XCTAssertFalse(changed.contains(members[1]), message)
          if isSaved {
            try context.save()
            XCTAssertEqual(shown(), changed, message)
            let fresh = open.newContext()
            let stored = try fresh.existingObject(with: owner.objectID).objectIDs(forRelationshipNamed: key)
            XCTAssertEqual(Set(stored), Set(owner.members(key).map(\.objectID)), message)
          }
          for _ in 0..<2 {
            while context.undoManager?.canUndo ?? false { try context.undo() }
            XCTAssertEqual(shown(), members, message)
            XCTAssertEqual(owner.members(key), Set(members), message)
            if let inverse = owner.entity.relationships.first(where: { $0.name == key })?.inverseName {
              for member in members { XCTAssertTrue(member.members(inverse).contains(owner) || member.object(inverse) === owner, message) }
            }
            if !isSaved { XCTAssertFalse(context.hasChanges, message) }
            while context.undoManager?.canRedo ?? false { try context.redo() }
            XCTAssertEqual(shown(), changed, message)
          }
          while context.undoManager?.canUndo ?? false { try context.undo() }
          try context.save()
          let fresh = open.newContext()
          let stored = try fresh.existingObject(with: owner.objectID).objectIDs(forRelationshipNamed: key)
          XCTAssertEqual(Set(stored), Set(members.map(\.objectID)), message)
          if isOrdered { XCTAssertEqual(stored, members.map(\.objectID), message) }
        }
      }
    }
  }
}
