// FetchPredicate+Evaluation: a predicate asked about one object in memory.
package import ObjectModel

extension FetchPredicate {
  /// Whether an object meets the predicate, by the rules by which stores answer it.
  ///
  /// The predicate is checked against the object's entity at each call; transient attributes may be asked for.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - model: The model of the object's entity.
  ///   - resolver: What reads objects.
  /// - Throws: ``FetchPredicateError`` when the predicate does not fit the entity; what the resolver throws.
  package func evaluate<Resolver: ObjectResolver>(
    with object: Resolver.Object, in model: CompiledModel, resolver: Resolver
  ) throws -> Bool {
    let fetch = try FetchResolver(model: model, transientKeys: .allowed).resolve(self, entity: resolver.entity(of: object))
    return try PredicateEvaluator(fetch, resolver: resolver).matches(object)
  }

  /// Checks the predicate against an entity without evaluating it.
  ///
  /// - Throws: ``FetchPredicateError`` naming the part that does not fit.
  package func validate(entity name: String, in model: CompiledModel) throws(FetchPredicateError) {
    _ = try FetchResolver(model: model).resolve(FetchSpecification(entityName: name, predicate: self))
  }
}
