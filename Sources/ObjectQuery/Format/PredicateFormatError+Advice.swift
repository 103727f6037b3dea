public import Foundation
package import ObjectModel

extension PredicateFormatError: LocalizedError {}

extension PredicateFormatError: AdvisedError {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "This search is not possible.",
      developer: "Correct the format at the caret, and pass values as arguments instead of inserting them into the text.")
  }
}
