public import Foundation
import ObjectContext
import ObjectModel
import ObjectStore

/// The user info key of a context's query generation.
public let NSManagedObjectContextQueryGenerationKey = "queryGeneration"

extension NSNotification.Name {
  /// Posted by a context after objects changed in memory. The notification's object is the context, and the user info contains sets of
  /// objects.
  ///
  /// Contexts post a notification only after its name has been accessed.
  public static var NSManagedObjectContextObjectsDidChange: NSNotification.Name { ContextNotifications.objectsDidChange.wanted }
  /// Posted by a context when a save begins.
  public static var NSManagedObjectContextWillSave: NSNotification.Name { ContextNotifications.willSave.wanted }
  /// Posted by a context after a successful save. The user info contains sets of objects.
  public static var NSManagedObjectContextDidSave: NSNotification.Name { ContextNotifications.didSave.wanted }
}

extension NSManagedObjectContext {
  /// Posted after objects changed in memory.
  public static var didChangeObjectsNotification: NSNotification.Name { ContextNotifications.objectsDidChange.wanted }
  /// Posted when a save begins.
  public static var willSaveObjectsNotification: NSNotification.Name { ContextNotifications.willSave.wanted }
  /// Posted after a successful save, with objects.
  public static var didSaveObjectsNotification: NSNotification.Name { ContextNotifications.didSave.wanted }
  /// Posted after a successful save, with object IDs.
  public static var didSaveObjectIDsNotification: NSNotification.Name { ContextNotifications.didSaveIDs.wanted }

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

/// Reposts the notifications of the library's contexts under Core Data's names, once each name has been accessed.
private final class ContextNotifications: Sendable {
  static let objectsDidChange = ContextNotifications(
    "NSObjectsChangedInManagingContextNotification", of: { ManagedObjectContext.didChangeObjectsNotification })
  static let willSave = ContextNotifications(
    "NSManagingContextWillSaveChangesNotification", of: { ManagedObjectContext.willSaveObjectsNotification })
  static let didSave = ContextNotifications(
    "NSManagingContextDidSaveChangesNotification", of: { ManagedObjectContext.didSaveObjectsNotification })
  static let didSaveIDs = ContextNotifications(
    "NSManagedObjectContextDidSaveObjectIDsNotification", of: { ManagedObjectContext.didSaveObjectIDsNotification })

  /// The name of the notification. Access starts the posting, here and in the library.
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
    // Merges report objects inserted by other contexts as IDs.
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
