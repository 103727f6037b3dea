import Foundation
public import ObjectModel
public import ObjectStore
public import ObjectQuery
import SQLCipherConnection
import StoreFiles
import Synchronization

/// A store in a database encrypted with SQLCipher.
///
/// Its type is ``StoreType/sqlcipher``. Its description contains the options for opening, such as `key` and `durability`.
public final class SQLCipherIncrementalStore: IncrementalStore {
  let configuration: StoreConfiguration
  let path: String

  struct State {
    var keyring: StoreKeyring?
    /// The files that opening created, until they are kept or removed.
    var newStore: NewStore?
    var engine: StoreEngine?
    var record: StoreRecord?
    var watch: RemoteCommitWatch?
    /// Records this process as a holder while the store is open.
    var holder: StoreHolder?
    /// The observers of the store's transactions, set before it is opened.
    var observers: TransactionObservers?
  }
  let state = Mutex(State())

  /// True: triggers mark the derived values that a save or batch request affects, and these are computed before the commit.
  public static var derivesAttributes: Bool { true }

  /// True: each query generation has its own connection with an open read transaction.
  public static var hasQueryGenerations: Bool { true }

  /// The properties that descriptions of encrypted stores have, by name.
  public static var settings: [StoreSetting] {
    [
      StoreSetting("key", \.key), StoreSetting("durability", \.durability), StoreSetting("enforcesForeignKeys", \.enforcesForeignKeys),
      StoreSetting("cacheSize", \.cacheSize), StoreSetting("busyTimeout", \.busyTimeout),
      StoreSetting("maximumReaderCount", \.maximumReaderCount), StoreSetting("format", \.format),
      StoreSetting("keyWorkLimit", \.keyWorkLimit), StoreSetting("keyLabel", \.keyLabel),
      StoreSetting("externalStorageThreshold", \.externalStorageThreshold), StoreSetting("logLimit", \.logLimit),
      StoreSetting("generationLogLimit", \.generationLogLimit),
    ]
  }

  /// Creates a store without opening it.
  ///
  /// - Throws: ``StoreError`` if the description has no file URL.
  public init(configuration: StoreConfiguration) throws {
    self.configuration = configuration
    guard let url = configuration.description.url, url.isFileURL else {
      throw StoreError(.storeWithoutFile, operation: .open)
    }
    path = StoreFile.place(of: url.path)
  }

  /// Creates a store that uses an existing engine, which it does not own.
  init(engine: StoreEngine, configuration: StoreConfiguration) {
    self.configuration = configuration
    path = engine.path
    state.withLock { $0.engine = engine }
  }

  var observers: TransactionObservers? { state.withLock { $0.observers } }

  func engine(_ operation: StoreOperation) throws -> StoreEngine {
    guard let engine = state.withLock({ $0.engine }) else {
      throw StoreError(.storeClosed, operation: operation, path: path)
    }
    return engine
  }

  // MARK: Requests

  /// Executes a request.
  ///
  /// - Throws: ``StoreError`` for errors of the database, ``FetchPredicateError`` for predicates that are not supported.
  public func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult {
    switch request {
    case .fetch(let specification):
      let engine = try engine(.fetch)
      return try StoreError.mapping { try engine.fetch(specification, in: scope) }
    case .save(let changes):
      let engine = try writableEngine(.save)
      return .saved(try StoreError.mapping { try engine.save(changes, in: scope) })
    case .batchInsert(let insertion):
      let engine = try writableEngine(.batchInsert)
      return try batch(request, scope) { try engine.execute(insertion, in: $0) }
    case .batchUpdate(let update):
      let engine = try writableEngine(.batchUpdate)
      return try batch(request, scope) { try engine.execute(update, in: $0) }
    case .batchDelete(let deletion):
      let engine = try writableEngine(.batchDelete)
      return try batch(request, scope) { try engine.execute(deletion, in: $0) }
    }
  }

  private func batch(
    _ request: PersistentStoreRequest, _ scope: RequestScope, _ body: (RequestScope) throws -> BatchChanges
  ) throws -> PersistentStoreResult {
    .batch(try scope.executingBatch(request, of: configuration.model) { scope in try StoreError.mapping { try body(scope) } })
  }

  func writableEngine(_ operation: StoreOperation) throws -> StoreEngine {
    let engine = try engine(operation)
    try observers?.checkNotCalling(operation)
    if configuration.description.isReadOnly {
      throw StoreError(.readOnlyStore, operation: operation, path: path)
    }
    return engine
  }

  /// Returns how a fetch would be executed: its statements, SQLite's plan for each of them, and which index would help.
  ///
  /// - Throws: ``FetchPredicateError`` for predicates that are not supported, ``StoreError`` for errors of the database.
  public func explain(_ specification: FetchSpecification, in scope: RequestScope) throws -> FetchExplanation.StorePart {
    let engine = try engine(.fetch)
    return try StoreError.mapping { try engine.explain(specification, in: scope) }
  }

  /// Returns the rows of objects, with one statement for one object and few for many.
  ///
  /// - Throws: ``StoreError`` if the rows cannot be read.
  public func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList {
    guard !objectIDs.isEmpty else { return RowList() }
    let engine = try engine(.read)
    return try StoreError.mapping {
      try engine.rows(of: objectIDs, cancellation: scope.cancellation, from: try engine.generation(of: scope))
    }
  }

