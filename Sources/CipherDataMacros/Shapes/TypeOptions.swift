#if Macros
  import SwiftSyntax

  /// The arguments of `@Entity` or `@Composite`.
  struct TypeOptions {
    /// The name of the entity or composite, a string literal.
    let name: String
    /// The other arguments.
    let arguments: [String]
    private let expressions: [ExprSyntax]

    /// Parses the arguments.
    ///
    /// - Throws: ``MacroError``.
    init(_ mark: AttributeSyntax, typeName: String) throws {
      var name = "\"\(typeName)\""
      var expressions: [ExprSyntax] = []
      if case .argumentList(let list)? = mark.arguments {
        for argument in list {
          guard argument.label?.text == "name" else {
            expressions.append(argument.expression)
            continue
          }
          if argument.expression.is(NilLiteralExprSyntax.self) { continue }
          guard let literal = argument.expression.as(StringLiteralExprSyntax.self), Self.text(of: literal)?.isEmpty == false else {
            throw MacroError(at: argument.expression, "the name must be a nonempty literal: stores are created with it")
          }
          name = argument.expression.trimmedDescription
        }
      }
      self.name = name
      self.expressions = expressions
      arguments = expressions.map(\.trimmedDescription)
    }

    /// Returns errors about names in constraints and indexes that no property has. For a subclass, the inherited properties are unknown
    /// here; the validation of the model checks the names.
    func errors(in shape: ParsedEntity) -> [MacroError] {
      guard shape.superclass == nil, shape.errors.isEmpty else { return [] }
      let known = shape.properties.map(\.name)
      return expressions.flatMap(Self.names).compactMap { literal in
        guard let text = Self.text(of: literal), let first = text.split(separator: ".").first, !known.contains(String(first))
        else {
          return nil
        }
        return MacroError(at: literal, "the class has no property '\(text)'; it has: \(known.joined(separator: ", "))")
      }
    }

    /// Returns the text of a literal; `nil` if it contains interpolations.
    private static func text(of literal: StringLiteralExprSyntax) -> String? {
      guard literal.segments.count == 1 else { return nil }
      return literal.segments.first?.as(StringSegmentSyntax.self)?.content.text
    }

    /// Returns the literals that name properties in `.unique("a", "b")`, `.index("i", on: "a", "b", where: …)`, and
    /// `.index("i", fullText: "a", "b")`.
    private static func names(in option: ExprSyntax) -> [StringLiteralExprSyntax] {
      guard let call = option.as(FunctionCallExprSyntax.self), let name = ParsedProperty.option(option) else { return [] }
      var isName = name == "unique"
      return call.arguments.compactMap { argument in
        if let label = argument.label?.text { isName = name == "index" && ["on", "fullText"].contains(label) }
        return isName ? argument.expression.as(StringLiteralExprSyntax.self) : nil
      }
    }
  }
#endif
