import Foundation
import ObjectModel

extension PredicateParser {
  mutating func parsePrimary() throws(PredicateFormatError) -> Node {
    let start = token.start
    switch token.kind {
    case .number(let text):
      let constant = try number(text)
      advance()
      return .expression(.constant(constant), depth: 1)
    case .string(let text):
      advance()
      return .expression(.constant(.string(text)), depth: 1)
    case .placeholder(let placeholder) where placeholder.kind == .keyPath: return .expression(.keyPath(try parseKeys()), depth: 1)
    case .placeholder(let placeholder):
      let value = try argument(for: placeholder)
      if placeholder.kind == .value, let expression = expressions[argumentNumber] {
        let depth = try checked(PredicateDepth.depth(of: expression))
        advance()
        return .expression(expression, depth: depth)
      }
      advance()
      return .expression(.constant(value), depth: 1)
    case .variable(let name):
      advance()
      return .expression(.variable(name), depth: 1)
    case .escaped, .collectionOperator: return .expression(.keyPath(try parseKeys()), depth: 1)
    case .symbol("{"): return try parseList()
    case .identifier(let name):
      if let node = try parseKeyword(name.uppercased(), at: start) { return node }
      if following.kind == .symbol("(") { return try parseFunction(name) }
      if PredicateToken.hasColon(name) {
        advance()
        throw error("Expected ( and the arguments after the function's name, not \(token.name)")
      }
      return .expression(.keyPath(try parseKeys()), depth: 1)
    case .symbol("+"): throw error("Expected a value, a key path or a condition, not + (leave out the sign of a positive number)")
    case .symbol, .end: throw error("Expected a value, a key path or a condition, not \(token.name)")
    }
  }

  /// Parses a keyword; returns nil if the word is a key.
  private mutating func parseKeyword(_ word: String, at start: Int) throws(PredicateFormatError) -> Node? {
    let isCall = following.kind == .symbol("(")
    switch word {
    case "TRUE", "YES": return constant(.bool(true))
    case "FALSE", "NO": return constant(.bool(false))
    case "NULL", "NIL": return constant(.null)
    case "SELF":
      advance()
      return .expression(.evaluatedObject, depth: 1)
    case "TRUEPREDICATE", "FALSEPREDICATE":
      advance()
      return .predicate(.constant(word == "TRUEPREDICATE"), depth: 1)
    case "SUBQUERY" where isCall: return try parseSubquery()
    case "TERNARY" where isCall: return try parseTernary()
    case "CAST" where isCall: return try parseCast()
    case "FUNCTION" where isCall: return try parseFunctionCall()
    case _ where PredicateToken.reserved.contains(word):
      throw error("Expected a value, a key path or a condition, not \(token.name) (write #\(token.name) for a key of that name)")
    default: return nil
    }
  }

  private mutating func constant(_ value: FetchConstant) -> Node {
    advance()
    return .expression(.constant(value), depth: 1)
  }

  // MARK: Key paths

  private mutating func parseKeys() throws(PredicateFormatError) -> [String] {
    var names = try parseKey()
    while isSymbol(".") {
      advance()
      names += try parseKey()
    }
    return names
  }

  /// Parses a key. An argument may contain several.
  private mutating func parseKey() throws(PredicateFormatError) -> [String] {
    switch token.kind {
    case .identifier(let name) where !PredicateToken.hasColon(name), .escaped(let name), .collectionOperator(let name):
      advance()
      return [name]
    case .placeholder(let placeholder) where placeholder.kind == .keyPath || placeholder.kind == .value || placeholder.kind == .string:
      // After a dot, `%@` is a key too, as in `SELF.%@`.
      let value = try argument(at: placeholder.position)
      if placeholder.kind == .value, case .keyPath(let names)? = expressions[argumentNumber] {
        advance()
        return names
      }
      guard case .string(let path) = value, !path.isEmpty else {
        throw error("Argument \(argumentNumber), for a key, has to be a key path in a string")
      }
      advance()
      return path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    default: throw error("Expected a key, not \(token.name)")
    }
  }

  /// Parses keys and indexes after an expression.
  mutating func parsePostfix(_ node: Node, at start: Int) throws(PredicateFormatError) -> Node {
    guard case .expression(var result, var depth) = node else { return node }
    while true {
      if isSymbol(".") {
        advance()
        result = .path(result, try parseKeys())
        depth = try checked(depth + 1)
      } else if isSymbol("[") {
        advance()
        result = .element(result, try parseIndex(of: result))
        depth = try checked(depth + 1)
        try expect("]", "after the index")
      } else {
        return .expression(result, depth: depth)
      }
    }
  }

