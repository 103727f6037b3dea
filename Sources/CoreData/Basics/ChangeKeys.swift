// ChangeKeys: under which keys objects and their IDs are told.

/// The key of inserted objects.
public let NSInsertedObjectsKey = "inserted"
/// The key of updated objects.
public let NSUpdatedObjectsKey = "updated"
/// The key of deleted objects.
public let NSDeletedObjectsKey = "deleted"
/// The key of objects that took values from the store.
public let NSRefreshedObjectsKey = "refreshed"
/// The key of objects that belong to the context no more.
public let NSInvalidatedObjectsKey = "invalidated"
/// The key that is there when a context was reset.
public let NSInvalidatedAllObjectsKey = "invalidatedAll"
/// The key of the IDs of inserted objects.
public let NSInsertedObjectIDsKey = "inserted_objectIDs"
/// The key of the IDs of updated objects.
public let NSUpdatedObjectIDsKey = "updated_objectIDs"
/// The key of the IDs of deleted objects.
public let NSDeletedObjectIDsKey = "deleted_objectIDs"
/// The key of the IDs of objects that took values from the store.
public let NSRefreshedObjectIDsKey = "refreshed_objectIDs"
/// The key of the IDs of objects that belong to the context no more.
public let NSInvalidatedObjectIDsKey = "invalidated_objectIDs"
