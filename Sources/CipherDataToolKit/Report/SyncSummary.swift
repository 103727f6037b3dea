import Foundation
import SyncEngine

/// What the page about a store says of its synchronization.
package struct SyncSummary: Sendable {
  let status: SyncStatus
  /// The last events, the oldest first.
  let events: [SyncEvent]
  /// The number of values that have lost and were not restored, and of those about which devices still disagree.
  let lostCount: Int
  let conflictCount: Int

  private static let eventCount = 10

  /// Reads the state from the store. The hub is not needed.
  init(_ synced: SyncedContainer) throws {
    status = try synced.status()
    events = try synced.events(maximumCount: Self.eventCount)
    lostCount = try synced.journal(includesRestored: false).count
    let conflicts = try synced.openConflicts()
    conflictCount = conflicts.values.count + conflicts.unreadable.count
  }
}

extension StoreReport {
  /// Returns the part of the page about synchronization. It contains no values of objects.
  static func section(_ summary: SyncSummary) -> String {
    var rows = SyncCommand.Status.lines(summary.status)
    rows.append(("Lost values", summary.lostCount == 0 ? "none" : "\(grouped(summary.lostCount)), in the journal"))
    rows.append(("Conflicts", summary.conflictCount == 0 ? "none" : grouped(summary.conflictCount)))
    return "<section><h2>Synchronization</h2>"
      + table(rows.map { [$0.title, $0.value] })
      + "<h2>Last rounds</h2>"
      + (summary.events.isEmpty
        ? "<p class=\"soft\">None yet.</p>"
        : table(
          summary.events.map {
            [SyncText.time($0.start), $0.kind.rawValue, "\(SyncCommand.Status.seconds($0)) s", SyncCommand.Status.result($0)]
          }, head: ["begin", "kind", "duration", "result"]))
      + "</section>"
  }

  private static func table(_ rows: [[String]], head: [String] = []) -> String {
    let titles = head.isEmpty ? "" : "<tr>" + head.map { "<th>\(escaped($0))</th>" }.joined() + "</tr>"
    return "<table class=\"list\">" + titles
      + rows.map { "<tr>" + $0.map { "<td>\(escaped($0))</td>" }.joined() + "</tr>" }.joined() + "</table>"
  }
}
