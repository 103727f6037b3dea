package import Foundation

/// The author and the time of a transaction.
package struct HistoryAuthorship: Sendable, Hashable {
  package var kind: HistoryKind
  /// The transaction author of the context.
  package var author: String?
  package var context: String?
  /// The store opening through which it was written, in the format of ``HistoryOpening/text``.
  package var opening: String
  /// The time, in seconds since 2001.
  package var time: Double

  package init(_ kind: HistoryKind, author: String?, context: String?, opening: String, time: Double) {
    self.kind = kind
    self.author = author
    self.context = context
    self.opening = opening
    self.time = time
  }

  package init(_ origin: TransactionOrigin, opening: String, time: Double) {
    self.init(origin.kind, author: origin.author, context: origin.contextName, opening: opening, time: time)
  }

  package var origin: TransactionOrigin { TransactionOrigin(kind, author: author, contextName: context) }
}

/// A row of a history. A transaction consists of one or more consecutive rows.
package struct HistoryEntry: Sendable {
  /// The unique number of the row.
  package var number: Int64
  /// The number of the transaction's first row, or nil if this is the first row.
  package var start: Int64?
  /// The clock of the transaction: milliseconds since 1970, shifted left by 16 bits, plus a counter. Greater than the clocks of all earlier
  /// transactions.
  package var clock: Int64
  package var authorship: HistoryAuthorship
  /// A random value that distinguishes the row from a row with the same number in another copy of the store.
  package var mark: Int64
  package var changes: [UInt8]

  package init(number: Int64, start: Int64?, clock: Int64, authorship: HistoryAuthorship, mark: Int64, changes: [UInt8]) {
    self.number = number
    self.start = start
    self.clock = clock
    self.authorship = authorship
    self.mark = mark
    self.changes = changes
  }

  /// The approximate memory size in bytes.
  package var size: Int { changes.count + 64 }
  /// The number of the transaction's first row.
  package var transaction: Int64 { start ?? number }
  /// Whether the transaction may have changed any object. Valid only for its first row.
  package var isWhole: Bool { HistoryRecord.isWhole(changes) }
  /// The position of the transaction. Valid only for its first row.
  package var position: HistoryPosition { HistoryPosition(number: number, mark: mark) }
}

/// The clock of a history: the wall clock, adjusted so that it never goes back.
package enum HistoryClock {
  /// Returns the clock of the next transaction.
  ///
  /// - Parameters:
  ///   - last: The greatest clock so far, or nil if there is none.
  ///   - time: The current time, in seconds since 2001.
  package static func next(after last: Int64?, time: Double) -> Int64 {
    let milliseconds = ((time + Date.timeIntervalBetween1970AndReferenceDate) * 1000).rounded(.down)
    // Clamped, so that a wrong system clock cannot cause an overflow trap.
    let wall = Int64(exactly: min(max(milliseconds, 0), 140_737_488_355_327)) ?? 0
    return max(wall << 16, (last ?? -1) + 1)
  }
}

/// An opening of a store, which identifies the process that wrote a transaction. The identifier is random and distinguishes processes with
/// the same ID and name.
package struct HistoryOpening: Sendable, Hashable {
  package var identifier: UUID
  package var processID: Int32
  package var program: String
  /// The time at which the store was opened, in seconds since 2001.
  package var began: Double

  package init(identifier: UUID, processID: Int32, program: String, began: Double) {
    self.identifier = identifier
    self.processID = processID
    self.program = program
    self.began = began
  }

  /// Returns an opening by this process at the current time.
  package static func make() -> HistoryOpening {
    let process = ProcessInfo.processInfo
    return HistoryOpening(
      identifier: UUID(), processID: process.processIdentifier, program: Bundle.main.bundleIdentifier ?? process.processName,
      began: Date().timeIntervalSinceReferenceDate)
  }

  /// The fields, separated by tabs.
  package var text: String {
    let program = program.replacingOccurrences(of: "\t", with: " ")
    return "\(identifier.uuidString)\t\(processID)\t\(Int64(began))\t\(program)"
  }

  /// Parses the format of ``text``. Returns nil if the text is invalid.
  package init?(_ text: String) {
    let parts = text.split(separator: "\t", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 4, let identifier = UUID(uuidString: String(parts[0])), let processID = Int32(parts[1]),
      let began = Int64(parts[2])
    else { return nil }
    self.init(identifier: identifier, processID: processID, program: String(parts[3]), began: Double(began))
  }
}

/// A history transaction that consecutive requests of one kind, author and context share.
package struct OpenHistoryTransaction: Sendable, Hashable {
  package var origin: TransactionOrigin
  package var start: Int64
  package var mark: Int64
  package var clock: Int64

  package var position: HistoryPosition { HistoryPosition(number: start, mark: mark) }
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
    let known = run.flatMap { $0.origin == authorship.origin ? $0 : nil }
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
    run = OpenHistoryTransaction(origin: authorship.origin, start: start, mark: mark, clock: clock)
    return entries
  }
}
