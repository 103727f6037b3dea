// ManagedObject+Predicates: objects as what predicates ask about and compare with.
public import ObjectQuery

extension ManagedObject: FetchEvaluatable {}

extension ManagedObject: FetchConstantConvertible {
  /// The object as a constant, by its present ID: only unsaved objects can meet the temporary ID of a new one.
  public final var _fetchConstant: FetchConstant { .object(objectID) }
}
