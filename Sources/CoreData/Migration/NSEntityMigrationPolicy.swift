public import Foundation
import ObjectContext

/// The variable of the migration manager in expressions of property mappings.
public let NSMigrationManagerKey = "manager"
/// The variable of the source object in expressions of property mappings.
public let NSMigrationSourceObjectKey = "source"
/// The variable of the destination object in expressions of property mappings. Not supported: a value is computed before it is set.
public let NSMigrationDestinationObjectKey = "destination"
/// The variable of the entity mapping in expressions of property mappings. Not supported.
public let NSMigrationEntityMappingKey = "entityMapping"
/// The variable of the property mapping in expressions of property mappings. Not supported.
public let NSMigrationPropertyMappingKey = "propertyMapping"
/// The variable of the policy in expressions of property mappings.
public let NSMigrationEntityPolicyKey = "entityPolicy"

/// The steps of an entity mapping. Subclasses override individual steps; ``NSEntityMapping/entityMigrationPolicyClassName`` names the
/// subclass.
///
/// One instance runs all steps of a mapping. An error thrown by a step cancels the migration and leaves the store unchanged. Objects are
/// saved and released in batches, so keep IDs instead of objects.
open class NSEntityMigrationPolicy: NSObject {
  /// Creates a policy. Called once for each mapping of a migration.
  public required override init() {}

  /// Called before the first object of the mapping is created. The default implementation does nothing.
  ///
  /// - Throws: An error that stops the migration.
  open func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {}

  /// Creates the destination objects of a source object, sets their attributes and associates them with the source object in the manager.
  /// The default implementation creates one object by the attribute mappings.
  ///
  /// - Parameters:
  ///   - sInstance: The source object.
  ///   - mapping: The current entity mapping.
  ///   - manager: The migration manager.
  /// - Throws: An error that stops the migration.
  open func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let work = try manager.work(on: mapping)
    var value = work.mapping
    // A policy of the application that calls this method expects the object to be created.
    if value.mappingType == .custom { value.mappingType = .transform }
    try EntityMigrationPolicy().createDestinationInstances(forSource: sInstance, in: value, manager: work.manager)
  }

  /// Called after the last object of the mapping was created. The default implementation does nothing.
  ///
  /// - Throws: An error that stops the migration.
  open func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Sets the relationships of a destination object by the relationship mappings.
  ///
  /// - Parameters:
  ///   - dInstance: The destination object.
  ///   - mapping: The current entity mapping.
  ///   - manager: The migration manager.
  /// - Throws: An error that stops the migration.
  open func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let work = try manager.work(on: mapping)
    try EntityMigrationPolicy().createRelationships(forDestination: dInstance, in: work.mapping, manager: work.manager)
  }

  /// Called after the relationships of the last object were set. The default implementation does nothing.
  ///
  /// - Throws: An error that stops the migration.
  open func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Validates the result after all objects and relationships were created. The default implementation does nothing.
  ///
  /// - Throws: A validation error.
  open func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Called at the end of the mapping. The default implementation does nothing.
  ///
  /// - Throws: An error that stops the migration.
  open func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Returns the value of `FUNCTION($entityPolicy, "name", …)` in the expression of a property mapping. Core Data calls the Objective-C
  /// method with that name instead.
  ///
  /// - Parameters:
  ///   - name: The function's name.
  ///   - arguments: The argument values: Swift values, objects, arrays of objects.
  ///   - manager: The migration manager.
  /// - Throws: ``StoreError``, unless a subclass implements the function.
  open func value(ofFunction name: String, arguments: [Any?], manager: NSMigrationManager) throws -> Any? {
    try EntityMigrationPolicy().value(ofFunction: name, arguments: arguments, manager: manager.work(on: nil).manager)
  }

  /// Returns the policy class with a name; nil if there is no such subclass.
  static func type(named name: String) -> NSEntityMigrationPolicy.Type? {
    // `NSClassFromString` requires the module name.
    let names = name.contains(".") ? [name] : EntityClassRegistry.moduleNames.map { "\($0).\(name)" }
    return names.lazy.compactMap { NSClassFromString($0) as? NSEntityMigrationPolicy.Type }.first
  }
}

/// Calls an ``NSEntityMigrationPolicy`` for the steps of a mapping.
final class MigrationPolicyAdapter: EntityMigrationPolicy {
  private struct Adapted {
    let policy: NSEntityMigrationPolicy
    let mapping: NSEntityMapping
    let manager: NSMigrationManager
  }
  private var adapted: Adapted?

  required init() {}

  init(_ policy: NSEntityMigrationPolicy.Type, _ mapping: NSEntityMapping, _ manager: NSMigrationManager) {
    adapted = Adapted(policy: policy.init(), mapping: mapping, manager: manager)
  }

  /// Runs a step, unless the migration was canceled.
  private func step(_ manager: MigrationManager, _ body: (Adapted) throws -> Void) throws {
    guard let adapted else { return }
    try adapted.manager.begin(manager)
    try body(adapted)
    try adapted.manager.checkCancellation()
  }

  override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {
    try step(manager) { try $0.policy.begin($0.mapping, with: $0.manager) }
  }

  override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try step(manager) { adapted in
      guard let source = source as? NSManagedObject else { return }
      // Without a custom policy, a custom mapping creates no objects.
      if mapping.mappingType == .custom, type(of: adapted.policy) == NSEntityMigrationPolicy.self { return }
      try adapted.policy.createDestinationInstances(forSource: source, in: adapted.mapping, manager: adapted.manager)
    }
  }

  override func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
    try step(manager) { try $0.policy.endInstanceCreation(forMapping: $0.mapping, manager: $0.manager) }
  }

  override func createRelationships(forDestination object: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
    try step(manager) { adapted in
      guard let object = object as? NSManagedObject else { return }
      try adapted.policy.createRelationships(forDestination: object, in: adapted.mapping, manager: adapted.manager)
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
    guard let adapted else { return try super.value(ofFunction: name, arguments: arguments, manager: manager) }
    return try adapted.policy.value(ofFunction: name, arguments: arguments, manager: adapted.manager)
  }
}
