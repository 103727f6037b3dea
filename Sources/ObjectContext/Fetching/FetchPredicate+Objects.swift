// FetchPredicate+Objects: predicates and typed conditions asked about a living object.
import ObjectModel
public import ObjectQuery

extension FetchPredicate {
  /// Whether an object meets the predicate now, its unsaved changes included, by the rules that stores answer it by. Transient properties may be asked for.
  ///
  /// - Throws: ``FetchPredicateError`` when the predicate does not fit the object's entity.
  public func evaluate(with object: ManagedObject) throws -> Bool {
    guard let model = object.managedObjectContext?.model ?? ObjectIDSpace.space(object.objectID.space)?.model else { return false }
    return try evaluate(with: object, in: model, resolver: LivingObjectResolver())
  }
}

extension FetchCondition where FetchedClass: ManagedObject {
  /// Whether an object meets the condition now, its unsaved changes included.
  ///
  /// - Throws: ``FetchPredicateError`` when the condition does not fit the object's entity.
  public func evaluate(with object: FetchedClass) throws -> Bool { try predicate.evaluate(with: object) }
}
