public import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import Synchronization

/// A migration of a store from one model to another, into a separate file.
open class NSMigrationManager: NSObject {
  /// The store's model.
  public let sourceModel: NSManagedObjectModel
  /// The model to migrate to.
  public let destinationModel: NSManagedObjectModel
  /// The current mapping model; nil before the first migration.
  public private(set) var mappingModel: NSMappingModel!
  /// The application's own information.
  public var userInfo: [AnyHashable: Any]? {
    // Read and written as a whole: one statement may derive an entry from another one.
    get { notes }
    set { notes = newValue }
  }
  private var notes: [AnyHashable: Any]?
  /// Whether the store itself migrates its tables by an unmodified inferred mapping model.
  ///
  /// This is faster and creates no objects. Such a migration is a single step: a cancellation takes effect at its end, and the methods that
  /// associate objects are not called.
  public var usesStoreSpecificMigrationManager = true
  private var work: Work?
  private let shared = Shared()

  /// The state of a running migration.
  private struct Work {
    let manager: MigrationManager
    let source: NSManagedObjectContext
    let destination: NSManagedObjectContext
  }

  /// The state shared with other threads.
  private final class Shared: Sendable {
    let progress = Mutex<Float>(0)
    let cancellation = Mutex<(any Error)?>(nil)
  }

