extension StoreError {
  /// An invalid call. The raw value is the error message. If an entity is concerned, ``Reason/misuse(_:entity:)`` has its name.
  package enum Misuse: String, Sendable, CaseIterable {
    // Stores and models.
    case storeWithoutFile = "An encrypted store is a file: set the description's url to one."
    case replacedByOtherType = "A store is replaced by one of its type; use migratePersistentStore(_:to:) to change the type."
    case replacedByItself = "A store cannot replace itself."
    case containerWithoutStore = "The container has no open store."
    case noMetadataOfApplication = "This kind of store keeps no metadata of the application."
    case stepIsOver = "The step of the migration is over, and its objects with it."
    case classesOfOtherModel = "The classes were generated for another model than the stage leads to."

    // Transactions and batch requests.
    case noTransactions = "This kind of store cannot run several saves as one transaction."
    case transactionRolledBack =
      "An error has rolled the transaction back, nothing of it is written, and it goes no further: let that error end it."
    case noBatchRequest = "The request is no batch request."
    case nothingToUpdate = "A batch update names the properties to set; none is named."
    case limitOfBatchUpdate = "A batch update has no limit, offset or order; narrow the request by conditions."
    case rowsOfNoEntity = "The rows have neither a class nor an entity's name."
    case limitOverSeveralStores = "A limit or an offset of a batch deletion means one store; name it in affectedStores."
    case unsavedObjectInBatch = "An object that was never saved cannot be deleted by a batch request; delete it in its context."

    // Nested contexts.
    case transactionOfNestedContext =
      "A nested context saves to its parent, all of it or nothing; run the transaction in the context that saves to the stores."
    case generationOfNestedContext = "A nested context reads what its parent reads; pin the context that saves to the stores."

    // Undo.
    case undoGroupNotOpen = "No undo group is open that could be ended; begin one first."
    case undoInOpenGroup = "A group of changes is open; end it before you undo or redo."
    case undoWhileUndoing = "An action is being undone or redone; wait until that has ended."
    case undoWhileSaving =
      "The context is being saved, brought in step with others, or in a transaction; undo or redo before or after that."
    case undoNestedGroupMissing = "The last change in the open group is no group that could be undone alone."
    case undoOutsideOfGroups =
      "A change outside of undo groups cannot be undone; begin a group first, or let the undo manager group changes by events."
    case undoRegistrationEnabled = "Changes are recorded already; enable their recording as often as you have disabled it."
    case undoManagerOfOtherContext = "An undo manager belongs to one context; make another one for this context."

    // Objects.
    case noPermanentID = "A relationship refers to an object without a permanent ID. Save that object too."
    case endlessWillSave = "willSave() of some objects changes others without end; set values there only if they differ."
    case contextGone =
      "The object's context is gone, so its values cannot be read. Keep the context as long as its objects: a container keeps its viewContext; who makes a context keeps that."
    case deletedInOtherContext = "An object of another context was deleted; look it up in this context by its ID."
    case assignedAfterSaving = "Only objects that were never saved can be assigned to a store."
    case insertedTwice = "Only objects made without a context can be inserted into one."
    case entityOfOtherModel = "The object's entity belongs to another model."
    case relationshipLost =
      "A relationship of the object was set before it had a context, which is lost; insert objects before their relationships are set."

    case changesEscapeBatch =
      "A walk that lets no changes escape came upon unsaved ones. Save them in the closure, or before the walk begins, or allow it with allowsEscapingMutations."

    // Large values.
    case writerFinished = "The writer was finished."
  }

  /// An internal inconsistency: a bug in the library or in another developer's store. The raw value is the error message.
  package enum InternalInconsistency: String, Sendable, CaseIterable {
    case otherResult = "The store answered a request with a result of another kind."
    case fewerKeys = "There are fewer keys than objects."
    case keyInUse = "The key of a new object is in use; its ID was not obtained from this store."
    case takenByNobody = "SQLite says that unique values are taken, and nobody has them."
    case listForValue = "A list stands where one value should."
    case valueForList = "One value stands where a list should."
    case tooManyPlaceholders = "A statement has more placeholders than there can be."
    case dictionariesNotResolved = "A fetch of dictionaries was not resolved as one."
    case noColumns = "The fetch has no columns."
    case modelNotCompressed = "The model cannot be compressed."
    case importWithoutResult = "The import has no result."
  }
}
