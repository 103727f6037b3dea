// NSMigrationManager: migrations of stores from one file to another, as objects.
public import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import Synchronization

/// Takes a store from one model to another, into a file of its own.
open class NSMigrationManager: NSObject {
  /// The model of the store.
  public let sourceModel: NSManagedObjectModel
  /// The model that the store is to have.
  public let destinationModel: NSManagedObjectModel
  /// The mapping model at work; nil before the first migration.
  public private(set) var mappingModel: NSMappingModel!
  /// Notes of the application.
  public var userInfo: [AnyHashable: Any]? {
    // Read and set as a whole: a note may be made of another one in one statement.
    get { notes }
    set { notes = newValue }
  }
  private var notes: [AnyHashable: Any]?
  /// Whether the store migrates its tables itself by an inferred mapping model that was not changed, which makes no objects and is faster. Such a migration is one step:
  /// a cancellation takes effect at its end, and the functions that associate objects are not called.
  public var usesStoreSpecificMigrationManager = true
  private var work: Work?
  private let shared = Shared()

  /// A migration under way.
  private struct Work {
    let manager: MigrationManager
    let source: NSManagedObjectContext
    let destination: NSManagedObjectContext
  }

  /// What other threads ask and say.
  private final class Shared: Sendable {
    let progress = Mutex<Float>(0)
    let cancellation = Mutex<(any Error)?>(nil)
  }

  /// A manager for two models.
  public init(sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel) {
    (self.sourceModel, self.destinationModel) = (sourceModel, destinationModel)
  }

  // MARK: Migrating

