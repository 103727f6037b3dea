// ModelValidationError+Advice: what ModelValidationError tells an application's user and its developer.
public import Foundation

extension ModelValidationError: LocalizedError {}

extension ModelValidationError: AdvisedError {
  /// What it tells an application's user and developer.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The application is set up wrongly.",
      developer: "Correct each of the issues in the model; cipherdata model lint finds them before the application runs.")
  }
}
