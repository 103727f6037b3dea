import Foundation
public import ObjectModel
public import ObjectStore
public import ObjectQuery
import SQLCipherConnection
import StoreFiles
import Synchronization

/// A store in a database encrypted with SQLCipher.
///
/// Its type is ``StoreType/sqlcipher``; its description says what it is opened with (`key`, `durability` and so on).
public final class SQLCipherIncrementalStore: IncrementalStore {
  let configuration: StoreConfiguration
  let path: String

  struct State {
    var keyring: StoreKeyring?
    /// The files that opening has made, until they are kept or taken back.
    var newStore: NewStore?
    var engine: StoreEngine?
    var record: StoreRecord?
    var watch: RemoteCommitWatch?
    /// There while the store is open.
    var holder: StoreHolder?
  }
  let state = Mutex(State())

  /// True: triggers note which derived values a save or batch request concerns, and they are computed before it is committed.
  public static var derivesAttributes: Bool { true }

  /// True: each has a connection of its own, whose read transaction stays open.
  public static var hasQueryGenerations: Bool { true }

  /// The properties that a description has for encrypted stores, by their names.
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

  /// Keeps the configuration; nothing is opened.
  ///
  /// - Throws: ``StoreError`` where the description names no file.
  public init(configuration: StoreConfiguration) throws {
    self.configuration = configuration
    guard let url = configuration.description.url, url.isFileURL else {
      throw StoreError(.misuse(.storeWithoutFile), operation: .open)
    }
    path = StoreFile.place(of: url.path)
  }

  /// A store over an engine that is somebody else's.
  init(engine: StoreEngine, configuration: StoreConfiguration) {
    self.configuration = configuration
    path = engine.path
    state.withLock { $0.engine = engine }
  }

  /// The open engine.
  func engine(_ operation: StoreOperation) throws -> StoreEngine {
    guard let engine = state.withLock({ $0.engine }) else {
      throw StoreError(.storeClosed, operation: operation, path: path)
    }
    return engine
  }

  // MARK: Requests

