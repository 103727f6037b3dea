public import ObjectQuery

extension ManagedObject: FetchEvaluatable {}

extension ManagedObject: FetchConstantConvertible {
  /// The object as a constant, identified by its current ID. The temporary ID of an inserted object can match unsaved objects only.
  @_spi(Generated) public final var fetchConstant: FetchConstant { .object(objectID) }
}
