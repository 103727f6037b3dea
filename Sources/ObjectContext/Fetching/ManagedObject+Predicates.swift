// ManagedObject+Predicates: objects as what predicates ask about and compare with.
public import ObjectQuery

extension ManagedObject: FetchEvaluatable {}

extension ManagedObject: FetchConstantConvertible {
  /// The object as a constant, by its ID as it is now: a new object is met by unsaved ones only.
  public final var _fetchConstant: FetchConstant { .object(objectID) }
}
