// NSComparisonPredicate: comparisons of two expressions as objects.
import Foundation
import ObjectQuery

/// A comparison of two expressions.
public final class NSComparisonPredicate: NSPredicate, @unchecked Sendable {  // it never changes
  /// How the sides are compared.
  public enum Operator: UInt, Sendable {
    /// Less.
    case lessThan
    /// Less or equal.
    case lessThanOrEqualTo
    /// Greater.
    case greaterThan
    /// Greater or equal.
    case greaterThanOrEqualTo
    /// Equal.
    case equalTo
    /// Not equal.
    case notEqualTo
    /// Matches a regular expression.
    case matches
    /// Matches a pattern of `*` and `?`.
    case like
    /// Begins with a text.
    case beginsWith
    /// Ends with a text.
    case endsWith
    /// Is one of several.
    case `in`
    /// Is compared by a method of the application: nothing here does.
    case customSelector
    /// Contains a text, or a member.
    case contains = 99
    /// Lies between two.
    case between = 100
  }

  /// Which members of a to-many left side are asked about.
  public enum Modifier: UInt, Sendable {
    /// The left side is one value.
    case direct
    /// All.
    case all
    /// Any.
    case any
  }

  /// How texts are compared.
  public struct Options: OptionSet, Sendable {
    /// The raw value.
    public let rawValue: UInt
    /// Options of a raw value.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// Without regard to case.
    public static let caseInsensitive = Options(rawValue: 1)
    /// Without regard to accents.
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// Both sides are normalised.
    public static let normalized = Options(rawValue: 4)
  }

  /// The left side.
  public let leftExpression: NSExpression
  /// The right side.
  public let rightExpression: NSExpression
  /// Which members of a to-many left side are asked about.
  public let comparisonPredicateModifier: Modifier
  /// How the sides are compared.
  public let predicateOperatorType: Operator
  /// How texts are compared.
  public let options: Options

  /// Compares two expressions.
  ///
  /// - Parameters:
  ///   - lhs: The left side.
  ///   - rhs: The right side.
  ///   - modifier: Which members of a to-many left side are asked about.
  ///   - type: How the sides are compared.
  ///   - options: How texts are compared.
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

/// Nothing compares by a method of the application.
struct ComparisonError: LocalizedError {
  var errorDescription: String? {
    "a predicate cannot compare by a method of the application; use another operator, or NSPredicate(block:) over what was fetched"
  }
}
