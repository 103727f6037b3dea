// NSEntityMigrationPolicy: the steps of an entity mapping, for subclasses to change.
public import Foundation
import ObjectContext

/// The name of the variable of the migration manager in the expressions of property mappings.
public let NSMigrationManagerKey = "manager"
/// The name of the variable of the older object in the expressions of property mappings.
public let NSMigrationSourceObjectKey = "source"
/// The name of the variable of the newer object in the expressions of property mappings. It is not there: a value is computed before it is set.
public let NSMigrationDestinationObjectKey = "destination"
/// The name of the variable of the entity mapping in the expressions of property mappings. It is not there.
public let NSMigrationEntityMappingKey = "entityMapping"
/// The name of the variable of the property mapping in the expressions of property mappings. It is not there.
public let NSMigrationPropertyMappingKey = "propertyMapping"
/// The name of the variable of the policy in the expressions of property mappings.
public let NSMigrationEntityPolicyKey = "entityPolicy"

/// The steps of an entity mapping. A subclass changes those that are to differ; its name is ``NSEntityMapping/entityMigrationPolicyClassName``.
///
/// One object does all steps of a mapping. What it throws calls the migration off; the store is then as it was. Objects are saved and let go in batches: keep
/// IDs, not objects.
open class NSEntityMigrationPolicy: NSObject {
  /// Makes a policy; called once for each mapping of a migration.
  public required override init() {}

  /// Called before the first object of the mapping is made. This implementation does nothing.
  ///
  /// - Throws: What stops the migration.
  open func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {}

  /// Makes the newer objects of an older one, with their attributes, and has the manager note what was made of what. This implementation makes one object, by
  /// the attribute mappings.
  ///
  /// - Parameters:
  ///   - sInstance: The older object.
  ///   - mapping: The entity mapping at work.
  ///   - manager: What the migration knows.
  /// - Throws: What stops the migration.
  open func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let work = try manager.work(on: mapping)
    var value = work.mapping
    // Whoever calls this from a policy of his own wants the object made.
    if value.mappingType == .custom { value.mappingType = .transform }
    try EntityMigrationPolicy().createDestinationInstances(forSource: sInstance, in: value, manager: work.manager)
  }

  /// Called after the last object of the mapping was made. This implementation does nothing.
  ///
  /// - Throws: What stops the migration.
  open func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Sets the relationships of a newer object, by the relationship mappings.
  ///
  /// - Parameters:
  ///   - dInstance: The newer object.
  ///   - mapping: The entity mapping at work.
  ///   - manager: What the migration knows.
  /// - Throws: What stops the migration.
  open func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let work = try manager.work(on: mapping)
    try EntityMigrationPolicy().createRelationships(forDestination: dInstance, in: work.mapping, manager: work.manager)
  }

  /// Called after the relationships of the last object were set. This implementation does nothing.
  ///
  /// - Throws: What stops the migration.
  open func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Called when all objects and relationships are there: throw what is wrong with them. This implementation finds nothing wrong.
  ///
  /// - Throws: What is wrong.
  open func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Called at the end of the mapping. This implementation does nothing.
  ///
  /// - Throws: What stops the migration.
  open func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// What `FUNCTION($entityPolicy, "name", …)` is in the expression of a property mapping. Not of Core Data, which calls a method of the name: Swift cannot.
  ///
  /// - Parameters:
  ///   - name: The function's name.
  ///   - arguments: The values of the arguments: Swift values, objects, arrays of objects.
  ///   - manager: What the migration knows.
  /// - Throws: ``StoreError``: there is no function unless a subclass knows it.
  open func value(ofFunction name: String, arguments: [Any?], manager: NSMigrationManager) throws -> Any? {
    try EntityMigrationPolicy().value(ofFunction: name, arguments: arguments, manager: manager.work(on: nil).manager)
  }

  /// The class of a name; nil where there is none below this one.
  static func type(named name: String) -> NSEntityMigrationPolicy.Type? {
    // `NSClassFromString` knows classes with their modules only.
    let names = name.contains(".") ? [name] : EntityClassRegistry.moduleNames.map { "\($0).\(name)" }
    return names.lazy.compactMap { NSClassFromString($0) as? NSEntityMigrationPolicy.Type }.first
  }
}

/// Hands the steps of a mapping to an ``NSEntityMigrationPolicy``.
final class MigrationPolicyFace: EntityMigrationPolicy {
  private struct Face {
    let policy: NSEntityMigrationPolicy
    let mapping: NSEntityMapping
    let manager: NSMigrationManager
  }
  private var face: Face?

  required init() {}

  init(_ policy: NSEntityMigrationPolicy.Type, _ mapping: NSEntityMapping, _ manager: NSMigrationManager) {
    face = Face(policy: policy.init(), mapping: mapping, manager: manager)
  }

  /// Does a step, unless the migration was called off.
  private func step(_ manager: MigrationManager, _ body: (Face) throws -> Void) throws {
    guard let face else { return }
    try face.manager.begin(manager)
    try body(face)
    try face.manager.checkCancellation()
  }

  override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {
    try step(manager) { try $0.policy.begin($0.mapping, with: $0.manager) }
  }

  override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try step(manager) { face in
      guard let source = source as? NSManagedObject else { return }
      // A policy that is none of the application's makes nothing of a mapping that is all the policy's.
      if mapping.mappingType == .custom, type(of: face.policy) == NSEntityMigrationPolicy.self { return }
      try face.policy.createDestinationInstances(forSource: source, in: face.mapping, manager: face.manager)
    }
  }

  override func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
    try step(manager) { try $0.policy.endInstanceCreation(forMapping: $0.mapping, manager: $0.manager) }
  }

  override func createRelationships(forDestination object: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
    try step(manager) { face in
      guard let object = object as? NSManagedObject else { return }
      try face.policy.createRelationships(forDestination: object, in: face.mapping, manager: face.manager)
    }
  }

  override func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
    try step(manager) { try $0.policy.endRelationshipCreation(forMapping: $0.mapping, manager: $0.manager) }
  }

  override func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
    try step(manager) { try $0.policy.performCustomValidation(forMapping: $0.mapping, manager: $0.manager) }
  }

  override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
    try step(manager) { try $0.policy.end($0.mapping, manager: $0.manager) }
  }

  override func value(ofFunction name: String, arguments: [Any?], manager: MigrationManager) throws -> Any? {
    guard let face else { return try super.value(ofFunction: name, arguments: arguments, manager: manager) }
    return try face.policy.value(ofFunction: name, arguments: arguments, manager: face.manager)
  }
}
