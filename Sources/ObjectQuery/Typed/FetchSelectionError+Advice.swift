// FetchSelectionError+Advice: what FetchSelectionError tells an application's user and its developer.
public import Foundation
package import ObjectModel

extension FetchSelectionError: LocalizedError {
  /// What an application may tell its user: no names of files or the like, and no stored value.
  public var errorDescription: String? { advice.user }
  /// What is wrong, and where.
  public var failureReason: String? { description }
  /// What a developer can do about it.
  public var recoverySuggestion: String? { advice.developer }
}

extension FetchSelectionError {
  /// What it tells an application's user and developer.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "A value cannot be used.",
      developer: "Select the value as a type that holds it, as an optional, or with ?? and a value.")
  }
}
