import Foundation
import ObjectQuery

/// A predicate that compares two expressions.
public final class NSComparisonPredicate: NSPredicate, @unchecked Sendable {  // immutable
  /// The comparison operator.
  public enum Operator: UInt, Sendable {
    /// Less than.
    case lessThan
    /// Less than or equal.
    case lessThanOrEqualTo
    /// Greater than.
    case greaterThan
    /// Greater than or equal.
    case greaterThanOrEqualTo
    /// Equal.
    case equalTo
    /// Not equal.
    case notEqualTo
    /// Matches a regular expression.
    case matches
    /// Matches a pattern with the wildcards `*` and `?`.
    case like
    /// Begins with a string.
    case beginsWith
    /// Ends with a string.
    case endsWith
    /// Is an element of a collection.
    case `in`
    /// Is compared by a custom method. Not supported.
    case customSelector
    /// Contains a substring or an element.
    case contains = 99
    /// Is between two bounds.
    case between = 100
  }

  /// The members of a to-many left expression that must match.
  public enum Modifier: UInt, Sendable {
    /// The left expression is a single value.
    case direct
    /// All members must match.
    case all
    /// At least one member must match.
    case any
  }

  /// The options of string comparison.
  public struct Options: OptionSet, Sendable {
    /// The raw value.
    public let rawValue: UInt
    /// Creates options from a raw value.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// Ignores case.
    public static let caseInsensitive = Options(rawValue: 1)
    /// Ignores diacritics.
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// Compares normalized strings.
    public static let normalized = Options(rawValue: 4)
  }

  /// The left expression.
  public let leftExpression: NSExpression
  /// The right expression.
  public let rightExpression: NSExpression
  /// The members of a to-many left expression that must match.
  public let comparisonPredicateModifier: Modifier
  /// The comparison operator.
  public let predicateOperatorType: Operator
  /// The options of string comparison.
  public let options: Options

  /// Creates a comparison of two expressions.
  ///
  /// - Parameters:
  ///   - lhs: The left expression.
  ///   - rhs: The right expression.
  ///   - modifier: The members of a to-many left expression that must match.
  ///   - type: The comparison operator.
  ///   - options: The options of string comparison.
  public init(
    leftExpression lhs: NSExpression, rightExpression rhs: NSExpression, modifier: Modifier, type: Operator, options: Options = []
  ) {
    (leftExpression, rightExpression) = (lhs, rhs)
    (comparisonPredicateModifier, predicateOperatorType, self.options) = (modifier, type, options)
    super.init(
      Result {
        .comparison(
          FetchComparison(
            left: try lhs.outcome.get(), op: try Self.value(type), right: try rhs.outcome.get(), modifier: Self.value(modifier),
            options: ComparisonOptions(rawValue: UInt8(truncatingIfNeeded: options.rawValue & 7))))
      })
  }

  private static func value(_ modifier: Modifier) -> ComparisonModifier {
    switch modifier {
    case .direct: .direct
    case .all: .all
    case .any: .any
    }
  }

  private static func value(_ type: Operator) throws -> ComparisonOperator {
    switch type {
    case .lessThan: .less
    case .lessThanOrEqualTo: .lessOrEqual
    case .greaterThan: .greater
    case .greaterThanOrEqualTo: .greaterOrEqual
    case .equalTo: .equal
    case .notEqualTo: .notEqual
    case .matches: .matches
    case .like: .like
    case .beginsWith: .beginsWith
    case .endsWith: .endsWith
    case .in: .in
    case .contains: .contains
    case .between: .between
    case .customSelector: throw ComparisonError()
    }
  }
}

/// The error that custom selectors are not supported.
struct ComparisonError: LocalizedError {
  var errorDescription: String? {
    "a predicate cannot compare by a method of the application; use another operator, or NSPredicate(block:) over what was fetched"
  }
}
