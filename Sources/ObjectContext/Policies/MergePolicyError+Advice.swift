// MergePolicyError+Advice: what MergePolicyError tells an application's user and its developer.
public import Foundation
package import ObjectModel

extension MergePolicyError: LocalizedError {}

extension MergePolicyError: AdvisedError {
  /// What it tells an application's user and developer.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The application is set up wrongly.",
      developer: "Correct the rules of the merge policy that the issues name; nothing is saved before.")
  }
}
