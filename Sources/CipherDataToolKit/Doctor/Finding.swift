/// The result of a check: its subject, the value found, and advice.
package struct Finding: Sendable, Hashable {
  /// The severity of a finding.
  package enum Grade: String, Sendable, Hashable, CaseIterable {
    case good
    /// Information that requires no action.
    case note
    /// An action is recommended.
    case advice
    /// The checked part does not work.
    case failure
  }

  package var area: String
  package var subject: String
  package var value: String
  package var grade: Grade
  /// An explanation and advice; empty if there is none.
  package var text: String

  package init(_ area: String, _ subject: String, _ value: String, _ grade: Grade = .good, _ text: String = "") {
    (self.area, self.subject, self.value, self.grade, self.text) = (area, subject, value, grade, text)
  }

  var json: JSONValue {
    .object([
      ("area", .string(area)), ("subject", .string(subject)), ("value", .string(value)), ("grade", .string(grade.rawValue)),
      ("text", text.isEmpty ? .null : .string(text)),
    ])
  }
}
