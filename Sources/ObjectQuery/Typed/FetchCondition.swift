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
