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

// MARK: - Parsing lists of properties

extension FetchProperty {
  /// Parses a list of properties such as `count(name) AS n, sum(installedSize), section`.
  ///
  /// Without `AS`, the name of an expression is its text, and the name of a key path is the path. Names that are not words are written as
  /// `#name` or in quotes.
  ///
  /// - Parameters:
  ///   - format: The format string.
  ///   - arguments: The values of the placeholders, in order.
  /// - Throws: ``PredicateFormatError`` with the position and the expected input.
  public static func list(
    format: String, _ arguments: (any FetchConstantConvertible)?...
  ) throws(PredicateFormatError) -> [FetchProperty] {
    let parser = try PredicateParser(format, arguments.map { $0?.fetchConstant ?? .null })
    return try parser.onAmpleStack { (parser) throws(PredicateFormatError) in try parser.parseProperties() }
  }
}

// MARK: - Substituting variables

/// Returns the substitute for a variable, or for a key path from it; nil to leave it unchanged.
package typealias VariableValue = (_ name: String, _ path: [String]) throws -> FetchExpression?

extension FetchPredicate {
  /// Returns the predicate with values substituted for variables. Variables without a value, and those that a SUBQUERY binds, are
  /// unchanged.
  ///
  /// - Parameter variables: The values by variable name, without `$`.
  public func withSubstitutionVariables(_ variables: [String: (any FetchConstantConvertible)?]) -> FetchPredicate {
    withSubstitutionExpressions(variables.mapValues { .constant($0?.fetchConstant ?? .null) })
  }

  /// Returns the predicate with expressions substituted for variables, such as a key path for `$key`. If a key path is substituted for
  /// `$x`, then `$x.name` continues that path.
  ///
  /// - Parameter expressions: The expressions by variable name, without `$`.
  public func withSubstitutionExpressions(_ expressions: [String: FetchExpression]) -> FetchPredicate {
    guard expressions.values.allSatisfy(PredicateDepth.allows) else { return self }
    return substituting { name, path in path.isEmpty ? expressions[name] : nil }
  }

  /// The names of the variables that have no value and that no SUBQUERY binds.
  public var variables: Set<String> {
    var names: Set<String> = []
    _ = substituting { name, path in
      if path.isEmpty { names.insert(name) }
      return nil
    }
    return names
  }

  /// Returns the predicate with expressions substituted for free variables and for key paths from them. The path is tried first.
  package func substituting(_ value: VariableValue) rethrows -> FetchPredicate {
    // A predicate that is nested too deep is rejected when it is used. Here it must not exhaust the stack.
    guard (try? PredicateDepth.check(self)) != nil else { return self }
    return try substituting(value, [])
  }

  fileprivate func substituting(_ value: VariableValue, _ bound: Set<String>) rethrows -> FetchPredicate {
    switch self {
    case .constant, .block: return self
    case .and(let items): return .and(try items.map { try $0.substituting(value, bound) })
    case .or(let items): return .or(try items.map { try $0.substituting(value, bound) })
    case .not(let item): return .not(try item.substituting(value, bound))
    case .comparison(var comparison):
      comparison.left = try comparison.left.substituting(value, bound)
      comparison.right = try comparison.right.substituting(value, bound)
      return .comparison(comparison)
    }
  }
}

extension FetchExpression {
  /// Returns the expression with expressions substituted for free variables and for key paths from them. The path is tried first.
  package func substituting(_ value: VariableValue) rethrows -> FetchExpression {
    guard PredicateDepth.allows(self) else { return self }
    return try substituting(value, [])
  }

  fileprivate func substituting(_ value: VariableValue, _ bound: Set<String>) rethrows -> FetchExpression {
    switch self {
    case .constant, .evaluatedObject, .keyPath: return self
    case .variable(let name):
      return bound.contains(name) ? self : try value(name, []) ?? self
    case .path(let base, let names):
      if case .variable(let name) = base, !bound.contains(name), let whole = try value(name, names) { return whole }
      let result = try base.substituting(value, bound)
      // Keys after a path that replaced a variable extend that path.
      switch (base, result) {
      case (.variable, .keyPath(let first)): return .keyPath(first + names)
      case (.variable, .path(let start, let first)): return .path(start, first + names)
      default: return .path(result, names)
      }
    case .aggregate(let items):
      let items = try items.map { try $0.substituting(value, bound) }
      let constants = items.compactMap { if case .constant(let value) = $0 { value } else { nil } }
      return constants.count == items.count ? .constant(.list(constants)) : .aggregate(items)
    case .function(let name, let arguments): return .function(name, try arguments.map { try $0.substituting(value, bound) })
    case .subquery(let collection, let variable, let predicate):
      return .subquery(
        collection: try collection.substituting(value, bound), variable: variable,
        predicate: try predicate.substituting(value, bound.union([variable])))
    case .conditional(let condition, let first, let second):
      return .conditional(
        try condition.substituting(value, bound), try first.substituting(value, bound), try second.substituting(value, bound))
    case .element(let base, let index): return .element(try base.substituting(value, bound), index)
    }
  }
}