  /// Copies a store and takes the copy to the other model. The store itself stays as it is, and must not be open.
  ///
  /// - Parameters:
  ///   - sourceURL: Where the store lies.
  ///   - sourceStoreType: Its kind.
  ///   - sourceOptions: What else there is to say of it, such as its key.
  ///   - mappings: How its objects become those of the other model; nil for what inference makes of it.
  ///   - destinationURL: Where the copy will lie.
  ///   - destinationStoreType: Its kind.
  ///   - destinationOptions: What else there is to say of it.
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
      // Without a key of its own the destination gets that of the source.
      let hasKey = destinationOptions?[NSPersistentStoreEncryptionKeyOption] != nil
      var destination = try NSPersistentStoreDescription(destinationStoreType, destinationURL, destinationOptions).value(needsKey: hasKey)
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: destinationModel.model)
      let hashes = try Waiting.run { try await PersistentStoreCoordinator.metadataForPersistentStore(with: source) }.modelHashes
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
      try Waiting.run { [shared] in
        try await coordinator.replacePersistentStore(with: target, withPersistentStoreFrom: source)
        do {
          try coordinator.remove(try await coordinator.addPersistentStore(with: migrated))
          if let error = shared.cancellation.withLock({ $0 }) { throw error }
        } catch {
          // A copy that has not got to the other model is no store of it.
          try? await coordinator.destroyPersistentStore(with: target)
          // The migration wraps the error that canceled it.
          throw shared.cancellation.withLock { $0 } ?? error
        }
      }
      shared.progress.withLock { $0 = 1 }
    }
  }

  /// Copies a store and takes the copy to the other model: see ``migrateStore(from:sourceType:options:with:toDestinationURL:destinationType:destinationOptions:)``.
  ///
  /// - Parameters:
  ///   - sourceURL: Where the store lies.
  ///   - sourceType: Its kind.
  ///   - sourceOptions: What else there is to say of it, such as its key.
  ///   - mappings: How its objects become those of the other model.
  ///   - destinationURL: Where the copy will lie.
  ///   - destinationType: Its kind.
  ///   - destinationOptions: What else there is to say of it.
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
  /// The copy keeps the key file of the store if the destination's key opens the store: all of the store's keys open the copy then, and the application may move the
  /// database file alone to the place of the store, next to the key file there.
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
    if (try? Waiting.run { try await PersistentStoreCoordinator.metadataForPersistentStore(with: attempt) }) != nil { target.key = nil }
    return target
  }

  /// A mapping model as the one stage of a migration, with the application's policies.
  private func stage(_ mappings: NSMappingModel) throws -> CustomMigrationStage {
    let mapped = try (mappings.entityMappings ?? []).map { mapping in
      mapping.name = mapping.knownName
      var value = try mapping.value()
      var policy = NSEntityMigrationPolicy.self
      if let name = mapping.entityMigrationPolicyClassName, !name.isEmpty {
        guard let found = NSEntityMigrationPolicy.type(named: name) else {
          throw MappingModelError.policy(name: name, mapping: mapping.knownName)
        }
        policy = found
      }
      // The migration's thread makes it, and this one waits.
      let lent = Lent(value: (mapping: mapping, manager: self))
      value.makePolicy = { [policy] in MigrationPolicyFace(policy, lent.value.mapping, lent.value.manager) }
      return value
    }
    var stage = CustomMigrationStage(
      migratingFrom: ObjectStore.ManagedObjectModelReference(sourceModel.model),
      to: ObjectStore.ManagedObjectModelReference(destinationModel.model), label: "mapping model", mappingModel: MappingModel(mapped))
    stage.fallbackClass = NSManagedObject.self
    return stage
  }

  /// Forgets what the last migration has made of what.
  open func reset() {
    work = nil
    shared.progress.withLock { $0 = 0 }
    shared.cancellation.withLock { $0 = nil }
  }

  // MARK: At work

  /// The migration has begun, or goes on.
  func begin(_ manager: MigrationManager) throws {
    try checkCancellation()
    if work?.manager === manager { return }
    // Objects of the standard policy are associated by this manager too, since subclasses override the function.
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

  /// The migration under way, and a mapping of it.
  func work(on mapping: NSEntityMapping?) throws -> (manager: MigrationManager, mapping: EntityMapping) {
    guard let manager = work?.manager,
      let value = mapping.map({ mapping in manager.mappingModel.entityMappingsByName[mapping.knownName] }) ?? manager.currentEntityMapping
    else { throw MappingModelError.notMigrating }
    return (manager, value)
  }

  /// The mapping whose objects or relationships are being made.
  public var currentEntityMapping: NSEntityMapping {
    work?.manager.currentEntityMapping.flatMap { mappingModel?.entityMappingsByName[$0.name] } ?? NSEntityMapping()
  }
  /// The part of the work that is done, from 0 to 1.
  public var migrationProgress: Float { shared.progress.withLock { $0 } }
  /// The older objects; a context without stores where no migration is under way.
  public var sourceContext: NSManagedObjectContext {
    work?.source ?? NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  }
  /// The newer objects; a context without stores where no migration is under way.
  public var destinationContext: NSManagedObjectContext {
    work?.destination ?? NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  }

  /// The older entity of a mapping.
  public func sourceEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    mEntity.sourceEntityName.flatMap { sourceModel.entitiesByName[$0] }
  }
  /// The newer entity of a mapping.
  public func destinationEntity(for mEntity: NSEntityMapping) -> NSEntityDescription? {
    mEntity.destinationEntityName.flatMap { destinationModel.entitiesByName[$0] }
  }

  /// Notes that a newer object was made of an older one by a mapping. What goes wrong calls the migration off.
  ///
  /// - Parameters:
  ///   - sourceInstance: The older object.
  ///   - destinationInstance: The newer object.
  ///   - entityMapping: The entity mapping that made it.
  open func associate(
    sourceInstance: NSManagedObject, withDestinationInstance destinationInstance: NSManagedObject, for entityMapping: NSEntityMapping
  ) {
    orCancelling(()) {
      let work = try work(on: entityMapping)
      try work.manager.associate(
        sourceInstance: sourceInstance, withDestinationInstance: destinationInstance, for: work.mapping)
    }
  }

  /// The newer objects that a mapping made of older ones, in their order. A name that is no mapping's calls the migration off.
  ///
  /// - Parameters:
  ///   - mappingName: The mapping's name.
  ///   - sourceInstances: The older objects; nil for all.
  open func destinationInstances(
    forEntityMappingName mappingName: String, sourceInstances: [NSManagedObject]?
  ) -> [NSManagedObject] {
    orCancelling([]) {
      try work(on: nil).manager.destinationInstances(forEntityMappingName: mappingName, sourceInstances: sourceInstances)
        .compactMap { $0 as? NSManagedObject }
    }
  }

  /// The older objects that newer ones were made of by a mapping. A name that is no mapping's calls the migration off.
  ///
  /// - Parameters:
  ///   - mappingName: The mapping's name.
  ///   - destinationInstances: The newer objects; nil for all.
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

  /// Calls the migration off, from any thread: it ends before the next object, and throws the error.
  open func cancelMigrationWithError(_ error: any Error) { shared.cancellation.withLock { $0 = $0 ?? error } }

  /// Throws once the migration was called off.
  func checkCancellation() throws {
    if let error = shared.cancellation.withLock({ $0 }) { throw error }
  }
}
