import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import Synchronization

/// The classes of custom stores by type.
enum StoreClasses {
  private static let classes = Mutex<[String: NSIncrementalStore.Type]>([:])

  static func register(_ type: NSIncrementalStore.Type?, _ name: String) { classes.withLock { $0[name] = type } }
  static func type(named name: String) -> NSIncrementalStore.Type? { classes.withLock { $0[name] } }
  static var all: [String: NSIncrementalStore.Type] { classes.withLock { $0 } }

  /// The coordinator that is opening a store, and the store's options.
  @TaskLocal static var opening: (coordinator: NSPersistentStoreCoordinator, options: SendableBox<[AnyHashable: Any]?>)?
}

/// Forwards a coordinator's requests to a custom store, with objects of a context created for that purpose.
final class IncrementalStoreAdapter: IncrementalStore, AdaptedStore, @unchecked Sendable {  // the lock guards the context
  let shown: NSIncrementalStore
  private let configuration: StoreConfiguration
  private weak var coordinator: NSPersistentStoreCoordinator?
  /// Serializes requests. Recursive, because a store may use its coordinator during a request.
  private let requestLock = NSRecursiveLock()
  /// The context of the current request.
  private var context: NSManagedObjectContext?

  static var derivesAttributes: Bool { false }
  var observesRegistration: Bool { true }

  init(configuration: StoreConfiguration) throws {
    let description = configuration.description
    guard let type = StoreClasses.type(named: description.type.rawValue), let opening = StoreClasses.opening else {
      throw IncrementalStoreError.noClass(description.type.rawValue)
    }
    guard let url = description.url else { throw IncrementalStoreError.missingURL(description.type.rawValue) }
    (self.configuration, coordinator) = (configuration, opening.coordinator)
    shown = type.init(
      persistentStoreCoordinator: opening.coordinator, configurationName: description.configuration, at: url,
      options: opening.options.value)
  }

  func loadMetadata() throws -> StoreMetadata {
    try requestLock.withLock {
      try shown.loadMetadata()
      let values = shown.metadata ?? [:]
      guard let identifier = values[NSStoreUUIDKey].map({ "\($0)" }), !identifier.isEmpty else {
        throw IncrementalStoreError.noIdentifier("\(type(of: shown))")
      }
      let held = Set(configuration.entityNumbers.map { configuration.model.entities[$0].name })
      var metadata = StoreMetadata(
        storeIdentifier: identifier, storeType: configuration.description.type.rawValue,
        modelHashes: values[NSStoreModelVersionHashesKey] as? [String: Data]
          ?? configuration.model.versionHashes.filter { held.contains($0.key) })
      metadata.userMetadata = StoreMetadataDictionary.notes(values)
      shown.setObjectIDSpace(ObjectIDSpace.register(storeIdentifier: identifier, model: configuration.model))
      try shown.didLoad()
      return metadata
    }
  }

  func setUserMetadata(_ metadata: [String: String]) throws {
    var values = shown.metadata ?? [:]
    for (key, note) in metadata { values[key] = note }
    shown.metadata = values
  }

  func managedObjectContextDidRegisterObjects(with objectIDs: [ManagedObjectID]) {
    shown.managedObjectContextDidRegisterObjects(with: objectIDs)
  }
  func managedObjectContextDidUnregisterObjects(with objectIDs: [ManagedObjectID]) {
    shown.managedObjectContextDidUnregisterObjects(with: objectIDs)
  }

  // MARK: Requests

  /// Executes a request with the context of the outermost one.
  private func asking<Result>(_ body: (NSManagedObjectContext) throws -> Result) throws -> Result {
    try requestLock.withLock {
      if let context { return try body(context) }
      guard let coordinator else { throw IncrementalStoreError.noClass(configuration.description.type.rawValue) }
      let own = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      own.persistentStoreCoordinator = coordinator
      own.isBorrowed = true
      context = own
      defer { context = nil }
      return try body(own)
    }
  }

