public import Foundation
package import ObjectModel

extension MergePolicyError: LocalizedError {}

extension MergePolicyError: AdvisedError {
  /// The advice for an application's user and its developer.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The application is configured incorrectly.",
      developer: "Correct the merge policy rules that the issues name. Nothing is saved until then.")
  }
}
