import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Merge policies beyond the table, which MergePolicySpecification tests (rows C17, C19, U8 and U14).
final class MergePolicyTests: XCTestCase {
  private static let model = ManagedObjectModel {
    Entity("User", class: "User") {
      Attribute("name", .string)
      Attribute("visits", .integer32)
      Attribute("settings", transforming: [String: Int].self)
      Unique("name")
      Relationship("friend", to: "User", inverse: "admirers")
      Relationship("admirers", toMany: "User", inverse: "friend")
    }
  }

  /// Causes a conflict with one new object in a container's context.
  private static func clash(_ context: ManagedObjectContext) throws {
    try context.make("User", ["name": "ann", "visits": 2])
    try context.save()
  }

  func testContainerSetsItsPolicyOnEveryContext() async throws {
    let container = try PersistentContainer(
      name: "users", managedObjectModel: Self.model, persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)],
      mergePolicy: .mergeByPropertyObjectTrump)
    try await container.loadPersistentStores()
    XCTAssertEqual(container.mergePolicy.mergeType, .mergeByPropertyObjectTrump)
    try Self.clash(container.newBackgroundContext())
    try Self.clash(container.newBackgroundContext())
    try await container.performBackgroundTask { context in
      try context.make("User", ["name": "ann", "visits": 3])
      try context.save()
    }
    let count = try await ContextActor(container: container).perform { context in
      try context.make("User", ["name": "ann", "visits": 4])
      try context.save()
      return try context.objects("User").map { $0["visits"] as? Int32 }
    }
    XCTAssertEqual(count, [4])
    try await MainActor.run {
      let context = container.viewContext
      context.mergePolicy = .error
      XCTAssertThrowsError(try Self.clash(context))
    }
    XCTAssertEqual(MergePolicy.error.description, "error")
    XCTAssertEqual(MergePolicy.MergeType.allCases.map(\.rawValue), [0, 1, 2, 3, 4])
    let plain = try PersistentContainer(name: "plain", managedObjectModel: Self.model)
    XCTAssertEqual(plain.newBackgroundContext().mergePolicy.mergeType, .error)
  }

  func testThousandConflictsAreFoundWithFewStatements() async throws {
    try await onEachStore([.sqlcipher], model: Self.model, classes: ManagedObjectClasses()) { stack in
      let setup = stack.makeContext()
      for index in 0..<1_000 { try setup.make("User", ["name": "\(index)", "visits": 0]) }
      try setup.save()
      let context = stack.makeContext()
      for policy in [MergePolicy.rollback, .mergeByPropertyObjectTrump] {
        context.mergePolicy = policy
        for index in 0..<1_000 { try context.make("User", ["name": "\(index)", "visits": 1]) }
        stack.statements?.reset()
        try context.save()
        let texts = stack.statements?.texts ?? []
        let writes = texts.filter { $0.hasPrefix("UPDATE") }.count
        XCTAssertEqual(writes, policy.mergeType == .rollback ? 0 : 1_000)
        XCTAssertLessThan(texts.count - writes, 40, "\(policy)")
        context.reset()
      }
      XCTAssertEqual(try stack.makeContext().objects("User").filter { $0["visits"] as? Int32 == 1 }.count, 1_000)
    }
  }

  func testErrorOfManyConflictsNamesAllWithFewStatements() async throws {
    try await onEachStore([.sqlcipher], model: Self.model, classes: ManagedObjectClasses()) { stack in
      let setup = stack.makeContext()
      for index in 0..<500 { try setup.make("User", ["name": "\(index)"]) }
      try setup.save()
      let context = stack.makeContext()
      for index in 0..<1_000 { try context.make("User", ["name": "\(index)"]) }
      stack.statements?.reset()
      XCTAssertThrowsError(try context.save()) { error in
        XCTAssertEqual((error as? StoreError)?.constraintConflicts.count, 500)
        let stored = (error as? StoreError)?.constraintConflicts.first?.databaseSnapshot
        XCTAssertEqual((try? stored?["name"]) as? String, "0")
      }
      XCTAssertLessThan(stack.statements?.count ?? 0, 40)
    }
  }

  func testMergeRulesSupportAllTypedValues() async throws {
    try await onEachStore(model: Self.model, classes: ManagedObjectClasses()) { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let users = try ["a", "b", "c", "d"].map { try context.make("User", ["name": $0]) }
      try users[0].setValue(["x": 1], forKey: "settings")
      try users[0].setValue(users[1], forKey: "friend")
      try context.save()
      let ids = users.map(\.objectID)
      let same = try ids.map { try other.existingObject(with: $0) }
      try same[0].setValue(["y": 2], forKey: "settings")
      try same[0].setValue(same[2], forKey: "friend")
      try other.save()
      context.mergePolicy = MergePolicy.mergeByPropertyObjectTrump
        .resolving("User", "settings", as: [String: Int].self) { ($0.object ?? [:]).merging($0.store ?? [:]) { $1 } }
        .resolving("User", "friend", as: ManagedObjectID.self) { conflict in
          XCTAssertEqual([conflict.original, conflict.object, conflict.store], [ids[1], ids[3], ids[2]])
          return conflict.store
        }
      try users[0].setValue(["x": 5], forKey: "settings")
      try users[0].setValue(users[3], forKey: "friend")
      try context.save()
      XCTAssertEqual(try users[0].value(forKey: "settings", as: [String: Int].self), ["x": 5, "y": 2])
      XCTAssertEqual(users[0].one("friend"), users[2])
      XCTAssertEqual(users.map { $0.many("admirers").count }, [0, 0, 1, 0])
    }
  }

  func testLargeValuesSurviveAMerge() async throws {
    var file = AttributeDescription(name: "file", type: .binary, isOptional: true)
    file.allowsExternalBinaryDataStorage = true
    let model = ManagedObjectModel(entities: [
      EntityDescription(
        name: "Paper",
        properties: [
          .attribute(file), .attribute(AttributeDescription(name: "a", type: .integer64, isOptional: true)),
          .attribute(AttributeDescription(name: "b", type: .integer64, isOptional: true)),
        ])
    ])
    let (old, mine, theirs) = (
      Data(repeating: 1, count: 2_000_000), Data(repeating: 2, count: 2_000_000), Data(repeating: 3, count: 2_000_000)
    )
    for (policy, changesFile, expected): (MergePolicy, (Bool, Bool), Data) in [
      (.mergeByPropertyObjectTrump, (false, false), old), (.mergeByPropertyObjectTrump, (true, true), mine),
      (.mergeByPropertyStoreTrump, (true, true), theirs), (.mergeByPropertyStoreTrump, (true, false), mine),
      (.mergeByPropertyObjectTrump, (false, true), theirs), (.overwrite, (true, false), mine), (.rollback, (true, false), old),
    ] {
      try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
        let (context, other) = (stack.makeContext(), stack.makeContext())
        context.mergePolicy = policy
        let paper = try context.make("Paper", ["file": old, "a": 1, "b": 1])
        try context.save()
        let same = try other.existingObject(with: paper.objectID)
        if changesFile.1 { try same.setValue(theirs, forKey: "file") }
        try same.setValue(3, forKey: "a")
        try other.save()
        if changesFile.0 { try paper.setValue(mine, forKey: "file") }
        try paper.setValue(2, forKey: "b")
        try context.save()
        XCTAssertEqual(paper["file"] as? Data, expected, "\(policy), \(changesFile)")
        stack.forgetRows()
        let stored = try stack.makeContext().existingObject(with: paper.objectID)
        XCTAssertEqual(stored["file"] as? Data, expected, "\(policy), \(changesFile)")
        XCTAssertEqual(stored["a"] as? Int64, policy.mergeType == .overwrite ? 1 : 3)
      }
    }
  }

  // MARK: The contents of conflicts

  /// The values of `visits` in a conflict: original, the object's, the coordinator's, the store's; and the one that a ported policy takes
  /// for the other side's.
  private func visits(_ error: (any Error)?) -> [Int?]? {
    (error as? StoreError)?.mergeConflicts.first.map { conflict in
      [conflict.originalSnapshot, conflict.objectSnapshot, conflict.cachedSnapshot, conflict.persistedSnapshot, conflict.storeSnapshot].map
      {
        try? $0?.value("visits", as: Int.self)
      }
    }
  }

  private func conflict(_ context: ManagedObjectContext) -> (any Error)? {
    do {
      try context.save()
      return nil
    } catch { return error }
  }

  func testConflictWithinACoordinatorShowsCachedValues() async throws {
    try await onEachStore(model: Self.model, classes: ManagedObjectClasses()) { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      let users = try ["ann", "bob", "cid"].map { try context.make("User", ["name": $0, "visits": 1]) }
      try context.save()
      let same = try users.map { try other.existingObject(with: $0.objectID) }
      try users[0].setValue(2, forKey: "visits")
      try same[0].setValue(3, forKey: "visits")
      try other.save()
      XCTAssertEqual(visits(conflict(context)), [1, 2, 3, nil, 3])
      // Again, with a coordinator whose cache no longer has the row.
      XCTAssertEqual(visits(conflict(context)), [1, 2, 3, nil, 3])
      context.rollback()
      // A deletion contains the values that the object had.
      try users[1].setValue(2, forKey: "visits")
      context.delete(users[1])
      try same[1].setValue(3, forKey: "visits")
      try other.save()
      XCTAssertEqual(visits(conflict(context)), [1, 2, 3, nil, 3])
      context.rollback()
      // For a deleted row, neither has values.
      try users[2].setValue(2, forKey: "visits")
      other.delete(same[2])
      try other.save()
      let error = conflict(context)
      XCTAssertEqual(visits(error), [1, 2, nil, nil, nil])
      XCTAssertEqual((error as? StoreError)?.mergeConflicts.first?.newVersion, 0)
    }
  }

  func testConflictWithAnotherCoordinatorShowsStoredValues() async throws {
    let folder = try TemporaryFolder()
    let coordinators = [
      try PersistentStoreCoordinator(managedObjectModel: Self.model), try PersistentStoreCoordinator(managedObjectModel: Self.model),
    ]
    for coordinator in coordinators { try await coordinator.addPersistentStore(with: .encrypted(in: folder)) }
    let (context, other) = (ManagedObjectContext(coordinator: coordinators[0]), ManagedObjectContext(coordinator: coordinators[1]))
    let users = try ["ann", "bob"].map { try context.make("User", ["name": $0, "visits": 1]) }
    try context.save()
    try users[0].setValue(2, forKey: "visits")
    try other.named("ann", "User").setValue(3, forKey: "visits")
    try other.save()
    XCTAssertEqual(visits(conflict(context)), [1, 2, 1, 3, 3])
    // Now the cached value is known.
    XCTAssertEqual(visits(conflict(context)), [1, 2, 3, nil, 3])
    context.rollback()
    try users[1].setValue(2, forKey: "visits")
    other.delete(try other.named("bob", "User"))
    try other.save()
    XCTAssertEqual(visits(conflict(context)), [1, 2, 1, nil, nil])
    for coordinator in coordinators { for store in coordinator.persistentStores { try coordinator.remove(store) } }
  }

  // MARK: Invalid objects

  func testObjectsReportWhetherTheyAreValid() async throws {
    try await onEachStore(model: Self.model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      let user = try context.make("User", ["name": "ann", "visits": 1])
      XCTAssertTrue(user.isUsable)
      try context.save()
      XCTAssertTrue(user.isUsable)
      context.delete(user)
      XCTAssertFalse(user.isUsable)
      context.rollback()
      XCTAssertTrue(user.isUsable)
      context.delete(user)
      try context.save()
      XCTAssertFalse(user.isUsable)
      XCTAssertEqual(user.text("name"), "ann", "It reads as it was last.")
      XCTAssertEqual(user.many("admirers"), [])
      XCTAssertThrowsError(try user.setValue("eve", forKey: "name"))
      XCTAssertFalse(context.hasChanges)
      let dropped = try context.make("User", ["name": "bob"])
      context.delete(dropped)
      context.processPendingChanges()
      XCTAssertFalse(dropped.isUsable)
      let held = try context.make("User", ["name": "cid"])
      try context.save()
      let other = stack.makeContext()
      let third = stack.makeContext()
      let fault = try third.existingObject(with: held.objectID)
      let gone = other.object(with: held.objectID)
      context.delete(held)
      try context.save()
      XCTAssertTrue(fault.isUsable, "No observer has been notified yet.")
      XCTAssertNil(gone.text("name"))
      XCTAssertFalse(gone.isUsable)
      let reset = try other.make("User", ["name": "dan"])
      other.reset()
      XCTAssertFalse(reset.isUsable)
      XCTAssertEqual(reset.text("name"), "dan")
    }
  }
}
