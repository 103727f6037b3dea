public import Foundation
package import ObjectModel

extension FetchPredicateError: LocalizedError {}

extension FetchPredicateError: AdvisedError {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .unknownEntity:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Correct the entity's name.")
    case .unknownKey:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Correct the key; the description suggests a similar name.")
    case .keyBehindAttribute:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "End the key path at the attribute.")
    case .toManyKeyNotAllowed:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Put ANY, ALL or NONE before the path, or @count after it.")
    case .modifierNeedsToManyKey:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Remove the modifier, or use a path through a to-many relationship.")
    case .transientKey:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Set the request's allowsInMemoryFiltering, or store the value in an attribute.")
    case .blockPredicate:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Set the request's allowsInMemoryFiltering, or write the condition as a predicate.")
    case .inMemoryValue:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Use a value of an attribute's type, or filter the fetched objects with the predicate.")
    case .typeMismatch:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Compare values of the same type: follow the advice in the description, or convert one side with CAST.")
    case .operatorNotSupported:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Use an operator that supports the type, or convert the expression with CAST.")
    case .invalidRightSide:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Use a list or a pair of bounds, as the description says.")
    case .unsubstitutedVariable:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Set the variable's value with withSubstitutionVariables(_:).")
    case .unknownTemplate:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Correct the template's name.")
    case .nestingTooDeep:
      ErrorAdvice(
        user: "The search is too complicated.",
        developer:
          "Use IN or one flat AND or OR instead of nested conditions.")
    case .invalidPattern:
      ErrorAdvice(
        user: "This is not a valid search pattern.",
        developer:
          "Correct the regular expression.")
    case .notGrouped:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Add the property to propertiesToGroupBy, or use an aggregate of it.")
    case .havingWithoutGroups:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Set propertiesToGroupBy, or move the condition to predicate.")
    case .orderedByAnother:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Add the property to propertiesToFetch, or do not set returnsDistinctResults.")
    case .negativeNumber:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Use 0 or a positive number.")
    case .unsupported:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Follow the advice in the description.")
    }
  }
}
