// FetchRequest+Template: requests from a model's templates.
public import ObjectModel

extension ManagedObjectModel {
  /// A request from a template, with values for the variables of its predicate. The request is a value of its own: change it as you like.
  ///
  /// ```swift
  /// let request: FetchRequest<Photo> = try model.fetchRequest(fromTemplate: "photosTaggedWith", substitutionVariables: ["TAG": "sea"])
  /// ```
  ///
  /// The Swift type of the request decides what is returned, whatever the template says.
  /// - Parameters:
  ///   - name: The template's name.
  ///   - variables: The values by the variables' names, without `$`; nil stands for no value. Values of variables that the template does
  ///     not have are passed over.
  /// - Throws: ``FetchPredicateError/unknownTemplate(name:suggestion:)``, ``FetchPredicateError/unsubstitutedVariable(name:)`` for a variable without a value,
  ///   ``PredicateFormatError`` when the template's predicate cannot be parsed.
  public func fetchRequest<Result: FetchResult>(
    fromTemplate name: String, substitutionVariables variables: [String: (any FetchConstantConvertible)?] = [:]
  ) throws -> FetchRequest<Result> {
    guard let template = fetchRequestTemplate(named: name) else {
      let names = fetchRequestTemplates.map(\.name)
      throw FetchPredicateError.unknownTemplate(name: name, suggestion: CloseName.of(name, among: names))
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
