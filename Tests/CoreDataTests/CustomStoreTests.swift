import CoreData
import Foundation
import XCTest

/// An in-memory store of dictionaries, with strings as reference objects.
class DictionaryStore: NSIncrementalStore, @unchecked Sendable {
  struct Row { var values: [String: Any], members: [String: [String]], version: UInt64 }
  var rows: [String: [String: Row]] = [:]
  var requests: [String] = []
  var failure: (any Error)?

  override func loadMetadata() throws {
    metadata = [NSStoreUUIDKey: "the dictionary store", NSStoreTypeKey: "Dictionary", "note": options?["note"] ?? "none"]
  }

  private func reference(_ id: NSManagedObjectID?) -> String? { id.flatMap { referenceObject(for: $0) as? String } }

  override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
    guard let context else { return [] }
    if let failure { throw failure }
    if let save = request as? NSSaveChangesRequest {
      requests.append("save")
      for object in (save.insertedObjects ?? []).union(save.updatedObjects ?? []) {
        let name = object.entity.name ?? ""
        var row = Row(values: [:], members: [:], version: (rows[name]?[reference(object.objectID) ?? ""]?.version ?? 0) + 1)
        for key in object.entity.attributesByName.keys { row.values[key] = object.value(forKey: key) }
        for (key, relationship) in object.entity.relationshipsByName
        where !relationship.isToMany || relationship.inverseRelationship?.isToMany == true {
          row.members[key] = object.objectIDs(forRelationshipNamed: key).compactMap(reference)
        }
        rows[name, default: [:]][reference(object.objectID) ?? ""] = row
      }
      for object in save.deletedObjects ?? [] { rows[object.entity.name ?? ""]?[reference(object.objectID) ?? ""] = nil }
      return []
    }
    guard let fetch = request as? NSFetchRequest<any NSFetchRequestResult>, let entity = fetch.entity else { return [] }
    requests.append("\(fetch.resultType.rawValue) \(entity.name ?? "")")
    let ids = (rows[entity.name ?? ""] ?? [:]).keys.sorted().map { newObjectID(for: entity, referenceObject: $0) }
    let found = ids.map { context.object(with: $0) }.filter { fetch.predicate?.evaluate(with: $0) ?? true }
    let sorted = NSArray(array: found).sortedArray(using: fetch.sortDescriptors ?? []).compactMap { $0 as? NSManagedObject }
    let bounded = Array(fetch.fetchLimit > 0 ? sorted.prefix(fetch.fetchLimit) : sorted[...])
    switch fetch.resultType {
    case .countResultType: return [NSNumber(value: bounded.count)]
    case .managedObjectIDResultType: return bounded.map(\.objectID)
    default: return bounded
    }
  }

  override func newValuesForObject(with objectID: NSManagedObjectID, with context: NSManagedObjectContext) throws -> NSIncrementalStoreNode
  {
    guard let row = rows[objectID.entityName]?[reference(objectID) ?? ""] else {
      throw NSError(domain: NSCocoaErrorDomain, code: NSManagedObjectReferentialIntegrityError)
    }
    return NSIncrementalStoreNode(objectID: objectID, withValues: row.values, version: row.version)
  }

  override func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    let (entity, own) = (relationship.destinationEntity, reference(objectID) ?? "")
    guard let entity else { return [NSManagedObjectID]() }
    if let known = rows[objectID.entityName]?[own]?.members[relationship.name] {
      let ids = known.map { newObjectID(for: entity, referenceObject: $0) }
      return relationship.isToMany ? ids as Any : ids.first as Any? ?? NSNull()
    }
    let inverse = relationship.inverseRelationship?.name ?? ""
    return (rows[entity.name ?? ""] ?? [:]).filter { $0.value.members[inverse] == [own] }.keys.sorted()
      .map { newObjectID(for: entity, referenceObject: $0) }
  }

  override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    array.map { newObjectID(for: $0.entity, referenceObject: "\($0.value(forKey: "name") ?? "none")") }
  }
}