  /// Creates a manager for two models.
  public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) {
    (self.sourceModel, self.destinationModel) = (sourceModel, destinationModel)
  }

  // MARK: Migrating

  /// Copies a store and migrates the copy. The source store remains unchanged and must not be open.
  ///
  /// - Parameters:
  ///   - sourceURL: The store's URL.
  ///   - sourceStoreType: The store's type.
  ///   - sourceOptions: The options of the store, such as its key.
  ///   - mappings: The mapping model; nil to infer it.
  ///   - destinationURL: The URL of the copy.
  ///   - destinationStoreType: The type of the copy.
  ///   - destinationOptions: The options of the copy.
  /// - Throws: `NSError`.
  open func migrateStore(
    from sourceURL: URL, sourceType sourceStoreType: String, options sourceOptions: [AnyHashable: Any]? = nil,
    with mappings: NSMappingModel?,
    toDestinationURL destinationURL: URL, destinationType destinationStoreType: String, destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    reset()
    defer { work = nil }
    try CoreDataError.translating {
      let source = try NSPersistentStoreDescription(sourceStoreType, sourceURL, sourceOptions).value()
      // Without a key of its own, the destination uses the source's key.
      let hasKey = destinationOptions?[NSPersistentStoreEncryptionKeyOption] != nil
      var destination = try NSPersistentStoreDescription(destinationStoreType, destinationURL, destinationOptions).value(needsKey: hasKey)
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: destinationModel.model)
      let hashes = try BlockingTask.run { try await PersistentStoreCoordinator.metadataForPersistentStore(with: source) }.modelHashes
      guard sourceModel.model.isConfiguration(withName: source.configuration, compatibleWithStoreMetadata: hashes) else {
        throw MappingModelError.otherSourceModel(path: sourceURL.path)
      }
      let target = try Self.target(destination, destinationOptions, source)
      if !hasKey { destination.key = source.key }
      destination.shouldMigrateStoreAutomatically = true
      destination.shouldInferMappingModelAutomatically = true
      mappingModel = mappings
      if let mappings, !usesStoreSpecificMigrationManager || !mappings.isAsInferred(from: sourceModel, to: destinationModel) {
        destination.stagedMigrationManager = StagedMigrationManager([try stage(mappings)])
      }
      destination.migrationProgress = { [shared] report in shared.progress.withLock { $0 = Float(report.fractionCompleted) } }
      let migrated = destination
      try BlockingTask.run { [shared] in
        try await coordinator.replacePersistentStore(with: target, withPersistentStoreFrom: source)
        do {
          try coordinator.remove(try await coordinator.addPersistentStore(with: migrated))
          if let error = shared.cancellation.withLock({ $0 }) { throw error }
        } catch {
          // A copy whose migration failed does not have the destination model.
          try? await coordinator.destroyPersistentStore(with: target)
          // The migration wraps the error that canceled it.
          throw shared.cancellation.withLock { $0 } ?? error
        }
      }
      shared.progress.withLock { $0 = 1 }
    }
  }

  /// Copies a store and migrates the copy: see
  /// ``migrateStore(from:sourceType:options:with:toDestinationURL:destinationType:destinationOptions:)``.
  ///
  /// - Parameters:
  ///   - sourceURL: The store's URL.
  ///   - sourceType: The store's type.
  ///   - sourceOptions: The options of the store, such as its key.
  ///   - mappings: The mapping model.
  ///   - destinationURL: The URL of the copy.
  ///   - destinationType: The type of the copy.
  ///   - destinationOptions: The options of the copy.
  /// - Throws: `NSError`.
  public func migrateStore(
    from sourceURL: URL, type sourceType: NSPersistentStore.StoreType, options sourceOptions: [AnyHashable: Any]? = nil,
    mapping mappings: NSMappingModel,
    to destinationURL: URL, type destinationType: NSPersistentStore.StoreType, options destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    try migrateStore(
      from: sourceURL, sourceType: sourceType.rawValue, options: sourceOptions, with: mappings, toDestinationURL: destinationURL,
      destinationType: destinationType.rawValue, destinationOptions: destinationOptions)
  }

  /// Returns the description of the copy.
  ///
  /// The copy keeps the store's key file if the destination's key opens the store. All of the store's keys then open the copy, and the
  /// application may move only the database file to the store's location, next to the key file there.
  private static func target(
    _ destination: PersistentStoreDescription, _ options: [AnyHashable: Any]?, _ source: PersistentStoreDescription
  ) throws -> PersistentStoreDescription {
    var target = destination
    if options?[NSPersistentStoreEncryptionKeyOption] == nil {
      target.key = nil
      return target
    }
    var sameKey = source
    sameKey.key = destination.key
    let attempt = sameKey
    if (try? BlockingTask.run { try await PersistentStoreCoordinator.metadataForPersistentStore(with: attempt) }) != nil {
      target.key = nil
    }
    return target
  }

  /// Returns a mapping model, with the application's policies, as the single stage of a migration.
  private func stage(_ mappings: NSMappingModel) throws -> CustomMigrationStage {
    let mapped = try (mappings.entityMappings ?? []).map { mapping in
      mapping.name = mapping.effectiveName
      var value = try mapping.value()
      var policy = NSEntityMigrationPolicy.self
      if let name = mapping.entityMigrationPolicyClassName, !name.isEmpty {
        guard let found = NSEntityMigrationPolicy.type(named: name) else {
          throw MappingModelError.policy(name: name, mapping: mapping.effectiveName)
        }
        policy = found
      }
      // The migration's thread creates the policy while this thread waits.
      let boxed = SendableBox(value: (mapping: mapping, manager: self))
      value.makePolicy = { [policy] in MigrationPolicyAdapter(policy, boxed.value.mapping, boxed.value.manager) }
      return value
    }
    var stage = CustomMigrationStage(
      migratingFrom: ObjectStore.ManagedObjectModelReference(sourceModel.model),
      to: ObjectStore.ManagedObjectModelReference(destinationModel.model), label: "mapping model", mappingModel: MappingModel(mapped))
    stage.fallbackClass = NSManagedObject.self
    return stage
  }

  /// Removes the associations of the last migration.
  open func reset() {
    work = nil
    shared.progress.withLock { $0 = 0 }
    shared.cancellation.withLock { $0 = nil }
  }

  // MARK: Running migration

  /// Called when the migration begins or continues.
  func begin(_ manager: MigrationManager) throws {
    try checkCancellation()
    if work?.manager === manager { return }
    // This manager also associates the objects of the default policy, since subclasses may override the method.
    manager.associating = { [weak self] source, destination, mapping in
      guard let self, let source = source as? NSManagedObject, let destination = destination as? NSManagedObject,
        let mapping = mappingModel?.entityMappingsByName[mapping.name]
      else { throw MappingModelError.notMigrating }
      associate(sourceInstance: source, withDestinationInstance: destination, for: mapping)
      try checkCancellation()
    }
    work = Work(
      manager: manager, source: NSManagedObjectContext(adopting: manager.sourceContext, model: sourceModel),
      destination: NSManagedObjectContext(adopting: manager.destinationContext, model: destinationModel))
  }

  /// Returns the running migration and one of its mappings.
  func work(on mapping: NSEntityMapping?) throws -> (manager: MigrationManager, mapping: EntityMapping) {
    guard let manager = work?.manager,
      let value = mapping.map({ mapping in manager.mappingModel.entityMappingsByName[mapping.effectiveName] })
        ?? manager.currentEntityMapping
    else { throw MappingModelError.notMigrating }
    return (manager, value)
  }

  /// The mapping whose objects or relationships are being created.
  public var currentEntityMapping: NSEntityMapping {
    work?.manager.currentEntityMapping.flatMap { mappingModel?.entityMappingsByName[$0.name] } ?? NSEntityMapping()
  }
  /// The progress of the migration, from 0 to 1.
  public var migrationProgress: Float { shared.progress.withLock { $0 } }
  /// The context of the source objects; a context without stores if no migration is running.
  public var sourceContext: NSManagedObjectContext {
    work?.source ?? NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  }
  /// The context of the destination objects; a context without stores if no migration is running.
  public var destinationContext: NSManagedObjectContext {
    work?.destination ?? NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  }

  /// Returns the source entity of a mapping.
  public func sourceEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    mEntity.sourceEntityName.flatMap { sourceModel.entitiesByName[$0] }
  }
  /// Returns the destination entity of a mapping.
  public func destinationEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    mEntity.destinationEntityName.flatMap { destinationModel.entitiesByName[$0] }
  }

  /// Associates a destination object with the source object that a mapping created it from. An error cancels the migration.
  ///
  /// - Parameters:
  ///   - sourceInstance: The source object.
  ///   - destinationInstance: The destination object.
  ///   - entityMapping: The entity mapping.
  open func associate(
    sourceInstance: NSManagedObject, withDestinationInstance destinationInstance: NSManagedObject, for entityMapping: NSEntityMapping
  ) {
    orCancelling(()) {
      let work = try work(on: entityMapping)
      try work.manager.associate(
        sourceInstance: sourceInstance, withDestinationInstance: destinationInstance, for: work.mapping)
    }
  }

  /// Returns the destination objects that a mapping created from source objects, in their order. An unknown mapping name cancels the
  /// migration.
  ///
  /// - Parameters:
  ///   - mappingName: The mapping's name.
  ///   - sourceInstances: The source objects; nil for all.
  open func destinationInstances(
    forEntityMappingName mappingName: String, sourceInstances: [NSManagedObject]?
  ) -> [NSManagedObject] {
    orCancelling([]) {
      try work(on: nil).manager.destinationInstances(forEntityMappingName: mappingName, sourceInstances: sourceInstances)
        .compactMap { $0 as? NSManagedObject }
    }
  }

  /// Returns the source objects from which a mapping created destination objects. An unknown mapping name cancels the migration.
  ///
  /// - Parameters:
  ///   - mappingName: The mapping's name.
  ///   - destinationInstances: The destination objects; nil for all.
  open func sourceInstances(
    forEntityMappingName mappingName: String, destinationInstances: [NSManagedObject]?
  ) -> [NSManagedObject] {
    orCancelling([]) {
      try work(on: nil).manager.sourceInstances(forEntityMappingName: mappingName, destinationInstances: destinationInstances)
        .compactMap { $0 as? NSManagedObject }
    }
  }

  private func orCancelling<Result>(_ empty: Result, _ body: () throws -> Result) -> Result {
    do { return try body() } catch {
      cancelMigrationWithError(error)
      return empty
    }
  }

  /// Cancels the migration from any thread. It ends before the next object and throws the error.
  open func cancelMigrationWithError(_ error: any Error) { shared.cancellation.withLock { $0 = $0 ?? error } }

  /// Throws the cancellation error if the migration was canceled.
  func checkCancellation() throws {
    if let error = shared.cancellation.withLock({ $0 }) { throw error }
  }
}
