package import Foundation
public import ObjectModel
public import ObjectStore
import Synchronization

/// A model with its stores and contexts: the stack that an application sets up once. Safe to use from any thread.
///
/// ```swift
/// let container = try PersistentContainer(
///   name: "Library", managedObjectModel: model,
///   persistentStoreDescriptions: [PersistentStoreDescription(url: url, key: .passphrase("correct horse"))])
/// try await container.loadPersistentStores()
/// let context = container.viewContext
/// ```
///
/// Creating a container throws ``ModelValidationError`` if the model is not valid. Loading the stores throws ``StoreError`` if a store
/// cannot be opened, for example because of a wrong key, a damaged file or a newer model. Use ``viewContext`` on the main actor, and
/// ``performBackgroundTask(_:)`` to run an operation elsewhere with its own context. All contexts share one cache of rows.
///
/// A container's state is immutable, locked, or isolated to the main actor. Subclasses ensure the same for theirs.
open class PersistentContainer: @unchecked Sendable {  // immutable, locked or isolated to the main actor
  /// The container's name.
  public let name: String
  /// The coordinator of the stores.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The classes of the objects, by entity.
  public let classes: ManagedObjectClasses
  /// The initial merge policy of the container's contexts.
  public let mergePolicy: MergePolicy
  /// The migration stages for stores whose descriptions have neither stages nor mapping models.
  public let stagedMigrationManager: StagedMigrationManager?
  private let descriptions: Mutex<[PersistentStoreDescription]>
  private let loader = QueueExecutor(label: "CipherData.PersistentContainer")

  /// Creates a container. Call ``loadPersistentStores(isolation:)`` to open its stores.
  ///
  /// - Parameters:
  ///   - name: The container's name.
  ///   - model: The model.
  ///   - classes: The classes of the objects. Generated code contains the table for its model.
  ///   - persistentStoreDescriptions: The stores to open.
  ///   - stagedMigrationManager: The migration stages between versions of the model, for stores whose descriptions have neither stages nor
  ///     mapping models. Generated code passes those of its bundle.
  ///   - mergePolicy: The policy for rows that were also changed elsewhere, and for unique values that are already taken. By default, saves
  ///     throw.
  /// - Throws: ``ModelValidationError`` with all issues of the model, with the entities whose classes were generated for another model, or
  ///   with the merge policy rules that do not fit the model.
  public init(
    name: String, managedObjectModel model: ManagedObjectModel, classes: ManagedObjectClasses = ManagedObjectClasses(),
    persistentStoreDescriptions: [PersistentStoreDescription] = [], stagedMigrationManager: StagedMigrationManager? = nil,
    mergePolicy: MergePolicy = .error
  ) throws(ModelValidationError) {
    self.name = name
    self.stagedMigrationManager = stagedMigrationManager
    self.mergePolicy = mergePolicy
    self.classes = classes
    persistentStoreCoordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    let compiled = persistentStoreCoordinator.compiledModel
    let issues = classes.issues(with: compiled) + mergePolicy.issues(with: compiled)
    guard issues.isEmpty else { throw ModelValidationError(issues: issues) }
    descriptions = Mutex(persistentStoreDescriptions)
  }

  /// The model.
  public var managedObjectModel: ManagedObjectModel { persistentStoreCoordinator.managedObjectModel }

  /// The stores that ``loadPersistentStores(isolation:)`` opens.
  public var persistentStoreDescriptions: [PersistentStoreDescription] {
    get { descriptions.withLock { $0 } }
    set { descriptions.withLock { $0 = newValue } }
  }

  /// Opens the stores that are not open yet, in order. Keys are requested from key providers and passphrases are stretched outside of the
  /// caller's thread.
  ///
  /// - Parameter isolation: The caller's isolation, to which the method returns without an additional thread switch. Do not pass a value.
  /// - Throws: ``StoreError`` of the first store that cannot be opened. Stores before it stay open.
  open func loadPersistentStores(isolation: isolated (any Actor)? = #isolation) async throws {
    let coordinator = persistentStoreCoordinator
    let waiting = persistentStoreDescriptions.filter { description in
      !coordinator.persistentStores.contains { store in
        description.url != nil ? store.url == description.url : store.type == description.type && store.url == nil
      }
    }
    try await withTaskExecutorPreference(loader) {
      for description in waiting { try await coordinator.addPersistentStore(with: completed(description)) }
    }
  }

