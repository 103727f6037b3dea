// PersistentStoreCoordinator: the open stores of a model, and the way of every request to them.
public import Foundation
public import ObjectModel
import ObjectQuery
import Synchronization

/// The open stores of one model. It routes requests to them, shares the rows they read among all contexts, and tells what each save changed.
///
/// A ``PersistentContainer`` makes one. An application makes one itself for stores that come and go, or for several containers over the
/// same stores:
///
/// ```swift
/// let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
/// let store = try await coordinator.addPersistentStore(with: PersistentStoreDescription(url: url, key: key))
/// let context = ManagedObjectContext(coordinator: coordinator)
/// ```
///
/// It is safe to use from any thread. Opening, closing and replacing stores throw ``StoreError``. The rows that it keeps take at most as many bytes as its
/// limit says.
public final class PersistentStoreCoordinator: Sendable {
  /// The model, frozen.
  package let compiledModel: CompiledModel
  /// The space of the IDs of objects that were never saved.
  package let temporarySpace: ObjectIDSpace
  /// The bytes of rows that each store's row cache may hold; 32 MiB by default.
  package let rowCacheLimit: Int

  private struct State {
    var stores: [PersistentStore] = []
    /// The files of stores that are being opened.
    var openingURLs: Set<URL> = []
  }
  private let state = Mutex(State())
  /// Who hears of what the stores commit.
  let listeners = ChangeListeners()
  /// Who hears of what others commit to them.
  let remoteListeners = RemoteChangeListeners()
  private let version = Atomic<Int>(0)

  /// Makes a coordinator without stores.
  ///
  /// - Throws: ``ModelValidationError`` with every mistake of the model.
  public convenience init(managedObjectModel model: ManagedObjectModel, rowCacheLimit: Int = 32 << 20) throws(ModelValidationError) {
    self.init(compiledModel: try .compiling(model), rowCacheLimit: rowCacheLimit)
  }

  /// Makes a coordinator without stores for a frozen model.
  package init(compiledModel: CompiledModel, rowCacheLimit: Int = 32 << 20) {
    self.compiledModel = compiledModel
    self.rowCacheLimit = rowCacheLimit
    temporarySpace = ObjectIDSpace.register(storeIdentifier: nil, model: compiledModel)
  }

  /// The model.
  public var managedObjectModel: ManagedObjectModel { compiledModel.model }

  // MARK: Store classes

  private static let storeClasses = Mutex<[StoreType: any IncrementalStore.Type]>([.inMemory: InMemoryStore.self])

  /// Makes a class of stores available under a type, for stores that are added later; nil takes the type away. The last registration holds.
  public static func registerStoreClass(_ storeClass: (any IncrementalStore.Type)?, forStoreType type: StoreType) {
    storeClasses.withLock { $0[type] = storeClass }
  }

  /// The classes registered, by type.
  public static var registeredStoreTypes: [StoreType: any IncrementalStore.Type] { storeClasses.withLock { $0 } }

  // MARK: Stores

  /// Changes whenever a store is added or removed.
  package var storesVersion: Int { version.load(ordering: .acquiring) }

  /// The open stores, in the order they were added.
  public var persistentStores: [PersistentStore] { state.withLock { $0.stores } }

  /// The open store at a URL; nil when there is none.
  public func persistentStore(for url: URL) -> PersistentStore? {
    persistentStores.first { $0.url?.standardizedFileURL == url.standardizedFileURL }
  }

  /// Opens a store, or creates it.
  ///
  /// It asks the key provider first, if there is one. The work blocks: call it where that does no harm (``PersistentContainer`` does so on a queue). A store
  /// that was written with another model is migrated first, where the description allows it and its kind can.
  /// - Throws: ``StoreError``; with the codes `migrationNeeded`, `mappingNotInferred`, `migrationConstraintViolation`, `migrationFailed`,
  ///   `storeNewerThanModel`, `cancelled` or `modelIncompatible` when the store was written with another model and could not follow. A failed open
  ///   leaves the coordinator, and the files, as they were.
  @discardableResult
  public func addPersistentStore(with description: PersistentStoreDescription) async throws -> PersistentStore {
    let url = description.url?.standardizedFileURL
    if let url {
      let isFree = state.withLock { state in
        !state.stores.contains { $0.url?.standardizedFileURL == url } && state.openingURLs.insert(url).inserted
      }
      guard isFree else {
        throw StoreError(.alreadyOpen, operation: .open, path: url.path)
      }
    }
    defer { if let url { state.withLock { _ = $0.openingURLs.remove(url) } } }
    let opened = try await openUnlessCanceled(description)
    (opened.incrementalStore as? any FileMakingStore)?.keepFiles()
    add(opened)
    return opened
  }

  /// Opens a store without adding it. A migration ends with the task that waits for it, as by the description's cancellation.
  private func openUnlessCanceled(_ description: PersistentStoreDescription) async throws -> PersistentStore {
    var description = description
    let cancellation = description.migrationCancellation ?? RequestCancellation()
    description.migrationCancellation = cancellation
    let cancelable = description
    return try await withTaskCancellationHandler {
      try await StoreError.inTask { try await open(cancelable) }
    } onCancel: {
      cancellation.cancel()
    }
  }

