public import Foundation
public import ObjectModel
public import ObjectStore
import Synchronization

/// A `Sendable` description of an event in a context, with object IDs in place of objects.
///
/// ```swift
/// for await change in context.changes() where change.kind == .didSave {
///   print(change.inserted.count, "new")
/// }
/// ```
public struct ContextChange: Sendable {
  /// The kinds of events.
  public enum Kind: Sendable, Hashable {
    /// Objects were changed in memory.
    case objectsDidChange
    /// A save is about to begin.
    case willSave
    /// A save has succeeded.
    case didSave
  }
  /// The kind of event.
  public let kind: Kind
  /// The IDs of the inserted objects. In ``Kind/didSave`` they are permanent.
  public var inserted: Set<ManagedObjectID> = []
  /// The IDs of the updated objects.
  public var updated: Set<ManagedObjectID> = []
  /// The IDs of the deleted objects.
  public var deleted: Set<ManagedObjectID> = []
  /// The IDs of objects that were refreshed from the store, or whose changes were discarded.
  public var refreshed: Set<ManagedObjectID> = []
  /// Whether the context was reset.
  public var invalidatedAll = false
  /// After a merge: the properties with unsaved changes that were also changed elsewhere, by object. The unsaved values are kept.
  public var overridden: [ManagedObjectID: Set<String>] = [:]
  /// After a merge: the unsaved values of objects that were removed because they were deleted elsewhere, by object and property name. A
  /// to-one relationship is represented by an ID, a to-many relationship by an array of IDs, and a cleared value by `nil`.
  public var discarded: [ManagedObjectID: [String: (any Sendable)?]] = [:]
  /// In ``Kind/didSave``: the position after the save in the histories of the stores that were saved to; `nil` if none of them records
  /// history.
  public var historyToken: PersistentHistoryToken?
  /// In ``Kind/didSave``: the generation that the context is pinned to after the save; `nil` if it is not pinned.
  public var queryGeneration: QueryGenerationToken?
}

extension ManagedObjectContext {
  /// The name of the notification posted after objects were changed in memory, at the end of an event. The notification's object is the
  /// context; the user info contains sets of objects.
  ///
  /// Contexts post this notification only after its name was read for the first time. An observer of all names therefore receives only
  /// notifications whose names were read.
  public static var didChangeObjectsNotification: Notification.Name { ContextNotifications.names.didChange.recordedName() }
  /// The name of the notification posted when a save begins. It has no user info, and is posted only after its name was read.
  public static var willSaveObjectsNotification: Notification.Name { ContextNotifications.names.willSave.recordedName() }
  /// The name of the notification posted after a successful save. The user info contains sets of objects. It is posted only after its name
  /// was read.
  public static var didSaveObjectsNotification: Notification.Name { ContextNotifications.names.didSave.recordedName() }
  /// The name of the notification posted after a successful save. The user info contains sets of object IDs. It is posted only after its
  /// name was read.
  public static var didSaveObjectIDsNotification: Notification.Name { ContextNotifications.names.didSaveIDs.recordedName() }

  /// The keys of the notifications' user info. The raw values are Core Data's.
  public enum NotificationKey: String, Sendable, Hashable, CaseIterable {
    /// The inserted objects.
    case insertedObjects = "inserted"
    /// The position after a save in the histories of the stores, a ``PersistentHistoryToken``; absent if none of them records history.
    case historyToken = "historyToken"
    /// The generation that the context is pinned to after a save, a ``QueryGenerationToken``; absent if it is not pinned.
    case queryGeneration = "queryGeneration"
    /// The properties with unsaved changes that were also changed elsewhere, a dictionary like ``ContextChange/overridden``.
    case overriddenProperties = "overridden"
    /// The unsaved values of objects that were deleted elsewhere, a dictionary like ``ContextChange/discarded``.
    case discardedValues = "discarded"
    /// The updated objects.
    case updatedObjects = "updated"
    /// The deleted objects.
    case deletedObjects = "deleted"
    /// The refreshed objects.
    case refreshedObjects = "refreshed"
    /// The objects that no longer belong to the context.
    case invalidatedObjects = "invalidated"
    /// Present if the whole context was reset.
    case invalidatedAllObjects = "invalidatedAll"
    /// The IDs of the inserted objects.
    case insertedObjectIDs = "inserted_objectIDs"
    /// The IDs of the updated objects.
    case updatedObjectIDs = "updated_objectIDs"
    /// The IDs of the deleted objects.
    case deletedObjectIDs = "deleted_objectIDs"
  }

