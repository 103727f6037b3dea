// HistoryReader: the rows of a history as transactions and changes, in bounded memory.
package import ObjectModel

/// A transaction, or a part of one with too many changes for one piece.
package struct HistoryPiece: Sendable {
  /// The transaction without its changes.
  package var transaction: PersistentHistoryTransaction
  /// The changes of the piece that are wanted.
  package var changes: [PersistentHistoryChange]
  /// Whether the transaction begins with it; whether it ends.
  package var isFirst: Bool
  package var isLast: Bool
}

/// Reads the history of one store from the oldest to the newest transaction.
///
/// A transaction that no change of is wanted comes all the same: who filters changes decides what becomes of it.
package struct HistoryReader {
  /// How many changes a piece has at most.
  package static let pieceSize = 1_000
  /// How many bytes of records are read at once.
  private static let byteLimit = 1 << 16

  private let store: any HistoryStore
  private let identifier: String
  private let space: ObjectIDSpace
  private let ids: HistoryIDs
  private var query: HistoryQuery
  private let isWanted: ((PersistentHistoryChange) throws -> Bool)?
  private let wantsChanges: Bool

  private var entries: [HistoryEntry] = []
  private var position = 0
  private var isAtEnd = false
  /// The transaction that is being read.
  private var header: PersistentHistoryTransaction?
  private var maker: HistoryChangeMaker
  private var lastOpening: (text: String, opening: HistoryOpening?)?
  /// Whether a transaction was read.
  private var hasBegun = false

  /// - Parameters:
  ///   - store: The store.
  ///   - identifier: Its UUID.
  ///   - space: The space of its object IDs.
  ///   - query: What is wanted.
  ///   - wantsChanges: Whether changes are decoded at all.
  ///   - isWanted: Which of them; all by default.
  package init(
    _ store: any HistoryStore, identifier: String, space: ObjectIDSpace, ids: HistoryIDs, _ query: HistoryQuery, wantsChanges: Bool = true,
    isWanted: ((PersistentHistoryChange) throws -> Bool)? = nil
  ) {
    self.store = store
    self.identifier = identifier
    self.space = space
    self.ids = ids
    self.query = query
    self.wantsChanges = wantsChanges
    self.isWanted = isWanted
    maker = HistoryChangeMaker(ids: ids, space: space)
  }

  /// The next piece; nil behind the newest transaction.
  ///
  /// - Throws: ``StoreError``, with the code `storeCorrupt` where a row is none of a history, and with `historyTokenExpired` where what is to be read next was purged
  ///   meanwhile.
  package mutating func next() throws -> HistoryPiece? {
    var isFirst = false
    if header == nil {
      guard let entry = try firstEntry() else { return nil }
      // The first rows of this one are gone.
      guard entry.start == nil else { throw try expired() }
      hasBegun = true
      header = PersistentHistoryTransaction(entry, opening: opening(entry.authorship.opening), store: identifier)
      maker.begin(transaction: entry.number)
      try take(entry)
      isFirst = true
    }
    guard var transaction = header else { return nil }
    var changes: [PersistentHistoryChange] = []
    while changes.count < Self.pieceSize {
      if let change = try maker.next() {
        if try isWanted?(change) ?? true { changes.append(change) }
        continue
      }
      if let more = try entry(), more.start == transaction.transactionNumber {
        try take(more)
        continue
      }
      if let last = maker.finish() {
        if try isWanted?(last) ?? true { changes.append(last) }
      }
      transaction.skippedChangeCount = maker.skipped
      header = nil
      return HistoryPiece(transaction: transaction, changes: changes, isFirst: isFirst, isLast: true)
    }
    transaction.skippedChangeCount = maker.skipped
    return HistoryPiece(transaction: transaction, changes: changes, isFirst: isFirst, isLast: false)
  }

  /// The opening that a text names. Many transactions have the same.
  private mutating func opening(_ text: String) -> HistoryOpening? {
    if let lastOpening, lastOpening.text == text { return lastOpening.opening }
    let opening = HistoryOpening(text)
    lastOpening = (text, opening)
    return opening
  }

  /// The first entry of the next transaction. Who reads from the beginning passes over one that is half deleted.
  private mutating func firstEntry() throws -> HistoryEntry? {
    while let entry = try entry() {
      if hasBegun || entry.start == nil || query.after > 0 { return entry }
      position += 1
    }
    return nil
  }

  /// The entry at the place where the walk is; nil behind the last one.
  private mutating func entry() throws -> HistoryEntry? {
    if position == entries.count {
      if isAtEnd { return nil }
      entries = try store.historyEntries(query, byteLimit: Self.byteLimit)
      position = 0
      guard let last = entries.last else {
        isAtEnd = true
        return nil
      }
      query.behindRow = last.number
    }
    return entries[position]
  }

  private mutating func take(_ entry: HistoryEntry) throws {
    position += 1
    if wantsChanges { try maker.take(entry) }
  }

  private func expired() throws -> StoreError {
    StoreError(
      .historyExpired(oldest: try store.historyExtent().map { PersistentHistoryToken($0.oldest, of: identifier).description }),
      operation: .readHistory)
  }
}
