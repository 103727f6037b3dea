/// A history transaction that consecutive requests of one author and context share.
package struct OpenHistoryTransaction: Sendable, Hashable {
  package var author: String?
  package var context: String?
  package var start: Int64
  package var mark: Int64
  package var clock: Int64

  package var position: HistoryPosition { HistoryPosition(number: start, mark: mark) }

  /// Returns whether a request with the given authorship belongs to the transaction.
  package func matches(_ authorship: HistoryAuthorship) -> Bool { author == authorship.author && context == authorship.context }
}

/// Creates the history rows of a request.
package enum HistoryRowBuilder {
  /// Returns the rows that a request adds to a history.
  ///
  /// - Parameters:
  ///   - chunks: The encoded records, split into rows.
  ///   - authorship: The author and time of the request.
  ///   - last: The number and clock of the newest row, or nil if there is none.
  ///   - run: The transaction that the request may join; afterwards, the transaction that it belongs to. Nil starts a new transaction.
  package static func entries(
    _ chunks: [[UInt8]], _ authorship: HistoryAuthorship, behind last: (number: Int64, clock: Int64)?, run: inout OpenHistoryTransaction?
  ) -> [HistoryEntry] {
    if chunks.isEmpty { return [] }
    var number = (last?.number ?? 0) + 1
    let known = run.flatMap { $0.matches(authorship) ? $0 : nil }
    let clock = known?.clock ?? HistoryClock.next(after: last?.clock, time: authorship.time)
    let start = known?.start ?? number
    var entries: [HistoryEntry] = []
    entries.reserveCapacity(chunks.count)
    for chunk in chunks {
      entries.append(
        HistoryEntry(
          number: number, start: number == start ? nil : start, clock: clock, authorship: authorship,
          mark: Int64.random(in: .min ... .max), changes: chunk))
      number += 1
    }
    let mark = known?.mark ?? entries[0].mark
    run = OpenHistoryTransaction(author: authorship.author, context: authorship.context, start: start, mark: mark, clock: clock)
    return entries
  }
}
