// ContextNotifications: what a context tells its observers: Core Data's notifications, and the same as an AsyncSequence of values.
public import Foundation
public import ObjectModel
public import ObjectStore
import Synchronization

/// What happened in a context, as a value that may go anywhere: IDs instead of objects.
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
    /// A save begins.
    case willSave
    /// A save has succeeded.
    case didSave
  }
  /// The kind of event.
  public let kind: Kind
  /// Objects inserted; in ``Kind/didSave`` with their permanent IDs.
  public var inserted: Set<ManagedObjectID> = []
  /// Objects updated.
  public var updated: Set<ManagedObjectID> = []
  /// Objects deleted.
  public var deleted: Set<ManagedObjectID> = []
  /// Objects that took values from the store or gave up changes.
  public var refreshed: Set<ManagedObjectID> = []
  /// Whether the context was reset.
  public var invalidatedAll = false
  /// After others' changes were merged: of each object with unsaved changes the properties that others have changed too. The unsaved values stay.
  public var overridden: [ManagedObjectID: Set<String>] = [:]
  /// After others' changes were merged: the unsaved values of each object that left since others have deleted it, by property. To-one relationships are told as IDs,
  /// to-many ones as arrays of IDs; nil is a value that was cleared.
  public var discarded: [ManagedObjectID: [String: (any Sendable)?]] = [:]
  /// In ``Kind/didSave``: the place behind the save in the histories of the stores that were saved to; nil where none keeps one.
  public var historyToken: PersistentHistoryToken?
  /// In ``Kind/didSave``: the state that the context is pinned to after the save; nil where it is pinned to none.
  public var queryGeneration: QueryGenerationToken?
}

extension ManagedObjectContext {
  /// Posted after objects were changed in memory, at the end of an event; the object is the context, the user info has sets of objects.
  ///
  /// Contexts post under a name from when somebody has read it here: an observer of all names hears of those.
  public static var didChangeObjectsNotification: Notification.Name { ContextNotifications.names.didChange.wanted() }
  /// Posted when a save begins, from when somebody has read the name here; without user info.
  public static var willSaveObjectsNotification: Notification.Name { ContextNotifications.names.willSave.wanted() }
  /// Posted when a save has succeeded, from when somebody has read the name here; the user info has sets of objects.
  public static var didSaveObjectsNotification: Notification.Name { ContextNotifications.names.didSave.wanted() }
  /// Posted when a save has succeeded, from when somebody has read the name here; the user info has sets of object IDs.
  public static var didSaveObjectIDsNotification: Notification.Name { ContextNotifications.names.didSaveIDs.wanted() }

  /// The keys of the notifications' user info, with Core Data's values.
  public enum NotificationKey: String, Sendable, Hashable, CaseIterable {
    /// The inserted objects.
    case insertedObjects = "inserted"
    /// The place behind a save in the histories of the stores, a ``PersistentHistoryToken``; absent where none keeps one.
    case historyToken = "historyToken"
    /// The state that the context is pinned to after a save, a ``QueryGenerationToken``; absent where it is pinned to none.
    case queryGeneration = "queryGeneration"
    /// The properties of objects with unsaved changes that others have changed too: a dictionary as ``ContextChange/overridden``.
    case overriddenProperties = "overridden"
    /// The unsaved values of objects that others have deleted: a dictionary as ``ContextChange/discarded``.
    case discardedValues = "discarded"
    /// The updated objects.
    case updatedObjects = "updated"
    /// The deleted objects.
    case deletedObjects = "deleted"
    /// The refreshed objects.
    case refreshedObjects = "refreshed"
    /// The objects that belong to the context no more.
    case invalidatedObjects = "invalidated"
    /// Present when the whole context was reset.
    case invalidatedAllObjects = "invalidatedAll"
    /// The IDs of the inserted objects.
    case insertedObjectIDs = "inserted_objectIDs"
    /// The IDs of the updated objects.
    case updatedObjectIDs = "updated_objectIDs"
    /// The IDs of the deleted objects.
    case deletedObjectIDs = "deleted_objectIDs"
  }

  /// What happens in the context from now on. The stream ends with the context.
  public func changes() -> AsyncStream<ContextChange> { notifications.stream() }
}

