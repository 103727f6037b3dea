public import Foundation
package import ObjectModel

extension FetchSelectionError: LocalizedError {}

extension FetchSelectionError: AdvisedError {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "A value cannot be used.",
      developer: "Select the value as a type that can represent it, as an optional, or with ?? and a default value.")
  }
}
