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