/// An atomic store in a property list.
class ListStore: NSAtomicStore, @unchecked Sendable {
  nonisolated(unsafe) static var rejects = false

  private var list: [[String: Any]] {
    guard let url, let data = try? Data(contentsOf: url) else { return [] }
    return (try? PropertyListSerialization.propertyList(from: data, format: nil)) as? [[String: Any]] ?? []
  }

  override func load() throws {
    let model = persistentStoreCoordinator?.managedObjectModel
    for item in list {
      guard let entity = (item["entity"] as? String).flatMap({ model?.entitiesByName[$0] }), let reference = item["reference"] else {
        continue
      }
      let node = NSAtomicStoreCacheNode(objectID: objectID(for: entity, withReferenceObject: reference))
      node.setValue(item["name"], forKey: "name")
      node.setValue(item["size"], forKey: "size")
      addCacheNodes([node])
      if let shelf = item["shelf"], let shelves = model?.entitiesByName["Shelf"] {
        let id = objectID(for: shelves, withReferenceObject: shelf)
        if cacheNode(for: id) == nil { addCacheNodes([NSAtomicStoreCacheNode(objectID: id)]) }
        node.setValue(cacheNode(for: id), forKey: "shelf")
      }
    }
  }

  override func save() throws {
    if Self.rejects { throw CocoaError(.fileWriteOutOfSpace) }
    let items = cacheNodes().sorted { $0.objectID.entityName > $1.objectID.entityName }.map { node in
      var item: [String: Any] = ["entity": node.objectID.entityName, "reference": referenceObject(for: node.objectID)]
      for key in ["name", "size"] { item[key] = node.value(forKey: key) }
      item["shelf"] = (node.value(forKey: "shelf") as? NSAtomicStoreCacheNode).map { referenceObject(for: $0.objectID) }
      return item
    }
    guard let url else { return }
    try PropertyListSerialization.data(fromPropertyList: items, format: .xml, options: 0).write(to: url)
  }
}

