// MigrationManager: a mapping model at work: what was made of what, values, and the services that policies ask for.
public import ObjectModel
import ObjectStore

/// A mapping model at work, as policies and property mappings see it.
///
/// It knows which newer object was made of which older one, by their IDs: no object is held. Older objects can only be read. All work is part of one
/// transaction.
public final class MigrationManager {
  /// The mapping model.
  public let mappingModel: MappingModel
  /// What policies want to remember.
  public var userInfo: [String: Any] = [:]
  /// The mapping whose objects or relationships are being made; nil before the first and after the last.
  public internal(set) var currentEntityMapping: EntityMapping?
  /// The part of the work that is done, from 0 to 1.
  public internal(set) var migrationProgress: Double = 0

  /// The older model.
  public var sourceModel: ManagedObjectModel { contexts.session.sourceModel.model }
  /// The newer model.
  public var destinationModel: ManagedObjectModel { contexts.session.destinationModel.model }
  /// The older objects.
  public var sourceContext: ManagedObjectContext { contexts.source }
  /// The newer objects. What was made is saved in batches; what the model requires is checked at the end.
  public var destinationContext: ManagedObjectContext { contexts.destination }

  /// Associates the objects that the standard policy makes; nil to record them directly.
  package var associating: ((ManagedObject, ManagedObject, EntityMapping) throws -> Void)?

  let contexts: MigrationContexts
  let progress: StageProgress
  private(set) var pairs: [String: InstancePairs] = [:]
  private let expressions: MappingExpressions
  private var policies: [String: EntityMigrationPolicy] = [:]
  private var cancellation: (any Error)?

  init(_ mappingModel: MappingModel, contexts: MigrationContexts, progress: StageProgress) {
    self.mappingModel = mappingModel
    self.progress = progress
    self.contexts = contexts
    expressions = MappingExpressions(model: contexts.session.sourceModel)
  }

  /// The policy of a mapping: one object for the whole migration.
  func policy(of mapping: EntityMapping) -> EntityMigrationPolicy {
    if let known = policies[mapping.name] { return known }
    let made = mapping.makePolicy?() ?? (mapping.entityMigrationPolicy ?? EntityMigrationPolicy.self).init()
    policies[mapping.name] = made
    return made
  }

  // MARK: What was made of what

  /// Inserts a newer object of a mapping's entity, with its default values, and notes what it was made of.
  ///
  /// It takes the older object's key, and so its ID, where both entities are the same by name or renaming identifier and it is the first made of it.
  /// - Throws: ``StoreError`` when the mapping has no newer entity, or an abstract one.
  public func insertDestinationInstance(for source: ManagedObject, in mapping: EntityMapping) throws -> ManagedObject {
    let object = try contexts.destination.insertObject(entityName: mapping.destinationEntityName ?? "")
    if let objectID = keptID(of: source, for: object) { contexts.destination.adopt(objectID, for: object) }
    if let associating {
      try associating(source, object, mapping)
    } else {
      try associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
    }
    return object
  }

  /// The ID of an older object under the newer model, if a newer object may take it.
  private func keptID(of source: ManagedObject, for object: ManagedObject) -> ManagedObjectID? {
    let (entity, reference) = (object.compiledEntity, source.objectID.reference)
    let model = contexts.session.destinationModel
    guard contexts.destinations[reference.entity].map({ model.entities[$0].root }) == entity.root else { return nil }
    let isTaken = pairs.values.contains { pairs in
      pairs.destinations(of: reference).contains { made in
        made.key == reference.key && model.entities[made.entity].root == entity.root
      }
    }
    if isTaken { return nil }
    return ManagedObjectID(space: contexts.destinationStore.space.number, entityNumber: UInt32(entity.number), key: reference.key)
  }

  /// Notes that a newer object was made of an older one by a mapping. Several may be made of one, and one of several.
  ///
  /// - Parameters:
  ///   - sourceInstance: The older object.
  ///   - destinationInstance: The newer object.
  ///   - mapping: The entity mapping that made it.
  /// - Throws: ``StoreError`` when the newer object cannot get a permanent ID.
  public func associate(
    sourceInstance: ManagedObject, withDestinationInstance destinationInstance: ManagedObject, for mapping: EntityMapping
  ) throws {
    if destinationInstance.objectID.isTemporaryID { try contexts.destination.obtainIDs(for: [destinationInstance]) }
    pairs[mapping.name, default: InstancePairs()].append(sourceInstance.objectID.reference, destinationInstance.objectID.reference)
  }

