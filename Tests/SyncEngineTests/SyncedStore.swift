import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncCore
import SyncEngine
import XCTest
import _StoreSpecification
import _SyncSimulation
import _TestSupport

/// The models of the tests: trees of folders, notes that require a folder, and covers, each of at most one folder.
enum MirrorModel {
  static let model = compiled(hasLinks: false)
  /// The model with a many-to-many relationship, one that is its own inverse, and a to-many relationship without an inverse.
  static let withLinks = compiled(hasLinks: true)

  /// The same with ordered relationships.
  static let withLists = compiled(hasLinks: true, isOrdered: true)

  private static func compiled(hasLinks: Bool, isOrdered: Bool = false) -> CompiledModel {
    let model = ManagedObjectModel {
      Entity("Item", abstract: true) {
        Attribute("title", .string)
        Attribute("folded", .string).derived("canonical:(title)")
        if hasLinks { Relationship("tags", toMany: "Tag", inverse: "items").ordered(isOrdered) }
      }
      if hasLinks {
        Entity("Tag") {
          Attribute("name", .string)
          Relationship("items", toMany: "Item", inverse: "tags").ordered(isOrdered)
        }
      }
      Entity("Folder", parent: "Item") {
        Attribute("size", .integer64).initially(7)
        Attribute("made", .date)
        Attribute("noteCount", .integer64).derived("notes.@count")
        Relationship("parent", to: "Folder", inverse: "children")
        Relationship("children", toMany: "Folder", inverse: "parent").onDelete(.cascade).ordered(isOrdered)
        Relationship("notes", toMany: "Note", inverse: "folder").onDelete(.cascade).ordered(isOrdered)
        Relationship("cover", to: "Cover", inverse: "folder")
        if hasLinks {
          Relationship("friends", toMany: "Folder", inverse: "friends")
          Relationship("pinned", toMany: "Note").ordered(isOrdered)
        }
      }
      Entity("Note", parent: "Item") {
        Attribute("text", .string)
        Attribute("rating", .double)
        Attribute("data", .binary)
        Attribute("price", .decimal)
        Attribute("key", .uuid)
        Attribute("isRead", .boolean)
        Relationship("folder", to: "Folder", inverse: "notes").required()
      }
      Entity("Cover") {
        Attribute("color", .string)
        Relationship("folder", to: "Folder", inverse: "cover")
      }
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }
}

extension Relationship {
  fileprivate func ordered(_ isOrdered: Bool) -> Relationship { isOrdered ? ordered() : self }
}

/// A store that is synchronized with the hub of a scenario.
final class SyncedStore {
  let folder: TemporaryFolder
  let url: URL
  let key: StoreKey
  static let databaseKey = StoreKey.databaseKey(SecretBytes([UInt8](repeating: 7, count: 32)))
  let observer = SQLObserver()
  private(set) var open: OpenStore
  private(set) var replica: StoreReplica
  let scenario: Scenario
  private(set) var context: ManagedObjectContext
  /// The limits of the client from the next restart on.
  var limits = SyncClient.Limits()
  private(set) var client: SyncClient
  /// How far the clock of the device is ahead, in milliseconds.
  var clockError: Int64 = 0

  /// Creates a store, and makes it a replica of the scenario's zone.
  ///
  /// - Parameter prepare: Called before synchronization begins.
  init(
    _ scenario: Scenario, _ device: UInt64, model: CompiledModel = MirrorModel.model, key: StoreKey = databaseKey, begins: Bool = true,
    prepare: (OpenStore) throws -> Void = { _ in }
  ) throws {
    folder = try TemporaryFolder("SyncEngineTests")
    url = folder.file("\(device).store")
    (self.scenario, self.key) = (scenario, key)
    open = try OpenStore(Self.description(url, key, observer), model: model)
    context = ManagedObjectContext(coordinator: open.coordinator)
    replica = try StoreReplica(open.persistentStore, of: open.coordinator)
    client = SyncClient(replica.schema.syncModel, SimulatedHashing(), SimulatedHashing())
    try prepare(open)
    if begins {
      try replica.begin(in: ZoneID(high: 1, low: 1), as: DeviceID(device))
      while try replica.addBaseline(maximumCount: 7) != nil {}
    }
  }

  /// Opens an existing store.
  init(_ scenario: Scenario, opening url: URL, in folder: TemporaryFolder, model: CompiledModel = MirrorModel.model) throws {
    (self.folder, self.url, self.scenario, key) = (folder, url, scenario, Self.databaseKey)
    open = try OpenStore(Self.description(url, key, observer), model: model)
    context = ManagedObjectContext(coordinator: open.coordinator)
    replica = try StoreReplica(open.persistentStore, of: open.coordinator)
    client = SyncClient(replica.schema.syncModel, SimulatedHashing(), SimulatedHashing())
    try begin()
  }

  private static func description(_ url: URL, _ key: StoreKey, _ observer: SQLObserver) -> PersistentStoreDescription {
    var description = PersistentStoreDescription(url: url, key: key)
    description.durability = .fast
    description.sqlObserver = observer
    description.sideTableOwners = [SyncTables.shared]
    return description
  }

