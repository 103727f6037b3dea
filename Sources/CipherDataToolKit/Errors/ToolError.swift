// ToolError: the tool's own errors, each with the status that it ends with.
import ObjectModel

/// Something that the tool itself found wrong: one readable line, and how the tool ends.
package struct ToolError: Error, Sendable, Hashable, CustomStringConvertible {
  /// How the tool ends.
  package let status: ExitStatus
  /// What is wrong and what to do, in one line.
  package let message: String

  /// Makes an error.
  package init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }

  package var description: String { message }

  /// What to write in place of a name that is not there, as the end of a sentence.
  static func advice(for name: String, among names: [String]) -> String {
    let advice = SimilarName.advice(for: name, among: names) ?? "there are none"
    return advice.hasSuffix("?") ? advice : advice + "."
  }
}

/// Something wrong at a place of the input.
package struct InputError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line, from 1.
  package var line: Int
  /// The entity concerned.
  package var entity: String?
  /// The property or field concerned, as a path.
  package var key: String?
  /// What is wrong there; never a value.
  package var message: String

  /// Makes an error.
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
