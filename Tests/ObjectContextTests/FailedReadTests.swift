import Foundation
@_spi(Generated) import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import Synchronization
import XCTest
import _TestSupport

/// A failing read is reported before it returns, by every accessor, and prevents the next save (rows C5 and C24).
final class FailedReadTests: XCTestCase {
  /// A store that fails on demand.
  private final class BrokenStore: IncrementalStore {
    static let type = StoreType(rawValue: "Broken")
    private let store: InMemoryStore
    private let broken = Mutex(false)

    init(configuration: StoreConfiguration) throws { store = try InMemoryStore(configuration: configuration) }

    var isBroken: Bool {
      get { broken.withLock { $0 } }
      set { broken.withLock { $0 = newValue } }
    }
    private func check() throws {
      if isBroken { throw StoreError(.storeCorrupt, "A page is damaged.", operation: .read) }
    }

    func loadMetadata() throws -> StoreMetadata { try store.loadMetadata() }
    func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult {
      try store.execute(request, in: scope)
    }
    func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList {
      try check()
      return try store.newValuesForObjects(with: objectIDs, in: scope)
    }
    func newValues(
      forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
    ) throws -> RelationshipValues {
      try check()
      return try store.newValues(forRelationship: relationship, forObjectsWith: objectIDs, in: scope)
    }
    func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] {
      try store.obtainPermanentIDs(for: objectIDs, in: scope)
    }
    func performTransaction(_ body: () throws -> Void) throws { try store.performTransaction(body) }
    func close() throws { try store.close() }
  }

  private enum Mood: String { case glad, sad }
  private struct Home: CompositeValue {
    static let slotCount = 1
    static let partNames = ["city"]
    static let classTable = ManagedObjectClasses()
    var city: String?
    init(of object: ManagedObject, at slot: Int) { city = object.optionalValue(slot) }
    func write(to object: ManagedObject, at slot: Int) { object.setPart(city, at: slot) }
  }

  private static let model = ManagedObjectModel {
    Composite("Place") { Attribute("city", .string) }
    Entity("Thing") {
      Attribute("name", .string).required()
      Attribute("mood", .string)
      Attribute("level", .integer32)
      Attribute("data", .binary)
      Attribute("tags", transforming: [String].self)
      Attribute("home", composite: "Place")
      Relationship("friend", to: "Thing", inverse: "admirers")
      Relationship("admirers", toMany: "Thing", inverse: "friend")
      Relationship("parts", toMany: "Part", inverse: "thing").ordered()
      FetchedProperty("namesakes", entity: "Thing", where: "name == $FETCH_SOURCE.name")
    }
    Entity("Part") { Relationship("thing", to: "Thing", inverse: "parts") }
  }

  private func slot(_ name: String, _ model: CompiledModel) throws -> Int {
    switch try XCTUnwrap(model.entity(named: "Thing")?.property(named: name)) {
    case .attribute(let slot): slot.index
    case .toOne(let relationship), .toMany(let relationship): relationship.index
    case .composite(let composite): composite.slots.lowerBound
    case .fetched: 0
    }
  }

  /// All accessors of a property, by name.
  private func accessors(_ model: CompiledModel) throws -> [(String, (ManagedObject) throws -> Void)] {
    let (name, mood, level, data) = (try slot("name", model), try slot("mood", model), try slot("level", model), try slot("data", model))
    let (tags, home, friend) = (try slot("tags", model), try slot("home", model), try slot("friend", model))
    let (admirers, parts) = (try slot("admirers", model), try slot("parts", model))
    var list: [(String, (ManagedObject) throws -> Void)] = [
      ("value", { _ = $0.value(name, as: String.self) }),
      ("optionalValue", { _ = $0.optionalValue(level, as: Int32.self) }),
      ("rawValue", { let _: Mood? = GeneratedCode.rawValue(at: mood, of: $0, storedAs: String.self) }),
      ("rawValue integer", { let _: Level? = GeneratedCode.rawValue(at: level, of: $0) }),
      ("transformed", { _ = $0.transformed(tags, as: [String].self) }),
      ("composite", { _ = $0.composite(home, as: Home.self) }),
      ("optionalComposite", { _ = $0.optionalComposite(home, as: Home.self) }),
      ("generated value", { let _: String = GeneratedCode.value(at: name, of: $0) }),
      ("generated value of an enumeration", { _ = GeneratedCode.value(at: mood, of: $0, initial: Mood.sad) }),
      ("generated value of a Codable", { let _: [String] = GeneratedCode.value(at: tags, of: $0, initial: []) }),
      ("generated optional value", { let _: Int32? = GeneratedCode.optionalValue(at: level, of: $0) }),
      ("generated optional value of an enumeration", { let _: Mood? = GeneratedCode.optionalValue(at: mood, of: $0) }),
      ("toOne", { _ = $0.toOne(friend, as: ManagedObject.self) }), ("toOneID", { _ = $0.toOneID(friend) }),
      ("toManySet", { _ = $0.toManySet(admirers, as: ManagedObject.self) }),
      ("toManyArray", { _ = $0.toManyArray(parts, as: ManagedObject.self) }), ("toManyCount", { _ = $0.toManyCount(admirers) }),
      ("objectIDs of a to-one", { _ = try $0.objectIDs(forRelationshipNamed: "friend") }),
      ("objectIDs of a to-many", { _ = try $0.objectIDs(forRelationshipNamed: "admirers") }),
      ("mutableSetValue", { _ = try $0.mutableSetValue(forKey: "admirers").count }),
      ("mutableOrderedSetValue", { _ = try $0.mutableOrderedSetValue(forKey: "parts").objects }),
      ("externalData", { _ = $0.externalData(at: data) }), ("externalData(forKey:)", { _ = try $0.externalData(forKey: "data") }),
      ("fetchedProperty", { _ = $0.fetchedProperty("namesakes", as: ManagedObject.self) }),
      ("value(forKey:as:)", { _ = try $0.value(forKey: "tags", as: [String].self) }),
      ("value(forKeyPath:)", { _ = try $0.value(forKeyPath: "friend.name") }),
      ("committedValues", { _ = try $0.committedValues(forKeys: nil) }),
      ("setValue", { $0.setValue("new", at: name) }), ("setToOne", { $0.setToOne(nil, at: friend) }),
      ("setToMany", { $0.setToMany([ManagedObject](), at: admirers) }), ("setExternalData", { $0.setExternalData(nil, at: data) }),
      ("setComposite", { $0.setComposite(Home?.none, at: home) }),
    ]
    for key in ["name", "mood", "level", "data", "tags", "home", "home.city", "friend", "admirers", "parts", "namesakes"] {
      list.append(("value(forKey:) of \(key)", { _ = try $0.value(forKey: key) }))
      list.append(("subscript of \(key)", { _ = $0[key] }))
    }
    for format in [
      "name == 'x'", "friend == nil", "friend.name == 'x'", "ANY admirers.name == 'x'", "parts.@count == 0", "home.city == 'x'",
      "data == nil",
    ] {
      list.append(("predicate \(format)", { _ = try FetchPredicate(format: format).evaluate(with: $0) }))
    }
    for key in ["name", "friend", "admirers"] {
      list.append(("setValue(forKey:) of \(key)", { try $0.setValue(nil, forKey: key) }))
    }
    return list
  }

  private enum Level: Int32 { case low, high }

  private func make() async throws -> (PersistentStoreCoordinator, BrokenStore, ManagedObjectID) {
    PersistentStoreCoordinator.registerStoreClass(BrokenStore.self, forStoreType: BrokenStore.type)
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: Self.model)
    try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: BrokenStore.type))
    let store = try XCTUnwrap(coordinator.persistentStores.first?.incrementalStore as? BrokenStore)
    let setup = ManagedObjectContext(coordinator: coordinator)
    let (thing, friend) = (try setup.make("Thing", ["name": "a", "data": Data([1])]), try setup.make("Thing", ["name": "b"]))
    try thing.setValue(friend, forKey: "friend")
    try friend.setValue(thing, forKey: "friend")
    try thing.setValue([try setup.make("Part")], forKey: "parts")
    try setup.save()
    return (coordinator, store, thing.objectID)
  }

  func testEveryAccessorReportsTheErrorBeforeReturning() async throws {
    let (coordinator, store, id) = try await make()
    for (name, access) in try accessors(coordinator.compiledModel) {
      for cache in coordinator.persistentStores { cache.cache.removeAll() }
      store.isBroken = false
      let context = ManagedObjectContext(coordinator: coordinator)
      let other = try context.make("Thing", ["name": name])
      let thing = context.object(with: id)
      store.isBroken = true
      // Throwing accessors may throw, but report as well.
      var hasThrown = false
      do { try access(thing) } catch { hasThrown = true }
      XCTAssertEqual((context.pendingError as? StoreError)?.code, .storeCorrupt, name)
      // The values that were read stay invalid after a fetch, and after the store works again.
      store.isBroken = false
      if hasThrown {
        _ = try? context.objects("Part")
      } else {
        XCTAssertThrowsError(try context.objects("Part"), name) { XCTAssertEqual(($0 as? StoreError)?.code, .storeCorrupt, name) }
      }
      XCTAssertEqual(try context.objects("Part").count, 1, name)
      XCTAssertNotNil(context.pendingError, name)
      XCTAssertThrowsError(try context.save(), name) { XCTAssertEqual(($0 as? StoreError)?.code, .storeCorrupt, name) }
      XCTAssertTrue(other.isInserted, name)
      XCTAssertNil(context.pendingError, "\(name): it was thrown by a save")
      XCTAssertEqual(thing.text("name"), "a", name)
      XCTAssertFalse(thing.hasChanges, name)
    }
    XCTAssertEqual(try ManagedObjectContext(coordinator: coordinator).objects("Thing").count, 2, "Nothing was saved.")
  }

  func testBulkReadsThrow() async throws {
    let (coordinator, store, _) = try await make()
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    request.includesPropertyValues = false
    func check(_ name: String, _ read: (ManagedObjectContext) throws -> Void) throws {
      for cache in coordinator.persistentStores { cache.cache.removeAll() }
      let context = ManagedObjectContext(coordinator: coordinator)
      store.isBroken = true
      defer { store.isBroken = false }
      XCTAssertThrowsError(try read(context), name) { XCTAssertEqual(($0 as? StoreError)?.code, .storeCorrupt, name) }
    }
    try check("objects without faults") { context in
      var request = request
      request.returnsObjectsAsFaults = false
      _ = try context.fetch(request)
    }
    try check("prefetching") { context in
      var request = request
      request.relationshipKeyPathsForPrefetching = ["friend", "parts"]
      _ = try context.fetch(request)
    }
    for sorts in [false, true] {
      try check("filtered in memory \(sorts)") { context in
        var request = request
        request.predicate = .block { (object: ManagedObject) in object.text("name") == "a" }
        request.allowsInMemoryFiltering = true
        if sorts { request.sortDescriptors = [FetchSortDescriptor("name")] }
        _ = try context.fetch(request)
      }
    }
    try check("filtered members") { context in
      var request = request
      request.predicate = .block { (object: ManagedObject) in object.many("admirers").isEmpty }
      request.allowsInMemoryFiltering = true
      _ = try context.count(for: request)
    }
    try check("enumerate") { context in
      try context.enumerateBatches(of: request) { _, _ in }
    }
    try check("existingObject") { context in
      _ = try context.existingObject(with: try context.fetch(request)[0].objectID)
    }
    // An iteration whose body reads an unreadable value ends with that batch.
    let context = ManagedObjectContext(coordinator: coordinator)
    var visited = 0
    XCTAssertThrowsError(
      try context.enumerateBatches(of: request, size: 1) { objects, _ in
        visited += objects.count
        store.isBroken = true
        for object in objects { _ = object.many("admirers") }
      }
    ) { XCTAssertEqual(($0 as? StoreError)?.code, .storeCorrupt) }
    XCTAssertEqual(visited, 1)
    store.isBroken = false
  }

  /// A large value whose bytes cannot be read.
  private struct Unreadable: ExternalContent {
    var count: Int { get throws { throw StoreError(.externalDataMissing, "The file is missing.", operation: .read) } }
    func makeReader() throws -> ExternalDataReader { throw StoreError(.externalDataMissing, "The file is missing.", operation: .read) }
    func data() throws -> Data { throw StoreError(.externalDataMissing, "The file is missing.", operation: .read) }
  }

  /// Returns the error that a read throws; or, if it cannot throw, the error that the context reports and the next save throws: never both.
  private func reported(_ context: ManagedObjectContext, _ read: () throws -> Void) -> (any Error)? {
    do { try read() } catch {
      XCTAssertNil(context.pendingError, "a thrown error is not reported again")
      return error
    }
    let error = context.pendingError
    XCTAssertThrowsError(try context.save())
    return error
  }

  func testLargeValuesReportTheError() async throws {
    let (coordinator, _, id) = try await make()
    let data = try slot("data", coordinator.compiledModel)
    let accessors: [(String, (ManagedObject) throws -> Void)] = [
      ("value", { _ = $0.value(data, as: Data.self) }), ("optionalValue", { _ = $0.optionalValue(data, as: Data.self) }),
      ("value(forKey:)", { _ = try $0.value(forKey: "data") }), ("subscript", { _ = $0["data"] }),
      ("primitiveValue", { _ = try $0.primitiveValue(forKey: "data") }), ("changedValues", { _ = $0.changedValues() }),
      ("generated value", { let _: Data = GeneratedCode.value(at: data, of: $0) }),
      ("predicate", { _ = try FetchPredicate(format: "data == %@", Data([2])).evaluate(with: $0) }),
    ]
    for (name, access) in accessors {
      let context = ManagedObjectContext(coordinator: coordinator)
      let thing = try context.existingObject(with: id)
      thing.setExternalData(ExternalData(content: Unreadable()), at: data)
      XCTAssertNil(context.pendingError, name)
      XCTAssertEqual((reported(context) { try access(thing) } as? StoreError)?.code, .externalDataMissing, name)
      XCTAssertThrowsError(try context.save(), name)
    }
  }

  func testStoredLargeValuesReportTheError() async throws {
    var file = AttributeDescription(name: "data", type: .binary, isOptional: true)
    file.allowsExternalBinaryDataStorage = true
    let model = ManagedObjectModel(entities: [EntityDescription(name: "Paper", properties: [.attribute(file)])])
    let folder = try TemporaryFolder()
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription.encrypted(in: folder)
    description.externalStorageThreshold = 1_000
    try await coordinator.addPersistentStore(with: description)
    let setup = ManagedObjectContext(coordinator: coordinator)
    let paper = try setup.make("Paper", ["data": Data(repeating: 1, count: 2_000)])
    try setup.save()
    try FileManager.default.removeItem(at: folder.file(".test.store_SUPPORT"))
    let accessors: [(String, (ManagedObject) throws -> Void)] = [
      ("value", { _ = $0.value(0, as: Data.self) }), ("optionalValue", { _ = $0.optionalValue(0, as: Data.self) }),
      ("value(forKey:)", { _ = try $0.value(forKey: "data") }), ("primitiveValue", { _ = try $0.primitiveValue(forKey: "data") }),
      ("committedValues", { _ = try $0.committedValues(forKeys: ["data"]) }),
      ("predicate", { _ = try FetchPredicate(format: "data == %@", Data([2])).evaluate(with: $0) }),
    ]
    for (name, access) in accessors {
      let context = ManagedObjectContext(coordinator: coordinator)
      for store in coordinator.persistentStores { store.cache.removeAll() }
      let found = try context.existingObject(with: paper.objectID)
      XCTAssertNotNil(reported(context) { try access(found) }, name)
    }
    // Filtering by it in memory fails too.
    let context = ManagedObjectContext(coordinator: coordinator)
    var request = FetchRequest<ManagedObject>(entityName: "Paper")
    request.predicate = .block { (object: ManagedObject) in object["data"] == nil }
    request.allowsInMemoryFiltering = true
    XCTAssertThrowsError(try context.fetch(request))
    try coordinator.persistentStores.forEach { try coordinator.remove($0) }
  }
}
