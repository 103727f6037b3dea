public import ObjectModel

/// An error of a store, with the operation, the subject, and SQLite's codes where they apply. It never contains stored values or key
/// material.
///
/// ```swift
/// do {
///   try await container.loadPersistentStores()
/// } catch let error as StoreError where error.code == .wrongKey {
///   // ask again
/// }
/// ```
///
/// Handle errors by their ``code`` and show their ``description``, which says what is wrong, where, and what to do. Conflict errors list
/// their conflicts; migration errors list the changes that prevent the migration.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// No working SQLCipher is linked into the process.
    case encryptionUnavailable
    /// The store is encrypted, and no key was given.
    case keyRequired
    /// The key is malformed: empty, or not 32 bytes.
    case invalidKey
    /// The key opens no slot of the key file.
    case wrongKey
    /// Deriving the key of a slot costs more than the limit for opening a store. Raise the limit with the key work limit of the store
    /// description.
    case keyWorkExceeded
    /// The key file that the store needs is missing.
    case keyFileMissing
    /// The key file is damaged or was modified by other software.
    case keyFileCorrupt
    /// The key file is older or newer than the store, and does not contain the key that the store was last encrypted with.
    case keyFileOutdated
    /// The key provider failed.
    case keyProviderFailed
    /// The file is a plaintext database.
    case notEncrypted
    /// The file is not a store: it is empty, truncated, or a directory.
    case notAStore
    /// The key is wrong or the file is damaged, which cannot be distinguished without a key file. Or the key belongs to another page
    /// format, which the message names.
    case unreadableStore
    /// The store is damaged.
    case storeCorrupt
    /// The file of a large value is missing, or the value was replaced or deleted after it was read.
    case externalDataMissing
    /// The store was written by a newer version of the library, or in a format that this version cannot read.
    case unsupportedFormat
    /// Another connection or process has locked the store or is replacing it.
    case busy
    /// The store or its volume is read-only.
    case readOnly
    /// The process may not read or write the file.
    case permissionDenied
    /// Remote-change notifications, which the store description requires, are unavailable: the system's watch limit is reached, or the
    /// folder cannot be watched.
    case remoteChangesUnavailable
    /// The disk is full.
    case diskFull
    /// Input or output failed.
    case io
    /// An allocation failed.
    case outOfMemory
    /// There is no store at the URL.
    case storeNotFound
    /// An item already exists at the URL.
    case alreadyExists
    /// The store has another model: it was written with one, or was migrated by another process after it was opened.
    case modelIncompatible
    /// The store was written with another model and must not be migrated, because it is read-only or the description does not allow it.
    case migrationNeeded
    /// The changes between two models cannot be inferred. ``StoreError/obstacles`` lists each change, the reason, and the remedy.
    case mappingNotInferred
    /// Stored objects violate a uniqueness constraint that a migration adds or whose properties it sets.
    case migrationConstraintViolation
    /// A migration failed, and the store is unchanged. The underlying error has the cause.
    case migrationFailed
    /// The store was written with a newer version of the model.
    case storeNewerThanModel
    /// A stage names an unknown version of the model, or the store's version is in no stage and cannot be migrated to one.
    case unknownModelReference
    /// The model of a version does not have the given checksum.
    case modelChecksumMismatch
    /// The stages lead to the store's version of the model instead of starting from it.
    case backwardMigration
    /// A mapping model is required, and none of the given ones matches.
    case mappingModelMissing
    /// A mapping model does not match the two models.
    case mappingModelInvalid
    /// After a migration stage, objects have no value for a required property.
    case requiredValueMissing
    /// A store option has an unknown name or a value of the wrong type.
    case invalidOption
    /// The store type is not registered.
    case unknownStoreType
    /// No open store can answer the request: none is loaded, all are closed, or the store of the object or request is not open.
    case noOpenStore
    /// No open store contains the entity.
    case entityNotInStore
    /// A relationship refers to an object in another store.
    case crossStoreRelationship
    /// The object does not exist in the store.
    case objectNotFound
    /// Several objects match a request that expects one.
    case notUnique
    /// Rows were changed or deleted elsewhere after they were read.
    case mergeConflict
    /// Objects have the same values for the properties of a uniqueness constraint.
    case constraintConflict
    /// The request is invalid.
    case invalidRequest
    /// Stores of this type do not support the request.
    case unsupported
    /// The store keeps no history, or no longer keeps one.
    case historyNotTracked
    /// The transactions after a history token were purged. Core Data's code is 134301.
    case historyTokenExpired
    /// A history token is not part of the store's history: the store was restored from an older copy, or its history was disabled in the
    /// meantime.
    case historyTokenUnknown
    /// A history token belongs to another store.
    case historyTokenOfOtherStore
    /// A history token cannot be decoded.
    case invalidHistoryToken
    /// A history consumer has not read the transactions to purge, or is not registered.
    case historyConsumerBehind
    /// The query generation that a context is pinned to has ended. To continue, set ``QueryGenerationToken/current``.
    case queryGenerationExpired
    /// The query generation that a context is pinned to can no longer be read, because one of its pages failed its check or could not be
    /// read.
    case queryGenerationLost
    /// The maximum number of query generations of the store is in use.
    case tooManyQueryGenerations
    /// A query generation token belongs to stores that are not the context's.
    case queryGenerationOfOtherStore
    /// A predicate is nested too deeply.
    case nestingTooDeep
    /// A ``RequestCancellation`` or a progress handler of the application canceled the operation. If the Swift task is canceled, operations
    /// throw `CancellationError` instead.
    case cancelled
    /// Internal inconsistency (a bug in the library).
    case internalInconsistency
  }

  /// The cause, from which the message is made.
  package var reason: Reason
  /// The kind of the error.
  public var code: Code { reason.code }
  /// A message that says what happened and what to do.
  public var message: String { reason.message(\.text) }
  /// The operation that failed.
  public var operation: StoreOperation?
  /// The path of the file concerned.
  public var path: String?
  /// SQLite's result code.
  public var sqliteCode: Int32?
  /// SQLite's extended result code.
  public var sqliteExtendedCode: Int32?
  /// The `errno` of the failed system call, such as `EACCES` or `EMFILE`, if it is known.
  public var systemErrorNumber: Int32?
  /// The name of the entity concerned.
  public var entityName: String? {
    get { reason.entityName }
    set { reason.entityName = newValue }
  }
  /// The name of the property concerned.
  public var propertyName: String? {
    get { reason.propertyName }
    set { reason.propertyName = newValue }
  }
  /// The ID of the object concerned.
  public var objectID: ManagedObjectID? {
    get { reason.objectID }
    set { reason.objectID = newValue }
  }
  /// The name of the option concerned, for ``Code/invalidOption``.
  public var optionName: String? {
    get { reason.optionName }
    set { reason.optionName = newValue }
  }
  /// The names of the entities that differ, for ``Code/modelIncompatible`` and migration errors.
  public var differingEntities: [String] {
    get { reason.differingEntities }
    set { reason.differingEntities = newValue }
  }
  /// The changes that a lightweight migration cannot make, for ``Code/mappingNotInferred`` and other migration errors.
  public var obstacles: [ModelChange] {
    get { reason.obstacles }
    set { reason.obstacles = newValue }
  }
  /// The conflicts of rows, for ``Code/mergeConflict``.
  public var mergeConflicts: [MergeConflict] = []
  /// The conflicts under uniqueness constraints, for ``Code/constraintConflict``.
  public var constraintConflicts: [ConstraintConflict] = []
  /// The free disk space in bytes that the operation needs, for ``Code/diskFull`` if it was known in advance.
  public var requiredSpace: Int?
  /// The underlying error. Its text is appended to the description unless the message already contains it.
  public var underlying: (any Error)?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - code: The kind of the error.
  ///   - message: A message that says what is wrong and what to do.
  ///   - operation: The operation that failed.
  ///   - path: The path of the file concerned.
  ///   - underlying: The underlying error, such as one of the file system.
  public init(_ code: Code, _ message: String, operation: StoreOperation? = nil, path: String? = nil, underlying: (any Error)? = nil) {
    self.init(Reason(code, message), operation: operation, path: path, underlying: underlying)
  }

  /// The corresponding Core Data error code, or nil if there is none.
  public var coreDataCode: Int? {
    switch code {
    case .modelIncompatible, .migrationNeeded: 134100
    case .mappingNotInferred: 134190
    case .migrationConstraintViolation: 134111
    case .migrationFailed, .storeNewerThanModel, .requiredValueMissing: 134110
    case .mappingModelMissing, .mappingModelInvalid: 134140
    case .unknownModelReference: 134504
    case .modelChecksumMismatch: 134505
    case .backwardMigration: 134506
    case .cancelled where operation == .migrate: 134120
    case .unknownStoreType: 134000
    case .busy: 134090
    case .unreadableStore, .wrongKey, .notEncrypted, .notAStore, .storeNotFound, .keyRequired, .invalidKey, .keyFileMissing,
      .keyFileCorrupt,
      .keyFileOutdated, .keyProviderFailed, .keyWorkExceeded:
      134080
    case .mergeConflict: 133020
    case .constraintConflict: 133021
    case .objectNotFound: 133000
    case .crossStoreRelationship: 133010
    case .unsupported: 134091
    // An unknown token is handled like an expired one: the application reads all objects again.
    case .historyTokenExpired, .historyTokenUnknown: 134301
    default: nil
    }
  }

  /// The message with the path, SQLite's error, and the underlying error.
  public var description: String { description(\.text) }
}

extension StoreError: AdvisedError {
  package var advice: ErrorAdvice { code.advice }

  package func description(_ words: (Remedy) -> String) -> String {
    let message = reason.message(words)
    let details = [path, (sqliteExtendedCode ?? sqliteCode).map(SQLiteErrorName.text)].compactMap { $0 }
    let text = details.isEmpty ? message : "\(message) (\(details.joined(separator: "; ")))"
    return reason.includesUnderlyingError ? ErrorCause.chain(text, underlying, words) : text
  }
}
