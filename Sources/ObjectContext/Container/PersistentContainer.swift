// PersistentContainer: a model, its stores and their contexts.
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
/// Making a container throws ``ModelValidationError`` with the model's mistakes. Loading the stores throws ``StoreError`` with what keeps
/// one from opening: a wrong key, a damaged file, a newer model. The main actor has ``viewContext``; work elsewhere gets a context of its
/// own from ``performBackgroundTask(_:)``. All contexts share the rows that one of them has read.
public final class PersistentContainer: Sendable {
  /// The container's name.
  public let name: String
  /// The coordinator of the stores.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The classes of the objects.
  public let classes: ManagedObjectClasses
  /// How the saves of the container's contexts deal with conflicts, unless a context has been given another policy.
  public let mergePolicy: MergePolicy
  /// The stages of stores whose descriptions have neither stages nor mapping models of their own.
  public let stagedMigrationManager: StagedMigrationManager?
  private let descriptions: Mutex<[PersistentStoreDescription]>
  private let loader = QueueExecutor(label: "CipherData.PersistentContainer")

  /// Makes a container; ``loadPersistentStores(isolation:)`` opens its stores.
  ///
  /// - Parameters:
  ///   - name: A name.
  ///   - model: The model.
  ///   - classes: The classes of the objects; generated code has the table of its model.
  ///   - persistentStoreDescriptions: The stores to open.
  ///   - stagedMigrationManager: The stages between the versions of the model, for stores whose descriptions have neither stages nor mapping models. Generated code
  ///     gives those of its bundle.
  ///   - mergePolicy: How saves deal with rows that others have changed and with unique values that are taken. By default saves throw.
  /// - Throws: ``ModelValidationError`` with every mistake of the model, or with the entities whose classes were generated for another model,
  ///   or with the rules of the merge policy that do not fit it.
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

  /// Opens the stores that are not open yet, in order, off the caller's thread: key providers are asked and passphrases stretched there.
  ///
  /// - Parameter isolation: The caller's isolation, which it returns to without going by way of another thread; nothing is to be given.
  /// - Throws: ``StoreError`` of the first store that does not open; those before it stay open.
  public func loadPersistentStores(isolation: isolated (any Actor)? = #isolation) async throws {
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

  /// A description with what the container adds to it: its name and its stages.
  private func completed(_ description: PersistentStoreDescription) -> PersistentStoreDescription {
    var description = description
    description.containerName = name
    guard let stagedMigrationManager, description.stagedMigrationManager == nil, description.mappingModels.isEmpty else {
      return description
    }
    description.stagedMigrationManager = stagedMigrationManager
    return description
  }

  /// Closes all stores. Key material is wiped; objects that somebody still holds give their last values only, and requests throw ``StoreError`` with
  /// ``StoreError/Code/noOpenStore``, as before the stores were loaded.
  ///
  /// - Throws: ``StoreError`` of the first store that could not be closed in order; those after it stay open.
  public func close() throws {
    for store in persistentStoreCoordinator.persistentStores { try persistentStoreCoordinator.remove(store) }
  }

  // MARK: Contexts

  @MainActor private var viewContextBox: ViewContextBox?

  /// The main actor's context, for user interfaces and programs that need only one.
  @MainActor public var viewContext: ManagedObjectContext {
    if let viewContextBox { return viewContextBox.context }
    let context = makeContext()
    context.intake.setWake { [weak self] in
      Task { @MainActor in self?.viewContextBox?.context.doWaitingWorkOfAll() }
    }
    let made = ViewContextBox(context)
    viewContextBox = made
    return made.context
  }

  /// A new context that the caller's isolation takes over.
  public func newBackgroundContext() -> sending ManagedObjectContext { makeContext() }

  func makeContext() -> sending ManagedObjectContext {
    ManagedObjectContext(coordinator: persistentStoreCoordinator, classes: classes, mergePolicy: mergePolicy)
  }

  /// Runs work with a context of its own, on a queue of its own, off Swift's cooperative threads. Only `Sendable` values come out.
  ///
  /// The work is a part of the task that calls: its values and priority hold, and it may wait for something, after which it is on its queue again. Changes
  /// that it does not save are dropped with the context.
  ///
  /// When the task is cancelled, `Task.isCancelled` is true in the work, and a fetch, a batch request or a save that runs ends at once, inside the store
  /// too, and throws `CancellationError`, as do those that follow. A save is written whole or not at all.
  ///
  /// - Throws: What the work throws.
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

/// Keeps the view context so that it dies on the main actor, with its objects.
@MainActor private final class ViewContextBox {
  let context: ManagedObjectContext

  init(_ context: sending ManagedObjectContext) { self.context = context }

  isolated deinit {}
}
