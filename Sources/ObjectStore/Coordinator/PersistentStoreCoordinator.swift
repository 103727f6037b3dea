public import Foundation
public import ObjectModel
import ObjectQuery
import Synchronization

/// The open stores of one model. A coordinator routes requests to its stores, shares their rows among all contexts through a row cache, and
/// notifies observers of changes.
///
/// A ``PersistentContainer`` creates a coordinator. Create one directly to add and remove stores dynamically, or to share stores between
/// containers:
///
/// ```swift
/// let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
/// let store = try await coordinator.addPersistentStore(with: PersistentStoreDescription(url: url, key: key))
/// let context = ManagedObjectContext(coordinator: coordinator)
/// ```
///
/// A coordinator is safe to use from any thread. Opening, closing, and replacing stores throws ``StoreError``. The cached rows of each
/// store take at most the number of bytes given by its limit.
public final class PersistentStoreCoordinator: Sendable {
  package let compiledModel: CompiledModel
  package let temporarySpace: ObjectIDSpace
  /// The maximum size of each store's row cache in bytes. 32 MiB by default.
  package let rowCacheLimit: Int

  private struct State {
    var stores: [PersistentStore] = []
    var openingURLs: Set<URL> = []
  }
  private let state = Mutex(State())
  /// The observers of commits through this coordinator.
  let observers = ChangeObservers()
  /// The observers of the transactions of this coordinator.
  let transactionObservers = TransactionObservers()
  /// The observers of commits by other processes and coordinators.
  let remoteObservers = RemoteChangeObservers()
  private let version = Atomic<Int>(0)

  /// Creates a coordinator without stores.
  ///
  /// - Throws: ``ModelValidationError`` with all validation errors of the model.
  public convenience init(managedObjectModel model: ManagedObjectModel, rowCacheLimit: Int = 32 << 20) throws(ModelValidationError) {
    self.init(compiledModel: try .compiling(model), rowCacheLimit: rowCacheLimit)
  }

  package init(compiledModel: CompiledModel, rowCacheLimit: Int = 32 << 20) {
    self.compiledModel = compiledModel
    self.rowCacheLimit = rowCacheLimit
    temporarySpace = ObjectIDSpace.register(storeIdentifier: nil, model: compiledModel)
  }

  /// The model.
  public var managedObjectModel: ManagedObjectModel { compiledModel.model }

  // MARK: Store classes

  private static let storeClasses = Mutex<[StoreType: any IncrementalStore.Type]>([.inMemory: InMemoryStore.self])

  /// Registers a store class for a store type, or removes the registration if the class is nil. Applies to stores that are added later. A
  /// later registration replaces an earlier one.
  public static func registerStoreClass(_ storeClass: (any IncrementalStore.Type)?, forStoreType type: StoreType) {
    storeClasses.withLock { $0[type] = storeClass }
  }

  /// The registered store classes, by type.
  public static var registeredStoreTypes: [StoreType: any IncrementalStore.Type] { storeClasses.withLock { $0 } }

  /// Returns the class of a store type: the registered one, or else the library's own.
  package static func storeClass(of type: StoreType) -> (any IncrementalStore.Type)? { registeredStoreTypes[type] ?? type.storeClass }

  // MARK: Stores

  /// A number that changes when a store is added, removed, or replaced.
  package var storesVersion: Int { version.load(ordering: .acquiring) }

  /// The open stores, in the order in which they were added.
  public var persistentStores: [PersistentStore] { state.withLock { $0.stores } }

  /// Returns the open store at a URL, or nil if there is none.
  public func persistentStore(for url: URL) -> PersistentStore? {
    persistentStores.first { $0.url?.standardizedFileURL == url.standardizedFileURL }
  }

