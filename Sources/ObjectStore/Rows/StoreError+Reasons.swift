package import ObjectModel

// The reasons of errors that concern requests, stores and their files, histories, and models. Layers above declare their own.

extension StoreError.Reason {
  package static func unknownEntity(_ name: String, known: [String]) -> Self {
    let advice = SimilarName.advice(for: name, among: Array(known)).map { "; \($0)" } ?? ""
    return Self(.invalidRequest, "The model has no entity “\(name)”\(advice)\(advice.hasSuffix("?") ? "" : ".")", entity: name)
  }

  package static func unknownProperty(_ name: String, of entity: String, known: [String]) -> Self {
    let advice = SimilarName.advice(for: name, among: known).map { "; \($0)" } ?? ""
    return Self(
      .invalidRequest, "The entity “\(entity)” has no property “\(name)”\(advice)\(advice.hasSuffix("?") ? "" : ".")", entity: entity,
      property: name)
  }

  package static func unknownObservedProperty(_ name: String) -> Self {
    Self(.invalidRequest, "No entity of the model has a property “\(name)”.", property: name)
  }

  package static var writeInObserver: Self {
    Self(
      .invalidRequest,
      "A transaction observer must not write to the stores of its coordinator, or close them, while it is called. Return first, and write in a task or on a queue."
    )
  }

  package static func unknownConfiguration(_ name: String?) -> Self {
    Self(.invalidRequest, "The model has no configuration “\(name ?? "")”.")
  }

  package static func abstractEntity(_ name: String) -> Self {
    Self(.invalidRequest, "The entity “\(name)” is abstract and has no objects; use one of its subentities.", entity: name)
  }

  package static func entityNotInStore(_ name: String) -> Self {
    Self(.entityNotInStore, "The store does not contain the entity “\(name)”.", entity: name)
  }

  package static func wrongNumberOfIDs(given: Int, asked: Int) -> Self {
    Self(.internalInconsistency, "The store returned \(given) IDs for \(asked) objects.")
  }

  package static func cancelled(_ operation: StoreOperation) -> Self { Self(.cancelled, "The \(operation.rawValue) was canceled.") }
  package static var copyCancelled: Self { Self(.cancelled, "The copy was canceled.") }
  package static var readOnlyStore: Self { Self(.readOnly, "The store was opened read-only.") }
  package static var noStoreHere: Self { Self(.storeNotFound, "There is no store at this URL.") }
  package static var destinationExists: Self { Self(.alreadyExists, "There is already a file at the destination.") }

  package static func unreadableValue(entity: String, property: String, _ id: ManagedObjectID?) -> Self {
    let place = id.map { " of the object \($0.uriString)" } ?? ""
    return Self(
      .storeCorrupt,
      "The stored value of “\(entity).\(property)”\(place) does not have the attribute's type: set it again, or restore the store from a backup.",
      entity: entity, property: property, object: id)
  }

  package static var unreadableSlot: Self {
    Self(.storeCorrupt, "A stored value does not have its attribute's type: set it again, or restore the store from a backup.")
  }

  package static func noFiles(type: String) -> Self { Self(.unsupported, "Stores of the type “\(type)” have no files.") }
  package static var writerFinished: Self { Self(.invalidRequest, "The writer was finished.") }
  package static var resultTypeMismatch: Self { Self(.internalInconsistency, "The store returned a result of the wrong type.") }

  package static var keyInUse: Self {
    Self(
      .internalInconsistency, "The key of a new object is in use; its ID was not obtained from this store.", includesUnderlyingError: false)
  }

  package static var changedElsewhere: Self { Self(.mergeConflict, "Objects were changed or deleted elsewhere since they were read.") }

  package static func duplicateValues(entity: String, properties names: [String]) -> Self {
    let values = names.isEmpty ? "under a uniqueness constraint" : "of \(names.joined(separator: ", "))"
    return Self(
      .constraintConflict, "Objects of “\(entity)” have the same values \(values). Nothing was saved.", entity: entity,
      includesUnderlyingError: false)
  }

  package static var storeWithoutFile: Self { Self(.invalidRequest, "An encrypted store is a file: set the description's url to one.") }
  package static var alreadyOpen: Self { Self(.alreadyExists, "The store is already open in this coordinator.") }

