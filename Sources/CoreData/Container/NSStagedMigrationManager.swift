// NSStagedMigrationManager: the stages between the versions of a model, as an object.
public import Foundation
import ObjectContext
import ObjectStore
import Synchronization

/// The option of the stages of a store's model: an ``NSStagedMigrationManager``.
public let NSPersistentStoreStagedMigrationManagerOptionKey = "NSPersistentStoreStagedMigrationManagerOptionKey"

/// The stages between the versions of a model: an option of stores, ``NSPersistentStoreStagedMigrationManagerOptionKey``.
///
/// A store of any version takes the stages that are left, all of them in one transaction: afterwards it has the newest version, or, when anything fails, the
/// one it had.
open class NSStagedMigrationManager: NSObject, StoreOption {
  /// The stages, from the oldest version to the newest.
  public let stages: [NSMigrationStage]
  /// In the handlers of a custom stage, the store as it is there; nil else. All its contexts have queues of their own, `viewContext` too.
  public private(set) weak var container: NSPersistentContainer?

  /// The way through stages, from the oldest version to the newest.
  public init(_ stages: [NSMigrationStage]) { self.stages = stages }

  func set(in description: inout PersistentStoreDescription) {
    var versions: [String: ObjectStore.ManagedObjectModelReference] = [:]
    for case let stage as NSCustomMigrationStage in stages {
      for model in [stage.currentModel, stage.nextModel] { versions[model.versionChecksum] = model.reference }
    }
    description.stagedMigrationManager = StagedMigrationManager(stages.map { $0.value(versions, of: self) })
  }

  /// Lets a handler work with a container over what the migration has.
  func lendContainer(over context: ManagedObjectContext, _ body: () throws -> Void) throws {
    let lent = MigrationContainer(over: context)
    container = lent
    defer { container = nil }
    // What the handler has left to do is refused on other threads, and must not come after the step.
    do { try body() } catch {
      lent.waitForContexts()
      throw error
    }
    lent.waitForContexts()
  }
}

/// The container of a handler: it knows its contexts.
private final class MigrationContainer: NSPersistentContainer, @unchecked Sendable {  // the mutex guards the contexts
  private let contexts = Mutex<[NSManagedObjectContext]>([])

  init(over context: ManagedObjectContext) {
    let coordinator = NSPersistentStoreCoordinator(adopting: context.persistentStoreCoordinator)
    // The main queue may be waiting for the migration.
    let view = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    view.persistentStoreCoordinator = coordinator
    super.init(name: "Migration", coordinator: coordinator, viewContext: view)
  }

  override func newBackgroundContext() -> NSManagedObjectContext {
    let context = super.newBackgroundContext()
    contexts.withLock { $0.append(context) }
    return context
  }

  // A migration's transaction is that of its thread.
  override func performBackgroundTask(_ block: @escaping @Sendable (NSManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.performAndWait { block(context) }
  }

  /// Waits for what the contexts have to do.
  func waitForContexts() {
    for context in contexts.withLock({ $0 }) + [viewContext] { context.performAndWait {} }
  }
}
