// TextQueryError+Advice: what TextQueryError tells an application's user and its developer.
public import Foundation
package import ObjectModel

extension TextQueryError: LocalizedError {
  /// What an application may tell its user: no names of files or the like, and no stored value.
  public var errorDescription: String? { advice.user }
  /// What is wrong, and where.
  public var failureReason: String? { description }
  /// What a developer can do about it.
  public var recoverySuggestion: String? { advice.developer }
}

extension TextQueryError {
  /// What it tells an application's user and developer.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The search is written wrongly.",
      developer: "Show the message and the place, or read what users type with TextQuery(typed:), which passes over mistakes.")
  }
}
