// FetchSelectionError+Advice: what FetchSelectionError tells an application's user and its developer.
public import Foundation
package import ObjectModel

extension FetchSelectionError: LocalizedError {}

extension FetchSelectionError: AdvisedError {
  /// What it tells an application's user and developer.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "A value cannot be used.",
      developer: "Select the value as a type that holds it, as an optional, or with ?? and a value.")
  }
}