  /// Returns the members of a to-many relationship of objects, with one statement for up to 500 objects.
  ///
  /// - Parameters:
  ///   - relationship: The relationship.
  ///   - objectIDs: The source objects.
  ///   - scope: The scope of the request.
  /// - Throws: ``StoreError`` if the members cannot be read.
  public func newValues(
    forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
  ) throws -> RelationshipValues {
    let engine = try engine(.read)
    return try StoreError.mapping {
      try engine.members(
        of: relationship, ofObjectsWith: objectIDs, cancellation: scope.cancellation, from: try engine.generation(of: scope))
    }
  }

  /// Returns the current state of the store as a snapshot that stays open. A new one opens a connection, unless an ended one left its own
  /// for reuse.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func currentGeneration(in scope: RequestScope) throws -> any StoreGeneration {
    let engine = try engine(.pin)
    return try StoreError.mapping { try engine.currentGeneration() }
  }

  /// Returns permanent IDs. Their keys come from reserved blocks; a new block is reserved when one is used up.
  ///
  /// - Throws: ``StoreError`` if the key counters cannot be written.
  public func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] {
    let engine = try engine(.obtainPermanentIDs)
    try observers?.checkNotCalling(.obtainPermanentIDs)
    return try StoreError.mapping {
      // Objects of an entity are usually contiguous.
      var (entity, table): (UInt32?, Int) = (nil, 0)
      func tableIndex(_ id: ManagedObjectID) throws -> Int {
        if id.entityNumber != entity {
          table = try engine.schema.table(of: Int(id.entityNumber)).index
          entity = id.entityNumber
        }
        return table
      }
      var counts = [Int](repeating: 0, count: engine.schema.tables.count)
      for id in objectIDs { counts[try tableIndex(id)] += 1 }
      let keys = try counts.indices.map { counts[$0] == 0 ? [] : try engine.newKeys(counts[$0], for: engine.schema.tables[$0]) }
      var taken = [Int](repeating: 0, count: counts.count)
      return try objectIDs.map { id in
        let table = try tableIndex(id)
        guard taken[table] < keys[table].count else {
          throw StoreError(.fewerKeys, operation: .obtainPermanentIDs)
        }
        defer { taken[table] += 1 }
        return ManagedObjectID(space: scope.objectIDSpace.number, entityNumber: id.entityNumber, key: keys[table][taken[table]])
      }
    }
  }

  /// Replaces the application's metadata.
  ///
  /// - Throws: ``StoreError`` if the metadata cannot be written.
  public func setUserMetadata(_ metadata: [String: String]) throws {
    let engine = try engine(.setMetadata)
    try observers?.checkNotCalling(.setMetadata)
    if configuration.description.isReadOnly {
      throw StoreError(.readOnlyStore, operation: .setMetadata, path: path)
    }
    try StoreError.mapping { try engine.write { try MetadataTable.writeUserMetadata(metadata, $0.connection) } }
  }

  /// Runs the saves and fetches of the body as one transaction. The body must not wait for a save of another thread or task.
  ///
  /// - Throws: Any error of the body; ``StoreError`` if the transaction cannot be begun or committed.
  public func performTransaction(_ body: () throws -> Void) throws {
    let engine = try engine(.transaction)
    try observers?.checkNotCalling(.transaction)
    try StoreError.mapping { try engine.transaction(body) }
  }

  /// True: large values are stored in files if their attribute allows it.
  public var acceptsExternalData: Bool { true }

  /// Returns a writer that collects a value in chunks: in an encrypted file, or in memory if no attribute of the store has external
  /// storage.
  ///
  /// - Throws: ``StoreError`` if no file can be written.
  public func makeExternalDataWriter() throws -> ExternalDataWriter {
    guard let externals = try writableEngine(.writeLargeValue).externals else { return ExternalDataWriter() }
    return try externals.makeWriter()
  }

  /// Begins to report commits of other processes and coordinators. Nothing runs while there are no writes.
  ///
  /// An empty file is created next to the store, which every writer touches after its commits. If it cannot be created, events of the log
  /// are used instead.
  /// - Throws: ``StoreError`` with ``StoreError/Code/remoteChangesUnavailable`` if the system has no more watches, or the store is read
  ///   without locks; with ``StoreError/Code/unsupported`` on systems without inotify.
  public func observeRemoteCommits(_ observer: @escaping @Sendable () -> Void) throws {
    let engine = try engine(.watch)
    let watch = try StoreError.mapping { try RemoteCommitWatch.begin(engine.pool, observer) }
    let previous = state.withLock { state in
      defer { state.watch = watch }
      return state.watch
    }
    previous?.end()
  }

  /// Closes all connections and wipes the keys.
  ///
  /// - Throws: ``StoreError`` if cleanup failed. The store is closed in any case.
  public func close() throws {
    let (engine, watch) = state.withLock { state in
      defer { state = State(newStore: state.newStore, observers: state.observers) }
      return (state.engine, state.watch)
    }
    // End the snapshots first; their locks would prevent the removal of files.
    (try? engine?.pool)?.endHeldSnapshots()
    watch?.end()
    engine?.externals?.removeWaiting()
    try? engine?.pool.close()
  }
}

extension SQLCipherIncrementalStore: ChangeReportingStore {
  package func setTransactionObservers(_ observers: TransactionObservers) { state.withLock { $0.observers = observers } }

  package func askObserversOfTransaction() throws { try state.withLock(\.engine)?.askObserversOfTransaction() }
}
