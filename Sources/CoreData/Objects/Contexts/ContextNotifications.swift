public import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import Synchronization

/// The user info key of a context's query generation.
public let NSManagedObjectContextQueryGenerationKey = "queryGeneration"

extension NSNotification.Name {
  /// Posted by a context after objects changed in memory. The notification's object is the context, and the user info contains sets of
  /// objects.
  ///
  /// Contexts post a notification only after its name has been accessed.
  public static var NSManagedObjectContextObjectsDidChange: NSNotification.Name { ContextNotification.objectsDidChange.observableName() }
  /// Posted by a context when a save begins.
  public static var NSManagedObjectContextWillSave: NSNotification.Name { ContextNotification.willSave.observableName() }
  /// Posted by a context after a successful save. The user info contains sets of objects.
  public static var NSManagedObjectContextDidSave: NSNotification.Name { ContextNotification.didSave.observableName() }
}

extension NSManagedObjectContext {
  /// Posted after objects changed in memory.
  public static var didChangeObjectsNotification: NSNotification.Name { ContextNotification.objectsDidChange.observableName() }
  /// Posted when a save begins.
  public static var willSaveObjectsNotification: NSNotification.Name { ContextNotification.willSave.observableName() }
  /// Posted after a successful save, with objects.
  public static var didSaveObjectsNotification: NSNotification.Name { ContextNotification.didSave.observableName() }
  /// Posted after a successful save, with object IDs.
  public static var didSaveObjectIDsNotification: NSNotification.Name { ContextNotification.didSaveIDs.observableName() }

  /// The user info keys of the contexts' notifications.
  public enum NotificationKey: String, Sendable, CaseIterable {
    /// The context, which is also the notification's object.
    case sourceContext = "sourceContext"
    /// The query generation to which the context is pinned after a save.
    case queryGeneration = "queryGeneration"
    /// Present if the context was reset.
    case invalidatedAllObjects = "invalidatedAll"
    /// Inserted objects.
    case insertedObjects = "inserted"
    /// Updated objects.
    case updatedObjects = "updated"
    /// Deleted objects.
    case deletedObjects = "deleted"
    /// Objects refreshed from the store.
    case refreshedObjects = "refreshed"
    /// Objects that no longer belong to the context.
    case invalidatedObjects = "invalidated"
    /// The IDs of inserted objects.
    case insertedObjectIDs = "inserted_objectIDs"
    /// The IDs of updated objects.
    case updatedObjectIDs = "updated_objectIDs"
    /// The IDs of deleted objects.
    case deletedObjectIDs = "deleted_objectIDs"
    /// The IDs of objects refreshed from the store.
    case refreshedObjectIDs = "refreshed_objectIDs"
    /// The IDs of objects that no longer belong to the context.
    case invalidatedObjectIDs = "invalidated_objectIDs"
  }
}

/// A notification of the library's contexts that is reposted under Core Data's name.
private struct ContextNotification: Sendable {
  static let objectsDidChange = ContextNotification(
    "NSObjectsChangedInManagingContextNotification", of: { ManagedObjectContext.didChangeObjectsNotification })
  static let willSave = ContextNotification(
    "NSManagingContextWillSaveChangesNotification", of: { ManagedObjectContext.willSaveObjectsNotification })
  static let didSave = ContextNotification(
    "NSManagingContextDidSaveChangesNotification", of: { ManagedObjectContext.didSaveObjectsNotification })
  static let didSaveIDs = ContextNotification(
    "NSManagedObjectContextDidSaveObjectIDsNotification", of: { ManagedObjectContext.didSaveObjectIDsNotification })

  /// The names that are reposted: those that were returned to potential observers.
  private static let reposted = Mutex<Set<Notification.Name>>([])

  private let name: Notification.Name
  private let source: @Sendable () -> Notification.Name

  private init(_ name: String, of source: @escaping @Sendable () -> Notification.Name) {
    (self.name, self.source) = (Notification.Name(name), source)
  }

  /// Returns the name to a potential observer. The first call starts reposting, here and in the library.
  func observableName() -> Notification.Name {
    Self.reposted.withLock { if $0.insert(name).inserted { repost() } }
    return name
  }

  private func repost() {
    _ = NotificationCenter.default.addObserver(forName: source(), object: nil, queue: nil) { [name] notification in
      guard let context = NSManagedObjectContext.of(notification.object as? ManagedObjectContext) else { return }
      NotificationCenter.default.post(name: name, object: context, userInfo: Self.info(notification, of: context))
    }
  }

