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

/// An expression in a predicate, a sort key or a dictionary result: a key path, a constant, or a function of other expressions.
///
/// ```swift
/// let length = try FetchExpression(format: "length(title) + 1")
/// let request = FetchRequest<Book>(entityName: "Book").sorted(by: length, ascending: false)
/// ```
///
/// A syntax error throws ``PredicateFormatError``. An unknown function or a wrong type throws ``FetchPredicateError`` when the expression
/// is used.
public indirect enum FetchExpression: Sendable, Hashable {
  /// A constant.
  case constant(FetchConstant)
  /// The evaluated object (`SELF`).
  case evaluatedObject
  /// A path of property names and collection operators (`@count`, `@sum`, …) from the object.
  case keyPath([String])
  /// A variable to be substituted, or bound by a subquery.
  case variable(String)
  /// A path from another expression, such as a subquery or its variable.
  case path(FetchExpression, [String])
  /// A list of expressions.
  case aggregate([FetchExpression])
  /// A function call, with the function's name in the format language (`add:to:`, `abs:`, `uppercase:`, …).
  case function(String, [FetchExpression])
  /// The members of a collection for which a predicate on a variable is true.
  case subquery(collection: FetchExpression, variable: String, predicate: FetchPredicate)
  /// The first expression if the predicate is true, otherwise the second.
  case conditional(FetchPredicate, FetchExpression, FetchExpression)
  /// An element of an ordered collection.
  case element(FetchExpression, CollectionIndex)

  /// The position of an element in an ordered collection.
  public enum CollectionIndex: Sendable, Hashable {
    /// The first element.
    case first
    /// The last element.
    case last
    /// The number of elements.
    case size
    /// The element at a zero-based position. A negative position has no element.
    case at(Int)
  }

  /// The function for CAST of an expression that is not a literal. Its arguments are a value and the name of a type.
  static let castFunction = "castObject:toType:"

  /// Returns a key path for its dotted form.
  ///
  /// - Complexity: O(*n*), where *n* is the length of the string.
  public static func keyPath(_ dotted: String) -> FetchExpression {
    .keyPath(dotted.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
  }
}

/// The limit of nesting, which keeps recursion over predicates from exhausting the stack.
package enum PredicateDepth {
  /// The maximum number of levels in a predicate, including its expressions.
  package static let limit = 100

  private enum Node {
    case predicate(FetchPredicate)
    case expression(FetchExpression)
    case constant(FetchConstant)
  }

  /// Throws ``FetchPredicateError/nestingTooDeep(limit:)`` if a predicate is nested too deep. Uses no recursion.
  package static func check(_ predicate: FetchPredicate) throws(FetchPredicateError) {
    guard depth(of: .predicate(predicate)) <= limit else { throw .nestingTooDeep(limit: limit) }
  }

  /// Returns whether an expression is nested within the limit.
  package static func allows(_ expression: FetchExpression) -> Bool { depth(of: expression) <= limit }

  /// Returns the number of levels in an expression; more than ``limit`` if it is nested too deep.
  static func depth(of expression: FetchExpression) -> Int { depth(of: .expression(expression)) }

  private static func depth(of root: Node) -> Int {
    var stack = [(node: root, depth: 1)]
    var maximum = 1
    while let (node, depth) = stack.popLast() {
      maximum = max(maximum, depth)
      guard depth <= limit else { return depth }
      func push(_ node: Node) { stack.append((node, depth + 1)) }
      func pushLists(_ items: [FetchConstant]) {
        for case .list(let inner) in items { push(.constant(.list(inner))) }
      }
      switch node {
      case .constant(.list(let items)): pushLists(items)
      case .constant: break
      case .predicate(.constant), .predicate(.block): break
      case .predicate(.and(let items)), .predicate(.or(let items)): items.forEach { push(.predicate($0)) }
      case .predicate(.not(let item)): push(.predicate(item))
      case .predicate(.comparison(let comparison)):
        push(.expression(comparison.left))
        push(.expression(comparison.right))
      case .expression(let expression):
        switch expression {
        case .constant(.list(let items)): pushLists(items)
        case .constant: break
        case .evaluatedObject, .keyPath, .variable: break
        case .path(let base, _), .element(let base, _): push(.expression(base))
        case .aggregate(let items), .function(_, let items): items.forEach { push(.expression($0)) }
        case .subquery(let collection, _, let condition):
          push(.expression(collection))
          push(.predicate(condition))
        case .conditional(let condition, let first, let second):
          push(.predicate(condition))
          push(.expression(first))
          push(.expression(second))
        }
      }
    }
    return maximum
  }
}

// MARK: - First names of key paths

extension FetchPredicate {
  /// The first names of all key paths that start at the evaluated object.
  package var keyPathHeads: Set<String> {
    switch self {
    case .constant, .block: []
    case .and(let items), .or(let items): items.reduce(into: []) { $0.formUnion($1.keyPathHeads) }
    case .not(let item): item.keyPathHeads
    case .comparison(let comparison): comparison.left.keyPathHeads.union(comparison.right.keyPathHeads)
    }
  }
}

extension FetchExpression {
  fileprivate var keyPathHeads: Set<String> {
    switch self {
    case .constant, .evaluatedObject, .variable: []
    case .keyPath(let names): names.first.map { [$0] } ?? []
    case .path(let base, _), .element(let base, _): base.keyPathHeads
    case .aggregate(let items), .function(_, let items): items.reduce(into: []) { $0.formUnion($1.keyPathHeads) }
    case .conditional(let condition, let first, let second):
      condition.keyPathHeads.union(first.keyPathHeads).union(second.keyPathHeads)
    // The inner predicate refers to members.
    case .subquery(let collection, _, _): collection.keyPathHeads
    }
  }
}
