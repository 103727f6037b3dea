extension FetchPredicate {
  /// Creates a predicate from a format string.
  ///
  /// The language is Core Data's: `name BEGINSWITH[cd] %@ AND ANY tags.name IN {"a", "b"}`. Keywords are case-insensitive; `#name` is a key
  /// that is spelled like a keyword. `%@` is replaced by a value or, after a dot (`SELF.%@`), by a key; `%K` by a key path; `%d` and
  /// similar by an integer; `%f` by a number. `%%` is the modulus operator. A placeholder within quotes is literal text.
  ///
  /// - Complexity: O(*n*), where *n* is the length of the format string.
  /// - Parameters:
  ///   - format: The format string.
  ///   - arguments: The values of the placeholders, in order.
  /// - Throws: ``PredicateFormatError`` with the position and the expected input; also if arguments are missing, left over or of the wrong
  ///   kind.
  public init(format: String, _ arguments: (any FetchConstantConvertible)?...) throws(PredicateFormatError) {
    try self.init(format: format, argumentArray: arguments)
  }

  /// Creates a predicate from a format string, with its arguments in an array.
  ///
  /// - Parameters:
  ///   - format: The format string.
  ///   - argumentArray: The values of the placeholders, in order; nil is a null value.
  /// - Throws: ``PredicateFormatError``.
  public init(format: String, argumentArray: [(any FetchConstantConvertible)?]) throws(PredicateFormatError) {
    let parser = try PredicateParser(format, argumentArray.map { $0?.fetchConstant ?? .null })
    self = try parser.parsePredicate()
  }

  /// Creates a predicate from a format string whose arguments may be expressions.
  ///
  /// - Parameters:
  ///   - format: The format string.
  ///   - arguments: The values of the placeholders, in order.
  /// - Throws: ``PredicateFormatError``.
  package init(format: String, arguments: [FetchExpression]) throws(PredicateFormatError) {
    let parser = try PredicateParser(format, arguments)
    self = try parser.parsePredicate()
  }

  /// The predicate as a format string. Parsing it returns an equal predicate, provided that every AND and OR has at least two conditions,
  /// as in parsed predicates.
  ///
  /// The string contains the predicate's constants. Block predicates are printed by name, and cannot be parsed.
  public var predicateFormat: String { PredicatePrinter.text(of: self) }
}

extension FetchPredicate: CustomStringConvertible {
  /// The ``predicateFormat``.
  public var description: String { predicateFormat }
}

extension FetchExpression {
  /// Creates an expression from a format string, such as `price * 1.19` or `@sum.pages`.
  ///
  /// - Parameters:
  ///   - format: The format string.
  ///   - arguments: The values of the placeholders, in order.
  /// - Throws: ``PredicateFormatError``.
  public init(format: String, _ arguments: (any FetchConstantConvertible)?...) throws(PredicateFormatError) {
    try self.init(format: format, arguments: arguments.map { .constant($0?.fetchConstant ?? .null) })
  }

  /// Creates an expression from a format string, with its arguments in an array.
  ///
  /// - Parameters:
  ///   - format: The format string.
  ///   - arguments: The values of the placeholders, in order.
  /// - Throws: ``PredicateFormatError``.
  package init(format: String, arguments: [FetchExpression]) throws(PredicateFormatError) {
    let parser = try PredicateParser(format, arguments)
    self = try parser.parseExpression()
  }
}

extension FetchExpression: CustomStringConvertible {
  /// The expression as a format string.
  public var description: String { PredicatePrinter.text(of: self) }
}
