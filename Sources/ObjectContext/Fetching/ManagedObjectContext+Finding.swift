public import ObjectModel
public import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// Returns the first object that matches a request, in the request's order; nil if there is none. Reads one row.
  ///
  /// - Throws: The errors of a fetch.
  public func fetchFirst<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> Result? {
    // Check the limit here: the next line replaces it, which would hide a negative one.
    try request.specification.checkNumbers()
    return try fetch(request.limit(1)).first
  }

  /// Returns the first row of a selection; nil if there is none.
  ///
  /// - Throws: The errors of a fetch of the selection.
  public func fetchFirst<FetchedClass, Row>(_ selection: FetchSelection<FetchedClass, Row>) throws -> Row? {
    try selection.specification.checkNumbers()
    return try fetch(selection.limit(1)).first
  }

  /// Returns the only object that matches a request. Reads at most two rows.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/objectNotFound`` if no object matches, and with ``StoreError/Code/notUnique`` if
  ///   several match; the errors of a fetch.
  public func fetchExactlyOne<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> Result {
    try request.specification.checkNumbers()
    let results = try fetch(request.limit(2))
    guard let only = results.first else { throw StoreError(.noneFound(entity: request.entityName), operation: .fetch) }
    guard results.count == 1 else { throw StoreError(.severalFound(entity: request.entityName), operation: .fetch) }
    return only
  }

  /// Returns the object with an ID as an instance of a class: `try context.object(Book.self, id)`. Reads its row from the store unless the
  /// row is in memory.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/objectNotFound`` if the object does not exist, and with
  ///   ``StoreError/Code/invalidRequest`` if it is of another class; the errors of the store.
  public func object<Object: ManagedObject>(_ type: Object.Type, _ objectID: ManagedObjectID) throws -> Object {
    let object = try existingObject(with: objectID)
    if let object = object as? Object { return object }
    throw StoreError(
      .objectOfOtherClass(objectID, expected: "\(type)", found: "\(Swift.type(of: object))"), operation: .findObject)
  }
}

extension StoreError.Reason {
  static func noneFound(entity: String) -> Self {
    Self(.objectNotFound, "Expected exactly one “\(entity)”, found none. fetchFirst(_:) returns nil in this case.", entity: entity)
  }

  static func severalFound(entity: String) -> Self {
    Self(.notUnique, "Expected exactly one “\(entity)”, found several. fetchFirst(_:) returns the first one.", entity: entity)
  }

  static func objectOfOtherClass(_ id: ManagedObjectID, expected: String, found: String) -> Self {
    Self(.invalidRequest, "The object \(id.uriString) is of the class \(found), not of \(expected).", object: id)
  }
}
