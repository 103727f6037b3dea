// The user info keys for changed objects and their IDs.

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