  /// Returns a description completed with the container's name and migration stages.
  private func completed(_ description: PersistentStoreDescription) -> PersistentStoreDescription {
    var description = description
    description.containerName = name
    guard let stagedMigrationManager, description.stagedMigrationManager == nil, description.mappingModels.isEmpty else {
      return description
    }
    description.stagedMigrationManager = stagedMigrationManager
    return description
  }

  /// Closes all stores and wipes key material.
  ///
  /// Objects that are still referenced return their last values only. Requests throw ``StoreError`` with ``StoreError/Code/noOpenStore``,
  /// as before the stores were loaded.
  ///
  /// - Throws: ``StoreError`` of the first store that could not be closed cleanly. Stores after it stay open.
  open func close() throws {
    for store in persistentStoreCoordinator.persistentStores { try persistentStoreCoordinator.remove(store) }
  }

  // MARK: Contexts

  @MainActor private var viewContextBox: ViewContextBox?

  /// The context of the main actor, for user interfaces and for programs that need only one context.
  @MainActor public var viewContext: ManagedObjectContext {
    if let viewContextBox { return viewContextBox.context }
    let context = makeContext()
    context.changeReceiver.setMergeScheduler { [weak self] in
      Task { @MainActor in self?.viewContextBox?.context.processWaitingChangesOfTree() }
    }
    let made = ViewContextBox(context)
    viewContextBox = made
    return made.context
  }

  /// Returns a new context, which becomes part of the caller's isolation.
  public func newBackgroundContext() -> sending ManagedObjectContext { makeContext() }

  func makeContext() -> sending ManagedObjectContext {
    ManagedObjectContext(coordinator: persistentStoreCoordinator, classes: classes, mergePolicy: mergePolicy)
  }

  /// Runs a closure with a new context, on its own queue outside of Swift's cooperative thread pool, and returns its result, which must be
  /// `Sendable`.
  ///
  /// The closure runs as part of the calling task, with its priority and task-local values. It may suspend, and then resumes on the same
  /// queue. Changes that it does not save are discarded with the context.
  ///
  /// If the task is canceled, `Task.isCancelled` is `true` in the closure. A running fetch, batch request or save ends at once, even inside
  /// the store, and throws `CancellationError`, as do later ones. A save is written completely or not at all.
  ///
  /// - Throws: The errors of the closure.
  public func performBackgroundTask<Result: Sendable>(
    _ body: @Sendable (ManagedObjectContext) async throws -> Result
  ) async throws -> Result {
    let cancellation = RequestCancellation()
    return try await withTaskCancellationHandler {
      try await withTaskExecutorPreference(QueueExecutor(label: "CipherData.BackgroundTask")) {
        let context = makeContext()
        context.rowSource.cancellation = cancellation
        defer { context.processPendingChanges() }
        return try await body(context)
      }
    } onCancel: {
      cancellation.cancel()
    }
  }
}

/// A box that deallocates the view context, with its objects, on the main actor.
@MainActor private final class ViewContextBox {
  let context: ManagedObjectContext

  init(_ context: sending ManagedObjectContext) { self.context = context }

  isolated deinit {}
}

// MARK: - Copying the store

extension PersistentContainer {
  /// Copies the container's only store, while it is open, to a location where no file exists. The copy is a snapshot, and opens with the
  /// same keys.
  ///
  /// - Returns: `false` if no store is open that can be copied.
  /// - Throws: ``StoreError``.
  package func copyStore(to url: URL) async throws -> Bool {
    guard let store = persistentStoreCoordinator.persistentStores.first, let files = store.incrementalStore as? any FileStore else {
      return false
    }
    return try await files.copy(to: PersistentStoreDescription(type: store.type, url: url), progress: nil) != nil
  }
}
