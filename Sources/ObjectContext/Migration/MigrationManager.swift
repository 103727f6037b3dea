import Foundation
public import ObjectModel
import ObjectQuery
import ObjectStore

/// A running migration by a mapping model, as passed to policies and property mappings.
///
/// The manager records the association of source and destination objects by ID, without retaining objects. Source objects are read-only.
/// The whole migration is one transaction.
public final class MigrationManager {
  /// The mapping model.
  public let mappingModel: MappingModel
  /// Application-defined state of policies.
  public var userInfo: [String: Any] = [:]
  /// The entity mapping that is running; nil before the first and after the last.
  public internal(set) var currentEntityMapping: EntityMapping?
  /// The completed fraction, from 0 to 1.
  public internal(set) var migrationProgress: Double = 0

  /// The source model.
  public var sourceModel: ManagedObjectModel { contexts.session.sourceModel.model }
  /// The destination model.
  public var destinationModel: ManagedObjectModel { contexts.session.destinationModel.model }
  /// The context of the source objects.
  public var sourceContext: ManagedObjectContext { contexts.source }
  /// The context of the destination objects. It is saved in batches. Required values are checked at the end.
  public var destinationContext: ManagedObjectContext { contexts.destination }

  /// Associates the objects that the default policy creates; nil to record them directly.
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

  /// Returns the policy of a mapping. The same instance is used throughout the migration.
  func policy(of mapping: EntityMapping) -> EntityMigrationPolicy {
    if let known = policies[mapping.name] { return known }
    let made = mapping.makePolicy?() ?? (mapping.entityMigrationPolicy ?? EntityMigrationPolicy.self).init()
    policies[mapping.name] = made
    return made
  }

  // MARK: Associated objects

  /// Inserts a destination object of a mapping, with its default values, and associates it with its source object.
  ///
  /// The object receives the source object's key, and therefore its ID, if the entities match by name or renaming identifier and it is the
  /// first destination object of that source object.
  ///
  /// - Throws: ``StoreError`` if the mapping's destination entity is missing or abstract.
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

  /// Returns the ID of a source object under the destination model, if a destination object can take it.
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

  /// Records that a mapping created a destination object from a source object. A source object can have several destination objects, and
  /// vice versa.
  ///
  /// - Parameters:
  ///   - sourceInstance: The source object.
  ///   - destinationInstance: The destination object.
  ///   - mapping: The entity mapping that created it.
  /// - Throws: ``StoreError`` if the destination object cannot get a permanent ID.
  public func associate(
    sourceInstance: ManagedObject, withDestinationInstance destinationInstance: ManagedObject, for mapping: EntityMapping
  ) throws {
    if destinationInstance.objectID.isTemporaryID { try contexts.destination.obtainIDs(for: [destinationInstance]) }
    pairs[mapping.name, default: InstancePairs()].append(sourceInstance.objectID.reference, destinationInstance.objectID.reference)
  }

  /// Returns the destination objects that a mapping created from source objects, in their order.
  ///
  /// - Parameters:
  ///   - mappingName: The mapping's name.
  ///   - sourceInstances: The source objects; nil for all. The returned array then retains a fault per object.
  /// - Throws: ``StoreError`` with ``StoreError/Code/mappingModelInvalid`` if there is no such mapping.
  public func destinationInstances(
    forEntityMappingName mappingName: String, sourceInstances: [ManagedObject]?
  ) throws -> [ManagedObject] {
    let pairs = try pairs(of: mappingName)
    guard let sourceInstances else { return pairs.destinations.map { destinationObject(ObjectReference(rawValue: $0)) } }
    return sourceInstances.flatMap { pairs.destinations(of: $0.objectID.reference) }.map(destinationObject)
  }

  /// Returns the source objects from which a mapping created destination objects.
  ///
  /// - Parameters:
  ///   - mappingName: The mapping's name.
  ///   - destinationInstances: The destination objects; nil for all.
  /// - Throws: ``StoreError`` with ``StoreError/Code/mappingModelInvalid`` if there is no such mapping.
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

