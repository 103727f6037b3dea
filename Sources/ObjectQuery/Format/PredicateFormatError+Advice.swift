// PredicateFormatError+Advice: what PredicateFormatError tells an application's user and its developer.
public import Foundation
package import ObjectModel

extension PredicateFormatError: LocalizedError {
  /// What an application may tell its user: no names of files or the like, and no stored value.
  public var errorDescription: String? { advice.user }
  /// What is wrong, and where.
  public var failureReason: String? { description }
  /// What a developer can do about it.
  public var recoverySuggestion: String? { advice.developer }
}

extension PredicateFormatError {
  /// What it tells an application's user and developer.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "This search is not possible.",
      developer: "Correct the format at the place that the caret marks, and give values as arguments, not as a part of the text.")
  }
}
