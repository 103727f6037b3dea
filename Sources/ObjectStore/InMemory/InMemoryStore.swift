import Foundation
public import ObjectModel
import ObjectQuery
import Synchronization

/// A store that keeps its rows in memory and discards them when it is closed.
///
/// It is the reference implementation that file-based stores are tested against: small and simple, with the same results. Every request
/// works on one version of the rows, which a save or a transaction replaces as a whole. A fetch reads every row of the entity, so its time
/// is linear in their number.
public final class InMemoryStore: IncrementalStore {
  private let configuration: StoreConfiguration
  private let state: Mutex<State>
  /// Serializes writers. Held during a save and throughout a transaction.
  private let writing = NSLock()
  private let transactions = TransactionScope<Transaction>()

  /// A running transaction, with the rows that its requests see.
  private final class Transaction {
    var rows: InMemoryRows
    let observation: TransactionObservation?
    init(_ rows: InMemoryRows, _ observation: TransactionObservation?) { (self.rows, self.observation) = (rows, observation) }
  }

  /// The identification of this store's opening in the history.
  private let opening = HistoryOpening.make().text

  private struct State {
    /// The UUID, or nil while the store is closed.
    var identifier: String?
    var lineage = UUID().uuidString
    var userMetadata: [String: String] = [:]
    /// The next key by root entity number. Keys are not returned on rollback.
    var nextKeys: [Int: Int64] = [:]
    var rows: InMemoryRows { didSet { generation = nil } }
    var observers: TransactionObservers?
    /// The generation of the current rows, if one is still referenced.
    weak var generation: InMemoryGeneration?
  }

  private static let closedError = StoreError(.memoryClosed)

  /// True: rows are replaced as a whole, so readers can keep an older version.
  public static var hasQueryGenerations: Bool { true }

  /// True: derived attributes are computed at the end of each save and batch request.
  public static var derivesAttributes: Bool { true }

  /// Creates a closed store.
  ///
  /// - Throws: Never; other implementations may throw.
  public init(configuration: StoreConfiguration) throws {
    self.configuration = configuration
    state = Mutex(State(rows: InMemoryRows(model: configuration.model, entityNumbers: configuration.entityNumbers)))
  }

  /// Opens the store. It gets a new UUID and a new lineage each time it is opened after being closed.
  ///
  /// - Throws: Never; other implementations may throw.
  public func loadMetadata() throws -> StoreMetadata {
    let storedEntities = Set(configuration.entityNumbers.map { configuration.model.entities[$0].name })
    return state.withLock { state in
      let identifier = state.identifier ?? UUID().uuidString
      if state.identifier == nil {
        beginHistory(&state.rows)
        if configuration.description.tracksObjectIdentity == true { state.rows.identity = InMemoryIdentity(of: configuration.model) }
      }
      state.identifier = identifier
      var metadata = StoreMetadata(
        storeIdentifier: identifier, storeType: StoreType.inMemory.rawValue,
        modelHashes: configuration.model.versionHashes.filter { storedEntities.contains($0.key) })
      metadata.versionIdentifiers = configuration.model.model.versionIdentifiers
      metadata.userMetadata = state.userMetadata
      metadata.lineageIdentifier = state.lineage
      return metadata
    }
  }

  /// Executes a request. The time of a save is linear in the number of rows of the entities concerned that have uniqueness constraints.
  ///
  /// - Throws: ``StoreError`` for a conflict or if the store is closed, ``FetchPredicateError`` if a fetch is invalid.
  public func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult {
    switch request {
    case .fetch(let specification): return try reader(in: scope).answer(specification)
    case .save(let request):
      try checkWritable(.save)
      var outcome = SaveOutcome()
      try changeRows { rows, observation in
        outcome = try rows.save(request, .save, in: scope, opening: opening, observation: observation, isPart: isInTransaction)
      }
      return .saved(outcome)
    case .batchInsert, .batchUpdate, .batchDelete:
      try checkWritable(.batchRequest)
      return .batch(
        try scope.executingBatch(request, of: configuration.model) { scope in
          var changes = BatchChanges()
          try changeRows { rows, observation in
            let save = try InMemoryReader(rows: rows, objectIDSpace: scope.objectIDSpace).save(for: request)
            let outcome = try rows.save(save, .batch, in: scope, opening: opening, observation: observation, isPart: isInTransaction)
            changes = BatchChanges(counting: save.inserted.count, updated: save.updated.count, deleted: save.deleted.count)
            changes.historyPosition = outcome.historyPosition
          }
          return changes
        })
    }
  }

