// Finding: one thing that the doctor has looked at.

/// What was looked at, what was found, and what to do.
package struct Finding: Sendable, Hashable {
  /// How it is.
  package enum Grade: String, Sendable, Hashable, CaseIterable {
    /// As it should be.
    case good
    /// Worth knowing.
    case note
    /// Something should be done.
    case advice
    /// It does not work.
    case failure
  }

  package var area: String
  package var subject: String
  /// What was found.
  package var value: String
  package var grade: Grade
  /// What it means, and what to do; empty where there is nothing to say.
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