  /// Returns the value of a property mapping for a source object.
  ///
  /// - Parameters:
  ///   - property: The property mapping.
  ///   - source: The source object.
  ///   - mapping: The current entity mapping.
  /// - Throws: The errors of the expression or closure.
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

  /// Sets a relationship. Source objects are replaced by their destination objects, from the first mapping that created one of a matching
  /// entity.
  ///
  /// - Parameters:
  ///   - name: The relationship's name.
  ///   - object: The destination object.
  ///   - value: An object, an array or set of objects, or nil. A to-one relationship takes the first of several objects.
  /// - Throws: ``StoreError`` with ``StoreError/Code/mappingModelInvalid`` if there is no such relationship.
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

  // MARK: Cancellation

  /// Cancels the migration, which stops before the next object and throws the error.
  public func cancelMigration(_ error: any Error) { cancellation = cancellation ?? error }

  func checkCancellation() throws {
    if let cancellation { throw cancellation }
    try contexts.session.checkCancellation()
  }
}

extension StoreError.Reason {
  static func noEntityMapping(_ name: String, known: String) -> Self {
    Self(.mappingModelInvalid, "There is no entity mapping “\(name)”; there are \(known).")
  }

  static func noRelationship(entity: String, property: String) -> Self {
    Self(.mappingModelInvalid, "“\(entity)” has no relationship “\(property)”.", entity: entity, property: property)
  }
}

// MARK: - Running a migration

extension MigrationManager {
  /// The number of objects that are read and saved together.
  private static let batchSize = 500

  /// Runs the three passes of the mapping model.
  func run() throws { try progress.map { try makeObjects() } }

  private func makeObjects() throws {
    let mappings = mappingModel.entityMappings
    try mappingModel.check(source: contexts.session.sourceModel, destination: contexts.session.destinationModel)
    var work = 0
    for mapping in mappings where mapping.makesObjects { work += try contexts.source.count(for: request(mapping)) }
    // The work consists of creating and then relating each object. The number of created objects is known after the first pass.
    var (visited, made, related) = (0, work, 0)
    func advance(_ phase: String) {
      func part(_ done: Int, _ all: Int) -> Double { all == 0 ? 0 : min(1, Double(done) / Double(all)) / 2 }
      migrationProgress = part(visited, work) + part(related, made)
      progress.mapped(phase, visited + related, of: work + made, fraction: migrationProgress)
    }
    for mapping in mappings {
      currentEntityMapping = mapping
      let policy = policy(of: mapping)
      try policy.begin(mapping, with: self)
      try checkCancellation()
      if mapping.makesObjects {
        try createInstances(mapping, policy) {
          visited += $0
          advance(mapping.name)
        }
      }
      try policy.endInstanceCreation(forMapping: mapping, manager: self)
      try contexts.saveDestination()
      try assignStableIDs(of: mapping)
    }
    made = pairs.values.reduce(0) { $0 + $1.count }
    for mapping in mappings {
      currentEntityMapping = mapping
      let policy = policy(of: mapping)
      try createRelationships(mapping, policy) {
        related += $0
        advance("relationships of \(mapping.name)")
      }
      try policy.endRelationshipCreation(forMapping: mapping, manager: self)
      try contexts.saveDestination()
    }
    for mapping in mappings {
      currentEntityMapping = mapping
      let policy = policy(of: mapping)
      try policy.performCustomValidation(forMapping: mapping, manager: self)
      try checkCancellation()
      try policy.end(mapping, manager: self)
      try contexts.saveDestination()
    }
    currentEntityMapping = nil
    try checkCancellation()
    migrationProgress = 1
  }

