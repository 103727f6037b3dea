// FetchPredicate+Format: predicates from text and as text.

extension FetchPredicate {
  /// Parses a predicate.
  ///
  /// The language is Core Data's: `name BEGINSWITH[cd] %@ AND ANY tags.name IN {"a", "b"}`. Keywords may be in any case; `#name` is a key
  /// that is spelled as a keyword. `%@` takes a value, or a key behind a dot (`SELF.%@`), `%K` a key path, `%d` and its like an integer, `%f` a number; `%%` is the
  /// modulus operator; a placeholder between quotes is text. Complexity: linear in the text.
  ///
  /// - Parameters:
  ///   - format: The text.
  ///   - arguments: What the placeholders stand for, in order.
  /// - Throws: ``PredicateFormatError`` with the place and what was expected; also when arguments are missing, left over or of the wrong kind.
  public init(format: String, _ arguments: (any FetchConstantConvertible)?...) throws(PredicateFormatError) {
    try self.init(format: format, argumentArray: arguments)
  }

  /// Parses a predicate with its arguments in an array.
  ///
  /// - Parameters:
  ///   - format: The text.
  ///   - argumentArray: What the placeholders stand for, in order; nil for no value.
  /// - Throws: ``PredicateFormatError``.
  public init(format: String, argumentArray: [(any FetchConstantConvertible)?]) throws(PredicateFormatError) {
    let parser = try PredicateParser(format, argumentArray.map { $0?._fetchConstant ?? .null })
    self = try parser.parsePredicate()
  }

  /// Parses a predicate whose arguments may be expressions.
  ///
  /// - Parameters:
  ///   - format: The text.
  ///   - arguments: What the placeholders stand for, in order.
  /// - Throws: ``PredicateFormatError``.
  package init(format: String, arguments: [FetchExpression]) throws(PredicateFormatError) {
    let parser = try PredicateParser(format, arguments)
    self = try parser.parsePredicate()
  }

  /// The predicate as text. Parsing it gives an equal predicate, if each AND and OR has two conditions or more, as those of parsed predicates do.
  ///
  /// The text holds the predicate's constants. Block predicates are printed by name, which is not parsed.
  public var predicateFormat: String { PredicatePrinter.text(of: self) }
}

extension FetchPredicate: CustomStringConvertible {
  /// ``predicateFormat``.
  public var description: String { predicateFormat }
}

extension FetchExpression {
  /// Parses an expression, such as `price * 1.19` or `@sum.pages`.
  ///
  /// - Parameters:
  ///   - format: The text.
  ///   - arguments: What the placeholders stand for, in order.
  /// - Throws: ``PredicateFormatError``.
  public init(format: String, _ arguments: (any FetchConstantConvertible)?...) throws(PredicateFormatError) {
    try self.init(format: format, arguments: arguments.map { .constant($0?._fetchConstant ?? .null) })
  }

  /// Parses an expression with its arguments in an array.
  ///
  /// - Parameters:
  ///   - format: The text.
  ///   - arguments: What the placeholders stand for, in order.
  /// - Throws: ``PredicateFormatError``.
  package init(format: String, arguments: [FetchExpression]) throws(PredicateFormatError) {
    let parser = try PredicateParser(format, arguments)
    self = try parser.parseExpression()
  }
}

extension FetchExpression: CustomStringConvertible {
  /// The expression as text.
  public var description: String { PredicatePrinter.text(of: self) }
}
