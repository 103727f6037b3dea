// ContextNotifications: Core Data's notifications of contexts, which follow those of the library.
public import Foundation
import ObjectContext
import ObjectModel
import ObjectStore

/// The key of a context's query generation in its notifications.
public let NSManagedObjectContextQueryGenerationKey = "queryGeneration"

extension NSNotification.Name {
  /// Posted by a context after objects were changed in memory: the object is the context, the user info has sets of objects.
  ///
  /// Contexts post under a name from when somebody has read it.
  public static var NSManagedObjectContextObjectsDidChange: NSNotification.Name { ContextNotifications.objectsDidChange.wanted }
  /// Posted by a context when a save begins.
  public static var NSManagedObjectContextWillSave: NSNotification.Name { ContextNotifications.willSave.wanted }
  /// Posted by a context when a save has succeeded: the user info has sets of objects.
  public static var NSManagedObjectContextDidSave: NSNotification.Name { ContextNotifications.didSave.wanted }
}

extension NSManagedObjectContext {
  /// Posted after objects were changed in memory.
  public static var didChangeObjectsNotification: NSNotification.Name { ContextNotifications.objectsDidChange.wanted }
  /// Posted when a save begins.
  public static var willSaveObjectsNotification: NSNotification.Name { ContextNotifications.willSave.wanted }
  /// Posted when a save has succeeded, with objects.
  public static var didSaveObjectsNotification: NSNotification.Name { ContextNotifications.didSave.wanted }
  /// Posted when a save has succeeded, with the IDs of objects.
  public static var didSaveObjectIDsNotification: NSNotification.Name { ContextNotifications.didSaveIDs.wanted }

  /// The keys of the user info of contexts' notifications.
  public enum NotificationKey: String, Sendable, CaseIterable {
    /// The context: it is the notification's object too.
    case sourceContext = "sourceContext"
    /// The state that the context is pinned to after a save.
    case queryGeneration = "queryGeneration"
    /// There when the context was reset.
    case invalidatedAllObjects = "invalidatedAll"
    /// Inserted objects.
    case insertedObjects = "inserted"
    /// Updated objects.
    case updatedObjects = "updated"
    /// Deleted objects.
    case deletedObjects = "deleted"
    /// Objects that took values from the store.
    case refreshedObjects = "refreshed"
    /// Objects that belong to the context no more.
    case invalidatedObjects = "invalidated"
    /// The IDs of inserted objects.
    case insertedObjectIDs = "inserted_objectIDs"
    /// The IDs of updated objects.
    case updatedObjectIDs = "updated_objectIDs"
    /// The IDs of deleted objects.
    case deletedObjectIDs = "deleted_objectIDs"
    /// The IDs of objects that took values from the store.
    case refreshedObjectIDs = "refreshed_objectIDs"
    /// The IDs of objects that belong to the context no more.
    case invalidatedObjectIDs = "invalidated_objectIDs"
  }
}

/// The notifications of the library's contexts, each under Core Data's name from when somebody has asked for it.
private final class ContextNotifications: Sendable {
  static let objectsDidChange = ContextNotifications(
    "NSObjectsChangedInManagingContextNotification", of: { ManagedObjectContext.didChangeObjectsNotification })
  static let willSave = ContextNotifications(
    "NSManagingContextWillSaveChangesNotification", of: { ManagedObjectContext.willSaveObjectsNotification })
  static let didSave = ContextNotifications(
    "NSManagingContextDidSaveChangesNotification", of: { ManagedObjectContext.didSaveObjectsNotification })
  static let didSaveIDs = ContextNotifications(
    "NSManagedObjectContextDidSaveObjectIDsNotification", of: { ManagedObjectContext.didSaveObjectIDsNotification })

  /// The name. The library posts its own only where somebody asks for it, and so does this.
  let wanted: Notification.Name

  private init(_ text: String, of name: () -> Notification.Name) {
    let wanted = Notification.Name(text)
    self.wanted = wanted
    _ = NotificationCenter.default.addObserver(forName: name(), object: nil, queue: nil) { notification in
      guard let context = NSManagedObjectContext.of(notification.object as? ManagedObjectContext) else { return }
      NotificationCenter.default.post(name: wanted, object: context, userInfo: Self.info(notification, of: context))
    }
  }

  private static func info(_ notification: Notification, of context: NSManagedObjectContext) -> [AnyHashable: Any]? {
    guard let told = notification.userInfo else { return nil }
    var info: [AnyHashable: Any] = [:]
    for key in NSManagedObjectContext.NotificationKey.allCases {
      guard let value = told[AnyHashable(key.rawValue)] else { continue }
      info[AnyHashable(key.rawValue)] = (value as? Set<ManagedObject>).map(objects) ?? value
    }
    // Merges tell of what others have inserted by IDs.
    if notification.name == ManagedObjectContext.didChangeObjectsNotification {
      let inserted = objects(notification.managedObjects(.insertedObjects))
      info[AnyHashable(NSInsertedObjectIDsKey)] = nil
      if !inserted.isEmpty { info[AnyHashable(NSInsertedObjectsKey)] = inserted }
    }
    if let token = told[AnyHashable(ManagedObjectContext.NotificationKey.historyToken.rawValue)] as? PersistentHistoryToken {
      info[AnyHashable(NSPersistentHistoryTokenKey)] = NSPersistentHistoryToken(token)
    }
    return info.isEmpty ? nil : info
  }

  private static func objects(_ objects: Set<ManagedObject>) -> Set<NSManagedObject> { Set(objects.compactMap { $0 as? NSManagedObject }) }
}
