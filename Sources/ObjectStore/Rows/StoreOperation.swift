// StoreOperation: what was being done when an error came up, as a closed list.

/// What was being done when a ``StoreError`` came up.
///
/// Code that asks compares cases; the raw value is the text in an error's description, and stays as it is.
public enum StoreOperation: String, Sendable, Hashable, CaseIterable {
  // Stores and their files.

  /// A store is opened.
  case open
  /// A store is created.
  case create
  /// A store's key is found: given, derived, unwrapped, or asked of a provider.
  case unlock
  /// A store's key file is read.
  case readKeyFile = "read the key file"
  /// A store's key file is written.
  case writeKeyFile = "write the key file"
  /// The keys that open a store are changed.
  case changeKeys = "change keys"
  /// A store is encrypted anew, with another data key.
  case rotateDataKey = "rotate the data key"
  /// Bytes are encrypted or decrypted.
  case encrypt = "encrypt or decrypt"
  /// A store is copied, into another store or as a file.
  case copyStore = "copy the store"
  /// A store is written anew without its unused pages, or what its query planner goes by is collected.
  case compact
  /// A store is backed up.
  case backUp = "back up"
  /// Rows or files of another kind of store are brought into one.
  case `import`
  /// A store is written as a plain database.
  case export
  /// A store's files are replaced with another's.
  case replace
  /// A store's files are removed.
  case destroy
  /// A store is checked for damage.
  case verify
  /// A store is described.
  case inspect
  /// A store's file or folder is locked.
  case lock
  /// Rows or pages are read.
  case read
  /// Pages or files are written.
  case write
  /// A store is watched for what others write to it.
  case watch
  /// SQL is run.
  case execute

  // Metadata and models.

  /// A store's metadata is read.
  case readMetadata = "read the metadata"
  /// A store's metadata is set.
  case setMetadata = "set metadata"
  /// The model inside a store is read.
  case readModel = "read the model"
  /// The model inside a store is compared with the one that it was opened with.
  case checkModel = "check the model"
  /// A store is migrated to another model.
  case migrate
  /// What a migration would do is found out.
  case planMigration = "plan a migration"
  /// A mapping model is inferred from two models.
  case inferMappingModel = "infer mapping model"
  /// What a migration has put off is done.
  case finishMigration = "finish a migration"

  // Requests.

  /// Objects, IDs, dictionaries or a number are fetched.
  case fetch
  /// Changes are saved.
  case save
  /// Several saves are run as one transaction.
  case transaction
  /// A batch request of any kind is run.
  case batchRequest = "batch request"
  /// A batch insert is run.
  case batchInsert = "batch insert"
  /// A batch update is run.
  case batchUpdate = "batch update"
  /// A batch delete is run.
  case batchDelete = "batch delete"
  /// New objects are given their permanent IDs.
  case obtainPermanentIDs = "obtain permanent IDs"
  /// The history of a store is read.
  case readHistory = "read the history"
  /// What is old is deleted from the history of a store.
  case deleteHistory = "delete from the history"
  /// A consumer of a store's history is entered, changed or removed.
  case changeHistoryConsumer = "change a consumer of the history"
  /// The history of a store is switched on or off.
  case switchHistory = "switch the history"
  /// A state of a store is pinned, for contexts to read.
  case pin = "pin a query generation"
  /// A fetch is explained.
  case explain
  /// Derived attributes are computed.
  case derive

  // Objects.

  /// An object is inserted.
  case insert
  /// An object is deleted.
  case delete
  /// An object is assigned to a store.
  case assign
  /// An attribute is set.
  case setValue = "set value"
  /// A relationship is set.
  case setRelationship = "set relationship"
  /// An object is looked up by its ID.
  case findObject = "find object"
  /// Objects are looked up by the values of their keys, and made where there are none.
  case findOrCreate = "find or create"
  /// Objects are enumerated.
  case enumerate
  /// A fault is fulfilled.
  case fault
  /// An object is refreshed.
  case refresh
  /// Changes are undone or redone.
  case undo
  /// A snapshot of an object is taken.
  case takeSnapshot = "take a snapshot"
  /// A snapshot is applied.
  case applySnapshot = "apply a snapshot"

  // Large values.

  /// A file is read whose bytes become a large value.
  case readFile = "read a file"
  /// A large value is read.
  case readLargeValue = "read a large value"
  /// A large value is written.
  case writeLargeValue = "write a large value"
}
