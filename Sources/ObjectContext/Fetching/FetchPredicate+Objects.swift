import ObjectModel
public import ObjectQuery

extension FetchPredicate {
  /// Returns whether an object matches the predicate, including the object's unsaved changes.
  ///
  /// The evaluation follows the same rules as the stores. The predicate can use transient properties.
  ///
  /// - Throws: ``FetchPredicateError`` if the predicate does not fit the object's entity; the error of reading a value that the result
  ///   depends on.
  public func evaluate(with object: ManagedObject) throws -> Bool {
    let context = object.managedObjectContext
    guard let model = context?.model ?? ObjectIDSpace.space(object.objectID.space)?.model else { return false }
    let errorCount = context?.deferredErrors.count
    let result = try evaluate(with: object, in: model, resolver: ManagedObjectResolver())
    if let context, context.deferredErrors.count != errorCount, let error = context.pendingError { throw error }
    return result
  }
}

extension FetchCondition where FetchedClass: ManagedObject {
  /// Returns whether an object satisfies the condition, including the object's unsaved changes.
  ///
  /// - Throws: ``FetchPredicateError`` if the condition does not fit the object's entity.
  public func evaluate(with object: FetchedClass) throws -> Bool { try predicate.evaluate(with: object) }
}