  /// Returns a stream of the context's events from now on. The stream ends when the context is deallocated.
  public func changes() -> AsyncStream<ContextChange> { notifications.stream() }
}

extension Notification {
  /// Returns the objects of a context's notification for a key, including those that the notification lists by ID.
  ///
  /// A merge lists inserted objects by ID only, since few observers need the objects. This method creates faults for them without reading
  /// from the store. Call it in the context's isolation: in the observer that receives the notification. The result is empty for other
  /// notifications, and for the keys of IDs.
  public func managedObjects(_ key: ManagedObjectContext.NotificationKey) -> Set<ManagedObject> {
    guard let context = object as? ManagedObjectContext else { return [] }
    var objects = userInfo?[AnyHashable(key.rawValue)] as? Set<ManagedObject> ?? []
    if let idKey = key.ofIDs, let ids = userInfo?[AnyHashable(idKey.rawValue)] as? Set<ManagedObjectID> {
      for id in ids {
        // Deleted objects are returned only if they are still in memory.
        let object = key == .deletedObjects ? context.registeredObject(for: id) : context.object(with: id)
        if let object { objects.insert(object) }
      }
    }
    return objects
  }
}

extension ManagedObjectContext.NotificationKey {
  /// The key of the IDs that corresponds to a key of objects.
  fileprivate var ofIDs: Self? {
    switch self {
    case .insertedObjects: .insertedObjectIDs
    case .updatedObjects: .updatedObjectIDs
    case .deletedObjects: .deletedObjectIDs
    default: nil
    }
  }
}

/// A notification name that records whether it was ever read. Without a reader there can be no observer, and building the sets of the user
/// info would account for most of the cost of a small save.
private final class NotificationName: Sendable {
  let name: Notification.Name
  private let wasRead = Atomic<Bool>(false)

  init(_ name: String) { self.name = Notification.Name(name) }

  /// Returns the name to a potential observer, and records that it was read.
  func recordedName() -> Notification.Name {
    wasRead.store(true, ordering: .relaxed)
    return name
  }

  /// Whether there may be observers.
  var mayHaveObservers: Bool { wasRead.load(ordering: .relaxed) }
}

/// Posts the notifications of a context and yields to its streams, in the context's isolation.
final class ContextNotifications {
  fileprivate static let names = (
    didChange: NotificationName("CipherData.ObjectsDidChange"), willSave: NotificationName("CipherData.WillSave"),
    didSave: NotificationName("CipherData.DidSave"), didSaveIDs: NotificationName("CipherData.DidSaveObjectIDs")
  )
  private var continuations: [AsyncStream<ContextChange>.Continuation] = []
  /// The object that presents the context under another interface, such as Core Data's; `nil` if there is none.
  weak var facade: AnyObject?
  /// The common base class of the context's objects, used for entities that the context does not have; `nil` for ``ManagedObject``.
  var fallbackClass: ManagedObject.Type?

  deinit {
    for continuation in continuations { continuation.finish() }
  }

  func stream() -> AsyncStream<ContextChange> {
    let (stream, continuation) = AsyncStream.makeStream(of: ContextChange.self)
    continuations.append(continuation)
    return stream
  }

  private func yield(_ make: () -> ContextChange) {
    guard !continuations.isEmpty else { return }
    let change = make()
    continuations.removeAll { continuation in
      if case .terminated = continuation.yield(change) { return true }
      return false
    }
  }

  private var hasChangeObservers: Bool { Self.names.didChange.mayHaveObservers || !continuations.isEmpty }

