// DeletedOwnerSpecification: objects whose only unsaved changes are members of to-many relationships, and whose rows another context deletes.
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// What becomes of unsaved members of to-many relationships if another context deletes the row of their owner.
public final class DeletedOwnerSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testAPolicyForTheObjectSavesTheOwnerAgain", { $0.testAPolicyForTheObjectSavesTheOwnerAgain }),
        ("testAPolicyForTheStoreDiscardsTheOwner", { $0.testAPolicyForTheStoreDiscardsTheOwner }),
        ("testAnOwnerThatWasNeverReadLeaves", { $0.testAnOwnerThatWasNeverReadLeaves }),
        ("testARemovalOfAMemberSavesTheOwnerAgain", { $0.testARemovalOfAMemberSavesTheOwnerAgain }),
        ("testAnOwnerOfANestedContextIsSavedAgain", { $0.testAnOwnerOfANestedContextIsSavedAgain }),
        ("testAnOwnerThatIsRefreshedWithoutItsChangesLeavesNoLink", { $0.testAnOwnerThatIsRefreshedWithoutItsChangesLeavesNoLink }),
        ("testAnOwnerThatIsRefreshedWithItsChangesIsSavedAgain", { $0.testAnOwnerThatIsRefreshedWithItsChangesIsSavedAgain }),
        ("testUndoAndRollbackLeaveNothingToSave", { $0.testUndoAndRollbackLeaveNothingToSave }),
      ] as [(String, (DeletedOwnerSpecification) -> () throws -> Void)])
  }

  private static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Owner") {
        Attribute("name", .string)
        Relationship("many", toMany: "Member", inverse: "owner")
        Relationship("list", toMany: "Member", inverse: "lister").ordered()
        Relationship("tags", toMany: "Member", inverse: "taggers")
        Relationship("tagList", toMany: "Member", inverse: "listTaggers").ordered()
      }
      Entity("Member") {
        Attribute("name", .string)
        Relationship("owner", to: "Owner", inverse: "many")
        Relationship("lister", to: "Owner", inverse: "list")
        Relationship("taggers", toMany: "Owner", inverse: "tags")
        Relationship("listTaggers", toMany: "Owner", inverse: "tagList").ordered()
      }
    }
    guard let compiled = try? CompiledModel(model) else { preconditionFailure("\(model.validationIssues())") }
    return compiled
  }()

  private static let relationships = [("many", "owner"), ("list", "lister"), ("tags", "taggers"), ("tagList", "listTaggers")]
  private static let objectPolicies: [MergePolicy] = [.mergeByPropertyObjectTrump, .overwrite]

  private struct Pair {
    let open: OpenStore
    let context: ManagedObjectContext
    let owner: ManagedObject
    let member: ManagedObject

    /// Deletes the owner in another context.
    func deleteOwner() throws {
      let other = open.newContext()
      other.delete(try other.existingObject(with: owner.objectID))
      try other.save()
      context.processPendingChanges()
    }
  }

  private func makePair(_ policy: MergePolicy, readsOwner: Bool = true, linked: String? = nil) throws -> Pair {
    let open = try makeStore(Self.model)
    let maker = open.newContext()
    let owner = try maker.insert("Owner", ["name": "owner"])
    let member = try maker.insert("Member", ["name": "member"])
    if let linked { try add(member, to: owner, linked) }
    try maker.save()
    let context = open.context(policy)
    context.automaticallyMergesChangesFromParent = true
    let here = [try context.existingObject(with: member.objectID), context.object(with: owner.objectID)]
    hold(here)
    if readsOwner { XCTAssertEqual(here[1].text("name"), "owner") }
    return Pair(open: open, context: context, owner: here[1], member: here[0])
  }

  private func add(_ member: ManagedObject, to owner: ManagedObject, _ key: String) throws {
    if key == "list" || key == "tagList" {
      try owner.mutableOrderedSetValue(forKey: key).add(member)
    } else {
      try owner.mutableSetValue(forKey: key).add(member)
    }
  }

  /// Links from the owner's side or the member's.
  private func link(_ pair: Pair, _ key: String, _ inverse: String, fromOwner: Bool) throws {
    if fromOwner { return try add(pair.member, to: pair.owner, key) }
    switch inverse {
    case "taggers": try pair.member.mutableSetValue(forKey: inverse).add(pair.owner)
    case "listTaggers": try pair.member.mutableOrderedSetValue(forKey: inverse).add(pair.owner)
    default: try pair.member.setValue(pair.owner, forKey: inverse)
    }
  }

  /// What a context shows of the links of both ends.
  private func ends(_ context: ManagedObjectContext, _ key: String, _ inverse: String) throws -> [String] {
    try context.all("Owner").map { "owner \($0.text("name") ?? "nil") \($0.members(key).compactMap { $0.text("name") })" }
      + context.all("Member").map { member in
        let owners = ["owner", "lister"].contains(inverse) ? Set([member.object(inverse)].compactMap { $0 }) : member.members(inverse)
        return "member \(owners.compactMap { $0.text("name") })"
      }
  }

  private func forEachVariant(_ body: (_ key: String, _ inverse: String, _ fromOwner: Bool, _ what: String) throws -> Void) throws {
    for (key, inverse) in Self.relationships {
      for fromOwner in [true, false] { try body(key, inverse, fromOwner, "\(key), from the \(fromOwner ? "owner" : "member")") }
    }
  }

  func testAPolicyForTheObjectSavesTheOwnerAgain() throws {
    for policy in Self.objectPolicies {
      try forEachVariant { key, inverse, fromOwner, what in
        let pair = try makePair(policy)
        try link(pair, key, inverse, fromOwner: fromOwner)
        pair.context.processPendingChanges()
        try pair.deleteOwner()
        XCTAssertTrue(pair.context.hasChanges, what)
        try pair.context.save()
        XCTAssertFalse(pair.context.hasChanges, what)
        let expected = ["owner owner [\"member\"]", "member [\"owner\"]"]
        XCTAssertEqual(try ends(pair.context, key, inverse), expected, "\(policy), \(what)")
        XCTAssertEqual(try ends(pair.open.newContext(), key, inverse), expected, "\(policy), \(what)")
        // The context goes on.
        try pair.owner.setValue("new", forKey: "name")
        try pair.context.save()
        XCTAssertEqual(try pair.open.newContext().all("Owner").map { $0.text("name") }, ["new"], what)
      }
    }
  }

  func testAPolicyForTheStoreDiscardsTheOwner() throws {
    for policy in [MergePolicy.error, .mergeByPropertyStoreTrump, .rollback] {
      try forEachVariant { key, inverse, fromOwner, what in
        let pair = try makePair(policy)
        try link(pair, key, inverse, fromOwner: fromOwner)
        pair.context.processPendingChanges()
        try pair.deleteOwner()
        try pair.context.save()
        XCTAssertNil(pair.owner.managedObjectContext, what)
        XCTAssertEqual(try ends(pair.context, key, inverse), ["member []"], "\(policy), \(what)")
        XCTAssertEqual(try ends(pair.open.newContext(), key, inverse), ["member []"], "\(policy), \(what)")
      }
    }
  }

  func testAnOwnerThatWasNeverReadLeaves() throws {
    for policy in Self.objectPolicies {
      try forEachVariant { key, inverse, fromOwner, what in
        let pair = try makePair(policy, readsOwner: false)
        try link(pair, key, inverse, fromOwner: fromOwner)
        pair.context.processPendingChanges()
        try pair.deleteOwner()
        try pair.context.save()
        try pair.context.save()
        XCTAssertFalse(pair.context.hasChanges, what)
        let stored = try ends(pair.open.newContext(), key, inverse)
        XCTAssertEqual(try ends(pair.context, key, inverse), stored, "\(policy), \(what)")
        // Without its values the owner is not saved; if it has read them, it is.
        XCTAssertTrue([["member []"], ["owner owner [\"member\"]", "member [\"owner\"]"]].contains(stored), "\(stored), \(what)")
      }
    }
  }

  func testARemovalOfAMemberSavesTheOwnerAgain() throws {
    for policy in Self.objectPolicies {
      for (key, inverse) in Self.relationships {
        let pair = try makePair(policy, linked: key)
        if pair.owner[key] is [ManagedObject] {
          try pair.owner.mutableOrderedSetValue(forKey: key).remove(pair.member)
        } else {
          try pair.owner.mutableSetValue(forKey: key).remove(pair.member)
        }
        pair.context.processPendingChanges()
        try pair.deleteOwner()
        try pair.context.save()
        try pair.context.save()
        XCTAssertFalse(pair.context.hasChanges, key)
        XCTAssertEqual(try ends(pair.context, key, inverse), ["owner owner []", "member []"], "\(policy), \(key)")
        XCTAssertEqual(try ends(pair.open.newContext(), key, inverse), ["owner owner []", "member []"], "\(policy), \(key)")
      }
    }
  }

  func testAnOwnerOfANestedContextIsSavedAgain() throws {
    for policy in Self.objectPolicies {
      try forEachVariant { key, inverse, fromOwner, what in
        let made = try makePair(policy)
        let child = ManagedObjectContext(parent: made.context, mergePolicy: policy)
        child.automaticallyMergesChangesFromParent = true
        let here = [try child.existingObject(with: made.owner.objectID), try child.existingObject(with: made.member.objectID)]
        hold(here)
        let pair = Pair(open: made.open, context: child, owner: here[0], member: here[1])
        XCTAssertEqual(pair.owner.text("name"), "owner")
        try link(pair, key, inverse, fromOwner: fromOwner)
        child.processPendingChanges()
        try made.deleteOwner()
        child.processPendingChanges()
        try child.save()
        try made.context.save()
        XCTAssertFalse(child.hasChanges || made.context.hasChanges, what)
        let expected = ["owner owner [\"member\"]", "member [\"owner\"]"]
        for context in [child, made.context, made.open.newContext()] {
          XCTAssertEqual(try ends(context, key, inverse), expected, "\(policy), \(what)")
        }
      }
    }
  }

  func testAnOwnerThatIsRefreshedWithoutItsChangesLeavesNoLink() throws {
    for policy in Self.objectPolicies {
      try forEachVariant { key, inverse, fromOwner, what in
        let pair = try makePair(policy)
        try link(pair, key, inverse, fromOwner: fromOwner)
        pair.context.processPendingChanges()
        try pair.deleteOwner()
        pair.context.refresh(pair.owner, mergeChanges: false)
        XCTAssertNoThrow(try pair.context.save(), "\(policy), \(what)")
        XCTAssertFalse(pair.context.hasChanges, "\(policy), \(what)")
        XCTAssertEqual(try ends(pair.context, key, inverse), ["member []"], "\(policy), \(what)")
        XCTAssertEqual(try ends(pair.open.newContext(), key, inverse), ["member []"], "\(policy), \(what)")
      }
    }
  }

  func testAnOwnerThatIsRefreshedWithItsChangesIsSavedAgain() throws {
    for policy in Self.objectPolicies {
      try forEachVariant { key, inverse, fromOwner, what in
        for refreshesAll in [false, true] {
          for changesValue in [false, true] {
            let pair = try makePair(policy)
            try link(pair, key, inverse, fromOwner: fromOwner)
            if changesValue { try pair.owner.setValue("mine", forKey: "name") }
            pair.context.processPendingChanges()
            try pair.deleteOwner()
            if refreshesAll { pair.context.refreshAllObjects() } else { pair.context.refresh(pair.owner, mergeChanges: true) }
            try pair.context.save()
            XCTAssertFalse(pair.context.hasChanges, what)
            let name = changesValue ? "mine" : "owner"
            let expected = ["owner \(name) [\"member\"]", "member [\"\(name)\"]"]
            XCTAssertEqual(try ends(pair.context, key, inverse), expected, "\(policy), \(what)")
            XCTAssertEqual(try ends(pair.open.newContext(), key, inverse), expected, "\(policy), \(what)")
          }
        }
      }
    }
  }

  func testUndoAndRollbackLeaveNothingToSave() throws {
    for policy in Self.objectPolicies {
      try forEachVariant { key, inverse, fromOwner, what in
        for isUndone in [true, false] {
          let pair = try makePair(policy)
          let undoManager = ContextUndoManager()
          pair.context.undoManager = undoManager
          try link(pair, key, inverse, fromOwner: fromOwner)
          pair.context.processPendingChanges()
          try pair.deleteOwner()
          if isUndone { try undoManager.undo() } else { pair.context.rollback() }
          pair.context.processPendingChanges()
          try pair.context.save()
          XCTAssertFalse(pair.context.hasChanges, what)
          XCTAssertEqual(try ends(pair.open.newContext(), key, inverse), ["member []"], "\(what), undone \(isUndone)")
          guard isUndone, undoManager.canRedo else { continue }
          try undoManager.redo()
          try pair.context.save()
          let ends = try ends(pair.open.newContext(), key, inverse)
          XCTAssertTrue([["member []"], ["owner owner [\"member\"]", "member [\"owner\"]"]].contains(ends), "\(ends), \(what)")
        }
      }
    }
  }
}