  package static var queryGenerationExpired: Self {
    Self(
      .queryGenerationExpired,
      "The context's query generation has expired: the store was closed, or its log was too long. Objects keep their values; set .current to continue reading."
    )
  }

  package static var queryGenerationOfOtherStore: Self {
    Self(.queryGenerationOfOtherStore, "The token belongs to stores that are not open in this context's coordinator.")
  }

  package static func noQueryGenerations(type: String?) -> Self {
    Self(.unsupported, "\(type.map { "Stores of the type “\($0)” have" } ?? "This kind of store has") no query generations: use .current.")
  }

  package static func valueExceedsResultType(column: String, type: String) -> Self {
    Self(.invalidRequest, "A value of “\(column)” does not fit in the result type \(type): choose a larger type.")
  }

  package static func invalidFilter(entity: String, property: String, problem: String) -> Self {
    Self(
      .invalidRequest, "The filter of the derived attribute “\(entity).\(property)” cannot be used: \(problem)", entity: entity,
      property: property)
  }

  package static func derivedInPlainStore(entity: String, property: String, type: String) -> Self {
    Self(
      .unsupported,
      "“\(entity).\(property)” is derived, and stores of the type “\(type)” do not compute derived attributes. Use another store, or a configuration without the entity.",
      entity: entity, property: property)
  }

  package static func entityInNoOpenStore(_ name: String, isNamed: Bool, configurations: [String]) -> Self {
    let names = configurations.map { "“\($0)”" }.joined(separator: " or ")
    let advice =
      isNamed
      ? "Do not set affectedStores, or name a store that contains it."
      : names.isEmpty ? "Open one without a configuration." : "Open one with the configuration \(names)."
    return Self(
      .entityNotInStore, "No open store\(isNamed ? " in affectedStores" : "") contains the entity “\(name)”. \(advice)", entity: name)
  }

  package static var stillOpen: Self { Self(.busy, "The store is open in this coordinator; remove it first.") }
  package static var notInCoordinator: Self { Self(.storeNotFound, "The store is not open in this coordinator.") }

  package static var noStoreOpen: Self {
    Self(
      .noOpenStore,
      "No store is open. Set the container's persistentStoreDescriptions, wait for loadPersistentStores() before the first request, and make no requests after close()."
    )
  }

  package static func storeOfObjectNotOpen(_ id: ManagedObjectID) -> Self {
    Self(
      .noOpenStore,
      "The store of the object \(id.uriString) is not open. Open it (for example with loadPersistentStores()) before using its objects, and do not use them after it is closed.",
      object: id)
  }

  package static func namedStoreNotOpen(_ name: String) -> Self {
    Self(.noOpenStore, "The store “\(name)”, which affectedStores contains, is not open. Open it, or remove it from affectedStores.")
  }

  package static func unknownStoreType(_ type: String, known: [String]) -> Self {
    Self(
      .unknownStoreType, "No store class is registered for the type “\(type)”; registered are \(known.sorted().joined(separator: ", ")).")
  }

  package static func noBackup(type: String) -> Self {
    Self(.unsupported, "Stores of the type “\(type)” cannot be copied before a migration: do not set migrationBackupURL.")
  }

  package static var unsupportedRequest: Self { Self(.unsupported, "This store type does not support the request; save objects instead.") }

  package static func tooManyQueryGenerations(limit: Int) -> Self {
    Self(
      .tooManyQueryGenerations,
      "\(limit) query generations of the store are already open. Share a token among contexts, or release unused tokens.")
  }

  package static var remoteChangesUnsupported: Self {
    Self(.unsupported, "This store type cannot detect remote changes: disable postsRemoteChangeNotifications.")
  }

  package static func missingTransformers(_ missing: [String], entity: String, property: String) -> Self {
    Self(
      .invalidRequest, "\(missing.joined(separator: "; ")).", .registerTransformer, entity: entity, property: property)
  }

  package static var largeValueWithoutFileURL: Self { Self(.invalidRequest, "The URL of a large value must be a file URL.") }
  package static var largeValueMissing: Self { Self(.storeNotFound, "There is no such file.", includesUnderlyingError: false) }
  package static var largeValueIsFolder: Self { Self(.invalidRequest, "It is a folder.") }

