/// A condition on objects of a class, created from a typed closure. Conditions can be stored, combined, and used in any query of the class.
///
/// ```swift
/// let seafaring = FetchCondition<Book> { $0.title.contains("sea") }
/// let long = FetchCondition<Book> { $0.pages > 500 }
/// let request = Book.all.where(seafaring && !long)
/// ```
public struct FetchCondition<FetchedClass>: Sendable, Hashable {
  /// The condition as a predicate.
  public let predicate: FetchPredicate

  /// Creates a condition from a closure. All its lines must be true.
  public init(@FetchConditionBuilder _ condition: (FetchObject<FetchedClass, FetchDirect>) -> FetchPredicate) {
    predicate = condition(FetchObject(.evaluatedObject))
  }

  /// Creates a condition from a predicate. The predicate is not checked against the class until it is used.
  public init(_ predicate: FetchPredicate) { self.predicate = predicate }

  /// Returns the conjunction of two conditions.
  public static func && (left: Self, right: Self) -> Self { Self(left.predicate && right.predicate) }
  /// Returns the disjunction of two conditions.
  public static func || (left: Self, right: Self) -> Self { Self(left.predicate || right.predicate) }
  /// Returns the negation of a condition.
  public static prefix func ! (condition: Self) -> Self { Self(!condition.predicate) }
}

extension FetchCondition: Codable {
  /// Decodes a condition from its predicate.
  ///
  /// - Throws: `DecodingError` with the coding path.
  public init(from decoder: any Decoder) throws { self.init(try FetchPredicate(from: decoder)) }

  /// Encodes the condition's predicate.
  ///
  /// - Throws: `EncodingError` if the predicate cannot be encoded.
  public func encode(to encoder: any Encoder) throws { try predicate.encode(to: encoder) }
}

/// A line of a typed condition: a predicate, or a Boolean attribute that must be true.
public protocol FetchConditionLine {
  /// The line as a predicate.
  @_spi(Generated) var fetchPredicate: FetchPredicate { get }
}

extension FetchConditionLine where Self == FetchPredicate {
  /// The predicate itself.
  @_spi(Generated) public var fetchPredicate: FetchPredicate { self }
}

extension FetchPredicate: FetchConditionLine {}

/// A Swift Boolean is not a condition. The conformance improves the compiler's diagnostics: it explains the mistake, and a misspelled
/// property such as `!$0.titel` is reported only as an unknown name, although the compiler takes `!` as that of `Bool`.
@available(*, unavailable, message: "a Bool is not a condition on objects; use `if` around conditions")
extension Bool: FetchConditionLine {
  /// Not available.
  @_spi(Generated) public var fetchPredicate: FetchPredicate { .constant(self) }
}

extension FetchPredicate {
  /// Not available.
  @available(*, unavailable, message: "a Bool is not a condition on objects; use `if` around conditions")
  public static func && (left: Bool, right: FetchPredicate) -> FetchPredicate { .constant(left) && right }
  /// Not available.
  @available(*, unavailable, message: "a Bool is not a condition on objects; use `if` around conditions")
  public static func && (left: FetchPredicate, right: Bool) -> FetchPredicate { left && .constant(right) }
  /// Not available.
  @available(*, unavailable, message: "a Bool is not a condition on objects; use `if` around conditions")
  public static func || (left: Bool, right: FetchPredicate) -> FetchPredicate { .constant(left) || right }
  /// Not available.
  @available(*, unavailable, message: "a Bool is not a condition on objects; use `if` around conditions")
  public static func || (left: FetchPredicate, right: Bool) -> FetchPredicate { left || .constant(right) }
}

