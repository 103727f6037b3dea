// HistoryEntry: a row of a history: who has written what when, with a portion of the records.
package import Foundation

/// What has written a transaction.
package enum HistoryKind: Int, Sendable, CaseIterable {
  case save = 1
  case batch, migration, transfer, sync, begin

  /// Whether such a transaction may have changed anything, without a list of it.
  package var isWhole: Bool {
    switch self {
    case .migration, .transfer, .begin: true
    case .save, .batch, .sync: false
    }
  }
}

/// Who has written a transaction, and when.
package struct HistoryAuthorship: Sendable, Hashable {
  package var kind: HistoryKind
  /// The author that the context named.
  package var author: String?
  /// The context's name.
  package var context: String?
  /// The opening of the store that it went through, as ``HistoryOpening`` writes it.
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
}

/// A row of a history. A transaction is one, or several that follow each other.
package struct HistoryEntry: Sendable {
  /// Its number, which no other row ever has.
  package var number: Int64
  /// The number of the transaction's first row; nil in that one.
  package var start: Int64?
  /// Milliseconds since 1970, shifted by 16 bits, and a counter: greater than those of all earlier transactions.
  package var clock: Int64
  package var authorship: HistoryAuthorship
  /// Random: tells this row from one of the same number in another copy of the store.
  package var mark: Int64
  /// Records.
  package var changes: [UInt8]

  package init(number: Int64, start: Int64?, clock: Int64, authorship: HistoryAuthorship, mark: Int64, changes: [UInt8]) {
    self.number = number
    self.start = start
    self.clock = clock
    self.authorship = authorship
    self.mark = mark
    self.changes = changes
  }

  /// What it takes of memory, about.
  package var size: Int { changes.count + 64 }
  /// The number of its transaction.
  package var transaction: Int64 { start ?? number }
  /// The place of its transaction, of the first row of one.
  package var position: HistoryPosition { HistoryPosition(number: number, mark: mark) }
}

/// The clock of a history: that of the wall, but never back.
package enum HistoryClock {
  /// The clock of the next transaction.
  ///
  /// - Parameters:
  ///   - last: The greatest clock so far; nil for none.
  ///   - time: The time, in seconds since 2001.
  package static func next(after last: Int64?, time: Double) -> Int64 {
    let milliseconds = ((time + Date.timeIntervalBetween1970AndReferenceDate) * 1000).rounded(.down)
    // A clock of another century does not end in a trap.
    let wall = Int64(exactly: min(max(milliseconds, 0), 140_737_488_355_327)) ?? 0
    return max(wall << 16, (last ?? -1) + 1)
  }
}

/// An opening of a store, for who wants to know what process has written something: random, so that a process that is called the same is another one.
package struct HistoryOpening: Sendable, Hashable {
  package var identifier: UUID
  package var processID: Int32
  package var program: String
  /// When the store was opened, in seconds since 2001.
  package var began: Double

  package init(identifier: UUID, processID: Int32, program: String, began: Double) {
    self.identifier = identifier
    self.processID = processID
    self.program = program
    self.began = began
  }

  /// One of this process, from now on.
  package static func make() -> HistoryOpening {
    let process = ProcessInfo.processInfo
    return HistoryOpening(
      identifier: UUID(), processID: process.processIdentifier, program: Bundle.main.bundleIdentifier ?? process.processName,
      began: Date().timeIntervalSinceReferenceDate)
  }

  /// The parts, divided by tabulators.
  package var text: String {
    let program = program.replacingOccurrences(of: "\t", with: " ")
    return "\(identifier.uuidString)\t\(processID)\t\(Int64(began))\t\(program)"
  }

  /// Reads ``text``; nil where it is none.
  package init?(_ text: String) {
    let parts = text.split(separator: "\t", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 4, let identifier = UUID(uuidString: String(parts[0])), let processID = Int32(parts[1]),
      let began = Int64(parts[2])
    else { return nil }
    self.init(identifier: identifier, processID: processID, program: String(parts[3]), began: Double(began))
  }
}
