// TypeSyntax: types as they are written.

/// A type as a source has it.
package indirect enum TypeSyntax: Hashable, Sendable {
  /// A name, which others may stand before: `Foundation.Date`.
  case named([String], arguments: [TypeSyntax])
  case optional(TypeSyntax)
  case array(TypeSyntax)
  case dictionary(TypeSyntax, TypeSyntax)
  case tuple([TypeSyntax])
  /// `any P`.
  case any(TypeSyntax)
  /// What no managed property can have, such as a function.
  case unsupported(String)

  /// The type as Swift.
  package var text: String {
    switch self {
    case .named(let names, let arguments):
      names.map(Self.quoted).joined(separator: ".") + (arguments.isEmpty ? "" : "<\(arguments.map(\.text).joined(separator: ", "))>")
    case .optional(.any(let wrapped)): "(any \(wrapped.text))?"
    case .optional(let wrapped): wrapped.text + "?"
    case .array(let element): "[\(element.text)]"
    case .dictionary(let key, let value): "[\(key.text): \(value.text)]"
    case .tuple(let elements): "(\(elements.map(\.text).joined(separator: ", ")))"
    case .any(let type): "any \(type.text)"
    case .unsupported(let text): text
    }
  }

  /// A name that is a keyword stands between backticks.
  private static func quoted(_ name: String) -> String {
    ["Type", "Protocol", "default", "in", "is", "as", "class", "struct", "enum", "func", "let", "var"].contains(name) ? "`\(name)`" : name
  }
}