/// Combines the lines of a closure by AND. Lines can be inside `if`, `switch` and `for`.
@resultBuilder
public enum FetchConditionBuilder {
  /// Returns the predicate of a line. A single generic function, because with an overload for each kind the compiler cannot diagnose
  /// mistakes in long lines.
  public static func buildExpression<Line: FetchConditionLine>(_ line: Line) -> FetchPredicate { line.fetchPredicate }
  /// Returns the conjunction of all lines.
  public static func buildBlock(_ items: FetchPredicate...) -> FetchPredicate { all(items) }
  /// Returns the predicate of an `if` without `else`. If its condition is false, the predicate is always true.
  public static func buildOptional(_ item: FetchPredicate?) -> FetchPredicate { item ?? .constant(true) }
  /// Returns the predicate of the first branch.
  public static func buildEither(first item: FetchPredicate) -> FetchPredicate { item }
  /// Returns the predicate of the second branch.
  public static func buildEither(second item: FetchPredicate) -> FetchPredicate { item }
  /// Returns the conjunction of a loop's lines.
  public static func buildArray(_ items: [FetchPredicate]) -> FetchPredicate { all(items) }
  /// Returns the predicate of a line within an availability check.
  public static func buildLimitedAvailability(_ item: FetchPredicate) -> FetchPredicate { item }

  private static func all(_ items: [FetchPredicate]) -> FetchPredicate {
    let conditions = items.filter { $0 != .constant(true) }
    if conditions.isEmpty { return .constant(true) }
    return conditions.count == 1 ? conditions[0] : .and(conditions)
  }
}

// MARK: - Conditions on related objects

extension FetchPredicate {
  /// Returns the predicate applied to the object of an expression. Conditions written in Swift are unchanged.
  func moved(to base: FetchExpression) -> FetchPredicate {
    // A predicate that is nested too deep is rejected when it is used. Here it must not exhaust the stack.
    guard base != .evaluatedObject, (try? PredicateDepth.check(self)) != nil else { return self }
    return PredicateMove(base: base, names: [:]).moved(self)
  }

  /// Returns the predicate with a free variable renamed.
  func renaming(_ variable: String, to name: String) -> FetchPredicate {
    guard variable != name, (try? PredicateDepth.check(self)) != nil else { return self }
    return PredicateMove(base: .evaluatedObject, names: [variable: name]).moved(self)
  }
}

/// Rewrites a predicate for another object. It renames SUBQUERY variables that would capture variables of the new base.
private struct PredicateMove {
  let base: FetchExpression
  var names: [String: String]

  func moved(_ predicate: FetchPredicate) -> FetchPredicate {
    switch predicate {
    case .constant, .block: return predicate
    case .and(let items): return .and(items.map(moved))
    case .or(let items): return .or(items.map(moved))
    case .not(let item): return .not(moved(item))
    case .comparison(var comparison):
      comparison.left = moved(comparison.left)
      comparison.right = moved(comparison.right)
      return .comparison(comparison)
    }
  }

  func moved(_ expression: FetchExpression) -> FetchExpression {
    switch expression {
    case .constant: return expression
    case .evaluatedObject: return base
    case .keyPath(let keys): return base.appending(keys)
    case .variable(let name): return .variable(names[name] ?? name)
    case .path(let inner, let keys): return moved(inner).appending(keys)
    case .aggregate(let items): return .aggregate(items.map(moved))
    case .function(let name, let arguments): return .function(name, arguments.map(moved))
    case .conditional(let condition, let first, let second): return .conditional(moved(condition), moved(first), moved(second))
    case .element(let inner, let index): return .element(moved(inner), index)
    case .subquery(let collection, let variable, let predicate):
      var inner = self
      var name = variable
      let taken = Set(names.values).union([base.rootVariable].compactMap(\.self))
      while taken.contains(name) { name += "_" }
      inner.names[variable] = name == variable ? nil : name
      return .subquery(collection: moved(collection), variable: name, predicate: inner.moved(predicate))
    }
  }
}

extension FetchExpression {
  fileprivate var rootVariable: String? {
    switch self {
    case .variable(let name): name
    case .path(let inner, _), .element(let inner, _): inner.rootVariable
    default: nil
    }
  }
}
