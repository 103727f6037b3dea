import ObjectModel

/// An error of the tool itself: a one-line message and an exit status.
package struct ToolError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The exit status.
  package let status: ExitStatus
  /// What is wrong and what to do, in one line.
  package let message: String

  package init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }

  package var description: String { message }

  /// Returns the end of a message, which suggests an existing name in place of an unknown one.
  static func advice(for name: String, among names: [String]) -> String {
    let advice = SimilarName.advice(for: name, among: names) ?? "none exist"
    return advice.hasSuffix("?") ? advice : advice + "."
  }
}

/// An error at a position of the input.
package struct InputError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line number, from 1.
  package var line: Int
  /// The affected entity.
  package var entity: String?
  /// The path of the affected property or field.
  package var key: String?
  /// What is wrong. Messages never include values.
  package var message: String

  package init(line: Int, entity: String? = nil, key: String? = nil, _ message: String) {
    self.line = line
    self.entity = entity
    self.key = key
    self.message = message
  }

  package var description: String {
    let place = [entity, key].compactMap { $0 }.joined(separator: ".")
    return place.isEmpty ? "line \(line): \(message)" : "line \(line): \(place): \(message)"
  }
}
