package import ObjectModel

/// A transaction, or a part of one that has too many changes for one piece.
package struct HistoryFragment: Sendable {
  package var transaction: PersistentHistoryTransaction
  /// The matching changes of the piece.
  package var changes: [PersistentHistoryChange]
  /// Whether the piece is the first of the transaction. `isLast` says whether it is the last.
  package var isFirst: Bool
  package var isLast: Bool
}

/// Reads the history of one store in bounded memory, from the oldest to the newest transaction.
///
/// Transactions are returned even if the filter removes all their changes.
package struct HistoryReader {
  /// The maximum number of changes in a piece.
  package static let fragmentSize = 1_000
  /// The number of bytes of records that are read at a time.
  private static let byteLimit = 1 << 16

  private let store: any HistoryStore
  private let identifier: String
  private let space: ObjectIDSpace
  private let ids: HistoryIDs
  private var query: HistoryQuery
  private let isIncluded: ((PersistentHistoryChange) throws -> Bool)?
  private let includesChanges: Bool

  private var entries: [HistoryEntry] = []
  private var position = 0
  private var isAtEnd = false
  private var header: PersistentHistoryTransaction?
  private var decoder: HistoryChangeDecoder
  private var lastOpening: (text: String, opening: HistoryOpening?)?
  private var hasStarted = false

  /// Creates a reader.
  ///
  /// - Parameters:
  ///   - wantsChanges: Whether to decode changes.
  ///   - isWanted: Returns whether to include a change, or nil to include all.
  package init(
    _ store: any HistoryStore, identifier: String, space: ObjectIDSpace, ids: HistoryIDs, _ query: HistoryQuery,
    includesChanges: Bool = true,
    isIncluded: ((PersistentHistoryChange) throws -> Bool)? = nil
  ) {
    self.store = store
    self.identifier = identifier
    self.space = space
    self.ids = ids
    self.query = query
    self.includesChanges = includesChanges
    self.isIncluded = isIncluded
    decoder = HistoryChangeDecoder(ids: ids, space: space)
  }

  /// Returns the next piece, or nil after the newest transaction.
  ///
  /// - Throws: ``StoreError``, with the code `storeCorrupt` if a row cannot be decoded, and with `historyTokenExpired` if the next rows
  ///   were purged in the meantime.
  package mutating func next() throws -> HistoryFragment? {
    var isFirst = false
    if header == nil {
      guard let entry = try firstEntry() else { return nil }
      // The first rows of this transaction were purged.
      guard entry.start == nil else { throw try expired() }
      hasStarted = true
      header = PersistentHistoryTransaction(entry, opening: opening(entry.authorship.opening), store: identifier)
      decoder.begin(transaction: entry.number)
      try take(entry)
      isFirst = true
    }
    guard var transaction = header else { return nil }
    var changes: [PersistentHistoryChange] = []
    while changes.count < Self.fragmentSize {
      if let change = try decoder.next() {
        if try isIncluded?(change) ?? true { changes.append(change) }
        continue
      }
      if let more = try entry(), more.start == transaction.transactionNumber {
        try take(more)
        continue
      }
      if let last = decoder.finish() {
        if try isIncluded?(last) ?? true { changes.append(last) }
      }
      transaction.skippedChangeCount = decoder.skipped
      header = nil
      return HistoryFragment(transaction: transaction, changes: changes, isFirst: isFirst, isLast: true)
    }
    transaction.skippedChangeCount = decoder.skipped
    return HistoryFragment(transaction: transaction, changes: changes, isFirst: isFirst, isLast: false)
  }

  /// Parses the text of an opening. Consecutive transactions often have the same, which is cached.
  private mutating func opening(_ text: String) -> HistoryOpening? {
    if let lastOpening, lastOpening.text == text { return lastOpening.opening }
    let opening = HistoryOpening(text)
    lastOpening = (text, opening)
    return opening
  }

  /// Returns the first row of the next transaction. A reader that starts at the beginning skips a partially purged transaction.
  private mutating func firstEntry() throws -> HistoryEntry? {
    while let entry = try entry() {
      if hasStarted || entry.start == nil || query.after > 0 { return entry }
      position += 1
    }
    return nil
  }

  /// Returns the current row, or nil after the last one.
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
    if includesChanges { try decoder.take(entry) }
  }

  private func expired() throws -> StoreError {
    StoreError(
      .historyExpired(oldest: try store.historyBounds().map { PersistentHistoryToken($0.oldest, of: identifier).description }),
      operation: .readHistory)
  }
}
