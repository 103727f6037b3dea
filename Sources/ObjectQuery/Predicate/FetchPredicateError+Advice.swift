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
          "Correct the key; the description has a name that is close.")
    case .keyBehindAttribute:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "End the key path at the attribute.")
    case .toManyKeyNotAllowed:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Put ANY, ALL or NONE before the path, or @count behind it.")
    case .modifierNeedsToManyKey:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Leave the modifier out, or go through a to-many relationship.")
    case .transientKey:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Set allowsInMemoryFiltering of the request, or keep the value in a stored attribute.")
    case .blockPredicate:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Set allowsInMemoryFiltering of the request, or write the condition as a predicate.")
    case .inMemoryValue:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Give a value that an attribute has, or filter the fetched objects with the predicate.")
    case .typeMismatch:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Compare values of one kind: follow the advice in the description, or convert one side with CAST.")
    case .operatorNotSupported:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Use an operator for the type, or convert the expression with CAST.")
    case .invalidRightSide:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Give a list or a pair of bounds as the description says.")
    case .unsubstitutedVariable:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Give the variable a value with withSubstitutionVariables(_:).")
    case .unknownTemplate:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Correct the template's name.")
    case .nestingTooDeep:
      ErrorAdvice(
        user: "The search is too complicated.",
        developer:
          "Use IN or one flat AND or OR in place of nested conditions.")
    case .invalidPattern:
      ErrorAdvice(
        user: "This is no pattern to search with.",
        developer:
          "Correct the regular expression.")
    case .notGrouped:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Add the property to propertiesToGroupBy, or take an aggregate of it.")
    case .havingWithoutGroups:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Set propertiesToGroupBy, or make it a condition in predicate.")
    case .orderedByAnother:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Add the property to propertiesToFetch, or leave returnsDistinctResults out.")
    case .negativeNumber:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Give a number that is 0 or positive.")
    case .unsupported:
      ErrorAdvice(
        user: "This search is not possible.",
        developer:
          "Follow the advice in the description.")
    }
  }
}
