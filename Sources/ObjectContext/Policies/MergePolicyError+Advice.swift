public import Foundation
package import ObjectModel

extension MergePolicyError: LocalizedError {}

extension MergePolicyError: AdvisedError {
  /// The advice for an application's user and its developer.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The application is set up wrongly.",
      developer: "Correct the rules of the merge policy that the issues name; nothing is saved before.")
  }
}
