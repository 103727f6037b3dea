package import ObjectModel

extension FetchPredicate {
  /// Returns whether an object in memory matches the predicate, by the same rules as in stores.
  ///
  /// Each call checks the predicate against the object's entity. Transient attributes are allowed.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - model: The model of the object's entity.
  ///   - resolver: Reads values and relationships of objects.
  /// - Throws: ``FetchPredicateError`` if the predicate does not fit the entity; errors of the resolver.
  package func evaluate<Resolver: ObjectResolver>(
    with object: Resolver.Object, in model: CompiledModel, resolver: Resolver
  ) throws -> Bool {
    let fetch = try FetchResolver(model: model, transientKeys: .allowed).resolve(self, entity: resolver.entity(of: object))
    return try PredicateEvaluator(fetch, resolver: resolver).matches(object)
  }

  /// Checks the predicate against an entity without evaluating it.
  ///
  /// - Throws: ``FetchPredicateError`` with the part that does not fit.
  package func validate(entity name: String, in model: CompiledModel) throws(FetchPredicateError) {
    _ = try FetchResolver(model: model).resolve(FetchSpecification(entityName: name, predicate: self))
  }
}
