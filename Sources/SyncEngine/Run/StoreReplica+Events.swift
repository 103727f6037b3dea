import Foundation
import ObjectModel
import SQLCipherStore
import SyncCore

extension StoreReplica {
  /// The number of events that a store keeps.
  package static let maximumEventCount = 1_000

  /// Returns the events that have ended, the oldest first. Waits for no other process.
  package func events() throws -> [SyncEvent] {
    try snapshot {
      var events: [SyncEvent] = []
      // Events of a later version that this one cannot read are left out.
      try transactionTables.query(SyncStatement.events) { row in
        if let event = try? JSONDecoder().decode(StoredEvent.self, from: Data(row.bytes(0))) { events.append(event.event) }
      }
      return events
    }
  }

  /// Stores events that have ended, if the store is synchronized.
  func add(_ events: [SyncEvent]) throws {
    // An interrupted round continues: that is nothing to look up later.
    let events = events.filter { !($0.error is CancellationError) }
    if events.isEmpty { return }
    try transaction {
      guard try replicaState() != nil else { return }
      for event in events { try add(StoredEvent(event)) }
      try transactionTables.execute(SyncStatement.removeEvents, .int(Int64(Self.maximumEventCount)))
    }
  }

  /// Stores an event. It replaces the last one if that had the same error, as for attempts while the hub is away.
  private func add(_ event: StoredEvent) throws {
    if let failure = event.failure {
      var last: (number: Int64, event: StoredEvent)?
      try transactionTables.query(SyncStatement.lastEvent) { row in
        last = (row.int64(0), try JSONDecoder().decode(StoredEvent.self, from: Data(row.bytes(1))))
      }
      if let last, last.event.failure == failure, last.event.kind == event.kind {
        try transactionTables.execute(SyncStatement.removeEvent, .int(last.number))
      }
    }
    try transactionTables.execute(SyncStatement.addEvent, .bytes(try JSONEncoder().encode(event)))
  }
}

extension StoreReplica {
  /// Returns the values that could not be merged since the last call, in terms of the model.
  func takeUnmergedValues() -> [SyncEvent.UnmergedValue] {
    defer { unmergedValues = [] }
    return unmergedValues.sorted { ($0.id, $0.property) < ($1.id, $1.property) }.compactMap { value in
      guard let entity = schema.number(of: value.entity), let name = propertyName(value.property, ofEntity: entity) else { return nil }
      return SyncEvent.UnmergedValue(
        id: value.id.uuid, entity: schema.model.entities[entity].name, attribute: name,
        function: schema.syncModel.function(for: value.property, of: value.entity)?.name, failure: .init(value.failure))
    }
  }
}

/// An event in a store.
private struct StoredEvent: Codable {
  struct Failure: Hashable, Codable {
    /// The code of a ``SyncError``, or nil for other errors.
    var code: String?
    var message: String
    var path: String?
    /// The message in one sentence.
    var short: String?

    init(_ error: any Error) {
      short = SyncError.shortMessage(error)
      switch error {
      case let error as SyncError:
        let message = ErrorCause.chain(error.message, error.underlying) { _ in "" }
        (code, self.message, path) = ("\(error.code)", message, error.path)
      default: message = "\(error)"
      }
    }

    var error: any Error {
      let known = SyncError.Code.allCases.first { "\($0)" == code }
      return known.map { SyncError(SyncError.Reason($0, message), path: path) } ?? RecordedSyncError(description: message)
    }
  }

  let id: UUID
  let kind: SyncEvent.Kind
  let start: Date
  let end: Date?
  let count: Int
  let failure: Failure?
  /// The unreadable records; omitted if all can be read.
  let unreadable: [SyncEvent.UnreadableRecord]?
  /// The values that could not be merged; omitted if there were none.
  let unmerged: [SyncEvent.UnmergedValue]?

  init(_ event: SyncEvent) {
    (id, kind, start, end, count) = (event.id, event.kind, event.start, event.end, event.count)
    failure = event.error.map(Failure.init)
    unreadable = event.unreadable.isEmpty ? nil : event.unreadable
    unmerged = event.unmerged.isEmpty ? nil : event.unmerged
  }

  var event: SyncEvent {
    var event = SyncEvent(kind, id: id, start: start)
    event.count = count
    (event.unreadable, event.unmerged) = (unreadable ?? [], unmerged ?? [])
    return event.ended(with: failure?.error, failure: failure?.short, at: end ?? start)
  }
}