  /// Opens a store, or creates it if it does not exist.
  ///
  /// First, the key is obtained from the key provider, if there is one. Opening blocks the current thread for file operations, so call it
  /// from a suitable thread (``PersistentContainer`` uses a queue). A store that was written with another model is migrated, if its
  /// description allows it and its type supports it.
  /// - Throws: ``StoreError``; with the codes `migrationNeeded`, `mappingNotInferred`, `migrationConstraintViolation`, `migrationFailed`,
  ///   `storeNewerThanModel`, `cancelled`, or `modelIncompatible` if the store was written with another model and was not migrated. After
  ///   an error, the coordinator and the files are unchanged.
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
    (opened.incrementalStore as? any FileCreatingStore)?.keepFiles()
    add(opened)
    return opened
  }

  /// Opens a store without adding it. Canceling the task cancels a migration, as does the description's cancellation.
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

  /// Opens a store without adding it. If opening fails, the files that it created are removed. Otherwise the caller must keep or remove
  /// them.
  func open(_ description: PersistentStoreDescription) async throws -> PersistentStore {
    guard let storeClass = Self.storeClass(of: description.type) else { throw Self.unknownType(description) }
    guard let numbers = compiledModel.entityNumbers(inConfiguration: description.configuration) else {
      throw StoreError(.unknownConfiguration(description.configuration), operation: .open, path: description.url?.path)
    }
    if description.historyTracking == true, !(storeClass is any HistoryStore.Type) {
      throw StoreError(.historyUnsupported(type: description.type.rawValue), operation: .open, path: description.url?.path)
    }
    if description.tracksObjectIdentity == true, !(storeClass is any IdentityStore.Type) {
      throw StoreError(.identityUnsupported(type: description.type.rawValue), operation: .open, path: description.url?.path)
    }
    if !storeClass.derivesAttributes { try checkNothingDerived(numbers, description) }
    try checkFilters(numbers, description)
    if description.requiresTransformers { try checkTransformers(numbers, description) }
    let configuration = StoreConfiguration(description: description, model: compiledModel, entityNumbers: numbers)
    let store = try storeClass.init(configuration: configuration)
    (store as? any ChangeReportingStore)?.setTransactionObservers(transactionObservers)
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
      configuration: configuration, store: store, metadata: metadata, cacheLimit: rowCacheLimit, observers: observers,
      transactionObservers: transactionObservers, migrationBackupURL: backupURL)
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

  /// Closes a store that could not be opened, and removes the files that it created.
  static func abandon(_ store: any IncrementalStore, withContents: Bool = false) {
    try? store.close()
    (store as? any FileCreatingStore)?.removeCreatedFiles(withContents: withContents)
  }

  static func unknownType(_ description: PersistentStoreDescription) -> StoreError {
    StoreError(
      .unknownStoreType(description.type.rawValue, known: registeredStoreTypes.keys.map(\.rawValue)), operation: .open,
      path: description.url?.path)
  }

  /// Replaces a store by another open store. The old store is not closed.
  func exchange(_ store: PersistentStore, for opened: PersistentStore) {
    state.withLock { state in
      if let index = state.stores.firstIndex(where: { $0 === store }) { state.stores[index] = opened } else { state.stores.append(opened) }
    }
    version.add(1, ordering: .releasing)
    store.cache.removeAll()
  }

  func add(_ store: PersistentStore) {
    state.withLock { $0.stores.append(store) }
    version.add(1, ordering: .releasing)
  }

  /// Throws if a store that does not compute derived attributes would contain an entity that has one.
  private func checkNothingDerived(_ numbers: [Int], _ description: PersistentStoreDescription) throws {
    for number in numbers {
      let entity = compiledModel.entities[number]
      guard let slot = entity.slots.first(where: \.isDerived) else { continue }
      throw StoreError(
        .derivedInPlainStore(entity: entity.name, property: slot.name, type: description.type.rawValue), operation: .open,
        path: description.url?.path)
    }
  }

  /// Validates the filters of derived attributes, which the model treats as plain strings.
  private func checkFilters(_ numbers: [Int], _ description: PersistentStoreDescription) throws {
    for derivation in compiledModel.derivations where derivation.filter != nil && numbers.contains(derivation.entity) {
      do {
        _ = try DerivationFilter(of: derivation, in: compiledModel)
      } catch let problem {
        let name = compiledModel.entities[derivation.entity].name
        throw StoreError(
          .invalidFilter(entity: name, property: derivation.slot.name, problem: "\(problem)"), operation: .open,
          path: description.url?.path, underlying: problem)
      }
    }
  }

  /// Closes a store and removes it. Existing objects of the store can no longer read from it.
  ///
  /// - Throws: ``StoreError`` if an operation of the cleanup fails. The store is closed nevertheless, unless a ``TransactionObserver`` makes
  ///   the call while it is called itself.
  public func remove(_ store: PersistentStore) throws {
    try checkNotObserving(.close)
    state.withLock { $0.stores.removeAll { $0 === store } }
    version.add(1, ordering: .releasing)
    store.cache.removeAll()
    try store.incrementalStore.close()
  }

  /// Returns the object ID for a URI, or nil if the store is not open or the URI does not identify an object.
  public func managedObjectID(forURIRepresentation url: URL) -> ManagedObjectID? {
    if (url.host ?? "").isEmpty { return temporarySpace.objectID(forURI: url) }
    return persistentStores.lazy.compactMap { $0.space.objectID(forURI: url) }.first
  }

  /// Returns the open store of an ID, or nil if the ID is temporary or its store is not open.
  public func persistentStore(of objectID: ManagedObjectID) -> PersistentStore? {
    objectID.isTemporaryID ? nil : store(numbered: objectID.space)
  }

  package func store(numbered space: UInt32) -> PersistentStore? {
    state.withLock { state in
      // Fast path for a single store.
      if state.stores.count == 1, state.stores[0].space.number == space { return state.stores[0] }
      return state.stores.first { $0.space.number == space }
    }
  }

  // MARK: Changes

  /// Returns an asynchronous sequence of later changes through this coordinator, published after each commit in the order of each store's
  /// commits.
  public func changes() -> AsyncStream<ChangeSet> {
    AsyncStream { continuation in
      let number = addObserver { continuation.yield($0) }
      continuation.onTermination = { [weak self] _ in self?.removeObserver(number) }
    }
  }

  /// Adds an observer, which is called on the committing thread while the store's lock is held.
  package func addObserver(_ observer: @escaping @Sendable (ChangeSet) -> Void) -> UInt64 {
    observers.add(observer)
  }

  /// Adds a function that is called after commits in the same way, without the changes, which then need not be collected.
  package func addCommitListener(_ listener: @escaping @Sendable () -> Void) -> UInt64 { observers.add(listener: listener) }

  package func removeObserver(_ number: UInt64) { observers.remove(number) }
}

