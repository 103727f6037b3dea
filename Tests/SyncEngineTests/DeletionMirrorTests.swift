import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SyncCore
import SyncEngine
import XCTest
import _StoreSpecification
import _SyncSimulation

/// Deletions that edits win over, and those that other objects deny, between stores that mirror each other.
final class DeletionMirrorTests: XCTestCase {
  private static let model = compiled { $0 }
  /// The same without rules for deletions.
  private static let plainModel = compiled { _ in nil }

  private static func compiled(_ rule: (SyncDeletionRule) -> SyncDeletionRule?) -> CompiledModel {
    func entity(_ entity: Entity, _ value: SyncDeletionRule) -> Entity { rule(value).map { entity.syncDeletionRule($0) } ?? entity }
    let model = ManagedObjectModel {
      entity(
        Entity("Note") {
          Attribute("title", .string)
          Attribute("text", .string)
          Attribute("count", .integer64).initially(0).syncMergeRule(.counter)
          Relationship("tags", toMany: "Tag", inverse: "notes")
          Relationship("parts", toMany: "Part", inverse: "note").onDelete(.cascade)
        }, .updateWins)
      Entity("Sketch", parent: "Note") { Attribute("size", .integer64) }
      entity(Entity("Draft", parent: "Note") { Attribute("size", .integer64) }, .deletionWins)
      Entity("Tag") {
        Attribute("name", .string)
        Relationship("notes", toMany: "Note", inverse: "tags")
      }
      Entity("Part") {
        Attribute("title", .string)
        Relationship("note", to: "Note", inverse: "parts").required()
      }
      Entity("Department") {
        Attribute("name", .string)
        Relationship("employees", toMany: "Employee", inverse: "department").onDelete(.deny)
        Relationship("sites", toMany: "Site", inverse: "departments").onDelete(.deny)
        Relationship("plans", toMany: "Plan", inverse: "department").onDelete(.noAction)
      }
      Entity("Employee") {
        Attribute("name", .string)
        Relationship("department", to: "Department", inverse: "employees").required()
      }
      Entity("Site") {
        Attribute("name", .string)
        Relationship("departments", toMany: "Department", inverse: "sites")
      }
      Entity("Plan") {
        Attribute("name", .string)
        Relationship("department", to: "Department", inverse: "plans")
      }
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }

  private func stores(count: Int = 2) throws -> [SyncedStore] {
    let scenario = Scenario(deviceCount: 0)
    return try (1...count).map { try SyncedStore(scenario, UInt64($0), model: Self.model) }
  }

  private func edit(_ store: SyncedStore, _ body: (ManagedObjectContext) throws -> Void) throws {
    Thread.sleep(forTimeInterval: 0.003)
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    try body(context)
    try context.save()
  }

  private func first(_ entity: String, in store: SyncedStore) throws -> ManagedObject {
    store.context.reset()
    return try XCTUnwrap(try store.context.all(entity).first)
  }

  private func count(_ entity: String, in store: SyncedStore) throws -> Int {
    store.context.reset()
    return try store.context.all(entity).count
  }

  private func insert(_ entity: String, _ values: [String: Any?], in store: SyncedStore) throws {
    try edit(store) { try $0.insert(entity, values) }
  }

  private func set(_ key: String, _ value: Any?, ofThe entity: String, in store: SyncedStore) throws {
    try edit(store) { try XCTUnwrap(try $0.all(entity).first).setValue(value, forKey: key) }
  }

  private func deleteThe(_ entity: String, in store: SyncedStore) throws {
    try edit(store) { $0.delete(try XCTUnwrap(try $0.all(entity).first)) }
  }

  // MARK: updateWins

  func testAnEditWinsOverADeletionThatDidNotKnowIt() throws {
    for deletesFirst in [true, false] {
      let stores = try stores()
      try insert("Note", ["title": "title", "text": "text", "count": 5], in: stores[0])
      try edit(stores[0]) { context in
        let note = try XCTUnwrap(try context.all("Note").first)
        try context.insert("Tag", ["name": "tag", "notes": Set([note])])
      }
      try synchronize(stores)
      try deleteThe("Note", in: stores[0])
      try set("text", "edited", ofThe: "Note", in: stores[1])
      for store in deletesFirst ? stores : stores.reversed() { try store.synchronize() }
      try synchronize(stores)
      let note = try first("Note", in: stores[0])
      XCTAssertEqual(note["title"] as? String, "title")
      XCTAssertEqual(note["text"] as? String, "edited")
      XCTAssertEqual(note["count"] as? Int64, 5)
      XCTAssertEqual((note["tags"] as? Set<ManagedObject>)?.count, 1, "its links are there again")
      XCTAssertEqual(try stores[0].replica.journal() + stores[1].replica.journal(), [], "nothing has lost")
    }
  }

  func testADeletionWinsOverTheEditsThatItKnew() throws {
    let stores = try stores(count: 3)
    try insert("Note", ["title": "title"], in: stores[0])
    try synchronize(stores)
    try set("text", "known", ofThe: "Note", in: stores[1])
    try synchronize(stores)
    try deleteThe("Note", in: stores[0])
    try synchronize(stores)
    XCTAssertEqual(try count("Note", in: stores[2]), 0)
    // Two deletions at once.
    try insert("Note", ["title": "other"], in: stores[0])
    try synchronize(stores)
    for store in stores { try deleteThe("Note", in: store) }
    try synchronize(stores)
    XCTAssertEqual(try count("Note", in: stores[0]), 0)
  }

  func testAnObjectThatCameBackCanBeDeletedAgain() throws {
    let stores = try stores()
    try insert("Note", ["title": "title"], in: stores[0])
    try synchronize(stores)
    try deleteThe("Note", in: stores[0])
    try set("count", 3, ofThe: "Note", in: stores[1])
    try synchronize(stores)
    XCTAssertEqual(try first("Note", in: stores[0])["count"] as? Int64, 3)
    try deleteThe("Note", in: stores[0])
    try synchronize(stores)
    XCTAssertEqual(try count("Note", in: stores[1]), 0)
  }

  func testUndoingADeletionKeepsTheRecordAlsoIfTheObjectIsEditedElsewhere() throws {
    let stores = try stores()
    try insert("Note", ["title": "title", "count": 5], in: stores[0])
    try synchronize(stores)
    let id = try first("Note", in: stores[1]).stableID
    let context = ManagedObjectContext(coordinator: stores[0].open.coordinator)
    context.undoManager = ContextUndoManager()
    context.delete(try XCTUnwrap(try context.all("Note").first))
    try context.save()
    try stores[0].synchronize()
    try context.undo()
    try context.save()
    try set("text", "edited", ofThe: "Note", in: stores[1])
    try synchronize(stores)
    XCTAssertEqual(try count("Note", in: stores[1]), 1)
    let note = try first("Note", in: stores[0])
    XCTAssertEqual(note["text"] as? String, "edited")
    XCTAssertEqual(note["count"] as? Int64, 5)
    XCTAssertEqual(try note.stableID, id)
  }

  func testSubentitiesInheritTheRuleUnlessTheyDeclareTheOther() throws {
    let stores = try stores()
    for entity in ["Sketch", "Draft"] { try insert(entity, ["title": "title"], in: stores[0]) }
    try synchronize(stores)
    for entity in ["Sketch", "Draft"] {
      try deleteThe(entity, in: stores[0])
      try set("text", "edited", ofThe: entity, in: stores[1])
    }
    try synchronize(stores)
    XCTAssertEqual(try count("Sketch", in: stores[0]), 1)
    XCTAssertEqual(try count("Draft", in: stores[0]), 0)
  }

  func testWhatRequiresADeletedObjectComesBackWithIt() throws {
    let stores = try stores(count: 3)
    try insert("Note", ["title": "title"], in: stores[0])
    try synchronize(stores)
    try deleteThe("Note", in: stores[0])
    try edit(stores[1]) { try $0.insert("Part", ["title": "part", "note": try XCTUnwrap(try $0.all("Note").first)]) }
    try stores[0].synchronize()
    try stores[1].synchronize()
    try stores[0].synchronize()
    XCTAssertEqual(try count("Part", in: stores[0]), 0, "it waits for the note")
    try set("text", "edited", ofThe: "Note", in: stores[2])
    try synchronize(stores)
    XCTAssertEqual(try count("Part", in: stores[0]), 1)
    XCTAssertEqual(try count("Note", in: stores[0]), 1)
  }

  func testWhatADeletionHasSeenStaysTheSameAfterARestart() throws {
    let stores = try stores()
    try insert("Note", ["title": "title"], in: stores[0])
    try synchronize(stores)
    try deleteThe("Note", in: stores[0])
    // Stamps the deletion, and ends before anything is sent.
    _ = try stores[0].handle(.save)
    try set("text", "edited", ofThe: "Note", in: stores[1])
    try stores[1].synchronize()
    let pull = try stores[0].handle(.remoteChange)
    for action in pull { if case .pull = action { _ = try stores[0].handle(try stores[0].answer(action)) } }
    try stores[0].close()
    try stores[0].reopen(Self.model)
    try synchronize(stores)
    XCTAssertEqual(try first("Note", in: stores[0])["text"] as? String, "edited")
  }

  // MARK: Deny and No Action

  func testAnObjectIsNotDeletedWhileAnotherDeviceRefersToIt() throws {
    for deletesFirst in [true, false] {
      let stores = try stores(count: 3)
      try insert("Department", ["name": "sales"], in: stores[0])
      try synchronize(stores)
      try deleteThe("Department", in: stores[0])
      try edit(stores[1]) { try $0.insert("Employee", ["name": "Ann", "department": try XCTUnwrap(try $0.all("Department").first)]) }
      for store in deletesFirst ? [stores[0], stores[1]] : [stores[1], stores[0]] { try store.synchronize() }
      try synchronize(stores)
      for store in stores {
        XCTAssertEqual(try first("Department", in: store)["name"] as? String, "sales")
        XCTAssertEqual(try count("Employee", in: store), 1)
      }
      // It remains when the employee is gone, and can be deleted then.
      try deleteThe("Employee", in: stores[2])
      try synchronize(stores)
      XCTAssertEqual(try count("Department", in: stores[0]), 1)
      try deleteThe("Department", in: stores[1])
      try synchronize(stores)
      XCTAssertEqual(try count("Department", in: stores[0]), 0)
    }
  }

  func testALinkDeniesTheDeletionOfItsSource() throws {
    let stores = try stores()
    try insert("Department", ["name": "sales"], in: stores[0])
    try insert("Site", ["name": "Rome"], in: stores[0])
    try synchronize(stores)
    try deleteThe("Department", in: stores[0])
    try edit(stores[1]) { context in
      let site = try XCTUnwrap(try context.all("Site").first)
      try XCTUnwrap(try context.all("Department").first).setValue(Set([site]), forKey: "sites")
    }
    try synchronize(stores)
    XCTAssertEqual((try first("Department", in: stores[0])["sites"] as? Set<ManagedObject>)?.count, 1)
  }

  func testAReferenceToAnObjectThatWasDeletedWithoutActionIsNil() throws {
    let stores = try stores()
    try insert("Department", ["name": "sales"], in: stores[0])
    try edit(stores[0]) { try $0.insert("Plan", ["name": "plan", "department": try XCTUnwrap(try $0.all("Department").first)]) }
    try synchronize(stores)
    try deleteThe("Department", in: stores[0])
    try synchronize(stores)
    XCTAssertNil(try first("Plan", in: stores[1])["department"])
    XCTAssertEqual(try first("Plan", in: stores[0])["name"] as? String, "plan")
  }

  func testModelsWithDenyAndNoActionAreSynchronized() throws {
    XCTAssertEqual(SyncSchema(Self.model).obstacles, [])
    let note = try XCTUnwrap(SyncSchemaReport(SyncSchema(Self.model)).lines.first { $0.hasPrefix("entity Note") })
    XCTAssertEqual(note, "entity Note, a change wins over a deletion")
    XCTAssertTrue(SyncSchemaReport(SyncSchema(Self.model)).entities.first { $0.name == "Department" }?.updateWins ?? false)
    XCTAssertFalse(SyncSchemaReport(SyncSchema(Self.plainModel)).entities.first { $0.name == "Note" }?.updateWins ?? true)
  }
}
