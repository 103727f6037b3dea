// EntityMigrationPolicy: the steps of an entity mapping, for subclasses to change.
import ObjectModel
import ObjectQuery
import ObjectStore

/// The steps of an entity mapping. Subclass it, override the steps that are to differ, and name the class in ``EntityMapping/entityMigrationPolicy``.
///
/// ```swift
/// nonisolated final class NamedAuthors: EntityMigrationPolicy {
///   override func createDestinationInstances(forSource object: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
///     if (object["name"] as? String)?.isEmpty ?? true { return }
///     try super.createDestinationInstances(forSource: object, in: mapping, manager: manager)
///   }
/// }
/// let mapping = EntityMapping(.copy, from: "Author", to: "Author", policy: NamedAuthors.self)
/// ```
///
/// A mapping model runs in three passes, each of which goes through all mappings in order:
///
/// 1. ``begin(_:with:)``, ``createDestinationInstances(forSource:in:manager:)`` for each older object, ``endInstanceCreation(forMapping:manager:)``;
/// 2. ``createRelationships(forDestination:in:manager:)`` for each newer object, ``endRelationshipCreation(forMapping:manager:)``;
/// 3. ``performCustomValidation(forMapping:manager:)``, ``end(_:manager:)``.
///
/// One policy object does all steps of a mapping. What it throws calls the migration off; the store is then as it was. Objects are saved and let go
/// in batches: keep IDs, or what ``MigrationManager/userInfo`` holds, not objects.
///
/// A subclass is `nonisolated` as this class is, whatever the default isolation of its target.
nonisolated open class EntityMigrationPolicy {
  /// Makes a policy; called once for each mapping of a migration.
  public required init() {}

  /// Called before the first object of the mapping is made. This implementation does nothing.
  ///
  /// - Throws: What stops the migration: the store is then as it was.
  open func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}

  /// Makes the newer objects of an older one, with their attributes, and has the manager note what was made of what. This implementation makes one object, by
  /// the attribute mappings, and none where the mapping is `custom`.
  ///
  /// - Parameters:
  ///   - source: The older object.
  ///   - mapping: The entity mapping at work.
  ///   - manager: What the migration knows.
  /// - Throws: What stops the migration: the store is then as it was.
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

  /// Called after the last object of the mapping was made. This implementation does nothing.
  ///
  /// - Throws: What stops the migration: the store is then as it was.
  open func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Sets the relationships of a newer object, by the relationship mappings.
  ///
  /// - Parameters:
  ///   - object: The newer object.
  ///   - mapping: The entity mapping at work.
  ///   - manager: What the migration knows.
  /// - Throws: What stops the migration: the store is then as it was.
  open func createRelationships(forDestination object: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
    guard let source = try manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [object]).first else { return }
    if mapping.mappingType == .copy { try manager.copyRelationships(of: source, to: object, in: mapping) }
    for property in mapping.relationshipMappings {
      try manager.setRelationship(property.name, of: object, to: try manager.value(of: property, forSource: source, in: mapping))
    }
  }

  /// Called after the relationships of the last object were set. This implementation does nothing.
  ///
  /// - Throws: What stops the migration: the store is then as it was.
  open func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Called when all objects and relationships are there: throw what is wrong with them. This implementation finds nothing wrong.
  ///
  /// - Throws: What is wrong, which stops the migration: the store is then as it was.
  open func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Called at the end of the mapping. This implementation does nothing.
  ///
  /// - Throws: What stops the migration: the store is then as it was.
  open func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}

  /// What `FUNCTION($entityPolicy, "name", ...)` is in an expression of a property mapping.
  ///
  /// - Parameters:
  ///   - name: The function's name.
  ///   - arguments: The values of the arguments: Swift values, objects, arrays of objects.
  ///   - manager: What the migration knows.
  /// - Throws: ``StoreError`` with ``StoreError/Code/mappingModelInvalid``: there is no function unless a subclass knows it.
  open func value(ofFunction name: String, arguments: [Any?], manager: MigrationManager) throws -> Any? {
    throw StoreError(.noPolicyFunction(name, policy: "\(type(of: self))"), operation: .migrate)
  }
}
