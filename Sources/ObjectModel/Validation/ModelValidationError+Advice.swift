// ModelValidationError+Advice: what ModelValidationError tells an application's user and its developer.
public import Foundation

extension ModelValidationError: LocalizedError {
  /// What an application may tell its user: no names of files or the like, and no stored value.
  public var errorDescription: String? { advice.user }
  /// What is wrong, and where.
  public var failureReason: String? { description }
  /// What a developer can do about it.
  public var recoverySuggestion: String? { advice.developer }
}

extension ModelValidationError {
  /// What it tells an application's user and developer.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The application is set up wrongly.",
      developer: "Correct each of the issues in the model; cipherdata model check finds them before the application runs.")
  }
}