  /// The description with which the store is opened.
  var description: PersistentStoreDescription { Self.description(url, key, observer) }

  func close() throws { try open.close() }

  /// Opens the closed store again.
  ///
  /// - Parameter stages: Those of a migration to the model; none for one that is inferred.
  func reopen(_ model: CompiledModel = MirrorModel.model, stages: [any MigrationStage] = []) throws {
    var description = description
    if !stages.isEmpty { description.stagedMigrationManager = StagedMigrationManager(stages) }
    open = try OpenStore(description, model: model)
    context = ManagedObjectContext(coordinator: open.coordinator)
    try reopenReplica()
    try begin()
  }

  /// Does what is necessary after a store was opened.
  private func begin() throws {
    restart()
    if try replica.isCopy() { _ = try handle(.copied) }
    try replica.adoptModel(batch: 3)
  }

  /// Begins with a new client and a new replica, which reads all pending saves again.
  func reopenReplica() throws {
    replica = try StoreReplica(open.persistentStore, of: open.coordinator)
    restart()
  }

  /// Begins with a new client, as after a restart of the process.
  func restart() { client = SyncClient(replica.schema.syncModel, SimulatedHashing(), SimulatedHashing(), limits: limits) }

  func handle(_ event: SyncClient.Event) throws -> [SyncClient.Action] { try handle(event, in: replica) }

  func takeReconciliationResult() -> ReconciliationResult? { client.takeReconciliationResult() }

  func handle(_ event: SyncClient.Event, in store: some SyncStore) throws -> [SyncClient.Action] {
    let environment = SyncClient.Environment(
      wall: Int64(Date().timeIntervalSince1970 * 1_000) + clockError, newDevice: DeviceID(.random(in: 100 ... .max)))
    return try client.handle(event, in: store, environment)
  }

  /// Pulls and pushes until there is nothing to do.
  ///
  /// - Parameter afterEach: Called after each event that the store has processed.
  func synchronize(afterEach: () throws -> Void = {}) throws {
    var actions = try handle(.remoteChange)
    try afterEach()
    while let action = actions.first {
      actions.removeFirst()
      actions += try handle(answer(action))
      try afterEach()
    }
  }

  /// Returns the hub's answer to a request, as the event that it causes.
  func answer(_ action: SyncClient.Action) throws -> SyncClient.Event {
    scenario.time = Int64(Date().timeIntervalSince1970 * 1_000)
    return try scenario.answer(action)
  }

  /// Whether everything is sent and pulled, as far as the store knows.
  var isIdle: Bool { get throws { try client.isIdle(in: replica) } }

  /// Returns the values of all objects by their stable IDs, with the IDs of destinations.
  func contents() throws -> [String: [String: String]] {
    let context = ManagedObjectContext(coordinator: open.coordinator)
    var contents: [String: [String: String]] = [:]
    for entity in open.model.entities where !entity.isAbstract {
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      for object in try context.fetch(request) {
        var values = ["entity": entity.name]
        for slot in entity.slots where !slot.isTransient {
          let value = object[slot.name]
          values[slot.name] = try (value as? ManagedObject).map { try id($0) } ?? value.map { "\($0)" } ?? "nil"
        }
        for relationship in entity.toManyRelationships {
          let members =
            try relationship.isOrdered
            ? object.mutableOrderedSetValue(forKey: relationship.name).objects.map { try id($0) }
            : (object[relationship.name] as? Set<ManagedObject> ?? []).map { try id($0) }.sorted()
          values[relationship.name] = members.joined(separator: ",")
        }
        contents[try id(object)] = values
      }
    }
    return contents
  }

  private func id(_ object: ManagedObject) throws -> String { try XCTUnwrap(object.stableID).uuidString }
}

/// Synchronizes stores until nothing is to be sent, and asserts that they have what their records say, and the same objects.
func synchronize(_ stores: [SyncedStore], file: StaticString = #filePath, line: UInt = #line) throws {
  for store in stores + stores + stores { try store.synchronize() }
  for store in stores {
    var verification = ObjectVerification()
    while try !store.replica.verifyObjects(&verification, batch: 3) {}
    XCTAssertEqual(verification.differences, [], file: file, line: line)
    XCTAssertTrue(try store.isIdle, file: file, line: line)
    try assertEqualContents(stores[0], store, file: file, line: line)
  }
}

/// Asserts that stores contain the same objects with the same stable IDs.
func assertEqualContents(_ stores: SyncedStore..., count: Int? = nil, file: StaticString = #filePath, line: UInt = #line) throws {
  let first = try stores[0].contents()
  if let count { XCTAssertEqual(first.count, count, file: file, line: line) }
  for store in stores.dropFirst() {
    let other = try store.contents()
    for id in Set(first.keys).union(other.keys).sorted() { XCTAssertEqual(first[id], other[id], id, file: file, line: line) }
  }
}