extension StoreType {
  /// Whether the class of the type is known: it is registered or the library's own.
  package var hasStoreClass: Bool { PersistentStoreCoordinator.storeClass(of: self) != nil }
}

// MARK: - Open stores

extension StoreError {
  /// Returns the error for a request while no store is open.
  package static func noOpenStore(_ operation: StoreOperation) -> StoreError {
    StoreError(.noStoreOpen, operation: operation)
  }

  /// Returns the error for an object whose store is not open.
  package static func noOpenStore(of objectID: ManagedObjectID, _ operation: StoreOperation) -> StoreError {
    return StoreError(.storeOfObjectNotOpen(objectID), operation: operation)
  }
}

extension PersistentStoreCoordinator {
  /// Throws if the current thread is inside a call of a transaction observer of this coordinator.
  package func checkNotObserving(_ operation: StoreOperation) throws(StoreError) { try transactionObservers.checkNotCalling(operation) }

  /// Throws if no store is open.
  package func checkOpen(_ operation: StoreOperation) throws(StoreError) {
    if persistentStores.isEmpty { throw .noOpenStore(operation) }
  }

  /// Returns the open store of an object.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` if the store is not open, because it is then unknown whether the object
  ///   exists.
  package func openStore(of objectID: ManagedObjectID, _ operation: StoreOperation) throws(StoreError) -> PersistentStore {
    if let store = store(numbered: objectID.space) { return store }
    throw .noOpenStore(of: objectID, operation)
  }