  package static var largeValueForbidden: Self {
    Self(.permissionDenied, "The process has no permission to read the file.", includesUnderlyingError: false)
  }

  package static var largeValueUnreadable: Self {
    Self(.io, "The file of a large value cannot be read. Do not move or delete it until the object is saved.")
  }

  package static func unknownOption(_ name: String, type: String, known: [String]) -> Self {
    Self(
      .invalidOption, "Stores of the type “\(type)” have no option “\(name)”; they have \(known.sorted().joined(separator: ", ")).",
      option: name)
  }

  package static func coreDataOption(_ name: String, counterpart: String) -> Self {
    Self(.invalidOption, "“\(name)” is an option of Core Data: \(counterpart).", option: name)
  }

  package static func optionOfAnotherType(_ name: String, expected: String, found: String) -> Self {
    Self(.invalidOption, "The option “\(name)” takes \(expected), not \(found).", option: name)
  }

  package static var memoryClosed: Self { Self(.noOpenStore, "The in-memory store is closed: its rows were deleted.") }

  package static func objectsChangedElsewhere(entity: String, count: Int) -> Self {
    Self(
      .mergeConflict, "\(count) of the objects were changed or deleted elsewhere since they were read. Nothing was saved.", entity: entity)
  }

  package static func rowConflictsWithObjects(row: Int, entity: String, ofSeveral: Bool) -> Self {
    let holders = ofSeveral ? "several stored objects: the object to update is ambiguous." : "an object of another entity."
    return Self(.constraintConflict, "Row \(row) of the batch has unique values of \(holders) Nothing was written.", entity: entity)
  }

  package static func rowConflict(row: Int, entity: String, properties names: [String]) -> Self {
    Self(
      .constraintConflict,
      "Row \(row) of the batch has values of \(names.joined(separator: ", ")) that another object or row of “\(entity)” has. Nothing was written.",
      entity: entity, includesUnderlyingError: false)
  }

  package static var replacedByOtherType: Self {
    Self(.invalidRequest, "A store can only be replaced by a store of the same type; use migratePersistentStore(_:to:) to change the type.")
  }

  package static var replacedByItself: Self { Self(.invalidRequest, "A store cannot replace itself.") }

  package static var noMetadataOfApplication: Self {
    Self(.invalidRequest, "This store type does not support metadata of the application.")
  }

  package static var noTransactions: Self { Self(.invalidRequest, "This store type cannot run several saves as one transaction.") }
  package static var unobservableBatch: Self {
    Self(.invalidRequest, "This store type has no transactions, so a transaction observer could not reject the batch request.")
  }
  package static var noBatchRequest: Self { Self(.invalidRequest, "The request is not a batch request.") }

  package static func nothingToUpdate(entity: String) -> Self {
    Self(.invalidRequest, "The batch update has no properties to set.", entity: entity)
  }

  package static var limitWithSeveralStores: Self {
    Self(.invalidRequest, "A batch deletion with a limit or an offset applies to one store; name it in affectedStores.")
  }

  package static func unsavedObjectInBatch(entity: String) -> Self {
    Self(.invalidRequest, "An object that was never saved cannot be deleted by a batch request; delete it in its context.", entity: entity)
  }

  package static func unreadableHistory(number: Int64) -> Self {
    Self(
      .storeCorrupt,
      "The record \(number) of the store's history cannot be read. Objects are not affected: disable and enable the history, or restore the store from a backup."
    )
  }

  package static var historyOff: Self { Self(.historyNotTracked, "The store keeps no history.", .enableHistory) }

  package static func historyUnsupported(type: String) -> Self {
    Self(.unsupported, "Stores of the type “\(type)” do not support histories.")
  }

  package static func historyExpired(oldest: String?) -> Self {
    let rest = oldest.map { "The oldest remaining position is \($0)." } ?? "The history is empty."
    return Self(
      .historyTokenExpired,
      "The transactions after this position were deleted from the store's history. \(rest) Fetch the objects again, and continue from the current position."
    )
  }

  package static var historyTokenUnknown: Self {
    Self(
      .historyTokenUnknown,
      "This position is not in the store's history: the store was restored from an older copy, or its history was disabled since. Fetch the objects again, and continue from the current position."
    )
  }

