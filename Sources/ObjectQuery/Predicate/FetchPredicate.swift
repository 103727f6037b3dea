/// A condition on objects. Stores translate it into their query language, and it can be evaluated in memory.
///
/// ```swift
/// let long = try FetchPredicate(format: "pages > %@ AND ANY tags.name BEGINSWITH[cd] %@", 500, "sea")
/// let request = FetchRequest<Book>(entityName: "Book", predicate: long)
/// let isLong = try long.evaluate(with: book)
/// ```
///
/// The format language is Core Data's. A syntax error throws ``PredicateFormatError`` with its position. A property name that the entity
/// does not have throws ``FetchPredicateError`` when the predicate is used. SQL and in-memory evaluation return the same results. Typed
/// queries (`Book.all.where { $0.pages > 500 }`) create predicates that the compiler checks.
public indirect enum FetchPredicate: Sendable, Hashable {
  /// A constant truth value.
  case constant(Bool)
  /// A comparison.
  case comparison(FetchComparison)
  /// A conjunction; true if empty.
  case and([FetchPredicate])
  /// A disjunction; false if empty.
  case or([FetchPredicate])
  /// A negation.
  case not(FetchPredicate)
  /// A condition written in Swift on the object that the whole predicate is evaluated for. Stores do not support it.
  case block(BlockPredicate)

  /// Returns the conjunction of two predicates. Repeated use extends one `and`, so that predicates built in a loop do not nest.
  public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    if case .and(let items) = left { return .and(items + [right]) }
    return .and([left, right])
  }
  /// Returns the disjunction of two predicates. Repeated use extends one `or`.
  public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    if case .or(let items) = left { return .or(items + [right]) }
    return .or([left, right])
  }
  /// Returns the negation of a predicate.
  public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate { .not(predicate) }

  /// Returns a comparison of a key path with a value.
  ///
  /// - Parameters:
  ///   - keyPath: A dotted path of property names from the object, such as `author.name`.
  ///   - op: The operator.
  ///   - value: The value on the right side.
  ///   - modifier: The quantifier for a to-many path.
  ///   - options: The options for comparing strings.
  public static func compare(
    _ keyPath: String, _ op: ComparisonOperator, _ value: (any FetchConstantConvertible)?, modifier: ComparisonModifier = .direct,
    options: ComparisonOptions = []
  ) -> FetchPredicate {
    .comparison(
      FetchComparison(
        left: .keyPath(keyPath), op: op, right: .constant(value?.fetchConstant ?? .null), modifier: modifier, options: options))
  }
}

/// A comparison of two expressions.
public struct FetchComparison: Sendable, Hashable {
  /// The left side.
  public var left: FetchExpression
  /// The operator.
  public var op: ComparisonOperator
  /// The right side.
  public var right: FetchExpression
  /// The quantifier for a to-many left side.
  public var modifier: ComparisonModifier
  /// The options for comparing strings.
  public var options: ComparisonOptions

  /// Creates a comparison.
  ///
  /// - Parameters:
  ///   - left: The left side.
  ///   - op: The operator.
  ///   - right: The right side.
  ///   - modifier: The quantifier for a to-many left side.
  ///   - options: The options for comparing strings.
  public init(
    left: FetchExpression, op: ComparisonOperator, right: FetchExpression, modifier: ComparisonModifier = .direct,
    options: ComparisonOptions = []
  ) {
    self.left = left
    self.op = op
    self.right = right
    self.modifier = modifier
    self.options = options
  }
}
