// TextQueryError+Advice: what TextQueryError tells an application's user and its developer.
public import Foundation
package import ObjectModel

extension TextQueryError: LocalizedError {}

extension TextQueryError: AdvisedError {
  /// What it tells an application's user and developer.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The search is written wrongly.",
      developer: "Show the message and the place, or read what users type with TextQuery(typed:), which passes over mistakes.")
  }
}
