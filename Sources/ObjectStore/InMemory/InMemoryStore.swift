// InMemoryStore: the whole graph in memory: the reference that other stores are compared with.
import Foundation
public import ObjectModel
import ObjectQuery
import Synchronization

/// A store that keeps its rows in memory and forgets them when it is closed.
///
/// It is the reference for stores with a file: small, plain, and with the same answers. Every request works on one version of the rows, which a save or a
/// transaction replaces as a whole. A fetch reads every row of the entity, so its time is linear in their number.
public final class InMemoryStore: IncrementalStore {
  private let configuration: StoreConfiguration
  private let state: Mutex<State>
  /// Held by who saves, and throughout a transaction by who has begun it.
  private let writing = NSLock()
  private let transactions = TransactionExtent<Transaction>()

  /// A transaction under way: the rows as its requests see them.
  private final class Transaction {
    var rows: InMemoryRows
    init(_ rows: InMemoryRows) { self.rows = rows }
  }

  /// What the history calls this store's opening.
  private let opening = HistoryOpening.make().text

  private struct State {
    /// Nil while the store is closed.
    var identifier: String?
    var userMetadata: [String: String] = [:]
    /// The next key by the number of the root entity. No rollback takes a key back.
    var nextKeys: [Int: Int64] = [:]
    var rows: InMemoryRows { didSet { generation = nil } }
    /// The rows as somebody holds them, if he got them since they were last changed.
    weak var generation: InMemoryGeneration?
  }

  private static let closedError = StoreError(.memoryClosed)

  /// True: the rows are replaced as a whole, and somebody may go on reading older ones.
  public static var hasQueryGenerations: Bool { true }

  /// True: the store does so at the end of each save and batch request.
  public static var derivesAttributes: Bool { true }

  /// Makes a closed store.
  ///
  /// - Throws: Nothing; another implementation may.
  public init(configuration: StoreConfiguration) throws {
    self.configuration = configuration
    state = Mutex(State(rows: InMemoryRows(model: configuration.model, entityNumbers: configuration.entityNumbers)))
  }

  /// Opens the store. Its UUID is a new one each time, and holds until the store is closed.
  ///
  /// - Throws: Nothing; another implementation may.
  public func loadMetadata() throws -> StoreMetadata {
    let held = Set(configuration.entityNumbers.map { configuration.model.entities[$0].name })
    return state.withLock { state in
      let identifier = state.identifier ?? UUID().uuidString
      if state.identifier == nil { beginHistory(&state.rows) }
      state.identifier = identifier
      var metadata = StoreMetadata(
        storeIdentifier: identifier, storeType: StoreType.inMemory.rawValue,
        modelHashes: configuration.model.versionHashes.filter { held.contains($0.key) })
      metadata.versionIdentifiers = configuration.model.model.versionIdentifiers
      metadata.userMetadata = state.userMetadata
      return metadata
    }
  }

  /// Answers a request. A save is linear in the rows of the entities it touches that have uniqueness constraints.
  ///
  /// - Throws: ``StoreError`` for a conflict or a closed store, ``FetchPredicateError`` for what cannot be asked.
  public func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult {
    switch request {
    case .fetch(let specification): return try reader(in: scope).answer(specification)
    case .save(let request):
      try checkWritable(.save)
      var outcome = SaveOutcome()
      try changeRows { rows in
        outcome = try rows.save(request, objectIDSpace: scope.objectIDSpace, authorship(.save, scope), isPart: isInTransaction)
      }
      return .saved(outcome)
    case .batchInsert, .batchUpdate, .batchDelete:
      try checkWritable(.batchRequest)
      var changes = BatchChanges()
      try changeRows { rows in
        let save = try InMemoryReader(rows: rows, objectIDSpace: scope.objectIDSpace).save(for: request)
        changes = BatchChanges(save)
        changes.add(try rows.save(save, objectIDSpace: scope.objectIDSpace, authorship(.batch, scope), isPart: isInTransaction))
      }
      return .batch(changes)
    }
  }

  /// The rows of objects.
  ///
  /// - Throws: ``StoreError`` when the store is closed.
  public func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList {
    let rows = try visibleRows(in: scope)
    return RowList(objectIDs.compactMap { rows.row(of: $0.reference) })
  }

  /// The members of a to-many relationship of several objects; unordered ones by their keys. Linear in the rows of the relationship.
  ///
  /// - Parameters:
  ///   - relationship: The relationship.
  ///   - objectIDs: The objects at its source.
  ///   - scope: What the request belongs to.
  /// - Throws: ``StoreError`` when the store is closed.
  public func newValues(
    forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
  ) throws -> RelationshipValues {
    let reader = try reader(in: scope)
    var values = RelationshipValues()
    for objectID in objectIDs { values.append(reader.members(of: objectID.reference, relationship: relationship)) }
    return values
  }