  func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult {
    try asking { context in
      switch request {
      case .fetch(let specification): return try fetch(specification, context)
      case .save(let save):
        _ = try shown.execute(try StoreSave(save, scope, configuration.model, context).request, with: context)
        return .saved()
      case .batchInsert, .batchUpdate, .batchDelete: throw request.unsupported
      }
    }
  }

  private func fetch(_ specification: FetchSpecification, _ context: NSManagedObjectContext) throws -> PersistentStoreResult {
    let shapes = specification.resultType == .dictionaries || specification.resultType == .count && specification.returnsDistinctResults
    if shown.evaluatesInMemory || shapes {
      let evaluation = try FetchEvaluation(specification, model: configuration.model)
      var candidates: [ManagedObjectID]
      if shown.evaluatesInMemory {
        candidates = shown.allObjects(of: evaluation.entity)
      } else {
        var plain = FetchSpecification(entityName: specification.entityName, predicate: specification.predicate)
        plain.includesSubentities = specification.includesSubentities
        candidates = try ids(try shown.execute(request(plain, context), with: context))
      }
      return try context.context.answer(evaluation, among: candidates)
    }
    let answer = try shown.execute(request(specification, context), with: context)
    if specification.resultType == .count {
      if let number = answer as? NSNumber ?? (answer as? [Any])?.first as? NSNumber { return .count(number.intValue) }
      return .count(try ids(answer).count)
    }
    return .objectIDs(try ids(answer))
  }

  private func request(_ specification: FetchSpecification, _ context: NSManagedObjectContext) -> NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>(asking: specification)
    request.entity = context.model?.entitiesByName[specification.entityName]
    request.affectedStores = [shown]
    return request
  }

  private func ids(_ answer: Any) throws -> [ManagedObjectID] {
    let members: [Any]
    switch answer {
    case let array as [Any]: members = array
    case let array as NSArray: members = Array(array)
    case let set as NSSet: members = set.allObjects
    case let set as NSOrderedSet: members = set.array
    case let set as Set<NSManagedObjectID>: members = Array(set)
    default: throw IncrementalStoreError.unexpectedResult("\(type(of: shown))", asked: "an array of objects or of their IDs")
    }
    return try members.map { member in
      if let object = member as? ManagedObject { return object.objectID }
      guard let id = member as? ManagedObjectID else {
        throw IncrementalStoreError.unexpectedResult("\(type(of: shown))", asked: "an array of objects or of their IDs")
      }
      return id
    }
  }

  // MARK: Values

  func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList {
    try asking { context in
      let writer = RowWriter(rowCapacity: objectIDs.count)
      for objectID in objectIDs { try write(objectID, to: writer, context) }
      return writer.finish()
    }
  }

  private func write(_ objectID: ManagedObjectID, to writer: RowWriter, _ context: NSManagedObjectContext) throws {
    let entity = configuration.model.entities[Int(objectID.entityNumber)]
    let node: NSIncrementalStoreNode
    do { node = try shown.newValuesForObject(with: objectID, with: context) } catch let error as NSError
      where error.domain == NSCocoaErrorDomain && error.code == NSManagedObjectReferentialIntegrityError
    {
      // The object was deleted.
      return
    }
    let properties = context.model?.entitiesByName[entity.name]?.propertiesByName ?? [:]
    var values: [Int: Slot] = [:]
    for slot in entity.slots where slot.kind != .none {
      guard let property = properties[slot.name] else { continue }
      var value = node.value(for: property)
      if value == nil, let relationship = property as? NSRelationshipDescription {
        value = try shown.newValue(forRelationship: relationship, forObjectWith: objectID, with: context)
      }
      values[slot.index] = try ManagedObject.storedValue(value is NSNull ? nil : value, for: slot, of: entity)
    }
    writer.beginRow(
      entityNumber: entity.number, slotCount: entity.slots.count, key: objectID.key, version: Int64(truncatingIfNeeded: node.version))
    for slot in entity.slots where slot.kind != .none { writer.set(values[slot.index] ?? .null, at: slot.index) }
    _ = writer.endRow()
  }

  func newValues(
    forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
  ) throws -> RelationshipValues {
    try asking { context in
      var values = RelationshipValues()
      for objectID in objectIDs {
        let entity = configuration.model.entities[Int(objectID.entityNumber)].name
        guard let description = context.model?.entitiesByName[entity]?.relationshipsByName[relationship.name] else {
          values.append([])
          continue
        }
        values.append(try ids(try shown.newValue(forRelationship: description, forObjectWith: objectID, with: context)).map(\.reference))
      }
      return values
    }
  }

  func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] {
    try asking { context in
      // A store may derive an ID from an object's values.
      let objects = ManagedObject.registered(objectIDs, in: scope).enumerated().map { position, object in
        object as? NSManagedObject ?? context.object(with: objectIDs[position])
      }
      let permanent = try shown.obtainPermanentIDs(for: objects)
      guard permanent.count == objectIDs.count else {
        throw IncrementalStoreError.unexpectedCount("\(type(of: shown))", asked: objectIDs.count, given: permanent.count)
      }
      return permanent
    }
  }
}