  private func post(
    _ name: NotificationName, from context: ManagedObjectContext, _ userInfo: () -> [ManagedObjectContext.NotificationKey: Any]
  ) {
    guard name.mayHaveObservers else { return }
    let info = Dictionary(uniqueKeysWithValues: userInfo().map { (AnyHashable($0.key.rawValue), $0.value) })
    NotificationCenter.default.post(name: name.name, object: context, userInfo: info.isEmpty ? nil : info)
  }

  func postObjectsDidChange(_ objects: [ManagedObject], in context: ManagedObjectContext) {
    guard hasChangeObservers else { return }
    // Each set is created from a complete array: growing a set step by step rehashes its members several times.
    var (new, changed, removed): ([ManagedObject], [ManagedObject], [ManagedObject]) = ([], [], [])
    for object in objects {
      let isAnnounced = object.flags.contains(.isAnnounced)
      if object.flags.contains(.isDeleted) {
        // Observers never learned of an object that was inserted and deleted in the same event.
        if isAnnounced || !object.flags.contains(.isInserted) { removed.append(object) }
      } else if object.flags.contains(.isRestored) {
        new.append(object)
      } else if object.flags.contains(.isInserted) {
        if isAnnounced { changed.append(object) } else { new.append(object) }
      } else if object.flags.contains(.isUpdated) {
        changed.append(object)
      }
    }
    let (inserted, updated, deleted) = (Set(new), Set(changed), Set(removed))
    var info: [ManagedObjectContext.NotificationKey: Any] = [:]
    if !inserted.isEmpty { info[.insertedObjects] = inserted }
    if !updated.isEmpty { info[.updatedObjects] = updated }
    if !deleted.isEmpty { info[.deletedObjects] = deleted }
    if info.isEmpty { return }
    post(Self.names.didChange, from: context) { info }
    yield {
      var change = ContextChange(kind: .objectsDidChange)
      change.inserted = Set(inserted.map(\.objectID))
      change.updated = Set(updated.map(\.objectID))
      change.deleted = Set(deleted.map(\.objectID))
      return change
    }
  }

  func postRefreshed(_ objects: [ManagedObject], in context: ManagedObjectContext) {
    if objects.isEmpty { return }
    post(Self.names.didChange, from: context) { [.refreshedObjects: Set(objects)] }
    yield {
      var change = ContextChange(kind: .objectsDidChange)
      change.refreshed = Set(objects.map(\.objectID))
      return change
    }
  }

  func postMerged(
    inserted: [ManagedObjectID], refreshed: [ManagedObject], deleted: [ManagedObject], unsaved: MergeOverrides,
    in context: ManagedObjectContext
  ) {
    guard hasChangeObservers else { return }
    var info: [ManagedObjectContext.NotificationKey: Any] = [:]
    if !inserted.isEmpty { info[.insertedObjectIDs] = Set(inserted) }
    if !refreshed.isEmpty { info[.refreshedObjects] = Set(refreshed) }
    if !deleted.isEmpty { info[.deletedObjects] = Set(deleted) }
    if !unsaved.overridden.isEmpty { info[.overriddenProperties] = unsaved.overridden }
    if !unsaved.discarded.isEmpty { info[.discardedValues] = unsaved.discarded }
    if info.isEmpty { return }
    post(Self.names.didChange, from: context) { info }
    yield {
      var change = ContextChange(kind: .objectsDidChange)
      change.inserted = Set(inserted)
      change.refreshed = Set(refreshed.map(\.objectID))
      change.deleted = Set(deleted.map(\.objectID))
      change.overridden = unsaved.overridden
      change.discarded = unsaved.discarded
      return change
    }
  }

  func postInvalidatedAll(in context: ManagedObjectContext) {
    post(Self.names.didChange, from: context) { [.invalidatedAllObjects: true] }
    yield {
      var change = ContextChange(kind: .objectsDidChange)
      change.invalidatedAll = true
      return change
    }
  }

