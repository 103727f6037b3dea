import Foundation
import Synchronization

/// Parses a format string by operator precedence, with at most ``PredicateDepth/limit`` levels of nesting. Parentheses may contain a
/// predicate or an expression, so one precedence climber parses both without backtracking.
struct PredicateParser {
  /// A parsed node and its depth in levels of ``PredicateDepth``.
  enum Node {
    case predicate(FetchPredicate, depth: Int)
    case expression(FetchExpression, depth: Int)

    var depth: Int {
      switch self {
      case .predicate(_, let depth), .expression(_, let depth): depth
      }
    }
  }

  private let scalars: [Unicode.Scalar]
  private let tokens: [PredicateToken]
  private var index = 0
  private var level = 0
  private let arguments: [FetchConstant]
  /// The arguments that are not constants, by position starting at 1. They are null in ``arguments``.
  let expressions: [Int: FetchExpression]
  private var nextArgument = 0
  private var maximumArgument = 0

  init(_ text: String, _ arguments: [FetchConstant], expressions: [Int: FetchExpression] = [:]) throws(PredicateFormatError) {
    scalars = Array(text.unicodeScalars)
    tokens = try PredicateLexer.tokens(of: scalars)
    self.arguments = arguments
    self.expressions = expressions
  }

  /// Creates a parser whose arguments may be expressions, which are allowed wherever a value is.
  init(_ text: String, _ arguments: [FetchExpression]) throws(PredicateFormatError) {
    var expressions: [Int: FetchExpression] = [:]
    var constants: [FetchConstant] = []
    for argument in arguments {
      if case .constant(let constant) = argument {
        constants.append(constant)
      } else {
        constants.append(.null)
        expressions[constants.count] = argument
      }
    }
    try self.init(text, constants, expressions: expressions)
  }

  func parsePredicate() throws(PredicateFormatError) -> FetchPredicate {
    try onAmpleStack { (parser) throws(PredicateFormatError) in
      let result = try parser.parseCondition(0).0
      try parser.expectEnd(after: "the condition: AND, OR or the end")
      return result
    }
  }

  func parseExpression() throws(PredicateFormatError) -> FetchExpression {
    try onAmpleStack { (parser) throws(PredicateFormatError) in
      let result = try parser.parseValue(0).0
      try parser.expectEnd(after: "the expression: an operator or the end")
      return result
    }
  }

  /// Parses the whole text. If it may be nested deeply, this uses a separate thread: the caller's stack may have only 512 KB, which is not
  /// enough for a hundred levels.
  func onAmpleStack<Value: Sendable>(
    _ parse: @escaping @Sendable (inout PredicateParser) throws(PredicateFormatError) -> Value
  ) throws(PredicateFormatError) -> Value {
    guard mayBeDeep else {
      var parser = self
      return try parse(&parser)
    }
    let result = Mutex<Result<Value, PredicateFormatError>?>(nil)
    let done = DispatchSemaphore(value: 0)
    let thread = Thread { [self] in
      var parser = self
      let outcome: Result<Value, PredicateFormatError>
      do throws(PredicateFormatError) { outcome = .success(try parse(&parser)) } catch { outcome = .failure(error) }
      result.withLock { $0 = outcome }
      done.signal()
    }
    thread.stackSize = 16 << 20
    thread.start()
    done.wait()
    guard let outcome = result.withLock({ $0 }) else { throw error("The text was not parsed") }
    return try outcome.get()
  }

  /// The number of levels that fit on any stack.
  private static let shallowDepth = 12
  private static let openingSymbols: Set<String> = ["(", "{", "[", "-", "+", "~", "!", "**"]

  /// Whether the tokens may open more levels than fit on any stack. Short texts, which are typical, cannot.
  private var mayBeDeep: Bool {
    guard tokens.count > Self.shallowDepth else { return false }
    var count = 0
    for token in tokens {
      switch token.kind {
      case .symbol(let symbol) where Self.openingSymbols.contains(symbol): count += 1
      case .identifier(let name) where name.uppercased() == "NOT": count += 1
      default: continue
      }
      if count > Self.shallowDepth { return true }
    }
    return false
  }

  mutating func expectEnd(after expected: String) throws(PredicateFormatError) {
    guard token.kind == .end else { throw error("Expected after \(expected), not \(token.name)") }
    guard maximumArgument == arguments.count else {
      throw error("\(arguments.count) arguments were given, but the format takes \(maximumArgument)")
    }
  }

  // MARK: Words

  var token: PredicateToken { tokens[index] }
  var following: PredicateToken { tokens[min(index + 1, tokens.count - 1)] }

  /// The current token as an uppercase keyword; nil if it is something else.
  var keyword: String? {
    guard case .identifier(let name) = token.kind else { return nil }
    return name.uppercased()
  }

  mutating func advance() { if index < tokens.count - 1 { index += 1 } }

  func isSymbol(_ symbol: String) -> Bool { token.kind == .symbol(symbol) }

  mutating func expect(_ symbol: String, _ location: String) throws(PredicateFormatError) {
    guard isSymbol(symbol) else { throw error("Expected \(symbol) \(location), not \(token.name)") }
    advance()
  }

