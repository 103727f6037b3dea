import Foundation
import SyncCore

/// The events of a round of synchronization.
struct RoundEvents {
  private var running: [SyncEvent] = []
  private var reports: [SyncEvent.Kind: Date] = [:]
  /// The events that have ended, until they are stored.
  private var ended: [SyncEvent] = []

  /// The least time between two reports of running work, in seconds.
  private static let interval: TimeInterval = 0.5

  /// Begins an event, unless one of the kind is running.
  ///
  /// - Parameter start: When the work began; nil if it begins now.
  /// - Returns: The new event, to be reported.
  mutating func begin(_ kind: SyncEvent.Kind, start: Date? = nil) -> SyncEvent? {
    if running.contains(where: { $0.kind == kind }) { return nil }
    let event = SyncEvent(kind, start: start ?? Date())
    running.append(event)
    reports[kind] = event.start
    return event
  }

  /// Sets the counts of the running events.
  ///
  /// - Returns: The events whose progress is to be reported.
  mutating func update(_ round: SyncRunner.Round) -> [SyncEvent] {
    let now = Date()
    var changed: [SyncEvent] = []
    for index in running.indices {
      let kind = running[index].kind
      let count = round.count(of: kind)
      if running[index].count == count { continue }
      running[index].count = count
      guard now.timeIntervalSince(reports[kind] ?? .distantPast) >= Self.interval else { continue }
      reports[kind] = now
      changed.append(running[index])
    }
    return changed
  }

  /// Ends the running events.
  ///
  /// - Parameters:
  ///   - round: What the round has done.
  ///   - unreadable: The records that could not be opened.
  ///   - unmerged: The values that could not be merged.
  ///   - error: The error that ended the round, or nil.
  ///   - kind: The kind of the event for an error that no running event can have.
  /// - Returns: The new events, to be reported.
  mutating func end(
    _ round: SyncRunner.Round, unreadable: [SyncEvent.UnreadableRecord], unmerged: [SyncEvent.UnmergedValue], error: (any Error)?,
    otherwise kind: SyncEvent.Kind
  ) -> [SyncEvent] {
    var begun: [SyncEvent?] = []
    if error != nil, running.isEmpty { begun.append(begin(kind)) }
    if !unreadable.isEmpty || !unmerged.isEmpty { begun.append(begin(.import)) }
    for var event in running {
      event.count = round.finalCount(of: event.kind)
      if event.kind == .import { (event.unreadable, event.unmerged) = (unreadable, unmerged) }
      ended.append(event.ended(with: error))
    }
    running = []
    return begun.compactMap { $0 }
  }

  /// Ends an event of the kind that was added before.
  mutating func end(_ kind: SyncEvent.Kind, _ round: SyncRunner.Round, error: (any Error)? = nil) {
    guard let index = running.firstIndex(where: { $0.kind == kind }) else { return }
    var event = running.remove(at: index)
    event.count = round.finalCount(of: kind)
    ended.append(event.ended(with: error))
  }

  /// Adds an event that has ended.
  mutating func add(_ event: SyncEvent) { ended.append(event) }

  /// Returns the events that have ended since the last call.
  mutating func takeEnded() -> [SyncEvent] {
    defer { ended = [] }
    return ended
  }
}

extension SyncRunner.Round {
  /// What an event of the kind has done, when it has ended.
  fileprivate func finalCount(of kind: SyncEvent.Kind) -> Int { kind == .import ? changed : count(of: kind) }

  /// What a running event has done so far. Objects are imported when all records have been pulled.
  fileprivate func count(of kind: SyncEvent.Kind) -> Int {
    switch kind {
    case .setup: added
    case .import: pulled
    case .export: pushed
    case .reconcile: reconciled?.differenceCount ?? 0
    }
  }
}
