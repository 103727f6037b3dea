// ModelXMLField: one attribute of a model file's element, both ways.

/// What is wrong with the value of a file's attribute.
struct XMLValueProblem: Error {
  let reason: String
}

/// One attribute of a model file's element: how it is written from a description and read into it.
///
/// A spelling that differs from the canonical one is kept beside the description and written again as long as it still means the same.
struct ModelXMLField<Description: Sendable & Equatable>: Sendable {
  let name: String
  /// The canonical text; nil when the attribute is left out.
  let text: @Sendable (Description) -> String?
  /// Takes a text into the description.
  let take: @Sendable (inout Description, String) throws(XMLValueProblem) -> Void

  /// A flag that is `YES` or left out.
  static func flag(
    _ name: String, _ read: @escaping @Sendable (Description) -> Bool, _ write: @escaping @Sendable (inout Description, Bool) -> Void
  ) -> Self {
    Self(name: name) {
      read($0) ? "YES" : nil
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      write(&description, try boolean(text, name))
    }
  }

  /// A flag that is `NO` or left out.
  static func denial(
    _ name: String, _ read: @escaping @Sendable (Description) -> Bool, _ write: @escaping @Sendable (inout Description, Bool) -> Void
  ) -> Self {
    Self(name: name) {
      read($0) ? nil : "NO"
    } take: { (description: inout Description, text) throws(XMLValueProblem) in
      write(&description, try boolean(text, name))
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
      write(&description, try integer(text, name))
    }
  }

  /// An attribute without a meaning here, listed for its place in the canonical order; `standard` is written where nothing was read.
  static func kept(_ name: String, standard: String? = nil) -> Self {
    Self(name: name) { _ in
      standard
    } take: { (_: inout Description, _) throws(XMLValueProblem) in
    }
  }

  static func boolean(_ text: String, _ name: String) throws(XMLValueProblem) -> Bool {
    switch text {
    case "YES", "yes", "true", "1": return true
    case "NO", "no", "false", "0": return false
    default: throw XMLValueProblem(reason: "'\(name)' must be YES or NO")
    }
  }

  static func integer(_ text: String, _ name: String) throws(XMLValueProblem) -> Int {
    guard let number = Int(text) ?? Double(text).flatMap({ Int(exactly: $0) }) else {
      throw XMLValueProblem(reason: "'\(name)' must be a whole number")
    }
    return number
  }
}

extension [PreservedXML.Element] {
  /// The elements of a name.
  func named(_ name: String) -> [PreservedXML.Element] { filter { $0.name == name } }
}