  /// Returns the text from a position up to the current token, without surrounding white space.
  func text(from start: Int) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars[start..<max(start, token.start)])
    return String(text).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  func error(_ message: String, at offset: Int? = nil) -> PredicateFormatError {
    PredicateFormatError(message, at: offset ?? token.start, in: scalars)
  }

  /// Returns the next argument, or the one at a position starting at 1.
  mutating func argument(at position: Int? = nil) throws(PredicateFormatError) -> FetchConstant {
    let number = position ?? nextArgument + 1
    guard number <= arguments.count else {
      throw error("The format has more placeholders than the \(arguments.count) given arguments: this placeholder has no argument")
    }
    nextArgument = number
    maximumArgument = max(maximumArgument, number)
    return arguments[number - 1]
  }

  /// The number of the last argument taken, starting at 1.
  var argumentNumber: Int { nextArgument }

  // MARK: Nodes

  /// Parses a condition that binds at least as tightly as a precedence, and returns its depth.
  mutating func parseCondition(_ least: Int) throws(PredicateFormatError) -> (FetchPredicate, Int) {
    let start = token.start
    let node = try parse(least)
    return try predicate(node, at: start)
  }

  /// Parses a value that binds at least as tightly as a precedence, and returns its depth.
  mutating func parseValue(_ least: Int) throws(PredicateFormatError) -> (FetchExpression, Int) {
    let start = token.start
    let node = try parse(least)
    return try expression(node, at: start)
  }

  private func predicate(_ node: Node, at start: Int) throws(PredicateFormatError) -> (FetchPredicate, Int) {
    guard case .predicate(let predicate, let depth) = node else {
      throw error("Expected a comparison operator such as ==, CONTAINS or IN after the expression, not \(token.name)")
    }
    return (predicate, depth)
  }

  private func expression(_ node: Node, at start: Int) throws(PredicateFormatError) -> (FetchExpression, Int) {
    guard case .expression(let expression, let depth) = node else {
      throw error("Expected a value or key path here, not a condition", at: start)
    }
    return (expression, depth)
  }

  func checked(_ depth: Int) throws(PredicateFormatError) -> Int {
    guard depth <= PredicateDepth.limit else { throw error("The predicate is nested deeper than \(PredicateDepth.limit) levels") }
    return depth
  }

  // MARK: Precedence

  private enum Binary {
    case or, and
    case comparison(ComparisonOperator)
    case function(String)
  }

  /// Operators of higher precedence bind more tightly.
  private static let comparisonPrecedence = 3

  private var binary: (operator: Binary, precedence: Int)? {
    switch token.kind {
    case .symbol(let symbol):
      switch symbol {
      case "||": return (.or, 1)
      case "&&": return (.and, 2)
      case "|": return (.function("bitwiseOr:with:"), 4)
      case "^": return (.function("bitwiseXor:with:"), 5)
      case "&": return (.function("bitwiseAnd:with:"), 6)
      case "<<": return (.function("leftshift:by:"), 7)
      case ">>": return (.function("rightshift:by:"), 7)
      case "+": return (.function("add:to:"), 8)
      case "-": return (.function("from:subtract:"), 8)
      case "*": return (.function("multiply:by:"), 9)
      case "/": return (.function("divide:by:"), 9)
      case "%": return (.function("modulus:by:"), 9)
      case "**": return (.function("raise:toPower:"), 10)
      default: return comparisonOperator(symbol).map { (.comparison($0), PredicateParser.comparisonPrecedence) }
      }
    case .identifier:
      switch keyword {
      case "OR": return (.or, 1)
      case "AND": return (.and, 2)
      case .some(let word): return comparisonOperator(word).map { (.comparison($0), PredicateParser.comparisonPrecedence) }
      case nil: return nil
      }
    default: return nil
    }
  }

  /// The comparison for `NOT IN`, `NOT LIKE` and similar after a value.
  private var negated: (operator: Binary, precedence: Int)? {
    guard keyword == "NOT", case .identifier(let name) = following.kind, let op = comparisonOperator(name.uppercased()) else { return nil }
    return (.comparison(op), PredicateParser.comparisonPrecedence)
  }

  private func comparisonOperator(_ word: String) -> ComparisonOperator? {
    switch word {
    case "=": .equal
    case "<>": .notEqual
    case "=<": .lessOrEqual
    case "=>": .greaterOrEqual
    default: ComparisonOperator(rawValue: word)
    }
  }

  /// Parses an operand that binds at least as tightly as a precedence.
  mutating func parse(_ least: Int) throws(PredicateFormatError) -> Node {
    level += 1
    defer { level -= 1 }
    // A level of the tree needs at most two calls: the right side of an operator, and the parentheses around it.
    _ = try checked(level / 2)
    let start = token.start
    var left = try parsePrefix()
    if case .expression = left, let keyword, PredicateParser.setOperators.contains(keyword) {
      throw error("\(keyword) of collections is not supported. Join conditions with OR, AND or AND NOT instead")
    }
    while let (op, precedence) = binary ?? negated, precedence >= least {
      switch op {
      case .comparison where keyword == "NOT":
        advance()
        guard case .predicate(let condition, let depth) = try parseComparison(left, modifier: .direct) else { break }
        left = .predicate(.not(condition), depth: try checked(depth + 1))
      case .or, .and: left = try parseChain(left, precedence, at: start)
      case .comparison: left = try parseComparison(left, modifier: .direct)
      case .function(let name):
        let (first, firstDepth) = try expression(left, at: start)
        advance()
        // Exponentiation is right-associative.
        let (second, secondDepth) = try parseValue(name == "raise:toPower:" ? precedence : precedence + 1)
        left = .expression(.function(name, [first, second]), depth: try checked(max(firstDepth, secondDepth) + 1))
      }
    }
    return left
  }

  /// Parses conditions joined by the same operator.
  private mutating func parseChain(_ first: Node, _ precedence: Int, at start: Int) throws(PredicateFormatError) -> Node {
    let (condition, firstDepth) = try predicate(first, at: start)
    var (items, depth) = ([condition], firstDepth)
    while binary?.precedence == precedence {
      advance()
      let (item, itemDepth) = try parseCondition(precedence + 1)
      items.append(item)
      depth = max(depth, itemDepth)
    }
    return .predicate(precedence == 2 ? .and(items) : .or(items), depth: try checked(depth + 1))
  }

  /// Parses the operator and right side of a comparison.
  private mutating func parseComparison(
    _ left: Node, modifier: ComparisonModifier
  ) throws(PredicateFormatError) -> Node {
    guard case .comparison(let op)? = binary?.operator else {
      throw error("Expected a comparison operator such as ==, CONTAINS or IN, not \(token.name)")
    }
    guard case .expression(let left, let leftDepth) = left else {
      throw error("Expected AND, OR or the end after a comparison, not another \(op.rawValue)")
    }
    advance()
    let options = try parseOptions()
    if op == .search { try checkQuery() }
    let (right, rightDepth) = try parseValue(PredicateParser.comparisonPrecedence + 1)
    return .predicate(
      .comparison(FetchComparison(left: left, op: op, right: right, modifier: modifier, options: options)),
      depth: try checked(max(leftDepth, rightDepth) + 1))
  }

  /// Rejects syntax errors in a literal query. Those in an argument are tolerated, because it may be user input.
  private func checkQuery() throws(PredicateFormatError) {
    guard case .string(let text) = token.kind else { return }
    do throws(TextQueryError) { _ = try TextQuery(text) } catch {
      throw self.error("\(error.message), at character \(error.position + 1) of the query")
    }
  }

  /// Parses options such as `[cd]`.
  private mutating func parseOptions() throws(PredicateFormatError) -> ComparisonOptions {
    guard isSymbol("[") else { return [] }
    advance()
    guard let letters = keyword else { throw error("Expected c, d, n or l between the brackets, not \(token.name)") }
    var options: ComparisonOptions = []
    for letter in letters {
      switch letter {
      case "C": options.insert(.caseInsensitive)
      case "D": options.insert(.diacriticInsensitive)
      case "N": options.insert(.normalized)
      case "L": options.insert(.localeSensitive)
      default: throw error("Expected c, d, n or l between the brackets")
      }
    }
    advance()
    try expect("]", "after the options")
    return options
  }

  private mutating func parsePrefix() throws(PredicateFormatError) -> Node {
    let start = token.start
    if isSymbol("!") || keyword == "NOT" {
      advance()
      let (operand, depth) = try parseCondition(PredicateParser.comparisonPrecedence)
      return .predicate(.not(operand), depth: try checked(depth + 1))
    }
    if let word = keyword, let modifier = PredicateParser.modifiers[word] {
      advance()
      let (left, depth) = try parseValue(PredicateParser.comparisonPrecedence + 1)
      return try parseComparison(.expression(left, depth: depth), modifier: modifier)
    }
    if isSymbol("-") {
      if case .number(let text) = following.kind {
        advance()
        let constant = try number("-" + text)
        advance()
        return try parsePostfix(.expression(.constant(constant), depth: 1), at: start)
      }
      advance()
      let (operand, depth) = try parseValue(10)
      return .expression(.function("from:subtract:", [.constant(.int(0)), operand]), depth: try checked(depth + 1))
    }
    if isSymbol("~") {
      advance()
      let (operand, depth) = try parseValue(11)
      return .expression(.function("onesComplement:", [operand]), depth: try checked(depth + 1))
    }
    if isSymbol("(") {
      advance()
      let inner = try parse(0)
      try expect(")", "to close the parenthesis")
      guard case .expression = inner else { return inner }
      return try parsePostfix(inner, at: start)
    }
    return try parsePostfix(try parsePrimary(), at: start)
  }

  private static let setOperators: Set<String> = ["UNION", "INTERSECT", "MINUS"]
  private static let modifiers: [String: ComparisonModifier] = ["ANY": .any, "SOME": .any, "ALL": .all, "NONE": .none]
}

// MARK: - Parsing properties

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
