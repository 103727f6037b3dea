// ManagedObjectContext+Finding: one object: the first of a request, the only one, or that of an ID as its class.
public import ObjectModel
public import ObjectQuery
import ObjectStore

extension ManagedObjectContext {
  /// The first object of a request, in its order; nil where there is none. One row is read.
  ///
  /// - Throws: What a fetch throws.
  public func fetchFirst<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> Result? {
    // A negative limit is a mistake here too, although another limit takes its place.
    try request.specification.checkNumbers()
    return try fetch(request.limit(1)).first
  }

  /// The first row of a selection; nil where there is none.
  ///
  /// - Throws: What the fetch of a selection throws.
  public func fetchFirst<FetchedClass, Row>(_ selection: FetchSelection<FetchedClass, Row>) throws -> Row? {
    try selection.specification.checkNumbers()
    return try fetch(selection.limit(1)).first
  }

  /// The one object of a request. At most two rows are read.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/objectNotFound`` where no object meets the request, and with ``StoreError/Code/notUnique`` where several do;
  ///   what a fetch throws.
  public func fetchOnly<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> Result {
    try request.specification.checkNumbers()
    let results = try fetch(request.limit(2))
    guard let only = results.first else { throw StoreError(.noneFound(entity: request.entityName), operation: .fetch) }
    guard results.count == 1 else { throw StoreError(.severalFound(entity: request.entityName), operation: .fetch) }
    return only
  }

  /// The object of an ID as its class, read from the store unless its row is at hand: `try context.object(Book.self, id)`.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/objectNotFound`` where there is no such object, with ``StoreError/Code/invalidRequest`` where it is of
  ///   another class; what the store throws.
  public func object<Object: ManagedObject>(_ type: Object.Type, _ objectID: ManagedObjectID) throws -> Object {
    let object = try existingObject(with: objectID)
    if let object = object as? Object { return object }
    throw StoreError(
      .objectOfOtherClass(objectID, expected: "\(type)", found: "\(Swift.type(of: object))"), operation: .findObject)
  }
}
