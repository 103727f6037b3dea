/// An invalid value of an attribute in a model file.
struct XMLValueProblem: Error {
  let reason: String
  /// The value that is used instead, which the description then has; nil for an error. Core Data accepts files with such values.
  var substitute: String?

  /// Returns the problem of an unusable value with a substitute.
  static func unusable(_ reason: String, instead substitute: String) -> Self { Self(reason: reason, substitute: substitute) }
}

/// The conversion between an attribute of a model file's element and a description.
///
/// A spelling that differs from the canonical one is preserved with the description, and written as long as its meaning is unchanged.
struct ModelXMLField<Description: Sendable & Equatable>: Sendable {
  let name: String
  /// Returns the canonical text; nil to omit the attribute.
  let text: @Sendable (Description) -> String?
  /// Reads a text into the description. If it throws a problem with a substitute, the description has the substitute.
  let take: @Sendable (inout Description, String) throws(XMLValueProblem) -> Void
  /// Whether the text is meaningless for the description and is only preserved.
  var isIdle: @Sendable (Description) -> Bool = { _ in false }

  /// Returns a flag that is `YES` or omitted.
  static func flag(
    _ name: String, _ read: @escaping @Sendable (Description) -> Bool, _ write: @escaping @Sendable (inout Description, Bool) -> Void
  ) -> Self {
    Self(name: name) {
      read($0) ? "YES" : nil
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      try takeBoolean(text, name) { write(&description, $0) }
    }
  }

  /// Returns a flag that is `NO` or omitted.
  static func denial(
    _ name: String, _ read: @escaping @Sendable (Description) -> Bool, _ write: @escaping @Sendable (inout Description, Bool) -> Void
  ) -> Self {
    Self(name: name) {
      read($0) ? nil : "NO"
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      try takeBoolean(text, name) { write(&description, $0) }
    }
  }

  /// Returns a text that is omitted if nil.
  static func text(
    _ name: String, _ read: @escaping @Sendable (Description) -> String?, _ write: @escaping @Sendable (inout Description, String) -> Void
  ) -> Self {
    Self(name: name) {
      read($0)
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      write(&description, text)
    }
  }

  /// Returns a number that is omitted if nil.
  static func number(
    _ name: String, _ read: @escaping @Sendable (Description) -> Int?, _ write: @escaping @Sendable (inout Description, Int) -> Void
  ) -> Self {
    Self(name: name) {
      read($0).map(String.init)
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      try takeInteger(text, name) { write(&description, $0) }
    }
  }

  /// Returns an attribute without meaning, listed for its position in the canonical order. `standard` is written if no value was read.
  static func kept(_ name: String, standard: String? = nil) -> Self {
    Self(name: name) { _ in
      standard
    } take: { (_: inout Description, _) throws(XMLValueProblem) in
    }
  }

  /// Reads a boolean. Any other text is tolerated and means NO.
  static func takeBoolean(_ text: String, _ name: String, _ write: (Bool) -> Void) throws(XMLValueProblem) {
    let value = SlotText.boolean(text)
    write(value ?? false)
    if value == nil { throw .unusable("'\(name)' must be YES or NO", instead: "NO is used") }
  }

  /// Reads a whole number. For any other text, which is tolerated, the number at its beginning is used, or 0.
  static func takeInteger(_ text: String, _ name: String, _ write: (Int) -> Void) throws(XMLValueProblem) {
    if let number = Int(text) ?? Double(text).flatMap({ Int(exactly: $0) }) { return write(number) }
    let number = SlotText.leadingNumber(of: text).flatMap { Int(exactly: $0.rounded(.towardZero)) } ?? 0
    write(number)
    throw .unusable("'\(name)' must be a whole number", instead: "\(number) is used")
  }

  /// Returns whether a text has the meaning of the description.
  func represents(_ text: String, _ description: Description) -> Bool {
    if isIdle(description) { return true }
    var copy = description
    do { try take(&copy, text) } catch { if error.substitute == nil { return false } }
    return copy == description
  }
}

extension [PreservedXML.Element] {
  func named(_ name: String) -> [PreservedXML.Element] { filter { $0.name == name } }
}
