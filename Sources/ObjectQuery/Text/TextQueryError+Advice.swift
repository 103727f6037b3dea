public import Foundation
package import ObjectModel

extension TextQueryError: LocalizedError {}

extension TextQueryError: AdvisedError {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The search is written wrongly.",
      developer: "Show the message and the place, or read what users type with TextQuery(typed:), which passes over mistakes.")
  }
}
