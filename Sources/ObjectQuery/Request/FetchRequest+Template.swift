public import ObjectModel

extension ManagedObjectModel {
  /// Returns a request from a template, with values for the variables of its predicate. The request is a copy that can be changed.
  ///
  /// ```swift
  /// let request: FetchRequest<Photo> = try model.fetchRequest(fromTemplate: "photosTaggedWith", substitutionVariables: ["TAG": "sea"])
  /// ```
  ///
  /// The Swift type of the request determines the type of the results, regardless of the template's result type.
  /// - Parameters:
  ///   - name: The name of the template.
  ///   - variables: The values by variable name, without `$`; nil is a null value. Variables that the template does not have are ignored.
  /// - Throws: ``FetchPredicateError/unknownTemplate(name:suggestion:)``, ``FetchPredicateError/unsubstitutedVariable(name:)`` for a
  ///   variable without a value, ``PredicateFormatError`` if the template's predicate cannot be parsed.
  public func fetchRequest<Result: FetchResult>(
    fromTemplate name: String, substitutionVariables variables: [String: (any FetchConstantConvertible)?] = [:]
  ) throws -> FetchRequest<Result> {
    guard let template = fetchRequestTemplate(named: name) else {
      let names = fetchRequestTemplates.map(\.name)
      throw FetchPredicateError.unknownTemplate(name: name, suggestion: SimilarName.of(name, among: names))
    }
    var request = FetchRequest<Result>(entityName: template.entityName)
    if let format = template.predicateFormat {
      let predicate = try FetchPredicate(format: format).withSubstitutionVariables(variables)
      if let missing = predicate.variables.min() { throw FetchPredicateError.unsubstitutedVariable(name: missing) }
      request.predicate = predicate
    }
    request.fetchLimit = template.fetchLimit
    request.fetchBatchSize = template.fetchBatchSize
    request.includesSubentities = template.includesSubentities
    request.includesPropertyValues = template.includesPropertyValues
    request.includesPendingChanges = template.includesPendingChanges
    request.returnsObjectsAsFaults = template.returnsObjectsAsFaults
    request.returnsDistinctResults = template.returnsDistinctResults
    return request
  }
}