  func postWillSave(in context: ManagedObjectContext) {
    post(Self.names.willSave, from: context) { [:] }
    yield { ContextChange(kind: .willSave) }
  }

  func postDidSave(_ work: SaveSet, _ historyToken: PersistentHistoryToken?, in context: ManagedObjectContext) {
    let generation = context.queryGenerationToken
    func info(_ values: [ManagedObjectContext.NotificationKey: Any]) -> [ManagedObjectContext.NotificationKey: Any] {
      var values = values
      values[.historyToken] = historyToken
      values[.queryGeneration] = generation
      return values
    }
    post(Self.names.didSave, from: context) {
      info([.insertedObjects: Set(work.inserted), .updatedObjects: Set(work.updated), .deletedObjects: Set(work.deleted)])
    }
    guard Self.names.didSaveIDs.mayHaveObservers || !continuations.isEmpty else { return }
    let inserted = Set(work.inserted.map(\.objectID))
    let updated = Set(work.updated.map(\.objectID))
    let deleted = Set(work.deleted.map(\.objectID))
    post(Self.names.didSaveIDs, from: context) {
      info([.insertedObjectIDs: inserted, .updatedObjectIDs: updated, .deletedObjectIDs: deleted])
    }
    yield {
      var change = ContextChange(kind: .didSave)
      change.inserted = inserted
      change.updated = updated
      change.deleted = deleted
      change.historyToken = historyToken
      change.queryGeneration = generation
      return change
    }
  }
}

/// The unsaved changes that a merge of other changes affects, so that the context can report each of them.
struct MergeOverrides {
  /// The unsaved values of objects that were deleted elsewhere, by object and property name.
  private(set) var discarded: [ManagedObjectID: [String: (any Sendable)?]] = [:]
  /// The properties changed both here and elsewhere, by object.
  private(set) var overridden: [ManagedObjectID: Set<String>] = [:]
  /// Changed objects with the rows that they had before the merge.
  private var former: [(object: ManagedObject, row: RowImage)] = []

  /// Records the unsaved values of an object that was deleted elsewhere.
  mutating func recordDiscarded(_ object: ManagedObject) {
    guard object.flags.contains(.isUpdated), !object.flags.contains(.isDeleted) else { return }
    var values: [String: (any Sendable)?] = [:]
    for slot in object.compiledEntity.slots where object.overlay?.isDirty(slot.index) ?? false {
      if let attribute = slot.attribute {
        let value = (try? AttributeConversion.untypedValue(of: object.slotValue(slot.index), attribute)) ?? nil
        values.updateValue(value, forKey: slot.name)
      } else {
        values.updateValue((object[slot.name] as? ManagedObject)?.objectID, forKey: slot.name)
      }
    }
    for state in object.toManyStates where state.isChanged {
      let members = object[state.relationship.name]
      let ids =
        (members as? [ManagedObject])?.map(\.objectID) ?? (members as? Set<ManagedObject>)?.map(\.objectID).sorted(by: Self.precedes)
      values.updateValue(ids, forKey: state.relationship.name)
    }
    if !values.isEmpty { discarded[object.objectID] = values }
  }

  private static func precedes(_ one: ManagedObjectID, _ other: ManagedObjectID) -> Bool {
    (one.entityNumber, one.key) < (other.entityNumber, other.key)
  }

  /// Records the rows of objects before the merge replaces them.
  mutating func begin(_ objects: [ManagedObject]) {
    for object in objects {
      guard let overlay = object.overlay, !overlay.dirty.isEmpty, let row = object.image else { continue }
      former.append((object, row))
    }
  }

  /// Compares the rows after the merge: values that differ were changed elsewhere.
  mutating func end() {
    for (object, row) in former {
      guard let overlay = object.overlay, let now = object.image else { continue }
      let entity = object.compiledEntity
      let changed = now.slots(differingFrom: row, of: entity, among: overlay.dirty)
      let names = entity.slots.filter { changed.contains($0.index) }.map(\.name)
      if !names.isEmpty { overridden[object.objectID] = Set(names) }
    }
    former = []
  }
}