  private mutating func parseIndex(of collection: FetchExpression) throws(PredicateFormatError) -> FetchExpression.CollectionIndex {
    let index: FetchExpression.CollectionIndex
    switch (token.kind, keyword) {
    case (.identifier(let name), "COUNT:"), (.identifier(let name), "COUNT"):
      return try parseIndexFromEnd(name, of: collection)
    case (_, "FIRST"): index = .first
    case (_, "LAST"): index = .last
    case (_, "SIZE"): index = .size
    case (.number(let text), _): index = .at(try parsePosition(text))
    case (.symbol("-"), _):
      guard case .number(let text) = following.kind else { throw error("Expected an index, not \(token.name)") }
      advance()
      index = .at(try parsePosition("-" + text))
    case (.placeholder(let placeholder), _) where placeholder.kind == .integer || placeholder.kind == .value:
      guard case .int(let value) = try argument(for: placeholder), let position = Int(exactly: value) else {
        throw error("Argument \(argumentNumber) is not an index")
      }
      index = .at(position)
    default: throw error("Expected FIRST, LAST, SIZE or a number between the brackets, not \(token.name)")
    }
    advance()
    return index
  }

  /// Parses `[count:(tags) - 1]` of `tags`, which is how Foundation prints the last position.
  private mutating func parseIndexFromEnd(
    _ name: String, of collection: FetchExpression
  ) throws(PredicateFormatError) -> FetchExpression.CollectionIndex {
    let start = token.start
    let (value, _) = try parseValue(0)
    guard case .function("from:subtract:", let parts) = value, parts == [.function("count:", [collection]), .constant(.int(1))] else {
      throw error("Expected FIRST, LAST, SIZE or a number between the brackets, or \(name)( ) of the collection itself minus 1", at: start)
    }
    return .last
  }

  private func parsePosition(_ text: String) throws(PredicateFormatError) -> Int {
    guard let position = Int(text) else { throw error("Expected an index, not \(text)") }
    return position
  }

  // MARK: Calls

  /// Parses arguments up to and including a closing bracket.
  private mutating func parseArguments(closedBy close: String) throws(PredicateFormatError) -> ([FetchExpression], depth: Int) {
    var arguments: [FetchExpression] = []
    var depth = 0
    if isSymbol(close) {
      advance()
      return ([], 0)
    }
    while true {
      let (argument, argumentDepth) = try parseValue(0)
      arguments.append(argument)
      depth = max(depth, argumentDepth)
      if isSymbol(",") {
        advance()
        continue
      }
      guard isSymbol(close) else { throw error("Expected , or \(close), not \(token.name)") }
      advance()
      return (arguments, depth)
    }
  }

  private mutating func parseList() throws(PredicateFormatError) -> Node {
    advance()
    let (items, depth) = try parseArguments(closedBy: "}")
    var constants: [FetchConstant] = []
    for item in items {
      guard case .constant(let value) = item else { return .expression(.aggregate(items), depth: try checked(depth + 1)) }
      constants.append(value)
    }
    return .expression(.constant(.list(constants)), depth: try checked(depth + 1))
  }

  private mutating func parseFunction(_ name: String) throws(PredicateFormatError) -> Node {
    advance()
    advance()
    if let (argument, depth) = try parseAggregateArgument() {
      try expect(")", "to close the function's arguments")
      return .expression(.function(PredicateParser.selector(name, 1), [argument]), depth: try checked(depth + 1))
    }
    let (arguments, depth) = try parseArguments(closedBy: ")")
    return .expression(.function(PredicateParser.selector(name, arguments.count), arguments), depth: try checked(depth + 1))
  }

  /// Parses `FUNCTION(operand, "selector:", arguments ...)`, or `FUNCTION("selector")` without arguments. The name is unchanged.
  private mutating func parseFunctionCall() throws(PredicateFormatError) -> Node {
    advance()
    advance()
    let selectorStart = token.start
    var (arguments, depth) = try parseArguments(closedBy: ")")
    guard !arguments.isEmpty, case .constant(.string(let selector)) = arguments.remove(at: arguments.count > 1 ? 1 : 0) else {
      throw error("Expected FUNCTION(operand, \"selector\", arguments ...)", at: selectorStart)
    }
    return .expression(.function(selector, arguments), depth: try checked(depth + 1))
  }

  /// Returns the full name of a function: `abs` is `abs:`, and `modulus` with two arguments is `modulus:by:`.
  static func selector(_ name: String, _ count: Int) -> String {
    if PredicateToken.hasColon(name) || count == 0 { return name }
    if count == 1 { return name == "avg" ? "average:" : name + ":" }
    switch name {
    case "modulus": return "modulus:by:"
    case "power": return "raise:toPower:"
    case "add": return "add:to:"
    case "multiply": return "multiply:by:"
    case "divide": return "divide:by:"
    default: return name
    }
  }

