import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification

extension StoreSettingKey<String> {
  fileprivate static var failure: Self { Self("failure") }
}

/// Store classes, opening and closing, IDs, change sets.
final class CoordinatorTests: XCTestCase {
  /// Wraps an in-memory store, and records the calls that it receives.
  private final class RecordingStore: IncrementalStore {
    static let type = StoreType(rawValue: "Recording")
    static let events = Mutex<[String]>([])
    private let store: InMemoryStore
    private let configuration: StoreConfiguration

    init(configuration: StoreConfiguration) throws {
      self.configuration = configuration
      store = try InMemoryStore(configuration: configuration)
      Self.note("init")
    }

    static func note(_ event: String) { events.withLock { $0.append(event) } }
    private var failure: String? { configuration.description[.failure] }

    func unlock() async throws {
      Self.note("unlock")
      if failure == "unlock" { throw StoreError(.keyProviderFailed, "No key.") }
    }
    func loadMetadata() throws -> StoreMetadata {
      Self.note("loadMetadata")
      if failure == "loadMetadata" { throw StoreError(.storeCorrupt, "Damaged.") }
      var metadata = try store.loadMetadata()
      if let failure, failure.hasPrefix("migration") { metadata.modelHashes = [:] }
      return metadata
    }
    func migrate(_ request: StoreMigrationRequest) throws -> StoreMetadata {
      Self.note("migrate")
      if failure == "migration failure" { throw StoreError(.storeCorrupt, "Damaged.") }
      return try store.loadMetadata()
    }
    func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult {
      try store.execute(request, in: scope)
    }
    func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList {
      try store.newValuesForObjects(with: objectIDs, in: scope)
    }
    func newValues(
      forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
    ) throws -> RelationshipValues { try store.newValues(forRelationship: relationship, forObjectsWith: objectIDs, in: scope) }
    func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] {
      try store.obtainPermanentIDs(for: objectIDs, in: scope)
    }
    func close() throws {
      Self.note("close")
      try store.close()
    }
  }

  private func makeCoordinator() -> PersistentStoreCoordinator { PersistentStoreCoordinator(compiledModel: SpecificationModels.library) }

  override func setUp() {
    RecordingStore.events.withLock { $0 = [] }
    PersistentStoreCoordinator.registerStoreClass(RecordingStore.self, forStoreType: RecordingStore.type)
  }

  override func tearDown() { PersistentStoreCoordinator.registerStoreClass(nil, forStoreType: RecordingStore.type) }

  func testAStoreClassIsFoundByItsRegisteredType() async throws {
    let coordinator = makeCoordinator()
    let store = try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: RecordingStore.type))
    XCTAssertTrue(store.incrementalStore is RecordingStore)
    XCTAssertNotNil(PersistentStoreCoordinator.registeredStoreTypes[.inMemory])
    try coordinator.remove(store)
    XCTAssertEqual(RecordingStore.events.withLock { $0 }, ["init", "unlock", "loadMetadata", "close"])
    XCTAssertEqual(coordinator.persistentStores.count, 0)
  }

  func testClosedStoresRetainOneModel() async throws {
    struct Reference { weak var model: CompiledModel? }
    var references: [Reference] = []
    for _ in 0..<20 {
      let model = try CompiledModel(ManagedObjectModel { Entity("Closed") { Attribute("name", .string) } })
      references.append(Reference(model: model))
      let coordinator = PersistentStoreCoordinator(compiledModel: model)
      try coordinator.remove(try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory)))
    }
    XCTAssertLessThanOrEqual(references.count { $0.model != nil }, 1)
  }

  func testUnknownTypeErrorListsTheKnownTypes() async throws {
    PersistentStoreCoordinator.registerStoreClass(nil, forStoreType: RecordingStore.type)
    do {
      try await makeCoordinator().addPersistentStore(with: PersistentStoreDescription(type: RecordingStore.type))
      XCTFail("A store of an unknown type was opened.")
    } catch let error as StoreError {
      XCTAssertEqual(error.code, .unknownStoreType)
      XCTAssertTrue(error.message.contains("InMemory"), error.message)
    }
  }

  /// Records what an observer sees, next to what the store does.
  private final class Observer: TransactionObserver {
    struct Rejection: Error {}
    let rejects: Bool
    init(rejects: Bool) { self.rejects = rejects }

    func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
      if case .unspecified = change { RecordingStore.note("unspecified \(transaction.kind)") }
    }
    func willCommit(_ transaction: ObservedTransaction) throws {
      RecordingStore.note("will commit")
      if rejects { throw Rejection() }
    }
    func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {}
    func didCommit(_ transaction: ObservedTransaction) { RecordingStore.note("did commit") }
    func didRollback(_ transaction: ObservedTransaction) { RecordingStore.note("did roll back") }
  }

  func testTheMigrationOfAnApplicationStoreIsReportedBeforeItBegins() async throws {
    func open(_ failure: String, rejects: Bool) async throws -> [String] {
      RecordingStore.events.withLock { $0 = [] }
      let coordinator = makeCoordinator()
      try coordinator.addTransactionObserver(Observer(rejects: rejects))
      var description = PersistentStoreDescription(type: RecordingStore.type)
      description[.failure] = failure
      do {
        try coordinator.remove(try await coordinator.addPersistentStore(with: description))
      } catch let error as StoreError {
        XCTAssertEqual(error.code, .storeCorrupt)
      } catch {
        XCTAssertTrue(error is Observer.Rejection, "\(error)")
      }
      return RecordingStore.events.withLock { $0.filter { !["init", "unlock", "loadMetadata", "close"].contains($0) } }
    }
    let seen = ["unspecified migration", "will commit"]
    var found = try await open("migration", rejects: false)
    XCTAssertEqual(found, seen + ["migrate", "did commit"])
    found = try await open("migration", rejects: true)
    XCTAssertEqual(found, seen + ["did roll back"])
    found = try await open("migration failure", rejects: false)
    XCTAssertEqual(found, seen + ["migrate", "did roll back"])
  }

  func testStoreThatFailsToOpenIsClosed() async throws {
    for (failure, code) in [("unlock", StoreError.Code.keyProviderFailed), ("loadMetadata", .storeCorrupt)] {
      RecordingStore.events.withLock { $0 = [] }
      let coordinator = makeCoordinator()
      var description = PersistentStoreDescription(type: RecordingStore.type)
      description[.failure] = failure
      do {
        try await coordinator.addPersistentStore(with: description)
        XCTFail("It opened.")
      } catch let error as StoreError { XCTAssertEqual(error.code, code) }
      XCTAssertEqual(RecordingStore.events.withLock { $0.last }, "close")
      XCTAssertEqual(coordinator.persistentStores.count, 0)
    }
  }

  func testAnUnknownConfigurationIsAnError() async throws {
    var description = PersistentStoreDescription(type: .inMemory)
    description.configuration = "Nothing"
    do {
      try await makeCoordinator().addPersistentStore(with: description)
      XCTFail("It opened.")
    } catch let error as StoreError { XCTAssertEqual(error.code, .invalidRequest) }
  }

  func testConcurrentOpensOfOneFileSucceedOnce() async throws {
    let coordinator = makeCoordinator()
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("nothing-\(UUID().uuidString)")
    let outcomes = await withTaskGroup(of: StoreError.Code?.self) { group in
      for _ in 0..<8 {
        group.addTask {
          do {
            try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: RecordingStore.type, url: url))
            return nil
          } catch { return (error as? StoreError)?.code ?? .internalInconsistency }
        }
      }
      return await group.reduce(into: [StoreError.Code?]()) { $0.append($1) }
    }
    XCTAssertEqual(outcomes.filter { $0 == nil }.count, 1)
    XCTAssertEqual(outcomes.filter { $0 == .alreadyExists }.count, 7)
    XCTAssertEqual(coordinator.persistentStores.count, 1)
    let store = try XCTUnwrap(coordinator.persistentStore(for: url))
    try coordinator.remove(store)
    try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: RecordingStore.type, url: url))
    XCTAssertEqual(coordinator.persistentStores.count, 1, "A file may be opened again.")
  }

  func testInvalidModelIsRejectedWithAllItsErrors() {
    let model = ManagedObjectModel(entities: [
      SpecificationModels.entity("A", [SpecificationModels.toOne("b", "Nothing")]), SpecificationModels.entity("A", []),
    ])
    XCTAssertThrowsError(try PersistentStoreCoordinator(managedObjectModel: model)) { error in
      XCTAssertGreaterThan((error as? ModelValidationError)?.issues.count ?? 0, 1)
    }
  }

  func testAnObjectIDBelongsToItsStore() async throws {
    let coordinator = makeCoordinator()
    let first = try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    let second = try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    let scope = RequestScope(objectIDSpace: .register(storeIdentifier: second.identifier, model: coordinator.compiledModel))
    let entity = try XCTUnwrap(coordinator.compiledModel.entity(named: "Tag"))
    let id = second.incrementalStore.newObjectID(for: entity, referenceObject: .integer(5), in: scope)
    XCTAssertTrue(coordinator.persistentStore(of: id) === second)
    XCTAssertEqual(coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()), id)
    let text = second.incrementalStore.newObjectID(for: entity, referenceObject: .string("a/b ü"), in: scope)
    XCTAssertEqual(second.incrementalStore.referenceObject(for: text, in: scope), .string("a/b ü"))
    XCTAssertEqual(coordinator.managedObjectID(forURIRepresentation: text.uriRepresentation()), text)
    try coordinator.remove(second)
    XCTAssertNil(coordinator.persistentStore(of: id))
    XCTAssertNil(coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation()))
    XCTAssertEqual(coordinator.persistentStores.map(\.identifier), [first.identifier])
  }

  func testStoreWithoutMetadataSupportThrows() async throws {
    let store = try await makeCoordinator().addPersistentStore(with: PersistentStoreDescription(type: RecordingStore.type))
    XCTAssertThrowsError(try store.setUserMetadata(["a": "b"])) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
    XCTAssertThrowsError(try store.incrementalStore.performTransaction {}) {
      XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest)
    }
    XCTAssertEqual(store.metadata.userMetadata, [:])
  }
}
