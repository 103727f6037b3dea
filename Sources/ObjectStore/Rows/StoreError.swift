// StoreError: what can go wrong between a context and a file.
public import ObjectModel

/// What went wrong in a store, with where and, from the engine, SQLite's codes. It never holds a stored value or key material.
///
/// ```swift
/// do {
///   try await container.loadPersistentStores()
/// } catch let error as StoreError where error.code == .wrongKey {
///   // ask again
/// }
/// ```
///
/// Decide by ``code``, and show ``description``: a sentence that says what is wrong, where, and what to do. The error of a conflict has its conflicts, and that
/// of a migration the changes that stand in its way.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// The process has no working SQLCipher.
    case encryptionUnavailable
    /// The store is encrypted and no key was given.
    case keyRequired
    /// The key has the wrong form: empty, or not 32 bytes.
    case invalidKey
    /// No slot of the key file opens with the key.
    case wrongKey
    /// A slot of the key file takes more work than opening may spend on it; the description's key work limit raises it.
    case keyWorkExceeded
    /// The store needs a key file, and there is none.
    case keyFileMissing
    /// The key file was damaged or changed by somebody else.
    case keyFileCorrupt
    /// The key file is older or newer than the store: it has no key of what the store was last encrypted with.
    case keyFileOutdated
    /// The key provider failed.
    case keyProviderFailed
    /// The file is a plaintext database.
    case notEncrypted
    /// The file is no store: empty, a stub, a directory.
    case notAStore
    /// The key is wrong or the file is damaged: without a key file the two cannot be told apart. Or the key belongs to another page format, which the message
    /// names.
    case unreadableStore
    /// The store is damaged.
    case storeCorrupt
    /// The file of a large value is not beside the store, or the value was replaced or deleted since it was read.
    case externalDataMissing
    /// The store was written by a newer version or in a format that this engine cannot read.
    case unsupportedFormat
    /// Somebody else holds the store, or exchanges it just now.
    case busy
    /// The store or its disk is read-only.
    case readOnly
    /// The process may not read or write the file.
    case permissionDenied
    /// What others write to the store cannot be heard of, as its description wants: the system has no means left, or the folder gives none.
    case remoteChangesUnavailable
    /// The disk is full.
    case diskFull
    /// Input or output failed.
    case io
    /// The process got no memory.
    case outOfMemory
    /// There is no store at the URL.
    case storeNotFound
    /// There is something at the URL already.
    case alreadyExists
    /// The store has another model: one that it was written with, or that somebody else has migrated it to since it was opened.
    case modelIncompatible
    /// The store was written with another model, and it may not be migrated: it is read-only, or the description does not allow it.
    case migrationNeeded
    /// What changed between the two models cannot be inferred; the error's ``StoreError/obstacles`` say what, why, and the way out.
    case mappingNotInferred
    /// Stored objects have the same values under a uniqueness constraint that a migration adds or fills.
    case migrationConstraintViolation
    /// A migration failed; the store is as it was. The error behind it says why.
    case migrationFailed
    /// The store was written with a newer version of the model.
    case storeNewerThanModel
    /// A stage names a version of the model that nobody has, or the store's version is in no stage and cannot be brought to one.
    case unknownModelReference
    /// A version's model does not have the checksum that was given for it.
    case modelChecksumMismatch
    /// The stages lead to the store's version of the model, not away from it.
    case backwardMigration
    /// A mapping model is needed, and none that was given fits.
    case mappingModelMissing
    /// A mapping model does not fit the two models.
    case mappingModelInvalid
    /// After a stage, objects lack a value that their model requires.
    case requiredValueMissing
    /// An option of a store has a name that its kind of store does not know, or a value of another type.
    case invalidOption
    /// The store type is not registered.
    case unknownStoreType
    /// No store is open that could answer: none was loaded yet, all were closed, or the store of an object or of the request is not open.
    case noOpenStore
    /// Stores are open, and none of them holds the entity.
    case entityNotInStore
    /// An object refers to an object of another store.
    case crossStoreRelationship
    /// The object has no row.
    case objectNotFound
    /// Several objects meet what only one was to meet.
    case notUnique
    /// Rows were changed by somebody else since they were read.
    case mergeConflict
    /// Objects have the same values under a uniqueness constraint.
    case constraintConflict
    /// The request makes no sense for the store.
    case invalidRequest
    /// The kind of store cannot answer such a request.
    case unsupported
    /// The store keeps no history, or none any more.
    case historyNotTracked
    /// What follows a place in a history was deleted from it. Core Data's number for it is 134301.
    case historyTokenExpired
    /// A place in a history is not one of this history: the store was restored from an older copy since, or its history was switched off.
    case historyTokenUnknown
    /// A place is one in the history of another store.
    case historyTokenOfOtherStore
    /// What was to be a place in a history is none.
    case invalidHistoryToken
    /// A consumer of a history has not read what is to be deleted, or is not registered.
    case historyConsumerBehind
    /// The state that a context was pinned to was ended; setting ``QueryGenerationToken/current`` goes on.
    case queryGenerationExpired
    /// The state that a context was pinned to can no longer be read, since a page of it failed its check.
    case queryGenerationLost
    /// As many states of the store are held as may be.
    case tooManyQueryGenerations
    /// The token names a state of other stores than the context's.
    case queryGenerationOfOtherStore
    /// A predicate is nested too deeply.
    case nestingTooDeep
    /// A cancellation or a progress handler of the application ended the work; work that ends with its Swift task throws `CancellationError`.
    case cancelled
    /// Something that cannot be: a mistake in the library.
    case internalInconsistency
  }

  /// The kind.
  public var code: Code
  /// What happened and what to do.
  public var message: String
  /// What was being done.
  public var operation: StoreOperation?
  /// The path of the file.
  public var path: String?
  /// SQLite's result code.
  public var sqliteCode: Int32?
  /// SQLite's extended result code.
  public var sqliteExtendedCode: Int32?
  /// The system's `errno`, where a call of the system failed and which error it was is known: `EACCES`, `EMFILE` and so on.
  public var systemErrorNumber: Int32?
  /// The entity concerned.
  public var entityName: String?
  /// The property concerned.
  public var propertyName: String?
  /// The object concerned.
  public var objectID: ManagedObjectID?
  /// The option concerned, for ``Code/invalidOption``.
  public var optionName: String?
  /// The entities that differ, for ``Code/modelIncompatible`` and the errors of migrations.
  public var differingEntities: [String] = []
  /// The changes that no store can follow by itself, for ``Code/mappingNotInferred``.
  public var obstacles: [ModelChange] = []
  /// The rows in conflict, for ``Code/mergeConflict``.
  public var mergeConflicts: [MergeConflict] = []
  /// The constraints in conflict, for ``Code/constraintConflict``.
  public var constraintConflicts: [ConstraintConflict] = []
  /// The bytes of free space that a work needs on the disk, for ``Code/diskFull`` where that was known before it began.
  public var requiredSpace: Int?
  /// The error behind this one. The description ends with what it says, unless the message has said that already.
  public var underlying: (any Error)?
  /// Whether the description tells of the error behind: not where that is the same in other words, or may hold a secret.
  package var tellsCause = true

  /// Makes an error.
  ///
  /// - Parameters:
  ///   - code: What is wrong.
  ///   - message: A sentence that says what is wrong and what to do.
  ///   - operation: What was being done.
  ///   - path: The file concerned.
  ///   - underlying: The error beneath, such as one of the file system.
  public init(_ code: Code, _ message: String, operation: StoreOperation? = nil, path: String? = nil, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.operation = operation
    self.path = path
    self.underlying = underlying
  }

  /// The number that Core Data gives such an error; nil where it has none.
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
    // A place that the history never had is treated as one that it no longer has: the application reads all objects again.
    case .historyTokenExpired, .historyTokenUnknown: 134301
    default: nil
    }
  }

  /// What is wrong, in a sentence, with the file and SQLite's error if there are any.
  public var description: String {
    let details = [path, (sqliteExtendedCode ?? sqliteCode).map(SQLiteErrorName.text)].compactMap { $0 }
    var text = details.isEmpty ? message : "\(message) (\(details.joined(separator: "; ")))"
    if tellsCause { text = ErrorCause.chain(text, underlying) }
    return text
  }
}
