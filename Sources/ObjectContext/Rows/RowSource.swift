import Foundation
import ObjectModel
import ObjectQuery
package import ObjectStore

/// The source of the rows of a context, and its only access to the stores.
///
/// It finds the store of an ID, assigns a scope to each request, and reads from a row cache where allowed. No other part of a context uses
/// a coordinator, a store or a row cache, or distinguishes the newest state from a pinned one.
package final class RowSource {
  let coordinator: PersistentStoreCoordinator
  /// The parent context; nil for a context directly above the stores.
  let parent: (any ParentSource)?
  /// The number of the context, which identifies its own changes.
  let origin: UInt64
  /// The context's name, for the history and error messages.
  var contextName: String?
  /// The author of the changes, for the history.
  var transactionAuthor: String?
  /// The source of the changes, for the history.
  var changeSource = ChangeSource.application
  /// The cancellation of the requests of the current operation, if it can be canceled. Nested contexts inherit the parent's.
  var cancellation: RequestCancellation? {
    get { ownCancellation ?? parent?.source.cancellation }
    set { ownCancellation = newValue }
  }
  private var ownCancellation: RequestCancellation?
  /// The maximum age of a cached row in seconds; negative for no limit.
  var stalenessInterval: TimeInterval = -1
  /// The pinned states; nil for the newest state.
  // Accessed for each row; the context's isolation admits one access at a time.
  @exclusivity(unchecked) private(set) var generation: ContextGeneration?
  /// The nesting depth of the context's open transactions. Reads within a transaction see its writes.
  private var transactionDepth = 0
  /// The pinned states in effect; nil if the newest state is read, as within a transaction.
  @inline(__always) var presentGeneration: ContextGeneration? {
    if let parent { return parent.source.presentGeneration }
    return transactionDepth == 0 ? generation : nil
  }
  /// The most recently used store; valid while the coordinator's list of stores is unchanged.
  // Accessed for each fault; the context's isolation admits one access at a time.
  @exclusivity(unchecked) private var lastStore: (version: Int, space: UInt32, store: PersistentStore)?
  /// Cached readers of single rows, per store and pinned state.
  // Accessed for each single row; the context's isolation admits one access at a time.
  @exclusivity(unchecked) private var readers: [(store: PersistentStore, pinned: PinnedGeneration?, reader: (any RowReader)?)] = []

  /// Called with the number of rows that were read or saved; reports the progress of a migration. Walks report every object they visit,
  /// including those with cached rows. Single-row reads are not reported.
  var rowsTouched: ((Int) -> Void)?

  package convenience init(_ coordinator: PersistentStoreCoordinator, origin: UInt64) {
    self.init(coordinator, origin: origin, parent: nil)
  }

  init(_ coordinator: PersistentStoreCoordinator, origin: UInt64, parent: (any ParentSource)?) {
    self.coordinator = coordinator
    self.origin = origin
    self.parent = parent
  }

  // MARK: Stores

  /// The open stores, in the order in which they were added.
  var stores: [PersistentStore] { coordinator.persistentStores }
  /// A number that changes when a store is added or removed.
  var storesVersion: Int { coordinator.storesVersion }
  /// The number of the ID space of objects that were never saved.
  var temporarySpace: UInt32 { coordinator.temporarySpace.number }

  /// Returns the open store of a space; nil if it is closed.
  func store(numbered space: UInt32) -> PersistentStore? {
    let version = coordinator.storesVersion
    if let lastStore, lastStore.version == version, lastStore.space == space { return lastStore.store }
    let store = coordinator.store(numbered: space)
    lastStore = store.map { (version, space, $0) }
    return store
  }

  /// Returns the first open store that holds objects of an entity; nil if there is none.
  func firstStore(holding entity: CompiledEntity) -> PersistentStore? { coordinator.stores(holding: entity, affectedStores: nil).first }

  func hasStore(numbered space: UInt32) -> Bool {
    if let lastStore, lastStore.version == coordinator.storesVersion, lastStore.space == space { return true }
    return store(numbered: space) != nil
  }

  /// Returns the open store of an object.
  ///
  /// - Parameter operation: The operation to report in the error.
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore``.
  func openStore(of objectID: ManagedObjectID, _ operation: StoreOperation) throws(StoreError) -> PersistentStore {
    try coordinator.openStore(of: objectID, operation)
  }

  /// Returns the open stores that hold objects of an entity: at least one.
  ///
  /// - Parameters:
  ///   - includesSubentities: Whether to include stores that hold only subentities of the entity.
  ///   - affectedStores: The identifiers of the stores to use; nil for all.
  ///   - operation: The operation to report in the error.
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` or ``StoreError/Code/entityNotInStore``.
  func openStores(
    holding entity: CompiledEntity, includesSubentities: Bool, affectedStores: [String]?, _ operation: StoreOperation
  ) throws(StoreError) -> [PersistentStore] {
    try coordinator.openStores(
      holding: entity, includesSubentities: includesSubentities, affectedStores: affectedStores, operation)
  }

  /// Returns the scope of a request to a store.
  ///
  /// - Parameter isInterruptible: Whether the request can be canceled. False for reads that cannot throw, such as property reads: they read
  ///   few rows and must not report missing objects.
  func scope(for store: PersistentStore, isInterruptible: Bool = true) -> RequestScope {
    var scope = RequestScope(objectIDSpace: store.space, contextName: contextName, transactionAuthor: transactionAuthor)
    if isInterruptible { scope.cancellation = cancellation }
    scope.changeSource = changeSource
    scope.origin = origin
    return scope
  }

  // MARK: Cached rows

  /// Returns the cached row of an object unless it is stale.
  func cachedRow(_ reference: ObjectReference, in store: PersistentStore) -> RowImage? {
    if let unsaved = unsavedRow(reference, in: store) { return unsaved.row }
    // Rows of a pinned state do not become stale.
    if presentGeneration != nil { return cache(of: store)?.row(reference) }
    if stalenessInterval < 0 { return store.cache.row(reference) }
    return stalenessInterval == 0 ? nil : store.cache.row(reference, notOlderThan: stalenessInterval)
  }

  /// Returns the cached row of an object, even if it is stale.
  func loadedRow(_ reference: ObjectReference, in store: PersistentStore) -> RowImage? {
    if let unsaved = unsavedRow(reference, in: store) { return unsaved.row }
    return cache(of: store)?.row(reference)
  }

  /// Returns whether the row of an object is cached, even if it is stale.
  func hasCachedRow(_ reference: ObjectReference, in store: PersistentStore) -> Bool {
    unsavedRow(reference, in: store) != nil || cache(of: store)?.hasRow(reference) ?? false
  }

  /// Returns whether rows that are read enter the cache. Within a transaction they do not; only registered objects can receive them.
  func keepsRows(of store: PersistentStore) -> Bool { presentGeneration != nil || !store.cache.isSuspended }

  /// Removes rows from the cache, so that the next access reads them from the store. Does nothing for a pinned state, whose rows cannot
  /// change.
  func forgetRows(_ references: some Sequence<ObjectReference>, in store: PersistentStore) {
    if let parent { return parent.source.forgetRows(references, in: store) }
    if presentGeneration != nil { return }
    store.cache.remove(references)
    renewReaders()
  }

  /// Removes the rows of a change set from the cache, unless they are the rows that the change set wrote.
  func forgetRows(changedBy changes: ChangeSet, in store: PersistentStore) {
    if let parent { return parent.source.forgetRows(changedBy: changes, in: store) }
    if changes.source == ObjectIdentifier(store) { return }
    store.cache.remove(changes)
    renewReaders()
  }

  /// Removes all rows from the caches. A pinned context advances to the newest state instead.
  func forgetAllRows() {
    if let parent {
      // A pinned parent advances only by itself.
      if presentGeneration == nil { parent.source.forgetAllRows() }
      return
    }
    if presentGeneration != nil { return advance() }
    for store in coordinator.persistentStores { store.cache.removeAll() }
    renewReaders()
  }

  // MARK: Reading

  /// Reads rows of objects from one store. The result omits objects that do not exist.
  ///
  /// - Parameters:
  ///   - isInterruptible: Whether the request can be canceled.
  ///   - isPassing: Whether the rows are a batch of a large result, which would evict other rows from the cache.
  func rows(
    of objectIDs: [ManagedObjectID], in store: PersistentStore, isInterruptible: Bool = true, isPassing: Bool = false
  ) throws -> RowList {
    let rows = try withUnsavedRows(of: objectIDs, in: store) { ids in
      try StoreError.inTask {
        try coordinator.readRows(
          of: ids, from: store, scope: scope(for: store, isInterruptible: isInterruptible), isPassing: isPassing,
          pinned: try pinned(in: store))
      }
    }
    if !isPassing { rowsTouched?(rows.count) }
    return rows
  }

  /// Reads the row of an object from one store; nil if it does not exist.
  ///
  /// - Parameter isInterruptible: Whether the request can be canceled before it begins.
  func row(of objectID: ManagedObjectID, in store: PersistentStore, isInterruptible: Bool = false) throws -> RowImage? {
    if isInterruptible { try StoreError.inTask { try cancellation?.check() } }
    if let unsaved = unsavedRow(objectID.reference, in: store) { return unsaved.row }
    if let parent { return try parent.source.row(of: objectID, in: store) }
    let pinned = try pinned(in: store)
    // A newly pinned state may share a cache that already holds the row.
    if let row = pinned?.cache.row(objectID.reference) { return row }
    if let reader = try reader(of: store, pinned) {
      return try coordinator.readRow(objectID.reference, into: pinned?.cache ?? store.cache, with: reader)
    }
    return try rows(of: [objectID], in: store, isInterruptible: isInterruptible).first { $0.key == objectID.key }
  }

  /// Returns a cached or new reader of single rows of a store; nil if the store does not support it.
  private func reader(of store: PersistentStore, _ pinned: PinnedGeneration?) throws -> (any RowReader)? {
    for index in readers.indices where readers[index].store === store && readers[index].pinned === pinned { return readers[index].reader }
    let open = coordinator.persistentStores
    readers.removeAll { reader in !open.contains { $0 === reader.store } }
    let made = try (store.incrementalStore as? any SingleRowStore)?.makeRowReader(of: pinned?.generation)
    readers.append((store, pinned, made))
    return made
  }

  /// Sets the pinned states; nil for the newest.
  func setGeneration(_ generation: ContextGeneration?) {
    // Readers of the previous states would keep them alive.
    readers.removeAll { $0.pinned != nil }
    self.generation = generation
  }

  /// Makes later single-row reads see the current content of the stores, including writes of other processes.
  private func renewReaders() {
    for entry in readers { entry.reader?.renew() }
  }

  /// Reads the members of a to-many relationship of several objects of one store.
  ///
  /// - Parameter isInterruptible: Whether the request can be canceled.
  func members(
    of relationship: CompiledRelationship, for objectIDs: [ManagedObjectID], in store: PersistentStore, isInterruptible: Bool = true
  ) throws -> RelationshipValues {
    var scope = scope(for: store, isInterruptible: isInterruptible)
    try StoreError.inTask { try scope.cancellation?.check() }
    if let pinned = try pinned(in: store) { scope.generation = pinned.generation }
    return try withUnsavedMembers(of: relationship, for: objectIDs, in: store) { ids in
      try StoreError.inTask { try store.incrementalStore.newValues(forRelationship: relationship, forObjectsWith: ids, in: scope) }
    }
  }

  func fetch(_ specification: FetchSpecification, from store: PersistentStore) throws -> PersistentStoreResult {
    if let answer = try unsavedResult(to: specification, from: store) { return answer }
    let result = try StoreError.inTask {
      try coordinator.fetch(specification, from: store, scope: scope(for: store), pinned: try pinned(in: store))
    }
    if let rowsTouched, case .rows(let rows) = result { rowsTouched(rows.count) }
    return result
  }

  /// Executes a fetch of IDs in one store. The result is unordered.
  func fetchedIDs(_ specification: FetchSpecification, in store: PersistentStore) throws -> FetchedIDs {
    if case .objectIDs(let ids)? = try unsavedResult(to: specification, from: store) { return .ids(ids) }
    return try StoreError.inTask {
      try coordinator.fetchedIDs(specification, in: store, scope: scope(for: store), pinned: try pinned(in: store))
    }
  }

  /// Returns the plan of a fetch from one store.
  func explain(_ specification: FetchSpecification, from store: PersistentStore) throws -> FetchExplanation.StorePart {
    try StoreError.inTask { try coordinator.explain(specification, from: store, scope: scope(for: store)) }
  }

  /// Returns a store for reads that run while the context continues.
  ///
  /// - Parameter cancellation: The cancellation of its requests.
  func detached(_ store: PersistentStore, cancellation: RequestCancellation) throws -> DetachedStore {
    var scope = scope(for: store)
    scope.cancellation = cancellation
    return DetachedStore(coordinator: coordinator, store: store, scope: scope, pinned: try pinned(in: store))
  }

  /// Returns a store for writes that run while the context continues.
  func detached(forWritingTo store: PersistentStore) -> DetachedStore {
    DetachedStore(coordinator: coordinator, store: store, scope: scope(for: store), pinned: nil)
  }

  /// Returns the state numbers of stores. They change with each save through the coordinator, or, in a pinned context, with the pinned
  /// state.
  func states(of stores: [PersistentStore]) throws -> [Int] {
    try stores.map { store in try pinned(in: store).map { -$0.number } ?? store.cache.generation }
  }

  // MARK: Writing

  /// Returns permanent IDs for new objects of one store, in the same number and order.
  func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in store: PersistentStore) throws -> [ManagedObjectID] {
    let ids = try StoreError.inTask { try store.incrementalStore.obtainPermanentIDs(for: objectIDs, in: scope(for: store)) }
    guard ids.count == objectIDs.count else {
      throw StoreError(.wrongNumberOfIDs(given: ids.count, asked: objectIDs.count), operation: .obtainPermanentIDs)
    }
    return ids
  }

  /// Saves to one store, or to the parent.
  ///
  /// - Returns: What was written in addition to the content of the request.
  func save(_ request: SaveChangesRequest, to store: PersistentStore) throws -> SaveOutcome {
    let scope = scope(for: store)
    if let parent {
      try StoreError.inTask { try scope.cancellation?.check(.save) }
      return try parent.save(request, to: store, scope: scope)
    }
    let outcome = try StoreError.inTask { try coordinator.save(request, to: store, scope: scope) }
    rowsTouched?(request.inserted.count + request.updated.count + request.deleted.count)
    return outcome
  }

  /// Runs requests in one transaction per open store. A pinned context reads the transaction's writes within it, and the newest state
  /// afterwards.
  func performTransaction(_ body: () throws -> Void) throws {
    transactionDepth += 1
    defer {
      transactionDepth -= 1
      advance()
    }
    try StoreError.inTask { try coordinator.performTransaction(body) }
  }

  /// Throws if the current thread is inside a call of a transaction observer.
  func checkNotObserving(_ operation: StoreOperation) throws { try coordinator.checkNotObserving(operation) }

  /// Runs saves to several stores in one transaction for each of them; see ``PersistentStoreCoordinator/performTogether(in:committed:_:)``.
  func performTogether(
    in stores: [PersistentStore], committed: (PersistentStore) -> Void, _ body: () throws -> Void
  ) throws -> Bool {
    if parent != nil || transactionDepth > 0 { return false }
    transactionDepth += 1
    defer { transactionDepth -= 1 }
    return try StoreError.inTask { try coordinator.performTogether(in: stores, committed: committed, body) }
  }

  /// Returns a writer for large values of the store that an object is in or will be saved to.
  func makeExternalDataWriter(for objectID: ManagedObjectID, of entity: CompiledEntity) throws -> ExternalDataWriter {
    let store =
      coordinator.store(numbered: objectID.space)
      ?? coordinator.stores(holding: entity, affectedStores: nil).first { !$0.isReadOnly }
    return try store?.incrementalStore.makeExternalDataWriter() ?? ExternalDataWriter()
  }

  // MARK: Batch requests

  /// Inserts the rows of a batch into the first store that holds the entity.
  ///
  /// - Parameter done: Called with the outcome.
  func execute(_ request: BatchInsertRequest, entityName: String, done: (BatchResult, [ChangeSet]) -> Void) throws {
    try StoreError.inTask { try coordinator.execute(request, entityName: entityName, scope: { scope(for: $0) }, done: done) }
  }

  /// Runs a batch update in each store that holds the entity.
  ///
  /// - Parameter done: Called with the outcome of each store, even if a later store fails.
  func execute(_ request: BatchUpdateRequest, done: (BatchResult, [ChangeSet]) -> Void) throws {
    try StoreError.inTask { try coordinator.execute(request, scope: { scope(for: $0) }, done: done) }
  }

  /// Runs a batch deletion in each store that holds affected objects.
  ///
  /// - Parameter done: Called with the outcome of each store, even if a later store fails.
  func execute(_ request: BatchDeleteRequest, done: (BatchResult, [ChangeSet]) -> Void) throws {
    try StoreError.inTask { try coordinator.execute(request, scope: { scope(for: $0) }, done: done) }
  }

  /// Returns the changes after a position in the histories of the stores.
  func changeSets(afterHistory token: PersistentHistoryToken?) throws -> (changes: [ChangeSet], token: PersistentHistoryToken?) {
    try StoreError.inTask { try coordinator.changeSets(afterHistory: token, cancellation: cancellation) }
  }

  func execute(_ request: PersistentHistoryChangeRequest) throws -> PersistentHistoryResult {
    try StoreError.inTask { try coordinator.execute(request, cancellation: cancellation) }
  }

  /// Returns the entity with a name, and the store for its new rows.
  ///
  /// - Throws: ``StoreError`` if there is no such store, or if it is read-only.
  func storeForInsertion(of entityName: String) throws -> (entity: CompiledEntity, store: PersistentStore) {
    try coordinator.storeForInsertion(of: entityName, affectedStores: nil)
  }

  /// Returns an inbox that collects changes of other contexts from now on.
  ///
  /// - Parameter scheduleMerge: Called on any thread when the inbox receives changes.
  func makeInbox(scheduleMerge: (@Sendable () -> Void)?) -> ChangeInbox {
    // A nested context receives changes from its parent.
    parent == nil ? ChangeInbox(coordinator, except: origin, scheduleMerge: scheduleMerge) : ChangeInbox(scheduleMerge: scheduleMerge)
  }

  // MARK: Registration notices

  /// Returns whether a store observes registration of objects.
  func observesRegistration(_ store: PersistentStore) -> Bool { store.incrementalStore.observesRegistration }

  func didRegister(_ objectIDs: [ManagedObjectID], in store: PersistentStore) {
    store.incrementalStore.managedObjectContextDidRegisterObjects(with: objectIDs)
  }

  func didUnregister(_ objectIDs: [ManagedObjectID], in store: PersistentStore) {
    store.incrementalStore.managedObjectContextDidUnregisterObjects(with: objectIDs)
  }
}

// MARK: - Stable IDs

extension RowSource {
  func stableIDs(of objectIDs: [ManagedObjectID]) throws -> [UUID?] { try coordinator.stableIDs(of: objectIDs) }

  var hasStableIDs: Bool {
    get throws {
      try coordinator.persistentStores.allSatisfy { try ($0.incrementalStore as? any IdentityStore)?.tracksObjectIdentity() ?? false }
    }
  }

  func setStableIDs(_ ids: [(objectID: ManagedObjectID, id: UUID)]) throws {
    for (space, ids) in Dictionary(grouping: ids, by: { $0.objectID.space }) {
      if let store = store(numbered: space) { try coordinator.setStableIDs(ids, in: store) }
    }
  }

  func objectID(forStableID id: UUID) throws -> ManagedObjectID? { try coordinator.objectID(forStableID: id) }
}