  /// Answers a request.
  ///
  /// - Throws: ``StoreError`` for what the database refuses, ``FetchPredicateError`` for what cannot be asked.
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
      return .batch(try StoreError.mapping { try engine.execute(insertion, in: scope) })
    case .batchUpdate(let request):
      let engine = try writableEngine(.batchUpdate)
      return .batch(try StoreError.mapping { try engine.execute(request, in: scope) })
    case .batchDelete(let request):
      let engine = try writableEngine(.batchDelete)
      return .batch(try StoreError.mapping { try engine.execute(request, in: scope) })
    }
  }

  func writableEngine(_ operation: StoreOperation) throws -> StoreEngine {
    let engine = try engine(operation)
    if configuration.description.isReadOnly {
      throw StoreError(.readOnlyStore, operation: operation, path: path)
    }
    return engine
  }

  /// How a fetch would be answered: its statements, SQLite's plan of each, and what an index would help.
  ///
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` where the database refuses.
  public func explain(_ specification: FetchSpecification, in scope: RequestScope) throws -> FetchExplanation.StorePart {
    let engine = try engine(.explain)
    return try StoreError.mapping { try engine.explain(specification, in: scope) }
  }

  /// The rows of objects: one statement for one, few for many.
  ///
  /// - Throws: ``StoreError`` where the rows cannot be read.
  public func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList {
    guard !objectIDs.isEmpty else { return RowList() }
    let engine = try engine(.read)
    return try StoreError.mapping {
      try engine.rows(of: objectIDs, cancellation: scope.cancellation, from: try engine.generation(of: scope))
    }
  }

  /// The members of a to-many relationship of objects: one statement for up to 500 of them.
  ///
  /// - Parameters:
  ///   - relationship: The relationship.
  ///   - objectIDs: The objects at its source.
  ///   - scope: What the request belongs to.
  /// - Throws: ``StoreError`` where the members cannot be read.
  public func newValues(
    forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
  ) throws -> RelationshipValues {
    let engine = try engine(.read)
    return try StoreError.mapping {
      try engine.members(
        of: relationship, ofObjectsWith: objectIDs, cancellation: scope.cancellation, from: try engine.generation(of: scope))
    }
  }

  /// The state of the store now: a snapshot that stays open. A new one costs the opening of a connection, unless one that is over has left its own.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read.
  public func currentGeneration(in scope: RequestScope) throws -> any StoreGeneration {
    let engine = try engine(.pin)
    return try StoreError.mapping { try engine.currentGeneration() }
  }

  /// Permanent IDs, from blocks of keys that are reserved when the last one is used up.
  ///
  /// - Throws: ``StoreError`` where the counters cannot be written.
  public func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] {
    let engine = try engine(.obtainPermanentIDs)
    return try StoreError.mapping {
      // Objects of an entity come one after the other, as a rule.
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
          throw StoreError(.internalInconsistency(.fewerKeys), operation: .obtainPermanentIDs)
        }
        defer { taken[table] += 1 }
        return ManagedObjectID(space: scope.objectIDSpace.number, entityNumber: id.entityNumber, key: keys[table][taken[table]])
      }
    }
  }

  /// Changes what the application keeps in the metadata.
  ///
  /// - Throws: ``StoreError`` where the metadata cannot be written.
  public func setUserMetadata(_ metadata: [String: String]) throws {
    let engine = try engine(.setMetadata)
    if configuration.description.isReadOnly {
      throw StoreError(.readOnlyStore, operation: .setMetadata, path: path)
    }
    try StoreError.mapping { try engine.write { try MetadataTable.writeUserMetadata(metadata, $0.connection) } }
  }

  /// Runs the saves and fetches that the body makes as one transaction. The body must not wait for a save of another thread or task.
  ///
  /// - Throws: What the body throws; ``StoreError`` where the transaction cannot be begun or ended.
  public func performTransaction(_ body: () throws -> Void) throws {
    let engine = try engine(.transaction)
    try StoreError.mapping { try engine.transaction(body) }
  }

  /// True: large values are kept in files where their attribute allows it.
  public var takesExternalData: Bool { true }

  /// Collects a value that comes in pieces in an encrypted file; in memory where no attribute of the store has external storage.
  ///
  /// - Throws: ``StoreError`` where no file can be written.
  public func makeExternalDataWriter() throws -> ExternalDataWriter {
    guard let externals = try writableEngine(.writeLargeValue).externals else { return ExternalDataWriter() }
    return try externals.makeWriter()
  }

  /// Begins to tell of what other processes and coordinators commit. Nothing is awake while nobody writes.
  ///
  /// It makes an empty file beside the store, which every writer touches after its commits; where that cannot be, the log tells.
  /// - Throws: ``StoreError`` with ``StoreError/Code/remoteChangesUnavailable`` where the system has no means left, or the store is read without locks; with
  ///   ``StoreError/Code/unsupported`` on systems without inotify.
  public func observeRemoteCommits(_ observer: @escaping @Sendable () -> Void) throws {
    let engine = try engine(.watch)
    let watch = try StoreError.mapping { try RemoteCommitWatch.begin(engine.pool, observer) }
    let former = state.withLock { state in
      defer { state.watch = watch }
      return state.watch
    }
    former?.end()
  }

  /// Closes all connections and wipes the keys.
  ///
  /// - Throws: ``StoreError`` where something could not be put in order; the store is closed.
  public func close() throws {
    let (engine, watch) = state.withLock { state in
      defer { state = State(newStore: state.newStore) }
      return (state.engine, state.watch)
    }
    // What they hold would keep files from being removed.
    (try? engine?.pool)?.endHeldSnapshots()
    watch?.end()
    engine?.externals?.removeWaiting()
    try? engine?.pool.close()
  }
}
