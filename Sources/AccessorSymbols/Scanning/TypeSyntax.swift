/// A type as written in a source.
package indirect enum TypeSyntax: Hashable, Sendable {
  /// A name, possibly qualified, such as `Foundation.Date`.
  case named([String], arguments: [TypeSyntax])
  case optional(TypeSyntax)
  case array(TypeSyntax)
  case dictionary(TypeSyntax, TypeSyntax)
  case tuple([TypeSyntax])
  /// `any P`.
  case any(TypeSyntax)
  /// A type that a managed property cannot have, such as a function type.
  case unsupported(String)

  /// The type in Swift syntax.
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

  /// Returns a name, in backticks if it is a keyword.
  private static func quoted(_ name: String) -> String {
    ["Type", "Protocol", "default", "in", "is", "as", "class", "struct", "enum", "func", "let", "var"].contains(name) ? "`\(name)`" : name
  }
}