/// A save, with the objects of a store's own context.
private struct StoreSave {
  let request: NSSaveChangesRequest

  init(_ save: SaveChangesRequest, _ scope: RequestScope, _ model: CompiledModel, _ context: NSManagedObjectContext) throws {
    let space = scope.objectIDSpace.number
    func id(_ reference: ObjectReference) -> ManagedObjectID {
      ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key)
    }
    func object(_ row: RowImage, isNew: Bool) -> NSManagedObject? {
      context.context.object(of: id(row.reference), with: row, isNew: isNew) as? NSManagedObject
    }
    // All objects exist before relationships are set.
    let inserted = save.inserted.compactMap { object($0, isNew: true) }
    let updated = save.updated.compactMap { object($0.row, isNew: false) }
    for change in save.relationshipChanges {
      let relationship = model.relationships[change.relationshipID]
      let owner = context.object(with: id(change.source))
      let known = change.order ?? owner.objectIDs(forRelationshipNamed: relationship.name).map(\.reference)
      let members = change.order ?? known.filter { !change.removed.contains($0) && !change.added.contains($0) } + change.added
      owner.setValue(NSOrderedSet(array: members.map { context.object(with: id($0)) }), forKey: relationship.name)
    }
    func found(_ references: [SaveChangesRequest.VersionedReference]) -> Set<NSManagedObject> {
      Set(references.map { context.object(with: id($0.reference)) })
    }
    request = NSSaveChangesRequest(
      inserted: Set(inserted), updated: Set(updated), deleted: found(save.deleted), locked: found(save.locked))
  }
}

extension NSPersistentStoreCoordinator {
  /// Registers a class for a type of stores that are added later; nil removes the registration.
  ///
  /// - Parameters:
  ///   - storeClass: A subclass of ``NSIncrementalStore`` or ``NSAtomicStore``. With any other class, adding the store throws.
  ///   - storeType: The name of the type. ``NSSQLiteStoreType`` and ``NSInMemoryStoreType`` cannot be replaced.
  public class func registerStoreClass(_ storeClass: AnyClass?, forStoreType storeType: String) {
    if [NSSQLiteStoreType, NSInMemoryStoreType, StoreType.sqlcipher.rawValue].contains(storeType) { return }
    let type = StoreType(rawValue: storeType)
    StoreClasses.register(storeClass as? NSIncrementalStore.Type, storeType)
    RegisteredStoreTypes.set(storeType, isRegistered: storeClass != nil)
    PersistentStoreCoordinator.registerStoreClass(storeClass == nil ? nil : IncrementalStoreAdapter.self, forStoreType: type)
  }

  /// Registers a class for a store type: see ``registerStoreClass(_:forStoreType:)``.
  ///
  /// - Parameters:
  ///   - storeClass: The class; nil removes the registration.
  ///   - type: The type.
  public class func registerStoreClass(_ storeClass: AnyClass?, type: NSPersistentStore.StoreType) {
    registerStoreClass(storeClass, forStoreType: type.rawValue)
  }

  /// The classes of custom stores by the names of their types.
  public class var registeredStoreTypes: [String: AnyClass] { StoreClasses.all }
}
