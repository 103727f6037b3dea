// PersistentHistoryTransaction: what was written to a store at once, and by whom.
public import Foundation

/// What was written to a store at once: by a save, a batch request, a migration.
///
/// Inside ``ManagedObjectContext/performTransaction(_:)`` the requests of one author and context that follow each other are one transaction.
public struct PersistentHistoryTransaction: Sendable, Hashable, Identifiable {
  /// What has written a transaction.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    /// A save.
    case save
    /// Batch requests.
    case batch
    /// A migration: anything may have been changed, ``PersistentHistoryTransaction/isWhole``.
    case migration
    /// Rows of another store were taken over: anything may have been changed.
    case transfer
    /// What came from elsewhere was entered.
    case sync
    /// The history was switched on: what was written before is not in it. Only a request with a condition over `kind` returns this record.
    case begin

    package init(_ kind: HistoryKind) {
      switch kind {
      case .save: self = .save
      case .batch: self = .batch
      case .migration: self = .migration
      case .transfer: self = .transfer
      case .sync: self = .sync
      case .begin: self = .begin
      }
    }
  }

  /// The transaction's number in the history of its store. Numbers grow; not every one is there.
  public let transactionNumber: Int64
  /// The place behind the transaction.
  public let token: PersistentHistoryToken
  /// The UUID of the store.
  public let storeIdentifier: String
  /// When it was written, by the clock of who has written it.
  public let timestamp: Date
  /// What has written it.
  public let kind: Kind
  /// The author that the context named (``ManagedObjectContext/transactionAuthor``).
  public let author: String?
  /// The name of the context.
  public let contextName: String?
  /// The process, as its system numbers it.
  public let processID: String
  /// The bundle identifier of the process, or its name where it has none.
  public let bundleID: String
  /// What was changed, in the order in which it was; nil where it was not asked for.
  public var changes: [PersistentHistoryChange]?
  /// Whether anything may have been changed that is not listed.
  public let isWhole: Bool
  /// Whether more of its changes come in the next element of a ``PersistentHistorySequence``.
  public internal(set) var isContinued = false
  /// How many changes are not told since the model has no such entity any more.
  public internal(set) var skippedChangeCount = 0
  /// The opening of the store that it went through.
  package let opening: UUID?

  /// The transaction's number.
  public var id: Int64 { transactionNumber }

  /// - Parameter entry: The first row of the transaction.
  package init(_ entry: HistoryEntry, opening: HistoryOpening?, store: String) {
    transactionNumber = entry.transaction
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
    isWhole = authorship.kind.isWhole
  }
}
