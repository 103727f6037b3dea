// BatchInsertRequest+Objects: rows of a batch insertion, filled through the typed properties of a class.
import ObjectModel
public import ObjectStore

extension BatchInsertRequest {
  /// Inserts rows that a closure fills through the properties of a class, one after the other.
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
  /// The object only carries values: it belongs to no context, and no fetch returns it. Properties that the closure does not set get their default values.
  /// To-one relationships take saved objects; to-many relationships cannot be set.
  /// - Parameters:
  ///   - type: The class, which is in the context's class table.
  ///   - onConflict: What happens to rows whose unique values are taken.
  ///   - managedObjectHandler: Fills an object and returns false; returns true, which adds no row, when there are no more.
  public init<Object: ManagedObject>(
    _ type: Object.Type, onConflict: BatchConflictPolicy = .error, managedObjectHandler: @escaping (Object) throws -> Bool
  ) {
    self.init(entityName: nil, onConflict: onConflict) {
      { builder in
        let objectID = ManagedObjectID(space: builder.space.number, entityNumber: UInt32(builder.entity.number), key: -1)
        let row = Object(ManagedObjectSeed(objectID: objectID, context: nil, image: nil, flags: [.isInserted, .isBatchRow]))
        row.setDefaults(of: builder.entity)
        if try managedObjectHandler(row) { return false }
        if let state = row.toManyStates.first { try builder.refuse(state.relationship) }
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
  /// The request for rows of an entity that is named, whichever entity the class is that of.
  package func named(_ entityName: String) -> BatchInsertRequest {
    BatchInsertRequest(entityName: entityName, onConflict: onConflict, makeSource: makeSource)
  }
}

extension ManagedObject {
  /// Keeps the destination of a row of a batch insertion; no key stands for an object that is not in the row's store.
  final func setDestinationOfRow(_ destination: ManagedObject?, at slot: Int) {
    guard let destination else { return setReference(ObjectReference(rawValue: 0), at: slot) }
    let isSaved = destination.currentID.space == currentID.space && !destination.currentID.isTemporaryID
    setReference(isSaved ? destination.currentID.reference : ObjectReference(entity: 0, key: -1), at: slot)
  }
}
