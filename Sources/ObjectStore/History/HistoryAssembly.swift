// HistoryAssembly: portions of records as the rows of a transaction.
/// The transaction that requests of one author write together.
package struct HistoryRun: Sendable, Hashable {
  package var author: String?
  package var context: String?
  /// The number of its first row.
  package var start: Int64
  /// The mark of that row.
  package var mark: Int64
  package var clock: Int64

  /// Its place.
  package var position: HistoryPosition { HistoryPosition(number: start, mark: mark) }

  /// Whether a request belongs to it.
  package func takes(_ authorship: HistoryAuthorship) -> Bool { author == authorship.author && context == authorship.context }
}

/// Makes the rows of a request.
package enum HistoryAssembly {
  /// The rows that a request adds to a history.
  ///
  /// - Parameters:
  ///   - portions: Its records.
  ///   - authorship: Who has made it.
  ///   - last: The number and clock of the newest row; nil for none.
  ///   - run: The transaction that it may belong to; afterwards the one that it belongs to. Nil for a transaction of its own.
  package static func entries(
    _ portions: [[UInt8]], _ authorship: HistoryAuthorship, behind last: (number: Int64, clock: Int64)?, run: inout HistoryRun?
  ) -> [HistoryEntry] {
    if portions.isEmpty { return [] }
    var number = (last?.number ?? 0) + 1
    let known = run.flatMap { $0.takes(authorship) ? $0 : nil }
    let clock = known?.clock ?? HistoryClock.next(after: last?.clock, time: authorship.time)
    let start = known?.start ?? number
    var entries: [HistoryEntry] = []
    entries.reserveCapacity(portions.count)
    for portion in portions {
      entries.append(
        HistoryEntry(
          number: number, start: number == start ? nil : start, clock: clock, authorship: authorship,
          mark: Int64.random(in: .min ... .max), changes: portion))
      number += 1
    }
    let mark = known?.mark ?? entries[0].mark
    run = HistoryRun(author: authorship.author, context: authorship.context, start: start, mark: mark, clock: clock)
    return entries
  }
}
