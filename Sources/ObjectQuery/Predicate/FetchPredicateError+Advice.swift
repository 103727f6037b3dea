public import Foundation
package import ObjectModel

extension FetchPredicateError: LocalizedError {}

extension FetchPredicateError: AdvisedError {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    let user =
      switch self {
      case .nestingTooDeep: "The search is too complicated."
      case .invalidPattern: "This is not a valid search pattern."
      default: "This search is not possible."
      }
    return ErrorAdvice(user: user, developer: developerAdvice)
  }

  private var developerAdvice: String {
    switch self {
    case .unknownEntity: "Correct the entity's name."
    case .unknownKey: "Correct the key; the description suggests a similar name."
    case .keyBehindAttribute: "End the key path at the attribute."
    case .toManyKeyNotAllowed: "Put ANY, ALL or NONE before the path, or @count after it."
    case .modifierNeedsToManyKey: "Remove the modifier, or use a path through a to-many relationship."
    case .transientKey: "Set the request's allowsInMemoryFiltering, or store the value in an attribute."
    case .blockPredicate: "Set the request's allowsInMemoryFiltering, or write the condition as a predicate."
    case .inMemoryValue: "Use a value of an attribute's type, or filter the fetched objects with the predicate."
    case .typeMismatch: "Compare values of the same type: follow the advice in the description, or convert one side with CAST."
    case .operatorNotSupported: "Use an operator that supports the type, or convert the expression with CAST."
    case .invalidRightSide: "Use a list or a pair of bounds, as the description says."
    case .unsubstitutedVariable: "Set the variable's value with withSubstitutionVariables(_:)."
    case .unknownTemplate: "Correct the template's name."
    case .nestingTooDeep: "Use IN or one flat AND or OR instead of nested conditions."
    case .invalidPattern: "Correct the regular expression."
    case .notGrouped: "Add the property to propertiesToGroupBy, or use an aggregate of it."
    case .havingWithoutGroups: "Set propertiesToGroupBy, or move the condition to predicate."
    case .orderedByAnother: "Add the property to propertiesToFetch, or do not set returnsDistinctResults."
    case .negativeNumber: "Use 0 or a positive number."
    case .unsupported: "Follow the advice in the description."
    }
  }
}