  private func request(_ mapping: EntityMapping) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: mapping.sourceEntityName ?? "")
    request.predicate = mapping.sourcePredicate
    request.includesSubentities = mapping.includesSubentities
    return request
  }

  private func createInstances(_ mapping: EntityMapping, _ policy: EntityMigrationPolicy, _ advance: (Int) -> Void) throws {
    try contexts.source.enumerateBatches(of: request(mapping), size: Self.batchSize) { sources, _ in
      for source in sources {
        try checkCancellation()
        try policy.createDestinationInstances(forSource: source, in: mapping, manager: self)
      }
      try contexts.saveDestination()
      advance(sources.count)
    }
  }

  /// Assigns stable IDs to the objects that a mapping has created with new keys, if the store has stable IDs.
  ///
  /// They are computed from the models, the mapping, the source object and the ordinal among its destination objects, so that two devices
  /// that migrate the same objects separately create the same ones.
  private func assignStableIDs(of mapping: EntityMapping) throws {
    guard let made = pairs[mapping.name], try contexts.source.hasStableIDs else { return }
    let model = contexts.session.destinationModel
    for start in stride(from: 0, to: made.count, by: Self.batchSize) {
      let range = start..<min(start + Self.batchSize, made.count)
      let sources = range.map { ObjectReference(rawValue: made.sources[$0]) }
      let ids = try contexts.source.stableIDs(of: sources.map(sourceObject))
      var assigned: [UUID: ManagedObject] = [:]
      for (position, (source, id)) in zip(range, zip(sources, ids)) {
        let destination = ObjectReference(rawValue: made.destinations[position])
        let isKept =
          destination.key == source.key
          && contexts.destinations[source.entity].map { model.entities[$0].root } == model.entities[destination.entity].root
        guard let id, !isKept, !made.isRepeated(position) else { continue }
        let ordinal = made.destinations(of: source).firstIndex(of: destination) ?? 0
        assigned[.digest(of: "\(model.checksum)/\(mapping.name)/\(id.uuidString)/\(ordinal)")] = destinationObject(destination)
      }
      try contexts.destination.assignStableIDs(assigned)
    }
  }

  private func createRelationships(_ mapping: EntityMapping, _ policy: EntityMigrationPolicy, _ advance: (Int) -> Void) throws {
    guard let made = pairs[mapping.name] else { return }
    var start = 0
    while start < made.count {
      let end = min(start + Self.batchSize, made.count)
      // One request for the rows of each side. The objects must live until the batch is saved.
      let destinationIDs = (start..<end).map { Self.objectID(ObjectReference(rawValue: made.destinations[$0]), contexts.destinationStore) }
      let sourceIDs = (start..<end).map { Self.objectID(ObjectReference(rawValue: made.sources[$0]), contexts.sourceStore) }
      let destinations = try contexts.destination.objects(with: destinationIDs)
      let sources = try contexts.source.objects(with: sourceIDs)
      for (offset, object) in destinations.enumerated() {
        guard let object, !object.isDeleted, !made.isRepeated(start + offset) else { continue }
        try checkCancellation()
        try policy.createRelationships(forDestination: object, in: mapping, manager: self)
      }
      try withExtendedLifetime(sources) { try contexts.saveDestination() }
      advance(end - start)
      start = end
    }
  }

  // MARK: Copying

  /// Copies the attributes with the same name in both entities, except those with an attribute mapping.
  func copyAttributes(of source: ManagedObject, to object: ManagedObject, in mapping: EntityMapping) throws {
    let (older, newer) = (source.compiledEntity, object.compiledEntity)
    for slot in newer.slots {
      guard let attribute = slot.attribute, !slot.isTransient, attribute.derivationExpression == nil else { continue }
      guard !mapping.attributeMappings.contains(where: { slot.name == $0.name || slot.name.hasPrefix($0.name + ".") }) else { continue }
      guard case .attribute(let found)? = older.property(named: slot.name), let before = found.attribute, !found.isTransient else {
        continue
      }
      guard before.type.change(to: attribute.type) != nil else { continue }
      guard let value = before.type.converted(source.slotValue(found.index), to: attribute.type) else {
        throw StoreError(
          .unconvertible(entity: newer.name, property: slot.name, type: attribute.type.rawValue, count: 1), operation: .migrate)
      }
      object.setSlotValue(value, at: slot.index)
    }
  }

  /// Copies the relationships with the same name in both entities, except those with a relationship mapping.
  func copyRelationships(of source: ManagedObject, to object: ManagedObject, in mapping: EntityMapping) throws {
    let older = source.compiledEntity
    for relationship in object.compiledEntity.relationships where !relationship.isTransient {
      guard !mapping.relationshipMappings.contains(where: { $0.name == relationship.name }) else { continue }
      switch older.property(named: relationship.name) {
      case .toOne(let found) where !found.isTransient: break
      case .toMany(let found) where !found.isTransient: break
      default: continue
      }
      if isSetFromOtherSide(relationship) { continue }
      try setRelationship(relationship.name, of: object, to: try source.value(forKey: relationship.name))
    }
  }

  /// Returns whether copy mappings of all members set the relationship through its inverse, which avoids loading all members.
  private func isSetFromOtherSide(_ relationship: CompiledRelationship) -> Bool {
    let (before, after) = (contexts.session.sourceModel, contexts.session.destinationModel)
    guard relationship.isToMany, !relationship.isOrdered, let inverse = after.inverse(of: relationship), !inverse.isToMany else {
      return false
    }
    let copied = mappingModel.entityMappings.filter { $0.mappingType == .copy }.filter { mapping in
      guard let older = mapping.sourceEntityName.flatMap(before.entity(named:)), case .toOne? = older.property(named: inverse.name) else {
        return false
      }
      return !mapping.relationshipMappings.contains { $0.name == inverse.name }
    }.compactMap { $0.destinationEntityName.flatMap(after.entity(named:))?.number }
    let members = after.entities[relationship.destinationEntity].subtree.filter { !after.entities[$0].isAbstract }
    return members.allSatisfy(copied.contains)
  }
}

