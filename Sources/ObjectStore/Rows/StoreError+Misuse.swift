extension StoreError {
  /// An invalid call. The raw value is the error message. If an entity is concerned, ``Reason/misuse(_:entity:)`` has its name.
  package enum Misuse: String, Sendable, CaseIterable {
    // Stores and models.
    case storeWithoutFile = "An encrypted store is a file: set the description's url to one."
    case replacedByOtherType =
      "A store can only be replaced by a store of the same type; use migratePersistentStore(_:to:) to change the type."
    case replacedByItself = "A store cannot replace itself."
    case containerWithoutStore = "The container has no open store."
    case noMetadataOfApplication = "This store type does not support metadata of the application."
    case stepIsOver = "The migration step has ended, and its objects can no longer be used."
    case classesOfOtherModel = "The classes were generated for another model than the stage's destination."

    // Transactions and batch requests.
    case noTransactions = "This store type cannot run several saves as one transaction."
    case transactionRolledBack =
      "An error rolled the transaction back, and nothing was written. Rethrow that error to end the transaction."
    case noBatchRequest = "The request is not a batch request."
    case nothingToUpdate = "The batch update has no properties to set."
    case limitOfBatchUpdate = "A batch update cannot have a limit, an offset or an order; narrow the request with conditions."
    case rowsOfNoEntity = "The rows have neither a class nor an entity name."
    case limitOverSeveralStores = "A batch deletion with a limit or an offset applies to one store; name it in affectedStores."
    case unsavedObjectInBatch = "An object that was never saved cannot be deleted by a batch request; delete it in its context."

    // Nested contexts.
    case transactionOfNestedContext =
      "A nested context saves atomically to its parent; run the transaction in the context that saves to the stores."
    case generationOfNestedContext = "A nested context reads its parent's query generation; pin the context that saves to the stores."

    // Undo.
    case undoGroupNotOpen = "No undo group is open; begin one first."
    case undoInOpenGroup = "An undo group is open; end it before undoing or redoing."
    case undoWhileUndoing = "An undo or redo is in progress; wait until it ends."
    case undoWhileSaving =
      "The context is saving, merging changes, or in a transaction; undo or redo before or after that."
    case undoNestedGroupMissing = "The last change in the open undo group is not a nested group, so it cannot be undone separately."
    case undoOutsideOfGroups =
      "A change outside of undo groups cannot be undone; begin a group first, or let the undo manager group changes by events."
    case undoRegistrationEnabled = "Undo registration is already enabled; balance each enable call with a disable call."
    case undoManagerOfOtherContext = "An undo manager belongs to one context; create another one for this context."

    // Objects.
    case noPermanentID = "A relationship refers to an object without a permanent ID. Save that object too."
    case endlessWillSave = "willSave() implementations keep changing objects; set values in willSave() only if they differ."
    case contextGone =
      "The object's context was deallocated, so its values cannot be read. Retain the context as long as its objects: a container retains its viewContext; retain other contexts yourself."
    case deletedInOtherContext = "The object to delete belongs to another context; get it from this context by its ID."
    case assignedAfterSaving = "Only objects that were never saved can be assigned to a store."
    case insertedTwice = "Only objects made without a context can be inserted into one."
    case entityOfOtherModel = "The object's entity belongs to another model."
    case relationshipLost =
      "A relationship was set before the object had a context, and its value is lost; insert objects before setting their relationships."

    case changesEscapeBatch =
      "The iteration found unsaved changes. Save them in the closure or before the iteration, or set allowsEscapingMutations."

    // Large values.
    case writerFinished = "The writer was finished."
  }

  /// An internal inconsistency: a bug in the library or in another developer's store. The raw value is the error message.
  package enum InternalInconsistency: String, Sendable, CaseIterable {
    case otherResult = "The store returned a result of the wrong type."
    case fewerKeys = "There are fewer keys than objects."
    case keyInUse = "The key of a new object is in use; its ID was not obtained from this store."
    case takenByNobody = "SQLite reports a uniqueness conflict, but no row has the values."
    case listForValue = "Found a list, expected one value."
    case valueForList = "Found one value, expected a list."
    case tooManyPlaceholders = "A statement has too many placeholders."
    case dictionariesNotResolved = "A dictionary fetch was not resolved as a dictionary fetch."
    case noColumns = "The fetch has no columns."
    case modelNotCompressed = "The model cannot be compressed."
    case importWithoutResult = "The import has no result."
  }
}
