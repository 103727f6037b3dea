public import Foundation

/// A transaction in the history of a store: the changes of a save, a batch request, or a migration.
///
/// Inside ``ManagedObjectContext/performTransaction(_:)``, consecutive requests of the same author and context form one transaction.
public struct PersistentHistoryTransaction: Sendable, Hashable, Identifiable {
  /// The kind of operation that wrote a transaction.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// A save.
    case save
    /// One or more batch requests.
    case batch
    /// A stage of a migration, or new values of derived attributes that the opening of the store computed; see
    /// ``PersistentHistoryTransaction/schemaChanges``.
    case migration
    /// A transfer of objects from another store, which may have changed any object; see ``PersistentHistoryTransaction/isWhole``.
    case transfer
    /// Changes of another device, applied by synchronization.
    case sync
    /// The history was enabled. It does not include earlier writes. Returned only by requests with a predicate that uses `kind`.
    case begin
    /// Objects that were imported from a document or file.
    case `import`

    package init(_ kind: HistoryKind) {
      switch kind {
      case .save: self = .save
      case .batch: self = .batch
      case .migration: self = .migration
      case .transfer: self = .transfer
      case .sync: self = .sync
      case .begin: self = .begin
      case .import: self = .import
      }
    }
  }

  /// The number of the transaction in the history of its store. Numbers increase, but are not consecutive.
  public let transactionNumber: Int64
  /// The token after the transaction.
  public let token: PersistentHistoryToken
  /// The UUID of the store.
  public let storeIdentifier: String
  /// The time of the transaction, by the clock of the process that wrote it.
  public let timestamp: Date
  /// The kind of operation that wrote the transaction.
  public let kind: Kind
  /// The transaction author of the context (``ManagedObjectContext/transactionAuthor``).
  public let author: String?
  /// The name of the context.
  public let contextName: String?
  /// The ID of the process.
  public let processID: String
  /// The bundle identifier of the process, or its name if it has none.
  public let bundleID: String
  /// The changes in the order in which they were made, or nil if they were not requested.
  public var changes: [PersistentHistoryChange]?
  /// Whether the transaction may have changed any object, without a list of changes.
  public let isWhole: Bool
  /// What a migration changed in all objects of an entity, before ``changes``. Empty if the changes were not requested.
  ///
  /// Renamed entities and properties, and new properties without values, are not listed. A migration with several stages is one transaction
  /// a stage. Each part of a transaction lists the same changes.
  public internal(set) var schemaChanges: [SchemaChange] = []
  /// Whether the next element of a ``PersistentHistorySequence`` contains more changes of the transaction.
  public internal(set) var isContinued = false
  /// The number of changes that are omitted because the model no longer has their entity.
  public internal(set) var skippedChangeCount = 0
  /// The store opening through which the transaction was written.
  package let opening: UUID?
  /// The number of the ID space of the changed objects.
  package let space: UInt32

  /// The number of the transaction.
  public var id: Int64 { transactionNumber }

  /// - Parameter entry: The first row of the transaction.
  package init(_ entry: HistoryEntry, opening: HistoryOpening?, store: String, space: UInt32) {
    transactionNumber = entry.transaction
    self.space = space
    token = PersistentHistoryToken(entry.position, of: store)
    storeIdentifier = store
    let authorship = entry.authorship
    timestamp = Date(timeIntervalSinceReferenceDate: authorship.time)
    kind = Kind(authorship.kind)
    author = authorship.author
    contextName = authorship.context
    processID = opening.map { "\($0.processID)" } ?? ""
    bundleID = opening?.program ?? ""
    self.opening = opening?.identifier
    isWhole = entry.isWhole
  }
}

extension ObservedTransaction {
  /// The kind of operation that makes the current changes. In ``ManagedObjectContext/performTransaction(_:)``, the requests of a
  /// transaction can differ in it; the methods that end the transaction receive that of the last request.
  public var kind: PersistentHistoryTransaction.Kind { .init(origin.kind) }
}

extension PersistentHistoryTransaction {
  /// A change of all objects of an entity.
  public typealias SchemaChange = ObjectStore.SchemaChange
}

extension SchemaChange.Kind {
  init(_ kind: HistorySchemaChange.Kind) {
    switch kind {
    case .objectsRemoved: self = .objectsRemoved
    case .propertyRemoved: self = .propertyRemoved
    case .filled: self = .filled
    case .completed: self = .completed
    case .converted: self = .converted
    case .computed: self = .computed
    case .moved: self = .moved
    case .rewritten: self = .rewritten
    }
  }
}
