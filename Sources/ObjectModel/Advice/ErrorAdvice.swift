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

/// Spelling suggestions for unknown names.
package enum SimilarName {
  /// Returns the candidate that differs from a name only in case, or by one inserted, omitted, replaced or transposed letter.
  package static func of(_ name: String, among names: some Sequence<String>) -> String? {
    names.first { $0.lowercased() == name.lowercased() } ?? names.first { isSimilar($0, name) }
  }

  /// Returns the end of an error message about an unknown name: the suggestion, or the list of known names.
  package static func advice(for name: String, among names: [String]) -> String? {
    if let close = of(name, among: names) { return "did you mean “\(close)”?" }
    if names.isEmpty { return nil }
    let rest = names.count > 20 ? " and \(names.count - 20) more" : ""
    return "it has \(names.sorted().prefix(20).joined(separator: ", "))\(rest)"
  }

  private static func isSimilar(_ left: String, _ right: String) -> Bool {
    let (left, right) = (Array(left), Array(right))
    guard abs(left.count - right.count) <= 1, min(left.count, right.count) > 2 else { return false }
    let prefix = zip(left, right).prefix { $0 == $1 }.count
    let tailLeft = Array(left[prefix...])
    let tailRight = Array(right[prefix...])
    if tailLeft.dropFirst() == tailRight.dropFirst() || tailLeft.dropFirst() == tailRight[...] || tailLeft[...] == tailRight.dropFirst() {
      return true
    }
    return tailLeft.count > 1 && tailRight.count > 1 && tailLeft[0] == tailRight[1] && tailLeft[1] == tailRight[0]
      && tailLeft.dropFirst(2) == tailRight.dropFirst(2)
  }
}
