import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

/// Stable IDs of encrypted stores: copies, migrations, and other types of stores.
final class StableIDStoreTests: XCTestCase {
  private func note(_ entity: String = "Note", _ more: (inout EntityDescription) -> Void = { _ in }) -> ManagedObjectModel {
    var note = EntityDescription(
      name: entity, properties: [.attribute(AttributeDescription(name: "title", type: .string, isOptional: true))])
    more(&note)
    return ManagedObjectModel(entities: [note])
  }

  private func stableIDs(_ entity: String, in context: ManagedObjectContext) throws -> [String: UUID] {
    let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    let ids = try context.stableIDs(of: objects).map { try XCTUnwrap($0) }
    return Dictionary(uniqueKeysWithValues: zip(objects.map { $0["title"] as? String ?? "" }, ids))
  }

  private func makeNotes() throws -> (MigratingStore, [String: UUID]) {
    let store = try MigratingStore()
    let ids = try store.open(note(), { $0.tracksObjectIdentity = true }) { context in
      for title in ["a", "b", "c"] { try context.insert("Note", ["title": title]) }
      try context.save()
      return try stableIDs("Note", in: context)
    }
    XCTAssertEqual(ids.count, 3)
    return (store, ids)
  }

  func testAStoreWithStableIDsHasAFormatThatEarlierLibrariesReject() throws {
    let (store, _) = try makeNotes()
    func format() throws -> Int {
      try waitFor { [url = store.url] in try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).information().formatVersion }
    }
    XCTAssertEqual(try format(), 4)
    try store.open(note(), { $0.historyTracking = true }) { _ in }
    try store.open(note(), { $0.historyTracking = false }) { _ in }
    XCTAssertEqual(try format(), 4)
    try store.open(note(), { $0.tracksObjectIdentity = false }) { _ in }
    XCTAssertEqual(try format(), 2)
    try store.open(note()) { XCTAssertEqual(try $0.fetch(FetchRequest<ManagedObject>(entityName: "Note")).count, 3) }
  }

  func testARenamedEntityKeepsItsStableIDs() throws {
    let (store, ids) = try makeNotes()
    let newer = note("Memo") { $0.renamingIdentifier = "Note" }
    try store.open(newer) { context in
      XCTAssertEqual(try stableIDs("Memo", in: context), ids)
      try context.insert("Memo", ["title": "d"])
      try context.save()
      XCTAssertEqual(Set(try stableIDs("Memo", in: context).values).count, 4)
    }
  }

  func testAnEntityOfANewTreeKeepsItsStableIDs() throws {
    let (store, ids) = try makeNotes()
    // The entity gets a superentity, and its rows a table of their own.
    var item = EntityDescription(name: "Item")
    item.isAbstract = true
    var newer = note { $0.superentityName = "Item" }
    newer.entities.append(item)
    newer.entities.append(EntityDescription(name: "Task", superentity: "Item"))
    try store.open(newer) { context in
      XCTAssertEqual(try stableIDs("Note", in: context), ids)
      let task = try context.insert("Task")
      let fresh = try context.insert("Note", ["title": "d"])
      try context.save()
      let all = try stableIDs("Note", in: context).values + [try XCTUnwrap(task.stableID)]
      XCTAssertEqual(Set(all).count, 5)
      XCTAssertEqual(try context.object(forStableID: try XCTUnwrap(fresh.stableID)), fresh)
      XCTAssertEqual(try context.object(forStableID: try XCTUnwrap(ids["b"]))?["title"] as? String, "b")
    }
  }

  func testAMoveToAnotherTypeOfStoreKeepsStableIDs() throws {
    let folder = try TemporaryFolder()
    let model = note()
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription(type: .inMemory)
    description.tracksObjectIdentity = true
    let store = try waitFor { [description] in try await coordinator.addPersistentStore(with: description) }
    let context = ManagedObjectContext(coordinator: coordinator)
    for title in ["a", "b"] { try context.insert("Note", ["title": title]) }
    try context.save()
    let ids = try stableIDs("Note", in: context)
    let target = PersistentStoreDescription(url: folder.url.appendingPathComponent("notes.store"), key: TestStore.key)
    _ = try waitFor { try await coordinator.migratePersistentStore(store, to: target) }
    let other = ManagedObjectContext(coordinator: coordinator)
    XCTAssertEqual(try stableIDs("Note", in: other), ids)
    let id = try XCTUnwrap(ids["b"])
    XCTAssertEqual(try other.object(forStableID: id)?["title"] as? String, "b")
  }

  func testABackupAndItsOriginalNeverGiveAnIDToDifferentObjects() throws {
    let (store, ids) = try makeNotes()
    let folder = try TemporaryFolder()
    let copy = folder.url.appendingPathComponent("copy.store")
    try waitFor { [url = store.url] in
      try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).backUp(to: copy)
    }
    var found: [UUID] = []
    for url in [store.url, copy] {
      let description = PersistentStoreDescription(url: url, key: TestStore.key)
      let open = try OpenStore(description, model: CompiledModel(note()))
      let context = ManagedObjectContext(coordinator: open.coordinator)
      XCTAssertEqual(try stableIDs("Note", in: context), ids)
      let added = try (0..<3).map { try context.insert("Note", ["title": "new \($0)"]) }
      try context.save()
      found += try context.stableIDs(of: added).map { try XCTUnwrap($0) }
      XCTAssertEqual(try context.object(forStableID: found[found.count - 1]), added[2])
      try open.close()
    }
    XCTAssertEqual(Set(found).count, 6)
  }

  func testTheOldRowsAreReadBeforeAMigration() throws {
    let (store, ids) = try makeNotes()
    let newer = note("Memo") { $0.renamingIdentifier = "Note" }
    let found = Mutex<[UUID]>([])
    let read: @Sendable (any StoreMigrationSession) throws -> Void = { session in
      let scope = RequestScope(objectIDSpace: .register(storeIdentifier: session.metadata.storeIdentifier, model: session.sourceModel))
      let request = FetchSpecification(entityName: "Note")
      guard case .rows(let rows) = try session.source.execute(.fetch(request), in: scope) else { return XCTFail("no rows") }
      let known = try (session.source as? any IdentityStore)?.stableIDs(of: rows.references) ?? []
      found.withLock { $0 += known.compactMap { $0 } }
    }
    try store.open(newer, { $0.willMigrate = read }) { context in XCTAssertEqual(try stableIDs("Memo", in: context), ids) }
    XCTAssertEqual(found.withLock { Set($0) }, Set(ids.values))
    found.withLock { $0 = [] }
    try store.open(newer, { $0.willMigrate = read }) { _ in }
    XCTAssertEqual(found.withLock { $0 }, [], "Nothing is migrated.")
  }

  func testMigrationsOnTwoDevicesCreateTheSameObjects() throws {
    let (store, _) = try makeNotes()
    let folder = try TemporaryFolder()
    let copy = folder.url.appendingPathComponent("copy.store")
    try waitFor { [url = store.url] in
      try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).backUp(to: copy)
    }
    var newer = note()
    newer.entities.append(
      EntityDescription(name: "Label", properties: [.attribute(AttributeDescription(name: "title", type: .string, isOptional: true))]))
    let mapping = MappingModel([
      EntityMapping(.copy, from: "Note", to: "Note"),
      EntityMapping(
        .transform, from: "Note", to: "Label", attributeMappings: [PropertyMapping(name: "title", sourceKeyPath: "title")]),
    ])
    var created: [[String: UUID]] = []
    for url in [store.url, copy] {
      var description = PersistentStoreDescription(url: url, key: TestStore.key)
      description.mappingModels = [mapping]
      description.shouldInferMappingModelAutomatically = false
      let open = try OpenStore(description, model: CompiledModel(newer))
      let context = ManagedObjectContext(coordinator: open.coordinator)
      created.append(try stableIDs("Label", in: context))
      try open.close()
    }
    XCTAssertEqual(created[0].count, 3)
    XCTAssertEqual(created[0], created[1])
  }
}