  /// The newer objects that a mapping made of older ones, in their order.
  ///
  /// - Parameters:
  ///   - mappingName: The mapping's name.
  ///   - sourceInstances: The older objects; nil for all, which are then held as faults as long as the array is.
  /// - Throws: ``StoreError`` with ``StoreError/Code/mappingModelInvalid`` when there is no such mapping.
  public func destinationInstances(
    forEntityMappingName mappingName: String, sourceInstances: [ManagedObject]?
  ) throws -> [ManagedObject] {
    let pairs = try pairs(of: mappingName)
    guard let sourceInstances else { return pairs.destinations.map { destinationObject(ObjectReference(rawValue: $0)) } }
    return sourceInstances.flatMap { pairs.destinations(of: $0.objectID.reference) }.map(destinationObject)
  }

  /// The older objects that newer ones were made of by a mapping.
  ///
  /// - Parameters:
  ///   - mappingName: The mapping's name.
  ///   - destinationInstances: The newer objects; nil for all.
  /// - Throws: ``StoreError`` with ``StoreError/Code/mappingModelInvalid`` when there is no such mapping.
  public func sourceInstances(
    forEntityMappingName mappingName: String, destinationInstances: [ManagedObject]?
  ) throws -> [ManagedObject] {
    let pairs = try pairs(of: mappingName)
    guard let destinationInstances else { return pairs.sources.map { sourceObject(ObjectReference(rawValue: $0)) } }
    return destinationInstances.flatMap { pairs.sources(of: $0.objectID.reference) }.map(sourceObject)
  }

  private func pairs(of mappingName: String) throws -> InstancePairs {
    guard mappingModel.entityMappings.contains(where: { $0.name == mappingName }) else {
      let names = mappingModel.entityMappings.map { "“\($0.name)”" }.joined(separator: ", ")
      throw StoreError(.noEntityMapping(mappingName, known: names), operation: .migrate)
    }
    return pairs[mappingName] ?? InstancePairs()
  }

  func destinationObject(_ reference: ObjectReference) -> ManagedObject {
    contexts.destination.object(with: Self.objectID(reference, contexts.destinationStore))
  }

  func sourceObject(_ reference: ObjectReference) -> ManagedObject {
    contexts.source.object(with: Self.objectID(reference, contexts.sourceStore))
  }

  static func objectID(_ reference: ObjectReference, _ store: PersistentStore) -> ManagedObjectID {
    ManagedObjectID(space: store.space.number, entityNumber: UInt32(reference.entity), key: reference.key)
  }

  // MARK: Values

  /// The value of a property mapping for an older object.
  ///
  /// - Parameters:
  ///   - property: The property mapping.
  ///   - source: The older object.
  ///   - mapping: The entity mapping at work.
  /// - Throws: What the expression or the Swift code throws.
  public func value(of property: PropertyMapping, forSource source: ManagedObject, in mapping: EntityMapping) throws -> Any? {
    switch property.value {
    case .block(let block): return try block(source, self)
    case .expression(let expression):
      return try expressions.value(of: expression, source: source, policy: policy(of: mapping), manager: self)
    case .instances(let mappingName, let keyPath):
      let value: Any? = keyPath.isEmpty ? source : try source.value(forKeyPath: keyPath)
      guard let mappingName else { return value }
      return try destinationInstances(forEntityMappingName: mappingName, sourceInstances: MappingExpressions.objects(in: value))
    }
  }

  /// Sets a relationship. Older objects become the newer ones made of them, by the first mapping that made one which fits.
  ///
  /// - Parameters:
  ///   - name: The relationship's name.
  ///   - object: The newer object.
  ///   - value: An object, an array or set of objects, or nil. Of several, a to-one relationship takes the first.
  /// - Throws: ``StoreError`` with ``StoreError/Code/mappingModelInvalid`` when there is no such relationship.
  public func setRelationship(_ name: String, of object: ManagedObject, to value: Any?) throws {
    let relationship: CompiledRelationship
    switch object.compiledEntity.property(named: name) {
    case .toOne(let found), .toMany(let found): relationship = found
    default:
      throw StoreError(.noRelationship(entity: object.compiledEntity.name, property: name), operation: .migrate)
    }
    let target = contexts.destination.model.entities[relationship.destinationEntity]
    let objects = MappingExpressions.objects(in: value).compactMap { member in
      member.managedObjectContext === contexts.source ? newerObject(of: member, ofKind: target) : member
    }
    try object.setValue(relationship.isToMany ? objects as Any : objects.first as Any, forKey: name)
  }

  private func newerObject(of source: ManagedObject, ofKind entity: CompiledEntity) -> ManagedObject? {
    let reference = source.objectID.reference
    for mapping in mappingModel.entityMappings {
      let made = pairs[mapping.name]?.destinations(of: reference).first { entity.subtree.contains($0.entity) }
      if let made { return destinationObject(made) }
    }
    return nil
  }

  // MARK: Calling off

  /// Calls the migration off: it ends before the next object, and throws the error.
  public func cancelMigration(_ error: any Error) { cancellation = cancellation ?? error }

  /// Throws once the migration was called off.
  func checkCancellation() throws {
    if let cancellation { throw cancellation }
    try contexts.session.checkCancellation()
  }
}
