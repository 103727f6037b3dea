package import Foundation

/// The messages of an error kind for the user and the developer of an application. `Documentation/Errors.md` is generated from them.
package struct ErrorAdvice: Sendable, Hashable {
  /// A message that an application can show to its user: without names of files, entities or functions, and without stored values.
  package let user: String
  /// A message for the developer: how to fix the error.
  package let developer: String

  /// Creates the messages.
  package init(user: String, developer: String) {
    self.user = user
    self.developer = developer
  }
}

/// An error with advice, used as its localized messages: an application shows `errorDescription` to its user; a developer reads
/// `failureReason` (what is wrong, and where) and `recoverySuggestion` (how to fix it).
package protocol AdvisedError: LocalizedError, CustomStringConvertible {
  /// The messages for the user and the developer of an application.
  var advice: ErrorAdvice { get }
  /// Returns the description, with remedies in the caller's words.
  func description(_ words: (Remedy) -> String) -> String
}

extension AdvisedError {
  package func description(_ words: (Remedy) -> String) -> String { description }
  /// A message for the user of an application, without file names and stored values.
  public var errorDescription: String? { advice.user }
  /// A message that says what is wrong, and where.
  public var failureReason: String? { description }
  /// A message that says how to fix the error.
  public var recoverySuggestion: String? { advice.developer }
}

/// The underlying error as part of a description.
package enum ErrorCause {
  /// Returns the description of an error: its own, with remedies in the caller's words, or else its localized one.
  package static func text(_ error: any Error, _ words: (Remedy) -> String) -> String {
    if let error = error as? any AdvisedError { return error.description(words) }
    let value: Any = error
    if !(value is any CustomStringConvertible), let error = error as? any LocalizedError, let text = error.errorDescription { return text }
    return "\(error)"
  }

  /// Appends the description of an underlying error to a text that does not contain it yet.
  package static func chain(_ text: String, _ cause: (any Error)?, _ words: (Remedy) -> String) -> String {
    guard let cause else { return text }
    let reason = self.text(cause, words)
    return reason.isEmpty || text.contains(reason) ? text : "\(text) The cause: \(reason)"
  }
}
