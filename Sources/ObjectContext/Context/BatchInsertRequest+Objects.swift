import ObjectModel
public import ObjectStore

extension BatchInsertRequest {
  /// Creates a request whose rows a closure fills one by one through the typed properties of a class.
  ///
  /// ```swift
  /// var lines = file.lines.makeIterator()
  /// let request = BatchInsertRequest(Book.self) { book in
  ///   guard let line = lines.next() else { return true }
  ///   book.title = line.title
  ///   book.author = ada
  ///   return false
  /// }
  /// ```
  ///
  /// The object only carries values: it does not belong to a context, and fetches do not return it. Properties that the closure does not
  /// set have their default values. To-one relationships accept saved objects only; to-many relationships cannot be set.
  /// - Parameters:
  ///   - type: The class, which must be in the context's class table.
  ///   - onConflict: The policy for rows whose unique values are already taken.
  ///   - managedObjectHandler: Fills an object and returns `false`, or returns `true`, without adding a row, when there are no more rows.
  public init<Object: ManagedObject>(
    _ type: Object.Type, onConflict: BatchConflictPolicy = .error, managedObjectHandler: @escaping (Object) throws -> Bool
  ) {
    self.init(entityName: nil, onConflict: onConflict) {
      { builder in
        let objectID = ManagedObjectID(space: builder.space.number, entityNumber: UInt32(builder.entity.number), key: -1)
        let row = Object(ManagedObjectSeed(objectID: objectID, context: nil, image: nil, flags: [.isInserted, .isBatchRow]))
        row.setDefaults(of: builder.entity)
        if try managedObjectHandler(row) { return false }
        if let state = row.toManyStates.first { try builder.reject(state.relationship) }
        guard let overlay = row.overlay else { return true }
        for slot in builder.entity.slots where overlay.isDirty(slot.index) && slot.kind != .none {
          try builder.set(checking: row.slotValue(slot.index), at: slot.index)
        }
        return true
      }
    }
    objectType = type
  }
}

extension BatchInsertRequest {
  /// Returns the request for rows of a named entity, which need not be the entity of the class.
  package func named(_ entityName: String) -> BatchInsertRequest {
    BatchInsertRequest(entityName: entityName, onConflict: onConflict, makeSource: makeSource)
  }
}

extension ManagedObject {
  /// Sets the destination of a to-one relationship in a row of a batch insertion. A destination that is not saved in the row's store is set
  /// as an invalid reference.
  final func setDestinationOfRow(_ destination: ManagedObject?, at slot: Int) {
    guard let destination else { return setReference(ObjectReference(rawValue: 0), at: slot) }
    let isSaved = destination.currentID.space == currentID.space && !destination.currentID.isTemporaryID
    setReference(isSaved ? destination.currentID.reference : ObjectReference(entity: 0, key: -1), at: slot)
  }
}
