extension PredicateParser {
  /// Parses a list of properties: `count(name) AS n, sum(installedSize), section`.
  mutating func parseProperties() throws(PredicateFormatError) -> [FetchProperty] {
    var properties: [FetchProperty] = []
    repeat {
      if !properties.isEmpty { advance() }
      properties.append(try parseProperty())
    } while isSymbol(",")
    try expectEnd(after: "the property: AS and a name, a comma, or the end")
    return properties
  }

  private mutating func parseProperty() throws(PredicateFormatError) -> FetchProperty {
    let start = token.start
    let (expression, _) = try parseValue(0)
    if keyword == "AS" {
      advance()
      switch token.kind {
      case .identifier(let name) where !PredicateToken.hasColon(name), .escaped(let name), .string(let name):
        advance()
        return .expression(ExpressionDescription(name: name, expression: expression))
      default: throw error("Expected a name after AS, not \(token.name)")
      }
    }
    if case .keyPath(let names) = expression { return .keyPath(names.joined(separator: ".")) }
    return .expression(ExpressionDescription(name: text(from: start), expression: expression))
  }

  /// Parses function arguments in the style of SQL; returns nil for ordinary arguments.
  ///
  /// `count(*)` counts objects, `count(distinct name)` distinct values. A key named `distinct` is still a key.
  mutating func parseAggregateArgument() throws(PredicateFormatError) -> (FetchExpression, depth: Int)? {
    if isSymbol("*"), following.kind == .symbol(")") {
      advance()
      return (.evaluatedObject, 1)
    }
    guard keyword == "DISTINCT" else { return nil }
    switch following.kind {
    case .identifier, .escaped, .variable, .collectionOperator, .number, .placeholder, .string: break
    default: return nil
    }
    advance()
    let (argument, depth) = try parseValue(0)
    return (.function("distinct:", [argument]), depth + 1)
  }
}