/// The source and destination objects that one entity mapping has associated, as two words per pair. Lookups use binary search while
/// references are appended in ascending order, which is the usual case, and an index otherwise.
struct InstancePairs {
  private(set) var sources: ContiguousArray<Int64> = []
  private(set) var destinations: ContiguousArray<Int64> = []
  private var bySource = Lookup()
  private var byDestination = Lookup()

  var count: Int { sources.count }

  mutating func append(_ source: ObjectReference, _ destination: ObjectReference) {
    bySource.willAppend(source.rawValue, to: sources)
    byDestination.willAppend(destination.rawValue, to: destinations)
    sources.append(source.rawValue)
    destinations.append(destination.rawValue)
  }

  /// Returns the destination objects of a source object, in the order of their creation.
  func destinations(of source: ObjectReference) -> [ObjectReference] {
    bySource.positions(of: source.rawValue, in: sources).map { ObjectReference(rawValue: destinations[$0]) }
  }

  func sources(of destination: ObjectReference) -> [ObjectReference] {
    byDestination.positions(of: destination.rawValue, in: destinations).map { ObjectReference(rawValue: sources[$0]) }
  }

  /// Returns whether an earlier pair has the same destination object.
  func isRepeated(_ position: Int) -> Bool {
    byDestination.positions(of: destinations[position], in: destinations).first != position
  }

  /// A lookup of the positions of a value in a list.
  private struct Lookup {
    /// The positions of each value; nil while the list is sorted.
    private var index: [Int64: [Int32]]?

    mutating func willAppend(_ value: Int64, to values: ContiguousArray<Int64>) {
      if index == nil, let last = values.last, value < last {
        var made: [Int64: [Int32]] = [:]
        for (position, value) in values.enumerated() { made[value, default: []].append(Int32(position)) }
        index = made
      }
      index?[value, default: []].append(Int32(values.count))
    }

    func positions(of value: Int64, in values: ContiguousArray<Int64>) -> [Int] {
      if let index { return (index[value] ?? []).map(Int.init) }
      var (low, high) = (0, values.count)
      while low < high {
        let middle = (low + high) / 2
        if values[middle] < value { low = middle + 1 } else { high = middle }
      }
      var found: [Int] = []
      while low < values.count, values[low] == value {
        found.append(low)
        low += 1
      }
      return found
    }
  }
}
