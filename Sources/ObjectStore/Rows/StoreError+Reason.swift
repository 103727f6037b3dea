package import ObjectModel

extension StoreError {
  /// The cause of an error and its subjects. `parts(_:)` derives the message, code, and other properties of the error from it.
  package enum Reason: Sendable {
    // Requests and the model.
    case unknownEntity(String, known: [String])
    case unknownConfiguration(String?)
    case abstractEntity(String)
    case entityNotInStore(String)
    case entityInNoOpenStore(String, isNamed: Bool, configurations: [String])
    case resultDoesNotFit(column: String, type: String)
    case notPrefetchable(keyPath: String, key: String, entity: String)
    case notFetchableWithObjects(String, entity: String)
    case groupsInSeveralStores(entity: String)
    case otherClass(entity: String, className: String)
    case unknownClass(String, UnknownClass)
    case blockForOtherClass(name: String, expected: String, found: String)
    case emptyBatch(size: Int)
    case misplacedOperator(String)
    case unusableFilter(entity: String, property: String, problem: String)
    case derivedInPlainStore(entity: String, property: String, type: String)
    case tooManyColumns(entities: [String], count: Int, limit: Int)
    case tooManyValues(entity: String, count: Int, limit: Int)
    case usedUpKeys(entity: String)
    case noPermanentKey(entity: String)
    case wrongNumberOfIDs(given: Int, asked: Int)

    // Stores and their files.
    case readOnlyStore
    case notUnlocked
    case newStoreWithoutKey
    case keyOfOtherStore
    case keyDoesNotFit
    case encryptedOrNoStore
    case noStoreHere
    case holdsNoStore(NoStore)
    case newPlaceTaken
    case alreadyOpen
    case stillOpen
    case notInCoordinator
    case openedBeforeComplete
    case storeClosed
    case memoryClosed
    case noStoreOpen
    case storeOfObjectNotOpen(ManagedObjectID)
    case namedStoreNotOpen(String)
    case assignedStoreNotOpen(entity: String)
    case unknownStoreType(String, known: [String])
    case noFiles(type: String)
    case noBackup(type: String)
    case takesNoRows(type: String)
    case unsupportedRequest
    case noQueryGenerations(type: String?)
    case queryGenerationExpired
    case queryGenerationLost
    case tooManyQueryGenerations(limit: Int)
    case queryGenerationOfOtherStore
    case hearsNothing
    case missingTransformers([String], entity: String, property: String)
    case fileOfLargeValue(FileOfLargeValue)
    case noMemoryForText
    case unsupportedFormat(Int, newest: Int)
    case unknownOption(String, type: String, known: [String])
    case coreDataOption(String, counterpart: String)
    case optionOfAnotherType(String, expected: String, found: String)

    // Damage.
    case missingMetadata
    case unreadableMetadata
    case unreadableModel
    case noListOfLargeValues
    case strangeEntityNumber
    case strangeKey
    case unreadableValue(entity: String, property: String, ManagedObjectID?)
    /// The same as `unreadableValue`, thrown by a row, which has no names. Callers that know the names throw `unreadableValue`.
    case unreadableSlot
    case strangeEntityOfRow(table: String)
    case strangeEntityOfObject(ManagedObjectID)
    case strangeLayout(table: String)
    case noJoinTable(relationship: String)

    // The history.
    case unreadableHistory(number: Int64)
    case historyOff
    case historyUnsupported(type: String)
    case historyExpired(oldest: String?)
    case historyTokenUnknown
    case historyTokenOfOtherStore(known: [String])
    case invalidHistoryToken
    case historyConsumersBehind([String])
    case unknownHistoryConsumer(String, known: [String])
    case historyStillRead([String])

    // Objects.
    case noObject(ManagedObjectID)
    case noRow(ManagedObjectID)
    case noneFound(entity: String)
    case severalFound(entity: String)
    case objectOfOtherClass(ManagedObjectID, expected: String, found: String)
    case lostChange(ManagedObjectID, LostChange)
    case lostMembers(ManagedObjectID)
    case lostDestination(ManagedObjectID)
    case danglingReference
    case changedMeanwhile(entity: String, count: Int)
    case someChangedMeanwhile
    case leftInConflict([ConflictingObjects], policy: String, why: String?)
    case assignedAfterRelationships(entity: String)
    case notYetInContext(entity: String, property: String)
    case destinationOfOtherContext(entity: String, property: String)
    case destinationOfOtherEntity(entity: String, property: String, destination: String)
    case destinationOfOtherStore(entity: String, property: String, isNew: Bool)
    case deletedDestination(entity: String, property: String)
    case setOnBothSides(ManagedObjectID, [String])
    case snapshotOfOtherModel(entity: String)
    case snapshotOfOtherClass(entity: String, className: String)
    case noSuchPosition(entity: String, property: String, position: Int, last: Int)

    // Unique values.
    case sameValues(entity: String, properties: [String])
    case rowTakesValues(row: Int, entity: String, ofSeveral: Bool)
    case rowHasTakenValues(row: Int, entity: String, properties: [String])
    case sharedConstraint(entity: String, found: String)
    case noConstraint(entity: String, properties: [String], declared: [String])
    case notAsManyValues(keys: Int, values: Int)
    case noValueOfKey(property: String)

    // Models and migrations.
    case writtenWithAnotherModel(entities: [String], NotMigrated)
    case nothingInferred
    case cannotBeMigrated
    case keepsNoModel
    case backwardMigration
    case unreadableVersionFile
    case stillDiffers(entities: [String])
    case migratedMeanwhile(versions: [String])
    case newerModel(versions: [String])
    case unknownVersion(String, model: String?, known: String)
    case otherChecksum(found: String, expected: String)
    case onlyChecksum(String)
    case mappingNotInferred([ModelChange])
    case noMappingModel([ModelChange])
    case noFittingMappingModel(count: Int, infersChanges: Bool, [ModelChange])
    case mappingDoesNotFit([String], entity: String?, property: String?)
    case violatedConstraint(entity: String, properties: [String], count: Int?)
    case violatedUnknownConstraint
    case migrationFailed(cause: String)
    case migrationCancelled
    case stageFailed(String)
    case missingValues(stage: String, [MissingValue])
    case madeAbstract(entity: String, count: Int)
    case leftOutOfConfiguration(entity: String, count: Int)
    case severalOfToOne(entity: String, property: String, count: Int)
    case contradictingInverse(entity: String, property: String, count: Int)
    case unconvertible(entity: String, property: String, type: String, count: Int)
    case stageWithinVersion(String)
    case stagesOfOneVersion(String, String)
    case unknownStage(String)
    case noStages(from: String, to: String)
    case onlyChecksumAtStage(String, stage: String)
    case versionInNoStage(String, [ModelChange])
    case noNewerEntity(of: String)
    case noPolicyFunction(String, policy: String)
    case noManagerFunction(String, known: String)
    case noEntityMapping(String, known: String)
    case noRelationship(entity: String, property: String)

    /// An invalid call, with the name of the entity if one is concerned.
    case misuse(Misuse, entity: String? = nil)
    /// An inconsistency that no caller can cause.
    case internalInconsistency(InternalInconsistency)
    case cancelled
  }

