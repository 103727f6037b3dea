package import ObjectModel

/// Parses the predicates and expressions of a model's indexes. An index never changes the results of a fetch, so an invalid one is ignored.
package enum IndexFormats {
  /// Returns the predicate of a partial index.
  ///
  /// - Throws: ``PredicateFormatError``, or ``FetchPredicateError`` for names that the model does not have.
  package static func resolved(_ format: String, of entity: CompiledEntity, in model: CompiledModel) throws -> ResolvedFetch {
    try FetchResolver(model: model).resolve(FetchPredicate(format: format, argumentArray: []), entity: entity)
  }

  /// Returns warnings for the invalid indexes of a model, in the order of the model.
  package static func warnings(in model: CompiledModel) -> [ModelIssue] {
    model.model.entities.flatMap { description -> [ModelIssue] in
      guard let entity = model.entity(named: description.name) else { return [] }
      return entity.entityDescription.indexes.flatMap { index in
        problems(of: index, entity, model).map { problem in
          ModelIssue(entityName: entity.name, propertyName: index.name, reason: problem, instead: "the index is left out")
        }
      }
    }
  }

  private static func problems(of index: FetchIndexDescription, _ entity: CompiledEntity, _ model: CompiledModel) -> [String] {
    var problems: [String] = []
    if let format = index.partialIndexPredicate {
      do { _ = try resolved(format, of: entity, in: model) } catch { problems.append("the index's predicate cannot be read: \(error)") }
    }
    for format in index.elements.compactMap(\.expression) {
      do {
        let descriptor = FetchSortDescriptor(expression: try FetchExpression(format: format))
        _ = try FetchResolver(model: model).resolve(nil, sortDescriptors: [descriptor], entity: entity)
      } catch {
        problems.append("the index's expression cannot be read: \(error)")
      }
    }
    return problems
  }
}
