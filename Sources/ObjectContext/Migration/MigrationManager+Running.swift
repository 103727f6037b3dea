import ObjectModel
import ObjectQuery
import ObjectStore

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
