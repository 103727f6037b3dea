// FetchCondition: conditions on objects of a class as values, and the builder that joins the lines of a closure.

/// A condition on objects of a class, made by a typed closure: a value that is kept, joined with others, and used in any query of the class.
///
/// ```swift
/// let seafaring = FetchCondition<Book> { $0.title.contains("sea") }
/// let long = FetchCondition<Book> { $0.pages > 500 }
/// let request = Book.all.where(seafaring && !long)
/// ```
public struct FetchCondition<FetchedClass>: Sendable, Hashable {
  /// The condition.
  public let predicate: FetchPredicate

  /// Makes a condition of a closure; all its lines have to hold.
  public init(@FetchConditionBuilder _ condition: (FetchObject<FetchedClass, FetchDirect>) -> FetchPredicate) {
    predicate = condition(FetchObject(.evaluatedObject))
  }

  /// Takes a predicate as a condition on the class. Nothing checks that it is one before it is used.
  public init(_ predicate: FetchPredicate) { self.predicate = predicate }

  /// All of two.
  public static func && (left: Self, right: Self) -> Self { Self(left.predicate && right.predicate) }
  /// One of two.
  public static func || (left: Self, right: Self) -> Self { Self(left.predicate || right.predicate) }
  /// The opposite.
  public static prefix func ! (condition: Self) -> Self { Self(!condition.predicate) }
}

extension FetchCondition: Codable {
  /// Reads a condition in the form of its predicate.
  ///
  /// - Throws: `DecodingError` with the path of what is wrong.
  public init(from decoder: any Decoder) throws { self.init(try FetchPredicate(from: decoder)) }

  /// Writes the condition's predicate.
  ///
  /// - Throws: `EncodingError` when the predicate cannot be encoded.
  public func encode(to encoder: any Encoder) throws { try predicate.encode(to: encoder) }
}

/// What a line of a typed condition can be: a predicate, or a Boolean attribute, which has to be true.
public protocol FetchConditionLine {
  /// The line as a predicate.
  var _fetchPredicate: FetchPredicate { get }
}

extension FetchPredicate: FetchConditionLine {
  /// The predicate itself.
  public var _fetchPredicate: FetchPredicate { self }
}

/// A Swift Boolean is not a condition. The conformance exists for the compiler's messages: it names the mistake, and it lets `!$0.titel` be reported as a wrong
/// name only, for which the compiler takes `!` as that of `Bool`.
@available(*, unavailable, message: "a Bool is not a condition on objects; use `if` around conditions")
extension Bool: FetchConditionLine {
  /// Not available.
  public var _fetchPredicate: FetchPredicate { .constant(self) }
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

/// Joins the lines of a closure: all of them have to hold. A line may stand behind `if`, `switch` or in a `for`.
@resultBuilder
public enum FetchConditionBuilder {
  /// A line. One generic function and not one for each kind: with two, the compiler gives up on long lines that have a mistake.
  public static func buildExpression<Line: FetchConditionLine>(_ line: Line) -> FetchPredicate { line._fetchPredicate }
  /// All lines.
  public static func buildBlock(_ items: FetchPredicate...) -> FetchPredicate { all(items) }
  /// A line behind an `if` that does not hold asks nothing.
  public static func buildOptional(_ item: FetchPredicate?) -> FetchPredicate { item ?? .constant(true) }
  /// One of two branches.
  public static func buildEither(first item: FetchPredicate) -> FetchPredicate { item }
  /// The other of two branches.
  public static func buildEither(second item: FetchPredicate) -> FetchPredicate { item }
  /// The lines of a loop.
  public static func buildArray(_ items: [FetchPredicate]) -> FetchPredicate { all(items) }
  /// A line behind an availability check.
  public static func buildLimitedAvailability(_ item: FetchPredicate) -> FetchPredicate { item }

  private static func all(_ items: [FetchPredicate]) -> FetchPredicate {
    let asked = items.filter { $0 != .constant(true) }
    if asked.isEmpty { return .constant(true) }
    return asked.count == 1 ? asked[0] : .and(asked)
  }
}
