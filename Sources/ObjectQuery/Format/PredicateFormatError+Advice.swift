public import Foundation
package import ObjectModel

extension PredicateFormatError: LocalizedError {}

extension PredicateFormatError: AdvisedError {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "This search is not possible.",
      developer: "Correct the format at the place that the caret marks, and give values as arguments, not as a part of the text.")
  }
}
