/// The operation during which a ``StoreError`` was thrown.
///
/// The raw value appears in the error's description. Raw values are stable, but code should compare cases.
public enum StoreOperation: String, Sendable, Hashable, CaseIterable {
  // Stores and their files.

  /// Opening a store.
  case open
  /// Creating a store.
  case create
  /// Obtaining a store's key: from the description, by derivation or unwrapping, or from a provider.
  case unlock
  /// Reading a store's key file.
  case readKeyFile = "read the key file"
  /// Writing a store's key file.
  case writeKeyFile = "write the key file"
  /// Changing the keys that open a store.
  case changeKeys = "change keys"
  /// Encrypting a store again with a new data key.
  case rotateDataKey = "rotate the data key"
  /// Encrypting or decrypting bytes.
  case encrypt = "encrypt or decrypt"
  /// Copying a store, into another store or as a file.
  case copyStore = "copy the store"
  /// Rewriting a store without its unused pages, or collecting statistics for the query planner.
  case compact
  /// Backing up a store.
  case backUp = "back up"
  /// Importing rows or files from another kind of store.
  case `import`
  /// Writing a store as a plaintext database.
  case export
  /// Replacing a store's files with another store's.
  case replace
  /// Removing a store's files.
  case destroy
  /// Checking a store for damage.
  case verify
  /// Reading the description of a store.
  case inspect
  /// Locking a store's file or folder.
  case lock
  /// Reading rows or pages.
  case read
  /// Writing pages or files.
  case write
  /// Watching a store for commits of other processes.
  case watch
  /// Running SQL.
  case execute

  // Metadata and models.

  /// Reading a store's metadata.
  case readMetadata = "read the metadata"
  /// Setting a store's metadata.
  case setMetadata = "set metadata"
  /// Reading the model that is saved in a store.
  case readModel = "read the model"
  /// Comparing the model in a store with the model that it was opened with.
  case checkModel = "check the model"
  /// Migrating a store to another model.
  case migrate
  /// Determining the steps of a migration.
  case planMigration = "plan a migration"
  /// Inferring a mapping model from two models.
  case inferMappingModel = "infer mapping model"
  /// Running the deferred steps of a migration.
  case finishMigration = "finish a migration"

  // Requests.

  /// Fetching objects, IDs, dictionaries, or a count.
  case fetch
  /// Saving changes.
  case save
  /// Running several saves as one transaction.
  case transaction
  /// Running a batch request of any kind.
  case batchRequest = "batch request"
  /// Running a batch insert.
  case batchInsert = "batch insert"
  /// Running a batch update.
  case batchUpdate = "batch update"
  /// Running a batch delete.
  case batchDelete = "batch delete"
  /// Obtaining permanent IDs for new objects.
  case obtainPermanentIDs = "obtain permanent IDs"
  /// Reading the history of a store.
  case readHistory = "read the history"
  /// Purging old transactions from the history of a store.
  case deleteHistory = "delete from the history"
  /// Registering, updating, or removing a consumer of a store's history.
  case changeHistoryConsumer = "change a consumer of the history"
  /// Enabling or disabling the history of a store.
  case switchHistory = "switch the history"
  /// Pinning a query generation of a store for contexts.
  case pin = "pin a query generation"
  /// Explaining a fetch.
  case explain
  /// Computing derived attributes.
  case derive

  // Objects.

  /// Inserting an object.
  case insert
  /// Deleting an object.
  case delete
  /// Assigning an object to a store.
  case assign
  /// Setting an attribute.
  case setValue = "set value"
  /// Setting a relationship.
  case setRelationship = "set relationship"
  /// Looking up an object by its ID.
  case findObject = "find object"
  /// Finding objects by key values, and creating those that do not exist.
  case findOrCreate = "find or create"
  /// Enumerating objects.
  case enumerate
  /// Fulfilling a fault.
  case fault
  /// Refreshing an object.
  case refresh
  /// Undoing or redoing changes.
  case undo
  /// Taking a snapshot of an object.
  case takeSnapshot = "take a snapshot"
  /// Applying a snapshot.
  case applySnapshot = "apply a snapshot"

  // Large values.

  /// Reading a file whose bytes become a large value.
  case readFile = "read a file"
  /// Reading a large value.
  case readLargeValue = "read a large value"
  /// Writing a large value.
  case writeLargeValue = "write a large value"
}
