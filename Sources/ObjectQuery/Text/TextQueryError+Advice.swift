public import Foundation
package import ObjectModel

extension TextQueryError: LocalizedError {}

extension TextQueryError: AdvisedError {
  /// The advice for users and developers of an application.
  package var advice: ErrorAdvice {
    ErrorAdvice(
      user: "The search text is not valid.",
      developer: "Show the message and the position, or parse user input with TextQuery(typed:), which ignores syntax errors.")
  }
}