  /// Returns the rows of objects.
  ///
  /// - Throws: ``StoreError`` if the store is closed.
  public func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList {
    let rows = try visibleRows(in: scope)
    return RowList(objectIDs.compactMap { rows.row(of: $0.reference) })
  }

  /// Returns the members of a to-many relationship of several objects. Unordered members are sorted by key. The time is linear in the
  /// number of rows of the relationship.
  ///
  /// - Parameters:
  ///   - relationship: The relationship.
  ///   - objectIDs: The objects at the source of the relationship.
  ///   - scope: The context of the request.
  /// - Throws: ``StoreError`` if the store is closed.
  public func newValues(
    forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
  ) throws -> RelationshipValues {
    let reader = try reader(in: scope)
    var values = RelationshipValues()
    for objectID in objectIDs { values.append(reader.members(of: objectID.reference, relationship: relationship)) }
    return values
  }

  /// Returns a generation with the current rows. Its memory cost is that of the rows that are changed later.
  ///
  /// - Throws: ``StoreError`` if the store is closed.
  public func currentGeneration(in scope: RequestScope) throws -> any StoreGeneration {
    try state.withLock { state in
      guard let identifier = state.identifier else { throw Self.closedError }
      if let known = state.generation { return known }
      let generation = InMemoryGeneration(of: self, identifier: identifier, rows: state.rows)
      state.generation = generation
      return generation
    }
  }

  /// Returns whether the store has not been closed since it was opened with the given UUID.
  func isOpen(as identifier: String) -> Bool { state.withLock { $0.identifier == identifier } }

