import Foundation
import ObjectContext
import ObjectModel
import ObjectStore

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
