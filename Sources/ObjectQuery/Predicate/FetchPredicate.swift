// FetchPredicate: what a fetch asks of each object.

/// A condition on objects: a value that stores turn into their own language and that can be evaluated in memory.
///
/// ```swift
/// let long = try FetchPredicate(format: "pages > %@ AND ANY tags.name BEGINSWITH[cd] %@", 500, "sea")
/// let request = FetchRequest<Book>(entityName: "Book", predicate: long)
/// let isLong = try long.evaluate(with: book)
/// ```
///
/// The format language is Core Data's. A mistake in its grammar throws ``PredicateFormatError`` with its place; a name that the entity does not have throws
/// ``FetchPredicateError`` when the predicate is used. The answer in SQL and the one in memory are the same. Typed queries (`Book.all.where { $0.pages > 500 }`) make
/// predicates that the compiler has checked.
public indirect enum FetchPredicate: Sendable, Hashable {
  /// Always true, or always false.
  case constant(Bool)
  /// A comparison.
  case comparison(FetchComparison)
  /// All of several; true when there are none.
  case and([FetchPredicate])
  /// Some of several; false when there are none.
  case or([FetchPredicate])
  /// The opposite.
  case not(FetchPredicate)
  /// A condition written in Swift, about the object that the whole predicate asks about. No store can answer it.
  case block(BlockPredicate)

  /// All of two. Conditions added one by one make one `and`, so that predicates built in a loop do not nest.
  public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    if case .and(let items) = left { return .and(items + [right]) }
    return .and([left, right])
  }
  /// One of two. Conditions added one by one make one `or`.
  public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    if case .or(let items) = left { return .or(items + [right]) }
    return .or([left, right])
  }
  /// The opposite.
  public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate { .not(predicate) }

  /// A comparison of a key path with a value.
  ///
  /// - Parameters:
  ///   - keyPath: A dotted path of property names from the object, such as `author.name`.
  ///   - op: The operator.
  ///   - value: The value on the right.
  ///   - modifier: Which members of a to-many path are asked about.
  ///   - options: How strings are compared.
  public static func compare(
    _ keyPath: String, _ op: ComparisonOperator, _ value: (any FetchConstantConvertible)?, modifier: ComparisonModifier = .direct,
    options: ComparisonOptions = []
  ) -> FetchPredicate {
    .comparison(
      FetchComparison(
        left: .keyPath(keyPath), op: op, right: .constant(value?._fetchConstant ?? .null), modifier: modifier, options: options))
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
  /// Which members of a to-many left side are asked about.
  public var modifier: ComparisonModifier
  /// How strings are compared.
  public var options: ComparisonOptions

  /// Makes a comparison.
  ///
  /// - Parameters:
  ///   - left: What is compared.
  ///   - op: How it is compared.
  ///   - right: What it is compared with.
  ///   - modifier: Whether all or any of several values must fit.
  ///   - options: How texts are folded.
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