  /// Returns the next keys of the entity trees.
  ///
  /// - Throws: ``StoreError`` if the store is closed.
  public func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] {
    let entities = configuration.model.entities
    return try state.withLock { state in
      guard state.identifier != nil else { throw Self.closedError }
      return objectIDs.map { objectID in
        let entity = entities[Int(objectID.entityNumber)]
        let key = state.nextKeys[entity.root] ?? 1
        state.nextKeys[entity.root] = key + 1
        return newObjectID(for: entity, referenceObject: .integer(key), in: scope)
      }
    }
  }

  /// Replaces the application's entries in the metadata. They are discarded when the store is closed.
  ///
  /// - Throws: Never; other implementations may throw.
  public func setUserMetadata(_ metadata: [String: String]) throws {
    state.withLock { $0.userMetadata = metadata }
  }

  /// Runs saves and fetches as one transaction. Until it ends, other callers see the previous rows, and their saves wait.
  ///
  /// - Throws: Rethrows the error of the body; ``StoreError`` if the store is closed.
  public func performTransaction(_ body: () throws -> Void) throws {
    try changeRows { rows, observation in
      // Earlier requests belong to another history transaction.
      if !isInTransaction { rows.history?.run = nil }
      let transaction = Transaction(rows, observation)
      try transactions.run(transaction, body)
      rows = transaction.rows
    }
  }

  /// Does nothing, because only this coordinator can write to the store.
  ///
  /// - Throws: Never; other implementations may throw.
  public func observeRemoteCommits(_ observer: @escaping @Sendable () -> Void) throws {}

  /// Closes the store and discards its content.
  ///
  /// - Throws: Never; other implementations may throw.
  public func close() throws {
    state.withLock { state in
      state = State(
        rows: InMemoryRows(model: configuration.model, entityNumbers: configuration.entityNumbers), observers: state.observers)
    }
  }

  private func checkWritable(_ operation: StoreOperation) throws {
    if configuration.description.isReadOnly { throw StoreError(.readOnlyStore, operation: operation) }
  }

  // MARK: History

  /// Enables the history if the description requires it.
  private func beginHistory(_ rows: inout InMemoryRows) {
    let description = configuration.description
    if description.historyTracking == true { switchHistory(&rows, HistorySettings(level: description.historyLevel ?? .properties)) }
  }

  private func switchHistory(_ rows: inout InMemoryRows, _ settings: HistorySettings?) {
    guard let settings else { return rows.history = nil }
    if rows.history == nil {
      var history = InMemoryHistory(settings, of: configuration.model, retention: configuration.description.historyRetention)
      var recorder = HistoryRecorder(ids: history.ids, level: settings.level)
      recorder.addUnspecifiedChange()
      history.add(
        recorder,
        HistoryAuthorship(
          .begin, author: nil, context: nil, opening: opening, time: Date().timeIntervalSinceReferenceDate), isPart: false)
      rows.history = history
    }
    rows.history?.settings = settings
  }

  // MARK: Versions of the rows

  private var isInTransaction: Bool { transactions.current != nil }

  func visibleRows() throws -> InMemoryRows {
    try state.withLock { state in
      guard state.identifier != nil else { throw Self.closedError }
      return transactions.current?.rows ?? state.rows
    }
  }

  private func visibleRows(in scope: RequestScope) throws -> InMemoryRows {
    guard let generation = scope.generation else { return try visibleRows() }
    guard let generation = generation as? InMemoryGeneration, generation.store === self else {
      throw StoreError(.queryGenerationOfOtherStore, operation: .read)
    }
    if generation.isOver { throw StoreError(.queryGenerationExpired, operation: .read) }
    return generation.rows
  }

  private func reader(in scope: RequestScope) throws -> InMemoryReader {
    InMemoryReader(rows: try visibleRows(in: scope), objectIDSpace: scope.objectIDSpace)
  }

  func visibleHistory() throws -> InMemoryHistory? { try visibleRows().history }

  func changeHistory(_ operation: StoreOperation, _ change: (inout InMemoryHistory) throws -> Void) throws {
    try checkWritable(operation)
    try changeRows { rows, _ in
      guard var history = rows.history else { throw StoreError(.historyOff, operation: operation) }
      // Makes `history` the only reference, so that it is mutated in place.
      rows.history = nil
      try change(&history)
      rows.history = history
    }
  }

  func changeIdentity(_ change: (inout InMemoryRows) throws -> Void) throws {
    try checkWritable(.save)
    try changeRows { rows, _ in try change(&rows) }
  }

  /// Enables or disables the history.
  package func setHistory(_ settings: HistorySettings?) throws {
    try checkWritable(.switchHistory)
    try changeRows { rows, _ in
      if settings == nil, let readers = rows.history?.consumers.keys.sorted(), !readers.isEmpty {
        throw StoreError(.historyStillRead(readers), operation: .switchHistory)
      }
      switchHistory(&rows, settings)
    }
  }

  /// Changes a copy of the rows and commits it if the closure succeeds. Inside a transaction, the copy becomes part of it.
  private func changeRows(_ change: (inout InMemoryRows, TransactionObservation?) throws -> Void) throws {
    try state.withLock(\.observers)?.checkNotCalling(.transaction)
    if let transaction = transactions.current {
      let mark = transaction.observation?.mark()
      do {
        var rows = try visibleRows()
        try change(&rows, transaction.observation)
        transaction.rows = rows
      } catch {
        if let mark { transaction.observation?.undo(to: mark) }
        throw error
      }
      return
    }
    writing.lock()
    defer { writing.unlock() }
    let observation = state.withLock { state in
      state.identifier.flatMap { state.observers?.begin(storeIdentifier: $0, model: configuration.model) }
    }
    do {
      var rows = try visibleRows()
      try change(&rows, observation)
      try observation?.willCommit()
      state.withLock { state in if state.identifier != nil { state.rows = rows } }
    } catch {
      observation?.didRollBack()
      throw error
    }
    observation?.didCommit()
  }
}

extension InMemoryStore: ChangeReportingStore {
  package func setTransactionObservers(_ observers: TransactionObservers) { state.withLock { $0.observers = observers } }

  package func askObserversOfTransaction() throws { try transactions.current?.observation?.willCommit() }
}

/// A version of the rows, kept for readers.
final class InMemoryGeneration: StoreGeneration {
  let store: InMemoryStore
  let rows: InMemoryRows
  private let identifier: String

  init(of store: InMemoryStore, identifier: String, rows: InMemoryRows) {
    (self.store, self.identifier, self.rows) = (store, identifier, rows)
  }

  /// True after the store was closed, so that its rows are no longer available to any reader.
  var isOver: Bool { !store.isOpen(as: identifier) }
}

extension InMemoryGeneration: HistoryGeneration {
  func historyPosition() throws -> HistoryPosition? {
    rows.history?.entries.last { $0.start == nil }?.position
  }
}