extension Notification {
  /// The objects that a notification of a context tells of under a key, with those that it tells by their IDs.
  ///
  /// Merging tells of inserted objects by their IDs, since few observers want them as objects. Whoever asks for them gets faults that are made now, and nothing
  /// is read. Use the objects where their context is: in the observer that the notification is posted to. The set is empty for notifications of others, and for
  /// the keys of IDs.
  public func managedObjects(_ key: ManagedObjectContext.NotificationKey) -> Set<ManagedObject> {
    guard let context = object as? ManagedObjectContext else { return [] }
    var objects = userInfo?[AnyHashable(key.rawValue)] as? Set<ManagedObject> ?? []
    if let idKey = key.ofIDs, let ids = userInfo?[AnyHashable(idKey.rawValue)] as? Set<ManagedObjectID> {
      for id in ids {
        // Of deleted objects only those are left that somebody holds.
        let object = key == .deletedObjects ? context.registeredObject(for: id) : context.object(with: id)
        if let object { objects.insert(object) }
      }
    }
    return objects
  }
}

extension ManagedObjectContext.NotificationKey {
  /// The key of the IDs of a key's objects.
  fileprivate var ofIDs: Self? {
    switch self {
    case .insertedObjects: .insertedObjectIDs
    case .updatedObjects: .updatedObjectIDs
    case .deletedObjects: .deletedObjectIDs
    default: nil
    }
  }
}

/// A name that is posted under once somebody has asked for it: who has not cannot observe it, and sets for nobody are most of a small save.
private final class NotificationName: Sendable {
  let name: Notification.Name
  private let hasReaders = Atomic<Bool>(false)

  init(_ name: String) { self.name = Notification.Name(name) }

  /// The name, for somebody who may observe it.
  func wanted() -> Notification.Name {
    hasReaders.store(true, ordering: .relaxed)
    return name
  }

  /// Whether somebody may observe it.
  var isWanted: Bool { hasReaders.load(ordering: .relaxed) }
}

/// Posts notifications and feeds streams. Posting happens in the context's isolation.
final class ContextNotifications {
  fileprivate static let names = (
    didChange: NotificationName("CipherData.ObjectsDidChange"), willSave: NotificationName("CipherData.WillSave"),
    didSave: NotificationName("CipherData.DidSave"), didSaveIDs: NotificationName("CipherData.DidSaveObjectIDs")
  )
  private var continuations: [AsyncStream<ContextChange>.Continuation] = []
  /// Who shows the context to applications by other names; nil where nobody does.
  weak var face: AnyObject?
  /// The class of objects of no entity that the context knows, where those of its entities all lie below it; nil for ``ManagedObject``.
  var plainClass: ManagedObject.Type?

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

  /// Whether somebody may hear of objects that were changed in memory.
  private var tellsOfChanges: Bool { Self.names.didChange.isWanted || !continuations.isEmpty }

  private func post(
    _ name: NotificationName, from context: ManagedObjectContext, _ userInfo: () -> [ManagedObjectContext.NotificationKey: Any]
  ) {
    guard name.isWanted else { return }
    let info = Dictionary(uniqueKeysWithValues: userInfo().map { (AnyHashable($0.key.rawValue), $0.value) })
    NotificationCenter.default.post(name: name.name, object: context, userInfo: info.isEmpty ? nil : info)
  }

  func postObjectsDidChange(_ objects: [ManagedObject], in context: ManagedObjectContext) {
    guard tellsOfChanges else { return }
    // Sets are made at once of all their members: growing step by step hashes each several times.
    var (new, changed, removed): ([ManagedObject], [ManagedObject], [ManagedObject]) = ([], [], [])
    for object in objects {
      let isAnnounced = object.flags.contains(.isAnnounced)
      if object.flags.contains(.isDeleted) {
        // Of what came and went in one event nobody was told.
        if isAnnounced || !object.flags.contains(.isInserted) { removed.append(object) }
      } else if object.flags.contains(.isBack) {
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
    inserted: [ManagedObjectID], refreshed: [ManagedObject], deleted: [ManagedObject], unsaved: UnsavedChanges,
    in context: ManagedObjectContext
  ) {
    guard tellsOfChanges else { return }
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

  func postDidSave(_ work: SaveWork, _ historyToken: PersistentHistoryToken?, in context: ManagedObjectContext) {
    let generation = context.queryGenerationToken
    /// The user info, with the place in the histories and the state pinned to where there are such.
    func info(_ values: [ManagedObjectContext.NotificationKey: Any]) -> [ManagedObjectContext.NotificationKey: Any] {
      var values = values
      values[.historyToken] = historyToken
      values[.queryGeneration] = generation
      return values
    }
    post(Self.names.didSave, from: context) {
      info([.insertedObjects: Set(work.inserted), .updatedObjects: Set(work.updated), .deletedObjects: Set(work.deleted)])
    }
    guard Self.names.didSaveIDs.isWanted || !continuations.isEmpty else { return }
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
