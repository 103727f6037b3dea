public import ObjectModel
public import ObjectStore

/// A description of how a migration creates the objects of the destination model from those of the source model.
///
/// ```swift
/// let mappings = MappingModel([
///   EntityMapping(.copy, from: "Author", to: "Author"),
///   EntityMapping(.transform, from: "Book", to: "Work", attributeMappings: [try PropertyMapping(name: "title", format: "$source.title")]),
/// ])
/// let stage = CustomMigrationStage(migratingFrom: version1, to: version2, mappingModel: mappings)
/// ```
///
/// Nothing else is inferred: a destination entity without a mapping is empty after the migration. Destination objects keep the keys, and
/// therefore the IDs, of their source objects if the entities match by name or renaming identifier.
public struct MappingModel: Sendable {
  /// The entity mappings, in execution order.
  public var entityMappings: [EntityMapping]
  /// The source model; nil for any model that the mappings fit.
  public var sourceModel: ManagedObjectModelReference?
  /// The destination model; nil for any model that the mappings fit.
  public var destinationModel: ManagedObjectModelReference?

  /// Creates a mapping model.
  ///
  /// - Parameters:
  ///   - entityMappings: The entity mappings, in execution order.
  ///   - sourceModel: The source model; nil for any model that the mappings fit.
  ///   - destinationModel: The destination model; nil for any model that the mappings fit.
  public init(
    _ entityMappings: [EntityMapping], from sourceModel: ManagedObjectModelReference? = nil,
    to destinationModel: ManagedObjectModelReference? = nil
  ) {
    self.entityMappings = entityMappings
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
  }

  /// The mappings by name. If several mappings have the same name, the first one is used.
  public var entityMappingsByName: [String: EntityMapping] {
    Dictionary(entityMappings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }
}

// MARK: - Inferring and matching models

extension MappingModel {
  /// Returns the mapping model inferred from two models, with the effect of a lightweight migration, for modification.
  ///
  /// Renamed attributes and relationships are read under their names in the source model.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/mappingNotInferred`` and its ``StoreError/obstacles`` if a change cannot be inferred;
  ///   ``ModelValidationError`` for an invalid model.
  public static func inferred(
    forSourceModel sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel
  ) throws -> MappingModel {
    let (source, destination) = (try CompiledModel(sourceModel), try CompiledModel(destinationModel))
    let difference = ModelDifference(from: source, to: destination)
    guard difference.canBeInferred else {
      throw StoreError(.noMappingModel(difference.obstacles), operation: .planMigration)
    }
    var mappings: [EntityMapping] = []
    for entity in destination.entities where !entity.isAbstract {
      guard let number = difference.sources[entity.number] else {
        mappings.append(EntityMapping(name: "Add" + entity.name, .add, to: entity.name))
        continue
      }
      let older = source.entities[number]
      if older.isAbstract {
        mappings.append(EntityMapping(name: "Add" + entity.name, .add, to: entity.name))
        continue
      }
      mappings.append(inferred(from: older, to: entity, source, destination, difference))
    }
    let kept = Set(difference.sources.compactMap { $0 })
    for entity in source.entities where !entity.isAbstract && !kept.contains(entity.number) {
      mappings.append(EntityMapping(name: "Remove" + entity.name, .remove, from: entity.name))
    }
    return MappingModel(
      mappings, from: ManagedObjectModelReference(sourceModel), to: ManagedObjectModelReference(destinationModel))
  }

  private static func inferred(
    from older: CompiledEntity, to newer: CompiledEntity, _ source: CompiledModel, _ destination: CompiledModel,
    _ difference: ModelDifference
  ) -> EntityMapping {
    var mapping = EntityMapping(
      source.versionHashes[older.name] == destination.versionHashes[newer.name] ? .copy : .transform, from: older.name, to: newer.name)
    if mapping.mappingType == .copy { return mapping }
    for slot in newer.slots where !slot.isTransient {
      guard let attribute = slot.attribute, attribute.derivationExpression == nil,
        let name = difference.sourceName(ofProperty: slot.name, in: newer.number),
        case .attribute(let before)? = older.property(named: name),
        let olderType = before.attributeType, !before.isTransient
      else { continue }
      let writesValues = olderType.change(to: attribute.type)?.writesValues ?? false
      guard writesValues || !slot.isOptional && !slot.defaultValue.isNull else {
        mapping.attributeMappings.append(PropertyMapping(name: slot.name, sourceKeyPath: name))
        continue
      }
      mapping.attributeMappings.append(
        PropertyMapping(name: slot.name) { source, _ in
          // An attribute that has become required uses its default value in place of null.
          guard let value = try source.value(forKey: name) else {
            return try ManagedObject.untypedValue(slot.isOptional ? .null : slot.defaultValue, attribute, entityName: newer.name)
          }
          guard writesValues else { return value }
          let stored = try ManagedObject.slotValue(from: value, for: before, entityName: older.name)
          guard let converted = olderType.converted(stored, to: attribute.type) else {
            throw StoreError(
              .unconvertible(entity: newer.name, property: slot.name, type: attribute.type.rawValue, count: 1), operation: .migrate)
          }
          return try ManagedObject.untypedValue(converted, attribute, entityName: newer.name)
        })
    }
    for relationship in newer.relationships where !relationship.isTransient {
      guard let name = difference.sourceName(ofProperty: relationship.name, in: newer.number) else { continue }
      if let inverse = destination.inverse(of: relationship), isSet(by: inverse, insteadOf: relationship, destination, difference) {
        continue
      }
      mapping.relationshipMappings.append(PropertyMapping(name: relationship.name, sourceKeyPath: name))
    }
    return mapping
  }

