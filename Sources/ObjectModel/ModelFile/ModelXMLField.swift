// ModelXMLField: one attribute of a model file's element, both ways.

/// What is wrong with the value of a file's attribute.
struct XMLValueProblem: Error {
  let reason: String
  /// What is used instead. Core Data accepts such a file, so the model can be read, and the description has this value. Nil for an error.
  var substitute: String?

  /// A value that cannot be used, and what is used instead.
  static func unusable(_ reason: String, instead substitute: String) -> Self { Self(reason: reason, substitute: substitute) }
}

/// One attribute of a model file's element: how it is written from a description and read into it.
///
/// A spelling that differs from the canonical one is kept beside the description and written again as long as it still means the same.
struct ModelXMLField<Description: Sendable & Equatable>: Sendable {
  let name: String
  /// The canonical text; nil when the attribute is left out.
  let text: @Sendable (Description) -> String?
  /// Takes a text into the description. Where it throws a problem that is tolerated, the description has the value that is used instead.
  let take: @Sendable (inout Description, String) throws(XMLValueProblem) -> Void
  /// Whether a text has no meaning next to the rest of the description and is only kept.
  var isIdle: @Sendable (Description) -> Bool = { _ in false }

  /// A flag that is `YES` or left out.
  static func flag(
    _ name: String, _ read: @escaping @Sendable (Description) -> Bool, _ write: @escaping @Sendable (inout Description, Bool) -> Void
  ) -> Self {
    Self(name: name) {
      read($0) ? "YES" : nil
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      try takeBoolean(text, name) { write(&description, $0) }
    }
  }

  /// A flag that is `NO` or left out.
  static func denial(
    _ name: String, _ read: @escaping @Sendable (Description) -> Bool, _ write: @escaping @Sendable (inout Description, Bool) -> Void
  ) -> Self {
    Self(name: name) {
      read($0) ? nil : "NO"
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      try takeBoolean(text, name) { write(&description, $0) }
    }
  }

  /// A text that is left out when nil.
  static func text(
    _ name: String, _ read: @escaping @Sendable (Description) -> String?, _ write: @escaping @Sendable (inout Description, String) -> Void
  ) -> Self {
    Self(name: name) {
      read($0)
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      write(&description, text)
    }
  }

  /// A number that is left out when it is nil.
  static func number(
    _ name: String, _ read: @escaping @Sendable (Description) -> Int?, _ write: @escaping @Sendable (inout Description, Int) -> Void
  ) -> Self {
    Self(name: name) {
      read($0).map(String.init)
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      try takeInteger(text, name) { write(&description, $0) }
    }
  }

  /// An attribute without a meaning here, listed for its place in the canonical order; `standard` is written where nothing was read.
  static func kept(_ name: String, standard: String? = nil) -> Self {
    Self(name: name) { _ in
      standard
    } take: { (_: inout Description, _) throws(XMLValueProblem) in
    }
  }

  /// Takes a text as yes or no. Any other word is tolerated and means NO.
  static func takeBoolean(_ text: String, _ name: String, _ write: (Bool) -> Void) throws(XMLValueProblem) {
    let value = SlotText.boolean(text)
    write(value ?? false)
    if value == nil { throw .unusable("'\(name)' must be YES or NO", instead: "NO is used") }
  }

  /// Takes a text as a whole number. What does not begin with a number is tolerated and means 0.
  static func takeInteger(_ text: String, _ name: String, _ write: (Int) -> Void) throws(XMLValueProblem) {
    if let number = Int(text) ?? Double(text).flatMap({ Int(exactly: $0) }) { return write(number) }
    let number = SlotText.leadingNumber(of: text).flatMap { Int(exactly: $0.rounded(.towardZero)) } ?? 0
    write(number)
    throw .unusable("'\(name)' must be a whole number", instead: "\(number) is used")
  }

  /// Whether a text means what the description says.
  func means(_ text: String, _ description: Description) -> Bool {
    if isIdle(description) { return true }
    var copy = description
    do { try take(&copy, text) } catch { if error.substitute == nil { return false } }
    return copy == description
  }
}

extension [PreservedXML.Element] {
  /// The elements of a name.
  func named(_ name: String) -> [PreservedXML.Element] { filter { $0.name == name } }
}