  private static func info(_ notification: Notification, of context: NSManagedObjectContext) -> [AnyHashable: Any]? {
    guard let userInfo = notification.userInfo else { return nil }
    var info: [AnyHashable: Any] = [:]
    for key in NSManagedObjectContext.NotificationKey.allCases {
      guard let value = userInfo[AnyHashable(key.rawValue)] else { continue }
      info[AnyHashable(key.rawValue)] = (value as? Set<ManagedObject>).map(objects) ?? value
    }
    // Merges report objects inserted by other contexts as IDs.
    if notification.name == ManagedObjectContext.didChangeObjectsNotification {
      let inserted = objects(notification.managedObjects(.insertedObjects))
      info[AnyHashable(NSInsertedObjectIDsKey)] = nil
      if !inserted.isEmpty { info[AnyHashable(NSInsertedObjectsKey)] = inserted }
    }
    if let token = userInfo[AnyHashable(ManagedObjectContext.NotificationKey.historyToken.rawValue)] as? PersistentHistoryToken {
      info[AnyHashable(NSPersistentHistoryTokenKey)] = NSPersistentHistoryToken(token)
    }
    return info.isEmpty ? nil : info
  }

  private static func objects(_ objects: Set<ManagedObject>) -> Set<NSManagedObject> { Set(objects.compactMap { $0 as? NSManagedObject }) }
}

// MARK: - User info keys for changed objects and their IDs

/// The key of inserted objects.
public let NSInsertedObjectsKey = "inserted"
/// The key of updated objects.
public let NSUpdatedObjectsKey = "updated"
/// The key of deleted objects.
public let NSDeletedObjectsKey = "deleted"
/// The key of objects refreshed from the store.
public let NSRefreshedObjectsKey = "refreshed"
/// The key of objects that no longer belong to the context.
public let NSInvalidatedObjectsKey = "invalidated"
/// The key that is present after a context was reset.
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
/// The key of the IDs of inserted objects.
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
/// The key of the IDs of updated objects.
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
/// The key of the IDs of deleted objects.
public let NSDeletedObjectIDsKey = "deleted_objectIDs"
/// The key of the IDs of objects refreshed from the store.
public let NSRefreshedObjectIDsKey = "refreshed_objectIDs"
/// The key of the IDs of objects that no longer belong to the context.
public let NSInvalidatedObjectIDsKey = "invalidated_objectIDs"

/// The IDs of the inserted, updated and deleted objects of a notification.
struct SavedChanges: Sendable {
  var inserted: [ManagedObjectID] = []
  var updated: [ManagedObjectID] = []
  var deleted: [ManagedObjectID] = []

  /// Reads the user info of a notification, or an equivalent dictionary.
  init(_ info: [AnyHashable: Any], in context: NSManagedObjectContext) {
    func ids(_ keys: String...) -> [ManagedObjectID] {
      keys.flatMap { key in Self.members(info[AnyHashable(key)]).compactMap { Self.id($0, in: context) } }
    }
    inserted = ids(NSInsertedObjectsKey, NSInsertedObjectIDsKey)
    updated = ids(NSUpdatedObjectsKey, NSRefreshedObjectsKey, NSUpdatedObjectIDsKey, NSRefreshedObjectIDsKey)
    deleted = ids(NSDeletedObjectsKey, NSDeletedObjectIDsKey)
  }

  private static func members(_ value: Any?) -> [Any] {
    switch value {
    case let set as NSSet: set.allObjects
    case let set as NSOrderedSet: set.array
    case let list as NSArray: Array(list)
    case let collection as any Collection: collection.map { $0 }
    default: []
    }
  }

  private static func id(_ value: Any, in context: NSManagedObjectContext) -> ManagedObjectID? {
    switch value {
    case let id as ManagedObjectID: id
    case let object as ManagedObject: object.objectID
    case let url as URL: context.persistentStoreCoordinator?.managedObjectID(forURIRepresentation: url)
    default: nil
    }
  }

  /// Returns the changes of each store. Objects whose store is not open are omitted.
  func changeSets(in context: NSManagedObjectContext) -> [ChangeSet] {
    let coordinator = context.context.persistentStoreCoordinator
    return coordinator.persistentStores.compactMap { store in
      func those(_ ids: [ManagedObjectID]) -> [ManagedObjectID] {
        ids.filter { !$0.isTemporaryID && coordinator.persistentStore(of: $0) === store }
      }
      let changes = ChangeSet(inserted: those(inserted), updated: those(updated), deleted: those(deleted), in: store)
      return changes.isEmpty ? nil : changes
    }
  }
}
