// ErrorAdvice: what an error tells those who meet it, beside its own sentence: an application's user, and its developer.
package import Foundation

/// What a kind of error tells an application's user and its developer. `Documentation/Errors.md` is made of it.
package struct ErrorAdvice: Sendable, Hashable {
  /// What an application may show to its user: no names of files, entities or calls, and no stored value.
  package let user: String
  /// What a developer does about it.
  package let developer: String

  /// Advice to both.
  package init(user: String, developer: String) {
    self.user = user
    self.developer = developer
  }
}

/// An error with advice, which is what it says as a localized error: an application shows `errorDescription` to its user, and a developer reads `failureReason`, what is
/// wrong and where, and `recoverySuggestion`, what to do about it.
package protocol AdvisedError: LocalizedError, CustomStringConvertible {
  /// What it tells an application's user and developer.
  var advice: ErrorAdvice { get }
}

extension AdvisedError {
  /// What an application may tell its user: no names of files or the like, and no stored value.
  public var errorDescription: String? { advice.user }
  /// What is wrong, and where.
  public var failureReason: String? { description }
  /// What a developer can do about it.
  public var recoverySuggestion: String? { advice.developer }
}

/// The error behind another one, as a part of its description.
package enum ErrorCause {
  /// What an error says of itself: its own description, or what it says as a localized error where that is all that was written for it.
  package static func text(_ error: any Error) -> String {
    let value: Any = error
    if !(value is any CustomStringConvertible), let error = error as? any LocalizedError, let text = error.errorDescription { return text }
    return "\(error)"
  }

  /// A description with the one of the error behind it, unless it has that already.
  package static func chain(_ text: String, _ cause: (any Error)?) -> String {
    guard let cause else { return text }
    let reason = self.text(cause)
    return reason.isEmpty || text.contains(reason) ? text : "\(text) The cause: \(reason)"
  }
}
