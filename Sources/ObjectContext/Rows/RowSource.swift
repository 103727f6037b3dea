// RowSource: where a context reads its rows, and the one place in it that asks stores and knows row caches.
import Foundation
import ObjectModel
import ObjectQuery
package import ObjectStore

/// The rows that a context's objects show: the one way from a context to stores.
///
/// It finds the store of an ID, gives each request its scope, and answers from a row cache where that is allowed. Nothing else in a context asks a
/// coordinator or a store, or knows that rows are cached, or whether what the context reads is the newest state of the stores or one that holds still.
package final class RowSource {
  let coordinator: PersistentStoreCoordinator
  /// The context that this one is nested in; nil for one over the stores.
  let parent: (any ParentSource)?
  /// The number of the context: tells its own changes from others'.
  let origin: UInt64
  /// The context's name, for the history and for messages.
  var contextName: String?
  /// Who makes the changes, for the history.
  var transactionAuthor: String?
  /// What calls off the requests of the work that is under way, where somebody can: a parent's work is that of those nested in it.
  var cancellation: RequestCancellation? {
    get { ownCancellation ?? parent?.source.cancellation }
    set { ownCancellation = newValue }
  }
  private var ownCancellation: RequestCancellation?
  /// How many seconds old a row at hand may be; any age when negative.
  var stalenessInterval: TimeInterval = -1
  /// What is read of the stores; nil for the newest state.
  // Asked for each row; a context's isolation admits one access at a time.
  @exclusivity(unchecked) private(set) var generation: ContextGeneration?
  /// How many transactions of the context are under way, one inside the other: within them it reads what they have written.
  private var transactionDepth = 0
  /// The states that hold still and are read now; nil where the newest is, as within a transaction.
  @inline(__always) var presentGeneration: ContextGeneration? {
    if let parent { return parent.source.presentGeneration }
    return transactionDepth == 0 ? generation : nil
  }
  /// The store that was asked for last, as long as the coordinator has the stores that it had.
  // Asked for each fault; a context's isolation admits one access at a time.
  @exclusivity(unchecked) private var lastStore: (version: Int, space: UInt32, store: PersistentStore)?
  /// What reads single rows of the stores that were asked for some.
  // Asked for each single row; a context's isolation admits one access at a time.
  @exclusivity(unchecked) private var readers: [(store: PersistentStore, pinned: PinnedGeneration?, reader: (any RowReader)?)] = []

  /// Is told of rows that were read or saved, by their number, where somebody follows a migration; a walk tells all that it comes to, also those whose rows are
  /// at hand. Rows that are read one by one are not told.
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

  /// The open stores, in the order they were added.
  var stores: [PersistentStore] { coordinator.persistentStores }
  /// Changes whenever a store is added or removed.
  var storesVersion: Int { coordinator.storesVersion }
  /// The number of the space of objects that were never saved.
  var temporarySpace: UInt32 { coordinator.temporarySpace.number }

  /// The open store of a space; nil when it is closed.
  func store(numbered space: UInt32) -> PersistentStore? {
    let version = coordinator.storesVersion
    if let lastStore, lastStore.version == version, lastStore.space == space { return lastStore.store }
    let store = coordinator.store(numbered: space)
    lastStore = store.map { (version, space, $0) }
    return store
  }

  /// The first open store that holds objects of an entity; nil if there is none.
  func firstStore(holding entity: CompiledEntity) -> PersistentStore? { coordinator.stores(holding: entity, affectedStores: nil).first }

  /// Whether a space's store is open.
  func hasStore(numbered space: UInt32) -> Bool {
    if let lastStore, lastStore.version == coordinator.storesVersion, lastStore.space == space { return true }
    return store(numbered: space) != nil
  }

  /// The open store of an object.
  ///
  /// - Parameter operation: What is done, for the error.
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore``.
  func openStore(of objectID: ManagedObjectID, _ operation: StoreOperation) throws(StoreError) -> PersistentStore {
    try coordinator.openStore(of: objectID, operation)
  }

  /// The open stores that hold an entity's objects: at least one.
  ///
  /// - Parameters:
  ///   - includesSubentities: Whether stores that hold only entities below it count.
  ///   - affectedStores: The identifiers of the stores that are meant; nil for all.
  ///   - operation: What is done, for the error.
  /// - Throws: ``StoreError`` with ``StoreError/Code/noOpenStore`` or ``StoreError/Code/entityNotInStore``.
  func openStores(
    holding entity: CompiledEntity, includesSubentities: Bool, affectedStores: [String]?, _ operation: StoreOperation
  ) throws(StoreError) -> [PersistentStore] {
    try coordinator.openStores(
      holding: entity, includesSubentities: includesSubentities, affectedStores: affectedStores, operation)
  }

  /// What a request to a store says of its caller.
  ///
  /// - Parameter isInterruptible: Whether it may be called off. Reads that cannot throw, such as a property's, may not: they are few rows, and must not
  ///   answer that nothing is there.
  func scope(for store: PersistentStore, isInterruptible: Bool = true) -> RequestScope {
    var scope = RequestScope(objectIDSpace: store.space, contextName: contextName, transactionAuthor: transactionAuthor)
    if isInterruptible { scope.cancellation = cancellation }
    scope.origin = origin
    return scope
  }

  // MARK: Rows at hand

  /// The row of an object if it is at hand and not too old.
  func rowAtHand(_ reference: ObjectReference, in store: PersistentStore) -> RowImage? {
    if let unsaved = unsavedRow(reference, in: store) { return unsaved.row }
    // In a state that holds still no row is too old.
    if presentGeneration != nil { return cache(of: store)?.row(reference) }
    if stalenessInterval < 0 { return store.cache.row(reference) }
    return stalenessInterval == 0 ? nil : store.cache.row(reference, notOlderThan: stalenessInterval)
  }

  /// The row of an object if it is at hand, however old.
  func knownRow(_ reference: ObjectReference, in store: PersistentStore) -> RowImage? {
    if let unsaved = unsavedRow(reference, in: store) { return unsaved.row }
    return cache(of: store)?.row(reference)
  }

  /// Whether the row of an object is at hand, however old.
  func knowsRow(_ reference: ObjectReference, in store: PersistentStore) -> Bool {
    unsavedRow(reference, in: store) != nil || cache(of: store)?.hasRow(reference) ?? false
  }

  /// Whether rows that are read stay at hand. Within a transaction they do not: only objects that are there can take them.
  func keepsRows(of store: PersistentStore) -> Bool { presentGeneration != nil || !store.cache.isSuspended }

  /// Lets go of rows at hand, so that they are read anew. In a state that holds still they would be the same.
  func forgetRows(_ references: some Sequence<ObjectReference>, in store: PersistentStore) {
    if let parent { return parent.source.forgetRows(references, in: store) }
    if presentGeneration != nil { return }
    store.cache.remove(references)
    renewReaders()
  }

  /// Lets go of the rows that a change set tells of, unless they are those that it left.
  func forgetRows(changedBy changes: ChangeSet, in store: PersistentStore) {
    if let parent { return parent.source.forgetRows(changedBy: changes, in: store) }
    if changes.source == ObjectIdentifier(store) { return }
    store.cache.remove(changes.references)
    renewReaders()
  }

  /// Lets go of all rows at hand; a pinned context goes on to the newest state.
  func forgetAllRows() {
    if let parent {
      // It is the parent that goes on.
      if presentGeneration == nil { parent.source.forgetAllRows() }
      return
    }
    if presentGeneration != nil { return advance() }
    for store in coordinator.persistentStores { store.cache.removeAll() }
    renewReaders()
  }

  // MARK: Reading

  /// The rows of objects of one store, read from it; those that are gone are missing.
  ///
  /// - Parameters:
  ///   - isInterruptible: Whether the request may be called off.
  ///   - isPassing: Whether they are a batch of very many, which would drive others out if they stayed at hand.
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

  /// The row of an object of one store, read from it; nil when it is gone.
  ///
  /// - Parameter isInterruptible: Whether the request may be called off, before it begins.
  func row(of objectID: ManagedObjectID, in store: PersistentStore, isInterruptible: Bool = false) throws -> RowImage? {
    if isInterruptible { try StoreError.inTask { try cancellation?.check() } }
    if let unsaved = unsavedRow(objectID.reference, in: store) { return unsaved.row }
    if let parent { return try parent.source.row(of: objectID, in: store) }
    let pinned = try pinned(in: store)
    // One that was pinned just now may have it from others.
    if let row = pinned?.cache.row(objectID.reference) { return row }
    if let reader = try reader(of: store, pinned) {
      return try coordinator.readRow(objectID.reference, into: pinned?.cache ?? store.cache, with: reader)
    }
    return try rows(of: [objectID], in: store, isInterruptible: isInterruptible).first { $0.key == objectID.key }
  }

  /// What reads single rows of a store; nil where the store has nothing for it.
  private func reader(of store: PersistentStore, _ pinned: PinnedGeneration?) throws -> (any RowReader)? {
    for index in readers.indices where readers[index].store === store && readers[index].pinned === pinned { return readers[index].reader }
    let open = coordinator.persistentStores
    readers.removeAll { reader in !open.contains { $0 === reader.store } }
    let made = try (store.incrementalStore as? any SingleRowStore)?.makeRowReader(of: pinned?.generation)
    readers.append((store, pinned, made))
    return made
  }

  /// Reads another state of the stores from now on; nil for the newest.
  func setGeneration(_ generation: ContextGeneration?) {
    // Nor is the former one held by who has read it.
    readers.removeAll { $0.pinned != nil }
    self.generation = generation
  }

  /// What is read from now on is what the stores have then, also where other processes have written.
  private func renewReaders() {
    for entry in readers { entry.reader?.renew() }
  }

  /// The members of a to-many relationship of several objects of one store.
  ///
  /// - Parameter isInterruptible: Whether the request may be called off.
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

  /// One store's answer to a fetch or a count.
  func fetch(_ specification: FetchSpecification, from store: PersistentStore) throws -> PersistentStoreResult {
    if let answer = try unsavedAnswer(to: specification, from: store) { return answer }
    let result = try StoreError.inTask {
      try coordinator.fetch(specification, from: store, scope: scope(for: store), pinned: try pinned(in: store))
    }
    if let rowsTouched, case .rows(let rows) = result { rowsTouched(rows.count) }
    return result
  }

  /// What a fetch of IDs finds in one store, in no order.
  func foundObjects(_ specification: FetchSpecification, in store: PersistentStore) throws -> FoundObjects {
    if case .objectIDs(let ids)? = try unsavedAnswer(to: specification, from: store) { return .ids(ids) }
    return try StoreError.inTask {
      try coordinator.foundObjects(specification, in: store, scope: scope(for: store), pinned: try pinned(in: store))
    }
  }

  /// How one store would answer a fetch.
  func explain(_ specification: FetchSpecification, from store: PersistentStore) throws -> FetchExplanation.StorePart {
    try StoreError.inTask { try coordinator.explain(specification, from: store, scope: scope(for: store)) }
  }

  /// A store for work that goes on while the context does something else.
  ///
  /// - Parameter cancellation: What calls its requests off.
  func detached(_ store: PersistentStore, cancellation: RequestCancellation) throws -> DetachedStore {
    var scope = scope(for: store)
    scope.cancellation = cancellation
    return DetachedStore(coordinator: coordinator, store: store, scope: scope, pinned: try pinned(in: store))
  }

  /// A store that is written to while the context does something else.
  func detached(forWritingTo store: PersistentStore) -> DetachedStore {
    DetachedStore(coordinator: coordinator, store: store, scope: scope(for: store), pinned: nil)
  }

  /// The states of stores: numbers that change with each save through the coordinator, or, of a pinned context, with what it reads.
  func states(of stores: [PersistentStore]) throws -> [Int] {
    try stores.map { store in try pinned(in: store).map { -$0.number } ?? store.cache.generation }
  }

  // MARK: Writing

  /// Permanent IDs for new objects of one store, as many and in the same order.
  func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in store: PersistentStore) throws -> [ManagedObjectID] {
    let ids = try StoreError.inTask { try store.incrementalStore.obtainPermanentIDs(for: objectIDs, in: scope(for: store)) }
    guard ids.count == objectIDs.count else {
      throw StoreError(.wrongNumberOfIDs(given: ids.count, asked: objectIDs.count), operation: .obtainPermanentIDs)
    }
    return ids
  }

  /// Saves to one store, or to the parent.
  ///
  /// - Returns: What was written beside what the request says.
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

  /// Runs requests as one transaction of each open store. A pinned context reads the transaction within, and the newest state afterwards.
  func performTransaction(_ body: () throws -> Void) throws {
    transactionDepth += 1
    defer {
      transactionDepth -= 1
      advance()
    }
    try StoreError.inTask { try coordinator.performTransaction(body) }
  }

  /// A writer for large values of the store that an object is in, or will be saved to.
  func makeExternalDataWriter(for objectID: ManagedObjectID, of entity: CompiledEntity) throws -> ExternalDataWriter {
    let store =
      coordinator.store(numbered: objectID.space)
      ?? coordinator.stores(holding: entity, affectedStores: nil).first { !$0.isReadOnly }
    return try store?.incrementalStore.makeExternalDataWriter() ?? ExternalDataWriter()
  }

  // MARK: Batch requests

  /// Inserts the rows of a batch into the first store that holds the entity.
  ///
  /// - Parameter done: Is told what was written.
  func execute(_ request: BatchInsertRequest, entityName: String, done: (BatchOutcome) -> Void) throws {
    try StoreError.inTask { try coordinator.execute(request, entityName: entityName, scope: { scope(for: $0) }, done: done) }
  }

  /// Runs a batch update in each store that holds the entity.
  ///
  /// - Parameter done: Is told what was written, store by store, also where a later store fails.
  func execute(_ request: BatchUpdateRequest, done: (BatchOutcome) -> Void) throws {
    try StoreError.inTask { try coordinator.execute(request, scope: { scope(for: $0) }, done: done) }
  }

  /// Runs a batch deletion in each store that holds objects concerned.
  ///
  /// - Parameter done: Is told what was written, store by store, also where a later store fails.
  func execute(_ request: BatchDeleteRequest, done: (BatchOutcome) -> Void) throws {
    try StoreError.inTask { try coordinator.execute(request, scope: { scope(for: $0) }, done: done) }
  }

  /// What was written behind a place in the histories of the stores.
  func changeSets(afterHistory token: PersistentHistoryToken?) throws -> (changes: [ChangeSet], token: PersistentHistoryToken?) {
    try StoreError.inTask { try coordinator.changeSets(afterHistory: token, cancellation: cancellation) }
  }

  /// Answers a request for histories.
  func execute(_ request: PersistentHistoryChangeRequest) throws -> PersistentHistoryResult {
    try StoreError.inTask { try coordinator.execute(request, cancellation: cancellation) }
  }

  /// The entity of a name and the store that new rows of it go to.
  ///
  /// - Throws: ``StoreError`` where there is none, or it is only read.
  func storeForInsertion(of entityName: String) throws -> (entity: CompiledEntity, store: PersistentStore) {
    try coordinator.storeForInsertion(of: entityName, affectedStores: nil)
  }

  /// Collects what others change from now on.
  ///
  /// - Parameter wake: Called, on any thread, when there is something in it.
  func makeInbox(wake: (@Sendable () -> Void)?) -> ChangeInbox {
    // A nested context is told by its parent.
    parent == nil ? ChangeInbox(coordinator, except: origin, wake: wake) : ChangeInbox(wake: wake)
  }

  // MARK: Notices

  /// Whether a store wants to hear of the objects that contexts register.
  func wantsNotices(_ store: PersistentStore) -> Bool { store.incrementalStore.wantsRegistrationNotices }

  /// Tells a store of registered objects.
  func noteRegistered(_ objectIDs: [ManagedObjectID], in store: PersistentStore) {
    store.incrementalStore.managedObjectContextDidRegisterObjects(with: objectIDs)
  }

  /// Tells a store of objects that were forgotten.
  func noteUnregistered(_ objectIDs: [ManagedObjectID], in store: PersistentStore) {
    store.incrementalStore.managedObjectContextDidUnregisterObjects(with: objectIDs)
  }
}
