public import Foundation

extension ModelValidationError: LocalizedError {}

extension ModelValidationError: AdvisedError {
  /// The messages for the user and the developer of an application.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The application is configured incorrectly.",
      developer: "Correct each of the issues in the model; cipherdata model lint finds them before the application runs.")
  }
}
