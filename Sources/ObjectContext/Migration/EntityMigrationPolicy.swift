import ObjectModel
import ObjectQuery
import ObjectStore

/// The steps of an entity mapping. To customize a mapping, override steps in a subclass and set it as
/// ``EntityMapping/entityMigrationPolicy``.
///
/// ```swift
/// nonisolated final class NamedAuthors: EntityMigrationPolicy {
///   override func createDestinationInstances(forSource object: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws
///   {
///     if (object["name"] as? String)?.isEmpty ?? true { return }
///     try super.createDestinationInstances(forSource: object, in: mapping, manager: manager)
///   }
/// }
/// let mapping = EntityMapping(.copy, from: "Author", to: "Author", policy: NamedAuthors.self)
/// ```
///
/// A migration by a mapping model has three passes, each over all mappings in order:
///
/// 1. ``begin(_:with:)``, ``createDestinationInstances(forSource:in:manager:)`` for each source object,
///   ``endInstanceCreation(forMapping:manager:)``;
/// 2. ``createRelationships(forDestination:in:manager:)`` for each destination object, ``endRelationshipCreation(forMapping:manager:)``;
/// 3. ``performCustomValidation(forMapping:manager:)``, ``end(_:manager:)``.
///
/// One policy instance performs all steps of a mapping. An error thrown by a step stops the migration and rolls the store back. Objects are
/// saved and released in batches, so keep IDs or use ``MigrationManager/userInfo`` instead of keeping objects.
///
/// A subclass is `nonisolated`, as this class is, regardless of the default isolation of its target.
nonisolated open class EntityMigrationPolicy {
  /// Creates a policy. Called once per mapping and migration.
  public required init() {}

  /// Called before the first object of the mapping is created. The default implementation does nothing.
  ///
  /// - Throws: An error that stops the migration and rolls the store back.
  open func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}

  /// Creates the destination objects of a source object, sets their attributes, and associates them through the manager. The default
  /// implementation creates one object through the attribute mappings, or none if the mapping is `custom`.
  ///
  /// - Parameters:
  ///   - source: The source object.
  ///   - mapping: The current entity mapping.
  ///   - manager: The migration manager.
  /// - Throws: An error that stops the migration and rolls the store back.
  open func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    guard mapping.mappingType != .custom else { return }
    let object = try manager.insertDestinationInstance(for: source, in: mapping)
    if mapping.mappingType == .copy { try manager.copyAttributes(of: source, to: object, in: mapping) }
    for property in mapping.attributeMappings {
      try object.setValue(try manager.value(of: property, forSource: source, in: mapping), forKey: property.name)
    }
  }

  /// Called after the last object of the mapping is created. The default implementation does nothing.
  ///
  /// - Throws: An error that stops the migration and rolls the store back.
  open func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Sets the relationships of a destination object through the relationship mappings.
  ///
  /// - Parameters:
  ///   - object: The destination object.
  ///   - mapping: The current entity mapping.
  ///   - manager: The migration manager.
  /// - Throws: An error that stops the migration and rolls the store back.
  open func createRelationships(forDestination object: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
    guard let source = try manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [object]).first else { return }
    if mapping.mappingType == .copy { try manager.copyRelationships(of: source, to: object, in: mapping) }
    for property in mapping.relationshipMappings {
      try manager.setRelationship(property.name, of: object, to: try manager.value(of: property, forSource: source, in: mapping))
    }
  }

  /// Called after the relationships of the last object are set. The default implementation does nothing.
  ///
  /// - Throws: An error that stops the migration and rolls the store back.
  open func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Validates the mapping's result after all objects and relationships exist. The default implementation does nothing.
  ///
  /// - Throws: A validation error, which stops the migration and rolls the store back.
  open func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Called at the end of the mapping. The default implementation does nothing.
  ///
  /// - Throws: An error that stops the migration and rolls the store back.
  open func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Returns the value of `FUNCTION($entityPolicy, "name", ...)` in an expression of a property mapping.
  ///
  /// - Parameters:
  ///   - name: The function's name.
  ///   - arguments: The values of the arguments: Swift values, objects, arrays of objects.
  ///   - manager: The migration manager.
  /// - Throws: ``StoreError`` with ``StoreError/Code/mappingModelInvalid`` for an unknown function. The default implementation has no
  ///   functions.
  open func value(ofFunction name: String, arguments: [Any?], manager: MigrationManager) throws -> Any? {
    throw StoreError(.noPolicyFunction(name, policy: "\(type(of: self))"), operation: .migrate)
  }
}

extension StoreError.Reason {
  static func noPolicyFunction(_ name: String, policy: String) -> Self {
    Self(.mappingModelInvalid, "The policy \(policy) has no function “\(name)”: override value(ofFunction:arguments:manager:).")
  }
}
