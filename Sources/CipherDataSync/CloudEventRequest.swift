public import Foundation
public import ObjectContext
import ObjectStore
import SyncEngine

/// A request for past events of synchronization, which synchronized stores keep: see ``ManagedObjectContext/execute(_:)-(CloudEventRequest)``.
///
/// ```swift
/// let failures = try context.execute(.fetchEvents(after: Date(timeIntervalSinceNow: -86_400))).events.filter { !$0.succeeded }
/// ```
///
/// A store keeps its last 1,000 events. Of consecutive attempts with the same error, it keeps the last one.
public struct CloudEventRequest: Sendable {
  /// What a request returns.
  public enum ResultType: Sendable, Hashable, CaseIterable {
    /// The events.
    case events
    /// The number of events.
    case countEvents
  }

  private enum Position: Sendable {
    case date(Date)
    case event(CloudEvent?)
  }

  private let position: Position
  /// What the request returns: the events by default.
  public var resultType = ResultType.events
  /// The kinds of work, or nil for all.
  public var types: Set<CloudEvent.EventType>?
  /// The identifiers of the stores, or nil for all.
  public var affectedStores: [String]?

  private init(_ position: Position) { self.position = position }

  /// Returns a request for the events that have begun at or after a date.
  public static func fetchEvents(after date: Date) -> CloudEventRequest { CloudEventRequest(.date(date)) }

  /// Returns a request for the events after an event of the same store, or for all if it is nil.
  public static func fetchEvents(after event: CloudEvent?) -> CloudEventRequest { CloudEventRequest(.event(event)) }

  /// Returns the events of a store that match, from all of them, the oldest first.
  func matching(_ events: [CloudEvent], of store: String) -> [CloudEvent] {
    if let affectedStores, !affectedStores.contains(store) { return [] }
    let later: [CloudEvent]
    switch position {
    case .date(let date): later = events.filter { $0.startDate >= date }
    case .event(nil): later = events
    case .event(let event?):
      if event.storeIdentifier != store { return [] }
      // The store may have removed the event.
      let position = events.firstIndex { $0.id == event.id }
      later = position.map { Array(events[($0 + 1)...]) } ?? events.filter { $0.startDate > event.startDate }
    }
    return types.map { types in later.filter { types.contains($0.type) } } ?? later
  }
}

/// The result of a ``CloudEventRequest``.
public struct CloudEventResult: Sendable {
  /// The kind of result.
  public let resultType: CloudEventRequest.ResultType
  /// The events of each store, in the order in which they have ended. Empty for ``CloudEventRequest/ResultType/countEvents``.
  public let events: [CloudEvent]
  /// The number of events.
  public let count: Int
}

extension ManagedObjectContext {
  /// Returns past events of the synchronization of the context's stores: those of this process, and of others that have synchronized them.
  ///
  /// Running work is not among them: ``PersistentCloudContainer/events()`` reports it. The events of a store are removed when it leaves its
  /// account.
  /// - Throws: ``StoreError`` if a store cannot be read.
  public func execute(_ request: CloudEventRequest) throws -> CloudEventResult {
    var found: [CloudEvent] = []
    for store in persistentStoreCoordinator.persistentStores where store.storeDescription.cloudOptions != nil {
      let events = try StoreReplica(store, of: persistentStoreCoordinator).events().map {
        CloudEvent($0, storeIdentifier: store.identifier, path: store.url?.path)
      }
      found += request.matching(events, of: store.identifier)
    }
    return CloudEventResult(
      resultType: request.resultType, events: request.resultType == .events ? found : [], count: found.count)
  }
}