  /// The rows as they are now. Holding them costs what is changed meanwhile.
  ///
  /// - Throws: ``StoreError`` when the store is closed.
  public func currentGeneration(in scope: RequestScope) throws -> any StoreGeneration {
    try state.withLock { state in
      guard let identifier = state.identifier else { throw Self.closedError }
      if let known = state.generation { return known }
      let generation = InMemoryGeneration(of: self, identifier: identifier, rows: state.rows)
      state.generation = generation
      return generation
    }
  }

  /// Whether the store is open as it was when a generation was given out.
  func isOpen(as identifier: String) -> Bool { state.withLock { $0.identifier == identifier } }

  /// The next keys of the entity trees.
  ///
  /// - Throws: ``StoreError`` when the store is closed.
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

  /// Changes what the application keeps in the metadata, until the store is closed.
  ///
  /// - Throws: ``StoreError`` when the store is closed.
  public func setUserMetadata(_ metadata: [String: String]) throws {
    state.withLock { $0.userMetadata = metadata }
  }

  /// Runs saves and fetches as one transaction. Others see the rows from before it until it ends; their saves wait.
  ///
  /// - Throws: What the body throws; ``StoreError`` when the store is closed.
  public func performTransaction(_ body: () throws -> Void) throws {
    try changeRows { rows in
      // What was written before is another transaction of the history.
      if !isInTransaction { rows.history?.run = nil }
      let transaction = Transaction(rows)
      try transactions.run(transaction, body)
      rows = transaction.rows
    }
  }

  /// Does nothing: nobody else can write what is in memory here.
  ///
  /// - Throws: Nothing; another implementation may.
  public func observeRemoteCommits(_ observer: @escaping @Sendable () -> Void) throws {}

  /// Forgets everything.
  ///
  /// - Throws: Nothing; another implementation may.
  public func close() throws {
    state.withLock { state in
      state = State(rows: InMemoryRows(model: configuration.model, entityNumbers: configuration.entityNumbers))
    }
  }

  private func checkWritable(_ operation: StoreOperation) throws {
    if configuration.description.isReadOnly { throw StoreError(.readOnlyStore, operation: operation) }
  }

  // MARK: The history

  private func authorship(_ kind: HistoryKind, _ scope: RequestScope) -> HistoryAuthorship {
    HistoryAuthorship(
      kind, author: scope.transactionAuthor, context: scope.contextName, opening: opening, time: Date().timeIntervalSinceReferenceDate)
  }

  /// Switches the history on where the description says so.
  private func beginHistory(_ rows: inout InMemoryRows) {
    let description = configuration.description
    if description.historyTracking == true { switchHistory(&rows, HistorySettings(level: description.historyLevel ?? .properties)) }
  }

  private func switchHistory(_ rows: inout InMemoryRows, _ settings: HistorySettings?) {
    guard let settings else { return rows.history = nil }
    if rows.history == nil {
      var history = InMemoryHistory(settings, of: configuration.model, retention: configuration.description.historyRetention)
      var recorder = HistoryRecorder(ids: history.ids, level: settings.level)
      recorder.addWhole()
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

  /// The rows as the caller sees them: those of the transaction that he is inside of, else the committed ones.
  private func visibleRows() throws -> InMemoryRows {
    try state.withLock { state in
      guard state.identifier != nil else { throw Self.closedError }
      return transactions.current?.rows ?? state.rows
    }
  }

  /// The rows that a request is answered from.
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

  /// The history as the caller sees it.
  func visibleHistory() throws -> InMemoryHistory? { try visibleRows().history }

  /// Changes the history.
  func changeHistory(_ operation: StoreOperation, _ change: (inout InMemoryHistory) throws -> Void) throws {
    try checkWritable(operation)
    try changeRows { rows in
      guard var history = rows.history else { throw StoreError(.historyOff, operation: operation) }
      // A copy that is the only one is changed in its place.
      rows.history = nil
      try change(&history)
      rows.history = history
    }
  }

  /// Switches the history on or off.
  package func setHistory(_ settings: HistorySettings?) throws {
    try checkWritable(.switchHistory)
    try changeRows { rows in
      if settings == nil, let readers = rows.history?.consumers.keys.sorted(), !readers.isEmpty {
        throw StoreError(.historyStillRead(readers), operation: .switchHistory)
      }
      switchHistory(&rows, settings)
    }
  }

  /// Changes a copy of the rows, and puts it in their place if that succeeds.
  private func changeRows(_ change: (inout InMemoryRows) throws -> Void) throws {
    let transaction = transactions.current
    if transaction == nil { writing.lock() }
    defer { if transaction == nil { writing.unlock() } }
    var rows = try visibleRows()
    try change(&rows)
    if let transaction { return transaction.rows = rows }
    state.withLock { state in if state.identifier != nil { state.rows = rows } }
  }
}