  private mutating func parseSubquery() throws(PredicateFormatError) -> Node {
    advance()
    advance()
    let (collection, collectionDepth) = try parseValue(0)
    try expect(",", "after SUBQUERY's collection")
    guard case .variable(let variable) = token.kind else { throw error("Expected SUBQUERY's variable, such as $x, not \(token.name)") }
    advance()
    try expect(",", "after SUBQUERY's variable")
    let (condition, conditionDepth) = try parseCondition(0)
    try expect(")", "after SUBQUERY's condition")
    return .expression(
      .subquery(collection: collection, variable: variable, predicate: condition),
      depth: try checked(max(collectionDepth, conditionDepth) + 1))
  }

  private mutating func parseTernary() throws(PredicateFormatError) -> Node {
    advance()
    advance()
    let (condition, conditionDepth) = try parseCondition(0)
    try expect(",", "after TERNARY's condition")
    let (first, firstDepth) = try parseValue(0)
    try expect(",", "after TERNARY's first value")
    let (second, secondDepth) = try parseValue(0)
    try expect(")", "after TERNARY's second value")
    return .expression(.conditional(condition, first, second), depth: try checked(max(conditionDepth, firstDepth, secondDepth) + 1))
  }

  private mutating func parseCast() throws(PredicateFormatError) -> Node {
    advance()
    advance()
    let start = token.start
    let (value, depth) = try parseValue(0)
    try expect(",", "after CAST's value")
    guard case .string(let type) = token.kind else { throw error("Expected a type's name in quotes, not \(token.name)") }
    guard let kind = PredicateCast(name: type) else {
      throw error("Expected one of the types \(PredicateCast.names)")
    }
    advance()
    try expect(")", "after CAST's type")
    guard case .constant(let constant) = value, !constant.isNull else {
      return .expression(.function(FetchExpression.castFunction, [value, .constant(.string(type))]), depth: try checked(depth + 1))
    }
    guard let result = kind.cast(constant) else { throw error("This value cannot be cast to \(type)", at: start) }
    return .expression(.constant(result), depth: 1)
  }

  // MARK: Literals and arguments

  private static let radixes = ["0x": 16, "0o": 8, "0b": 2]

  func number(_ text: String) throws(PredicateFormatError) -> FetchConstant {
    let isNegative = text.hasPrefix("-")
    let digits = isNegative ? text.dropFirst() : text[...]
    if let radix = PredicateParser.radixes[digits.prefix(2).lowercased()] {
      guard let value = Int64((isNegative ? "-" : "") + digits.dropFirst(2), radix: radix) else {
        throw error("This number does not fit in 64 bits")
      }
      return .int(value)
    }
    if let value = Int64(text) { return .int(value) }
    guard let real = Double(text) else { throw error("This is not a number") }
    // A literal that a double would round becomes a decimal if it fits. A double outside the range of decimals is printed with digits that
    // a decimal could hold, and stays a double.
    if let decimal = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), !decimal.isNaN,
      let shortest = DecimalCoding.decimal(shortest: real), shortest != decimal, digits.filter(\.isNumber).count <= 38
    {
      return .decimal(decimal)
    }
    guard real.isFinite else { throw error("This number is too large") }
    return .real(real)
  }

  private mutating func argument(for placeholder: PredicateToken.Placeholder) throws(PredicateFormatError) -> FetchConstant {
    let value = try argument(at: placeholder.position)
    switch (placeholder.kind, value) {
    case (.value, _), (.integer, .int), (.real, .real), (.real, .decimal), (.string, .string): return value
    case (.integer, .bool(let flag)): return .int(flag ? 1 : 0)
    case (.real, .int(let number)): return .real(Double(number))
    case (.character, .string(let text)) where text.unicodeScalars.count == 1: return value
    case (.character, .int(let code)):
      guard let scalar = UInt32(exactly: code).flatMap(Unicode.Scalar.init) else {
        throw error("Argument \(argumentNumber) has to be a character or the number of one")
      }
      return .string(String(scalar))
    case (.integer, _): throw error("Argument \(argumentNumber) has to be an integer; use %@ for other values")
    case (.real, _): throw error("Argument \(argumentNumber) has to be a number; use %@ for other values")
    case (.character, _): throw error("Argument \(argumentNumber) has to be a character or the number of one")
    default: throw error("Argument \(argumentNumber) has to be a string; use %@ for other values")
    }
  }
}