  /// Opens a store without adding it. Where that fails, the files that it has made are gone; the caller keeps them, or takes them back.
  func open(_ description: PersistentStoreDescription) async throws -> PersistentStore {
    guard let storeClass = Self.registeredStoreTypes[description.type] else { throw Self.unknownType(description) }
    guard let numbers = compiledModel.entityNumbers(inConfiguration: description.configuration) else {
      throw StoreError(.unknownConfiguration(description.configuration), operation: .open, path: description.url?.path)
    }
    if description.historyTracking == true, !(storeClass is any HistoryStore.Type) {
      throw StoreError(.historyUnsupported(type: description.type.rawValue), operation: .open, path: description.url?.path)
    }
    if !storeClass.derivesAttributes { try checkNothingDerived(numbers, description) }
    try checkFilters(numbers, description)
    if description.requiresTransformers { try checkTransformers(numbers, description) }
    let configuration = StoreConfiguration(description: description, model: compiledModel, entityNumbers: numbers)
    let store = try storeClass.init(configuration: configuration)
    var metadata: StoreMetadata
    var backupURL: URL?
    do {
      try await store.unlock()
      metadata = try store.loadMetadata()
      let differing = differingEntities(metadata, entityNumbers: numbers)
      if !differing.isEmpty {
        (metadata, backupURL) = try await migrate(store, metadata, differing: differing, description: description)
      }
    } catch {
      Self.abandon(store)
      throw error
    }
    let opened = PersistentStore(
      configuration: configuration, store: store, metadata: metadata, cacheLimit: rowCacheLimit, listeners: listeners,
      migrationBackupURL: backupURL)
    if description.postsRemoteChangeNotifications {
      do {
        try observeRemoteCommits(to: opened)
      } catch {
        Self.abandon(store)
        throw error
      }
    }
    return opened
  }

  /// Closes a store whose opening failed, and removes the files that it has made.
  static func abandon(_ store: any IncrementalStore, withContents: Bool = false) {
    try? store.close()
    (store as? any FileMakingStore)?.takeBackFiles(withContents: withContents)
  }

  static func unknownType(_ description: PersistentStoreDescription) -> StoreError {
    StoreError(
      .unknownStoreType(description.type.rawValue, known: registeredStoreTypes.keys.map(\.rawValue)), operation: .open,
      path: description.url?.path)
  }

  /// Puts an opened store in the place of another, which is not closed.
  func exchange(_ store: PersistentStore, for opened: PersistentStore) {
    state.withLock { state in
      if let index = state.stores.firstIndex(where: { $0 === store }) { state.stores[index] = opened } else { state.stores.append(opened) }
    }
    version.add(1, ordering: .releasing)
    store.cache.removeAll()
  }

  /// Enters an open store.
  func add(_ store: PersistentStore) {
    state.withLock { $0.stores.append(store) }
    version.add(1, ordering: .releasing)
  }

  /// A store that cannot compute derived attributes must not hold entities that have some: their values would be wrong.
  private func checkNothingDerived(_ numbers: [Int], _ description: PersistentStoreDescription) throws {
    for number in numbers {
      let entity = compiledModel.entities[number]
      guard let slot = entity.slots.first(where: \.isDerived) else { continue }
      throw StoreError(
        .derivedInPlainStore(entity: entity.name, property: slot.name, type: description.type.rawValue), operation: .open,
        path: description.url?.path)
    }
  }

  /// The filters of derived attributes are texts until now: a model knows nothing of predicates.
  private func checkFilters(_ numbers: [Int], _ description: PersistentStoreDescription) throws {
    for derivation in compiledModel.derivations where derivation.filter != nil && numbers.contains(derivation.entity) {
      do {
        _ = try DerivationFilter(of: derivation, in: compiledModel)
      } catch let problem {
        let name = compiledModel.entities[derivation.entity].name
        throw StoreError(
          .unusableFilter(entity: name, property: derivation.slot.name, problem: "\(problem)"), operation: .open,
          path: description.url?.path, underlying: problem)
      }
    }
  }

  /// Closes a store. Objects of it that are still alive can no longer be read from it.
  ///
  /// - Throws: ``StoreError`` where something could not be put in order; the store is closed.
  public func remove(_ store: PersistentStore) throws {
    state.withLock { $0.stores.removeAll { $0 === store } }
    version.add(1, ordering: .releasing)
    store.cache.removeAll()
    try store.incrementalStore.close()
  }

  /// The ID that a URI stands for; nil when its store is not open, or the URI is not one of an object.
  public func managedObjectID(forURIRepresentation url: URL) -> ManagedObjectID? {
    if (url.host ?? "").isEmpty { return temporarySpace.objectID(forURI: url) }
    return persistentStores.lazy.compactMap { $0.space.objectID(forURI: url) }.first
  }

  /// The open store that an ID belongs to; nil for temporary IDs and closed stores.
  public func persistentStore(of objectID: ManagedObjectID) -> PersistentStore? {
    objectID.isTemporaryID ? nil : store(numbered: objectID.space)
  }

  package func store(numbered space: UInt32) -> PersistentStore? {
    state.withLock { state in
      // One store is the rule.
      if state.stores.count == 1, state.stores[0].space.number == space { return state.stores[0] }
      return state.stores.first { $0.space.number == space }
    }
  }

  // MARK: Changes

  /// What is written through this coordinator from now on, as soon as it is committed, in the order of each store's commits.
  public func changes() -> AsyncStream<ChangeSet> {
    AsyncStream { continuation in
      let number = addObserver { continuation.yield($0) }
      continuation.onTermination = { [weak self] _ in self?.removeObserver(number) }
    }
  }

  /// Adds a listener: called on the thread that has committed, while the store waits.
  package func addObserver(_ observer: @escaping @Sendable (ChangeSet) -> Void) -> UInt64 {
    listeners.add(observer)
  }

  package func removeObserver(_ number: UInt64) { listeners.remove(number) }
}