/// Incremental and atomic stores of the application fetch, save and return values.
final class CustomStoreTests: XCTestCase {
  private static func makeModel() -> NSManagedObjectModel {
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType) = (name, type)
      return attribute
    }
    let (box, shelf) = (NSEntityDescription(), NSEntityDescription())
    (box.name, shelf.name) = ("Box", "Shelf")
    let (boxes, own, tags, tagged) = (
      NSRelationshipDescription(), NSRelationshipDescription(), NSRelationshipDescription(), NSRelationshipDescription()
    )
    (boxes.name, boxes.destinationEntity, boxes.inverseRelationship) = ("boxes", box, own)
    (own.name, own.destinationEntity, own.inverseRelationship, own.maxCount) = ("shelf", shelf, boxes, 1)
    (tags.name, tags.destinationEntity, tags.inverseRelationship) = ("near", shelf, tagged)
    (tagged.name, tagged.destinationEntity, tagged.inverseRelationship) = ("nearby", box, tags)
    box.properties = [attribute("name", .stringAttributeType), attribute("size", .integer64AttributeType), own, tags]
    shelf.properties = [attribute("name", .stringAttributeType), attribute("size", .integer64AttributeType), boxes, tagged]
    let model = NSManagedObjectModel()
    model.entities = [box, shelf]
    return model
  }

  private let url = FileManager.default.temporaryDirectory.appendingPathComponent("own-\(UUID().uuidString).store")
  private let coordinator = NSPersistentStoreCoordinator(managedObjectModel: makeModel())
  private lazy var context = newContext()

  override func setUp() {
    NSPersistentStoreCoordinator.registerStoreClass(DictionaryStore.self, forStoreType: "Dictionary")
    NSPersistentStoreCoordinator.registerStoreClass(ListStore.self, type: NSPersistentStore.StoreType(rawValue: "List"))
    ListStore.rejects = false
  }

  override func tearDown() {
    NSPersistentStoreCoordinator.registerStoreClass(nil, forStoreType: "Dictionary")
    NSPersistentStoreCoordinator.registerStoreClass(nil, forStoreType: "List")
    try? FileManager.default.removeItem(at: url)
  }

  private func newContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private func insert(_ entity: String, _ name: String, size: Int = 0, on shelf: NSManagedObject? = nil) -> NSManagedObject {
    let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
    object.setValue(name, forKey: "name")
    object.setValue(size, forKey: "size")
    if let shelf { object.setValue(shelf, forKey: "shelf") }
    return object
  }

  /// Two shelves, and three boxes on the first one, one of which is near the second.
  private func fill() throws {
    let (high, low) = (insert("Shelf", "high"), insert("Shelf", "low"))
    let boxes = ["a", "b", "c"].enumerated().map { insert("Box", $0.element, size: $0.offset, on: high) }
    boxes[0].setValue(NSSet(object: low), forKey: "near")
    try context.save()
  }

  private func names(_ entity: String, _ format: String? = nil, in context: NSManagedObjectContext) throws -> [String] {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.predicate = format.map { NSPredicate(format: $0) }
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
    let found = try context.fetch(request)
    // Objects without their context have no values.
    return withExtendedLifetime(context) { found.map { $0.value(forKey: "name") as? String ?? "none" } }
  }

  private func checkContents() throws {
    let other = newContext()
    XCTAssertEqual(try names("Box", in: other), ["c", "b", "a"])
    XCTAssertEqual(try names("Box", "size > 0", in: other), ["c", "b"])
    XCTAssertEqual(try names("Shelf", "ANY boxes.size == 2", in: other), ["high"])
    let count = NSFetchRequest<NSManagedObject>(entityName: "Box")
    count.predicate = NSPredicate(format: "shelf.name == 'high'")
    XCTAssertEqual(try other.count(for: count), 3)
    let sums = NSFetchRequest<NSDictionary>(entityName: "Box")
    sums.resultType = .dictionaryResultType
    sums.propertiesToFetch = ["name", "size"]
    sums.sortDescriptors = [NSSortDescriptor(key: "size", ascending: false)]
    sums.fetchLimit = 1
    XCTAssertEqual(try other.fetch(sums).first?["name"] as? String, "c")
    let shelf = try XCTUnwrap(
      other.fetch(NSFetchRequest<NSManagedObject>(entityName: "Shelf")).first { $0.value(forKey: "name") as? String == "low" })
    withExtendedLifetime(other) {
      XCTAssertEqual((shelf.value(forKey: "nearby") as? NSSet)?.count, 1)
      XCTAssertEqual((shelf.value(forKey: "nearby") as? Set<NSManagedObject>)?.first?.value(forKey: "name") as? String, "a")
      XCTAssertEqual((shelf.value(forKey: "boxes") as? NSSet)?.count, 0)
    }
  }

  private func change() throws {
    let boxes = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Box"))
    for box in boxes {
      if box.value(forKey: "name") as? String == "b" { context.delete(box) } else { box.setValue(7, forKey: "size") }
    }
    try context.save()
  }

  func testIncrementalStoresReceiveTheNeededRequests() throws {
    let store = try coordinator.addPersistentStore(
      ofType: "Dictionary", configurationName: nil, at: url, options: ["note": NSString("kept")])
    let own = try XCTUnwrap(store as? DictionaryStore)
    XCTAssertTrue(coordinator.persistentStores.first === own)
    XCTAssertTrue(own.persistentStoreCoordinator === coordinator)
    XCTAssertEqual(own.identifier, "the dictionary store")
    XCTAssertEqual(own.metadata["note"] as? String, "kept")
    try fill()
    XCTAssertEqual(own.rows["Box"]?["a"]?.members, ["shelf": ["high"], "near": ["low"]])
    try checkContents()
    try change()
    XCTAssertEqual(own.rows["Box"]?.mapValues { $0.values["size"] as? Int64 }, ["a": 7, "c": 7])
    XCTAssertEqual(own.rows["Box"]?["a"]?.members, ["shelf": ["high"], "near": ["low"]])
    XCTAssertEqual(own.rows["Box"]?["a"]?.version, 2)
    XCTAssertEqual(try names("Box", in: newContext()), ["c", "a"])
    XCTAssertTrue(own.requests.contains("4 Box"), "\(own.requests)")
    try coordinator.remove(own)
    XCTAssertThrowsError(try names("Box", in: newContext()))
  }

  func testFetchesAndSavesRethrowStoreErrors() throws {
    let store = try XCTUnwrap(
      try coordinator.addPersistentStore(ofType: "Dictionary", configurationName: nil, at: url) as? DictionaryStore)
    try fill()
    store.failure = CocoaError(.userCancelled)
    XCTAssertThrowsError(try names("Box", in: context)) { XCTAssertEqual(($0 as NSError).code, CocoaError.userCancelled.rawValue) }
    _ = insert("Box", "d")
    XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as NSError).code, CocoaError.userCancelled.rawValue) }
    store.failure = nil
    try context.save()
    XCTAssertEqual(store.rows["Box"]?.count, 4)
    let update = NSBatchUpdateRequest(entityName: "Box")
    update.propertiesToUpdate = ["size": 1]
    XCTAssertThrowsError(try context.execute(update))
  }

  func testAnAtomicStoreIsReadAndWrittenAsAWhole() throws {
    var store = try coordinator.addPersistentStore(ofType: "List", configurationName: nil, at: url)
    try fill()
    XCTAssertTrue(FileManager.default.fileExists(atPath: url.path))
    try checkContents()
    try change()
    XCTAssertEqual(try names("Box", "size == 7", in: newContext()), ["c", "a"])
    try coordinator.remove(store)
    context = newContext()
    store = try coordinator.addPersistentStore(ofType: "List", configurationName: nil, at: url)
    XCTAssertEqual(try names("Box", "shelf.name == 'high'", in: context), ["c", "a"])
    XCTAssertEqual((store as? ListStore)?.cacheNodes().count, 4)
    ListStore.rejects = true
    _ = insert("Box", "d")
    XCTAssertThrowsError(try context.save())
    XCTAssertEqual((store as? ListStore)?.cacheNodes().count, 4)
    ListStore.rejects = false
    try context.save()
    XCTAssertEqual(try names("Box", in: newContext()), ["d", "c", "a"])
  }

  func testUnknownStoreTypesAreErrors() throws {
    for type in ["Nothing", NSBinaryStoreType] {
      XCTAssertThrowsError(try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url)) { error in
        XCTAssertTrue(error.localizedDescription.contains("NSSQLiteStoreType is the encrypted"), error.localizedDescription)
      }
    }
    NSPersistentStoreCoordinator.registerStoreClass(NSObject.self, forStoreType: "Nothing")
    defer { NSPersistentStoreCoordinator.registerStoreClass(nil, forStoreType: "Nothing") }
    XCTAssertThrowsError(try coordinator.addPersistentStore(ofType: "Nothing", configurationName: nil, at: url)) { error in
      XCTAssertTrue(error.localizedDescription.contains("NSIncrementalStore"), error.localizedDescription)
    }
    NSPersistentStoreCoordinator.registerStoreClass(NSIncrementalStore.self, forStoreType: "Nothing")
    try coordinator.addPersistentStore(ofType: "Nothing", configurationName: nil, at: url)
    XCTAssertThrowsError(try names("Box", in: context)) { error in
      XCTAssertTrue(error.localizedDescription.contains("override it"), error.localizedDescription)
    }
  }

  func testInMemoryStoresEndWithTheirCoordinator() throws {
    // The library's own store types cannot be replaced.
    NSPersistentStoreCoordinator.registerStoreClass(ListStore.self, forStoreType: NSInMemoryStoreType)
    let store = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    try fill()
    try checkContents()
    XCTAssertEqual(store.type, NSInMemoryStoreType)
    try coordinator.remove(store)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    XCTAssertEqual(try names("Box", in: newContext()), [])
  }
}