  /// Returns the open stores that contain objects of an entity. The result is never empty, because a request that no store can answer must
  /// not return an empty result.
  ///
  /// - Parameters:
  ///   - includesSubentities: Whether to include stores that contain only subentities.
  ///   - affectedStores: The identifiers of the requested stores, or nil for all.
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` if no store, or a requested store, is not open; with
  ///   ``StoreError/Code/entityNotInStore`` if no store contains the entity.
  package func openStores(
    holding entity: CompiledEntity, includesSubentities: Bool = true, affectedStores: [String]?, _ operation: StoreOperation
  ) throws(StoreError) -> [PersistentStore] {
    let open = persistentStores
    if open.isEmpty { throw .noOpenStore(operation) }
    if let missing = affectedStores?.first(where: { name in !open.contains { $0.identifier == name } }) {
      throw StoreError(.namedStoreNotOpen(missing), operation: operation)
    }
    let numbers = includesSubentities ? entity.subtree : entity.number..<entity.number + 1
    let holding = open.filter { store in
      (affectedStores?.contains(store.identifier) ?? true) && numbers.contains { store.entityNumbers.contains($0) }
    }
    guard holding.isEmpty else { return holding }
    throw entityNotInStore(entity, isNamed: affectedStores != nil, operation)
  }

  /// Returns the error for an entity that no open store contains.
  ///
  /// - Parameter isNamed: Whether the request names its stores.
  package func entityNotInStore(_ entity: CompiledEntity, isNamed: Bool = false, _ operation: StoreOperation) -> StoreError {
    let configurations = compiledModel.model.configurations.filter { $0.entityNames.contains(entity.name) }.map(\.name)
    return StoreError(.entityInNoOpenStore(entity.name, isNamed: isNamed, configurations: configurations), operation: operation)
  }
}

// MARK: - Adopting an open store

extension PersistentStoreCoordinator {
  /// Creates a coordinator for a store that is already open and contains all entities of the model. The caller remains responsible for
  /// closing it.
  ///
  /// - Parameter model: A model with the same entity and property numbers as the model that the store was opened with.
  package convenience init(
    adopting store: any IncrementalStore, metadata: StoreMetadata, model: CompiledModel, isReadOnly: Bool, rowCacheLimit: Int
  ) {
    self.init(compiledModel: model, rowCacheLimit: rowCacheLimit)
    var description = PersistentStoreDescription(type: StoreType(rawValue: metadata.storeType))
    description.isReadOnly = isReadOnly
    let configuration = StoreConfiguration(description: description, model: model, entityNumbers: model.entities.map(\.number))
    add(
      PersistentStore(
        configuration: configuration, store: store, metadata: metadata, cacheLimit: rowCacheLimit, observers: observers,
        transactionObservers: transactionObservers))
  }
}

// MARK: - Stores of a coordinator

/// An open store of a ``PersistentStoreCoordinator``, with its identifier, metadata, and description.
///
/// If several stores contain an entity, ``ManagedObjectContext/assign(_:to:)`` selects the store of a new object. The reference can be kept
/// and is safe to use from any thread. After the store is removed, requests throw ``StoreError`` with ``StoreError/Code/noOpenStore``.
public final class PersistentStore: Sendable {
  /// The description that the store was opened with.
  public let storeDescription: PersistentStoreDescription
  /// The UUID of the store.
  public let identifier: String
  /// The underlying store, an instance of the class that is registered for the type.
  public let incrementalStore: any IncrementalStore
  package let entityNumbers: Set<Int>
  /// The location of the backup that was made before a migration, or nil if opening the store ran no migration or no backup was requested.
  public let migrationBackupURL: URL?
  package let space: ObjectIDSpace
  /// The model that the store was opened with.
  let model: CompiledModel
  package let cache: RowCache
  /// Serializes saves and transactions. Held until the row cache and the observers have been updated, so that they see saves in the order
  /// of their commits.
  let saving = NSRecursiveLock()
  let observers: ChangeObservers
  /// The observers whose calls the coordinator makes, or nil if the store reports its changes itself.
  let reportedObservers: TransactionObservers?
  /// The changes of running transactions. Accessed with ``saving`` held.
  let uncommitted = Mutex(UncommittedChanges())
  let pinned = Mutex(PinnedGenerations())
  private let storedMetadata: Mutex<StoreMetadata>
  /// The last history transaction by others of which observers were notified, or nil if the store keeps no history.
  let lastReportedPosition = Mutex<HistoryPosition?>(nil)

  init(
    configuration: StoreConfiguration, store: any IncrementalStore, metadata: StoreMetadata, cacheLimit: Int, observers: ChangeObservers,
    transactionObservers: TransactionObservers, migrationBackupURL: URL? = nil
  ) {
    self.migrationBackupURL = migrationBackupURL
    self.observers = observers
    reportedObservers = store is any ChangeReportingStore ? nil : transactionObservers
    storeDescription = configuration.description
    identifier = metadata.storeIdentifier
    incrementalStore = store
    entityNumbers = Set(configuration.entityNumbers)
    model = configuration.model
    space = ObjectIDSpace.register(storeIdentifier: metadata.storeIdentifier, model: model)
    cache = RowCache(model: configuration.model, byteLimit: cacheLimit)
    storedMetadata = Mutex(metadata)
  }

  /// The type of the store.
  public var type: StoreType { storeDescription.type }
  /// The location of the store, or nil for stores without a file.
  public var url: URL? { storeDescription.url }
  /// Whether the store is read-only.
  public var isReadOnly: Bool { storeDescription.isReadOnly }
  /// The model configuration of the store, or nil for all entities.
  public var configurationName: String? { storeDescription.configuration }
  /// The metadata of the store.
  public var metadata: StoreMetadata {
    let metadata = storedMetadata.withLock { $0 }
    guard metadata.lineageIdentifier == nil, let store = incrementalStore as? any LineageStore,
      let lineage = try? store.lineageIdentifier()
    else { return metadata }
    return storedMetadata.withLock { metadata in
      metadata.lineageIdentifier = lineage
      return metadata
    }
  }

  /// Updates the cached metadata after the store has changed it.
  func update(_ metadata: StoreMetadata) { storedMetadata.withLock { $0 = metadata } }

  /// Replaces the application's entries in the metadata immediately.
  ///
  /// - Throws: ``StoreError`` if the metadata cannot be written.
  public func setUserMetadata(_ metadata: [String: String]) throws {
    try incrementalStore.setUserMetadata(metadata)
    storedMetadata.withLock { $0.userMetadata = metadata }
  }
}
