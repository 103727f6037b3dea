public import Foundation
import ObjectContext
import ObjectStore
import Synchronization

/// The store option whose value is an ``NSStagedMigrationManager``.
public let NSPersistentStoreStagedMigrationManagerOptionKey = "NSPersistentStoreStagedMigrationManagerOptionKey"

/// The stages between the versions of a model, given as the store option ``NSPersistentStoreStagedMigrationManagerOptionKey``.
///
/// A store of any version runs the remaining stages in one transaction. Afterward it has the newest version, or its previous one if a stage
/// fails.
open class NSStagedMigrationManager: NSObject, StoreOption {
  /// The stages, from the oldest version to the newest.
  public let stages: [NSMigrationStage]
  /// In the handlers of a custom stage, a container for the store being migrated; otherwise nil. All its contexts have private queues,
  /// including `viewContext`.
  public private(set) weak var container: NSPersistentContainer?

  /// Creates a manager of stages, from the oldest version to the newest.
  public init(_ stages: [NSMigrationStage]) { self.stages = stages }

  func set(in description: inout PersistentStoreDescription) {
    var versions: [String: ObjectStore.ManagedObjectModelReference] = [:]
    for case let stage as NSCustomMigrationStage in stages {
      for model in [stage.currentModel, stage.nextModel] { versions[model.versionChecksum] = model.reference }
    }
    description.stagedMigrationManager = StagedMigrationManager(stages.map { $0.value(versions, of: self) })
  }

  /// Calls a handler with a container for the migration's context.
  func withContainer(over context: ManagedObjectContext, _ body: () throws -> Void) throws {
    let migrationContainer = MigrationContainer(over: context)
    container = migrationContainer
    defer { container = nil }
    // The handler's unfinished operations must not run after the stage; other threads are refused.
    do { try body() } catch {
      migrationContainer.waitForContexts()
      throw error
    }
    migrationContainer.waitForContexts()
  }
}

/// The container for a handler. It keeps track of its contexts.
private final class MigrationContainer: NSPersistentContainer, @unchecked Sendable {  // the mutex guards the contexts
  private let contexts = Mutex<[NSManagedObjectContext]>([])

  init(over context: ManagedObjectContext) {
    let coordinator = NSPersistentStoreCoordinator(adopting: context.persistentStoreCoordinator)
    // The main queue may be blocked by the migration.
    let view = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    view.persistentStoreCoordinator = coordinator
    super.init(name: "Migration", coordinator: coordinator, viewContext: view)
  }

  override func newBackgroundContext() -> NSManagedObjectContext {
    let context = super.newBackgroundContext()
    contexts.withLock { $0.append(context) }
    return context
  }

  // A migration's transaction belongs to its thread.
  override func performBackgroundTask(_ block: @escaping @Sendable (NSManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.performAndWait { block(context) }
  }

  /// Waits for pending operations of the contexts.
  func waitForContexts() {
    for context in contexts.withLock({ $0 }) + [viewContext] { context.performAndWait {} }
  }
}

/// A stage of a staged migration.
open class NSMigrationStage: NSObject {
  /// The stage's name in progress and errors.
  public var label: String?

  fileprivate override init() {}

  /// Returns the stage as a value.
  ///
  /// - Parameters:
  ///   - versions: The model versions by checksum.
  ///   - manager: The manager of the stage.
  func value(_ versions: [String: ObjectStore.ManagedObjectModelReference], of manager: NSStagedMigrationManager) -> any MigrationStage {
    LightweightMigrationStage([ObjectStore.ManagedObjectModelReference]())
  }
}

/// A stage of model versions that are connected by lightweight migrations.
open class NSLightweightMigrationStage: NSMigrationStage {
  /// The checksums of the versions, from the oldest to the newest.
  ///
  /// Checksums that neither an ``NSManagedObjectModelReference`` of another stage nor ``NSManagedObjectModel/versionChecksum`` matches are
  /// skipped: stores contain their own models.
  public let versionChecksums: [String]

  /// Creates a stage of versions, from the oldest to the newest.
  public init(_ versionChecksums: [String]) {
    self.versionChecksums = versionChecksums
    super.init()
  }

  override func value(
    _ versions: [String: ObjectStore.ManagedObjectModelReference], of manager: NSStagedMigrationManager
  ) -> any MigrationStage {
    LightweightMigrationStage(
      versionChecksums.map { versions[$0] ?? ObjectStore.ManagedObjectModelReference(versionChecksum: $0) },
      label: label ?? "lightweight stage")
  }
}

/// A stage between two versions with handlers of the application.
///
/// The handlers use contexts of ``NSStagedMigrationManager/container``, which take part in the migration's transaction. An error thrown by
/// a handler leaves the store unchanged. Handlers must use `performAndWait`: other threads cannot take part in the transaction.
open class NSCustomMigrationStage: NSMigrationStage {
  /// The version before the stage.
  public let currentModel: NSManagedObjectModelReference
  /// The version after the stage.
  public let nextModel: NSManagedObjectModelReference
  /// A handler that prepares the objects of the current model before anything is changed.
  public var willMigrateHandler: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?
  /// A handler that completes the objects of the next model.
  public var didMigrateHandler: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?

  /// Creates a stage between two versions.
  public init(migratingFrom currentModel: NSManagedObjectModelReference, to nextModel: NSManagedObjectModelReference) {
    (self.currentModel, self.nextModel) = (currentModel, nextModel)
    super.init()
  }

  override func value(
    _ versions: [String: ObjectStore.ManagedObjectModelReference], of manager: NSStagedMigrationManager
  ) -> any MigrationStage {
    var stage = CustomMigrationStage(
      migratingFrom: currentModel.reference, to: nextModel.reference, label: label ?? "custom stage")
    stage.willMigrateHandler = handler(willMigrateHandler, manager)
    stage.didMigrateHandler = handler(didMigrateHandler, manager)
    return stage
  }

  private func handler(
    _ body: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?, _ manager: NSStagedMigrationManager
  ) -> (@Sendable (ManagedObjectContext) throws -> Void)? {
    guard let body else { return nil }
    // The migration's thread calls the closure while the thread that opens the store waits.
    let boxed = SendableBox(value: (body: body, manager: manager, stage: self))
    return { context in
      try boxed.value.manager.withContainer(over: context) { try boxed.value.body(boxed.value.manager, boxed.value.stage) }
    }
  }
}