  /// Returns whether setting the inverse suffices.
  private static func isSet(
    by inverse: CompiledRelationship, insteadOf relationship: CompiledRelationship, _ destination: CompiledModel,
    _ difference: ModelDifference
  ) -> Bool {
    guard relationship.isToMany, !relationship.isOrdered, !inverse.isToMany else { return false }
    let owner = destination.entities[inverse.sourceEntity]
    return owner.subtree.allSatisfy { number in
      let entity = destination.entities[number]
      return entity.isAbstract || difference.sourceName(ofProperty: inverse.name, in: number) != nil
    }
  }

  // MARK: Validation

  /// Returns whether the mapping model applies to two models: it does not specify other models, all its names exist, and it maps each
  /// source entity, since objects of unmapped entities would be lost.
  func fits(source: CompiledModel, destination: CompiledModel) throws -> Bool {
    if let sourceModel, try sourceModel.versionChecksum != source.checksum { return false }
    if let destinationModel, try destinationModel.versionChecksum != destination.checksum { return false }
    let mapped = Set(
      entityMappings.flatMap { mapping -> [String] in
        guard let entity = mapping.sourceEntityName.flatMap(source.entity(named:)) else { return [] }
        return mapping.includesSubentities ? entity.subtree.map { source.entities[$0].name } : [entity.name]
      })
    guard source.entities.allSatisfy({ $0.isAbstract || mapped.contains($0.name) }) else { return false }
    return issues(source: source, destination: destination).isEmpty
  }

  /// Returns whether the mapping model explicitly specifies both models.
  func matches(source: CompiledModel, destination: CompiledModel) throws -> Bool {
    guard let sourceModel, let destinationModel else { return false }
    return try sourceModel.versionChecksum == source.checksum && destinationModel.versionChecksum == destination.checksum
  }

  func check(source: CompiledModel, destination: CompiledModel) throws(StoreError) {
    let issues = issues(source: source, destination: destination)
    guard let first = issues.first else { return }
    throw StoreError(.mappingDoesNotFit(issues.map(\.text), entity: first.entity, property: first.property), operation: .migrate)
  }

  private struct Issue {
    let entity: String?
    let property: String?
    let text: String
  }

  private func issues(source: CompiledModel, destination: CompiledModel) -> [Issue] {
    var issues: [Issue] = []
    var names: Set<String> = []
    for mapping in entityMappings {
      func report(_ entity: String?, _ property: String? = nil, _ text: String) {
        issues.append(Issue(entity: entity, property: property, text: "“\(mapping.name)” \(text)"))
      }
      if !names.insert(mapping.name).inserted { report(nil, nil, "is the name of two entity mappings") }
      if let name = mapping.sourceEntityName, source.entity(named: name) == nil {
        report(name, nil, "begins with “\(name)”, which the older model does not have")
      } else if mapping.sourceEntityName == nil, mapping.mappingType != .add, mapping.mappingType != .custom {
        report(nil, nil, "names no older entity")
      }
      guard let name = mapping.destinationEntityName else {
        if mapping.mappingType != .remove { report(nil, nil, "names no newer entity") }
        continue
      }
      guard let entity = destination.entity(named: name) else {
        report(name, nil, "leads to “\(name)”, which the newer model does not have")
        continue
      }
      if entity.isAbstract, mapping.makesObjects, mapping.mappingType != .custom {
        report(name, nil, "leads to “\(name)”, which is abstract")
      }
      for property in mapping.attributeMappings {
        switch entity.property(named: property.name) {
        case .attribute, .composite: break
        default: report(name, property.name, "sets the attribute “\(property.name)”, which “\(name)” does not have")
        }
      }
      for property in mapping.relationshipMappings {
        switch entity.property(named: property.name) {
        case .toOne, .toMany: break
        default: report(name, property.name, "sets the relationship “\(property.name)”, which “\(name)” does not have")
        }
      }
    }
    return issues
  }
}

extension StoreError.Reason {
  static func noMappingModel(_ changes: [ModelChange]) -> Self {
    Self(.mappingNotInferred, "No mapping model can be inferred from the two models:", obstacles: changes)
  }

  static func mappingDoesNotFit(_ issues: [String], entity: String?, property: String?) -> Self {
    Self(
      .mappingModelInvalid, "The mapping model does not match the models: \(issues.joined(separator: "; ")).", entity: entity,
      property: property)
  }
}
