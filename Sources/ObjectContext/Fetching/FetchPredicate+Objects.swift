// FetchPredicate+Objects: predicates and typed conditions asked about a living object.
import ObjectModel
public import ObjectQuery

extension FetchPredicate {
  /// Whether an object meets the predicate now, its unsaved changes included, by the rules by which stores answer it. Transient properties may be asked for.
  ///
  /// - Throws: ``FetchPredicateError`` when the predicate does not fit the object's entity; the error of reading a value that decides it.
  public func evaluate(with object: ManagedObject) throws -> Bool {
    let context = object.managedObjectContext
    guard let model = context?.model ?? ObjectIDSpace.space(object.objectID.space)?.model else { return false }
    let errorCount = context?.notedErrors.count
    let result = try evaluate(with: object, in: model, resolver: LivingObjectResolver())
    if let context, context.notedErrors.count != errorCount, let error = context.pendingError { throw error }
    return result
  }
}

extension FetchCondition where FetchedClass: ManagedObject {
  /// Whether an object meets the condition now, its unsaved changes included.
  ///
  /// - Throws: ``FetchPredicateError`` when the condition does not fit the object's entity.
  public func evaluate(with object: FetchedClass) throws -> Bool { try predicate.evaluate(with: object) }
}