  package static func historyTokenOfOtherStore(known: [String]) -> Self {
    Self(
      .historyTokenOfOtherStore,
      "The position belongs to the history of another store (stores of the token: \(known.isEmpty ? "none" : known.joined(separator: ", "))). Use a position of a store that is open."
    )
  }

  package static var invalidHistoryToken: Self {
    Self(.invalidHistoryToken, "This is not a position in a history: it is neither an encoded token nor its text form.")
  }

  package static func historyConsumersBehind(_ names: [String]) -> Self {
    let (has, them) = names.count == 1 ? ("has", "it") : ("have", "them")
    return Self(
      .historyConsumerBehind,
      "\(listed(names)) \(has) not read the transactions to delete yet. Remove \(them) from the consumers, or force the deletion; all objects must then be fetched again."
    )
  }

  package static func unknownHistoryConsumer(_ name: String, known: [String]) -> Self {
    let list = known.isEmpty ? "there are none" : "registered are \(listed(known.sorted()))"
    return Self(.historyConsumerBehind, "No consumer “\(name)” of the history is registered; \(list).")
  }

  package static func historyStillRead(_ names: [String]) -> Self {
    Self(.historyConsumerBehind, "The history has the consumers \(listed(names)). Remove them before disabling it.")
  }

  package static func writtenWithAnotherModel(entities: [String], _ why: NotMigrated) -> Self {
    let problem = "The store was written with another model; these entities differ: \(entities.joined(separator: ", "))."
    return switch why {
    case .readOnly:
      Self(
        .migrationNeeded,
        "\(problem) It was opened read-only, so it cannot be migrated: open it for writing, or with its own model.",
        differingEntities: entities)
    case .notAllowed: Self(.migrationNeeded, problem, .migrate, differingEntities: entities)
    case .nothingInferred: Self(.migrationNeeded, "\(problem) \(nothingInferred.problem)", differingEntities: entities)
    }
  }

  package static var nothingInferred: Self {
    Self(
      .migrationNeeded,
      "The description disables inference (shouldInferMappingModelAutomatically) and specifies no migration steps.")
  }

  package static var cannotBeMigrated: Self {
    Self(
      .modelIncompatible, "The store was written with another model, and this store type cannot be migrated. Open it with its own model.")
  }

  package static var unreadableVersionFile: Self { Self(.unknownModelReference, "The file of a model version cannot be read.") }

  package static func stillDiffers(entities: [String]) -> Self {
    Self(
      .migrationFailed,
      "After the migration, the store still differs from the model in \(entities.joined(separator: ", ")). The last step must lead to the coordinator's model.",
      differingEntities: entities)
  }

  package static func unknownVersion(_ version: String, model: String?, known: String) -> Self {
    Self(.unknownModelReference, "\(model.map { "“\($0)”" } ?? "The bundle") has no version “\(version)”; it has \(known).")
  }

  package static func checksumMismatch(found: String, expected: String) -> Self {
    Self(
      .modelChecksumMismatch,
      "The model has the checksum \(found), but its reference has \(expected). The version was changed after it was released: restore the released version, and make the change in a new version."
    )
  }

  package static func modelOfChecksumUnknown(_ checksum: String) -> Self {
    Self(
      .unknownModelReference,
      "Only the checksum \(checksum) of a version is known, but its model is needed: specify the version by its model or its file.")
  }

  package static var migrationCancelled: Self { Self(.cancelled, "The migration was canceled; the store is unchanged.") }

  package static func unconvertible(entity: String, property: String, type: String, count: Int) -> Self {
    Self(
      .migrationFailed,
      "\(objects(count)) of “\(entity)” \(count == 1 ? "has" : "have") a value in “\(property)” that the type \(type) cannot hold. Keep the old type, or rename the new attribute and set it in a custom migration stage.",
      entity: entity, property: property)
  }

  /// The reason why a store with another model is not migrated.
  package enum NotMigrated: Sendable {
    case readOnly, notAllowed, nothingInferred
  }

  package static func objects(_ count: Int) -> String { count == 1 ? "1 object" : "\(count) objects" }

  private static func listed(_ names: [String]) -> String { names.map { "“\($0)”" }.joined(separator: ", ") }
}