  /// The reason why a database contains no store.
  package enum NoStore: Sendable {
    case never, anyMore, empty, emptyAndReadOnly
  }

  /// The reason why a large value cannot be read from its file.
  package enum FileOfLargeValue: Sendable {
    case noFileURL, missing, folder, irregular, forbidden, unreadable
  }

  /// The reason why a class is unknown to a context.
  package enum UnknownClass: Sendable {
    case notRegistered, ofOtherModel, tableNotGiven
  }

  /// The reason why a change cannot be saved.
  package enum LostChange: Sendable {
    case inNoContext, unreadable, deleted
  }

  /// The reason why a store with another model is not migrated.
  package enum NotMigrated: Sendable {
    case readOnly, notAllowed, nothingInferred
  }

  /// A required property for which objects have no value, and the number of these objects.
  package struct MissingValue: Sendable {
    package let entity: String
    package let property: String
    package let count: Int

    package init(entity: String, property: String, count: Int) { (self.entity, self.property, self.count) = (entity, property, count) }
  }

  /// The objects of an entity that are still in conflict after the merge policy was applied.
  package struct ConflictingObjects: Sendable {
    package let entity: String
    package let count: Int
    package let example: ManagedObjectID

    package init(entity: String, count: Int, example: ManagedObjectID) {
      (self.entity, self.count, self.example) = (entity, count, example)
    }
  }

  /// Creates an error from its reason.
  package init(_ reason: Reason, operation: StoreOperation? = nil, path: String? = nil, underlying: (any Error)? = nil) {
    let parts = reason.parts(operation)
    self.init(parts.code, parts.sentence, operation: operation, path: path, underlying: underlying)
    entityName = parts.entity ?? parts.objectID?.entityName
    propertyName = parts.property
    objectID = parts.objectID
    optionName = parts.option
    includesUnderlyingError = reason.includesUnderlyingError
    switch reason {
    case .writtenWithAnotherModel(let entities, _), .stillDiffers(let entities): differingEntities = entities
    case .mappingNotInferred(let changes), .noMappingModel(let changes), .noFittingMappingModel(_, _, let changes),
      .versionInNoStage(_, let changes):
      obstacles = changes
    default: break
    }
  }
}

extension StoreError.Reason {
  /// Whether the underlying error adds information to the message. SQLite's messages about constraints do not.
  fileprivate var includesUnderlyingError: Bool {
    switch self {
    case .violatedConstraint, .violatedUnknownConstraint, .sameValues, .rowHasTakenValues, .danglingReference, .migrationFailed,
      .internalInconsistency:
      false
    default: true
    }
  }
}
