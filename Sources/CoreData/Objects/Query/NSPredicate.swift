public import Foundation
import ObjectContext
import ObjectModel
package import ObjectQuery

/// A predicate, created from a format string or from other predicates.
///
/// A predicate with an invalid format matches nothing; every fetch with it throws the error.
public class NSPredicate: NSObject, @unchecked Sendable {  // immutable
  package let outcome: Result<FetchPredicate, any Error>
  private let block: ((Any?, [String: Any]?) -> Bool)?

  package init(_ outcome: Result<FetchPredicate, any Error>) { (self.outcome, block) = (outcome, nil) }

  /// Creates a predicate from a closure that takes the object and the values of variables. It can filter collections and fetched objects,
  /// but stores cannot evaluate it.
  public init(block: @escaping (Any?, [String: Any]?) -> Bool) {
    self.block = block
    let boxed = SendableBox(value: block)
    outcome = .success(
      .block(BlockPredicate("NSPredicate(block:)") { boxed.value(($0 as? EvaluatedValue).map(\.value) ?? $0, nil) }))
  }

  convenience init(_ predicate: FetchPredicate) { self.init(.success(predicate)) }

  /// Creates a predicate from a format such as `"title BEGINSWITH[cd] %@ AND pages > %d"`.
  public convenience init(format: String, _ arguments: Any?...) { self.init(format: format, argumentArray: arguments.map { $0 as Any }) }

  /// Creates a predicate from a format and an array of arguments.
  public convenience init(format: String, argumentArray: [Any]?) {
    self.init(Result { try FetchPredicate(format: format, arguments: (argumentArray ?? []).map(PredicateArgument.expression)) })
  }

  /// Creates a predicate from a format.
  ///
  /// - Parameters:
  ///   - format: The format.
  ///   - argumentArray: The values for `%@` and similar placeholders.
  /// - Throws: `NSError` for an invalid format, or for an argument that cannot be compared.
  public convenience init(checking format: String, argumentArray: [Any] = []) throws {
    let predicate = try CoreDataError.translating {
      try FetchPredicate(format: format, arguments: argumentArray.map(PredicateArgument.expression))
    }
    self.init(.success(predicate))
  }

  /// Creates a predicate that matches everything or nothing.
  public convenience init(value: Bool) { self.init(.constant(value)) }

  /// The predicate's format; for an invalid format, that of a predicate that matches nothing.
  public var predicateFormat: String { predicate.predicateFormat }

  /// The underlying predicate; if the format is invalid, one that matches nothing.
  var predicate: FetchPredicate { (try? outcome.get()) ?? .constant(false) }

  /// Returns the predicate with values for its variables (`$X`).
  public func withSubstitutionVariables(_ variables: [String: Any]) -> NSPredicate {
    NSPredicate(
      Result {
        let constants = try variables.mapValues { try PredicateArgument.constant($0) as (any FetchConstantConvertible)? }
        return try outcome.get().withSubstitutionVariables(constants)
      })
  }

  /// Returns whether an object matches the predicate with values for its variables.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - bindings: The values of variables.
  public func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    if let block { return block(object, bindings) }
    let bindings = bindings ?? [:]
    let value = AttributeConversion.unwrapped(object)
    if let object = value as? ManagedObject, let answer = answer(about: object, bindings) { return answer }
    // A predicate that cannot be evaluated does not match.
    return (try? predicate.evaluate(withAny: value, variables: bindings, reading: ApplicationReading())) ?? false
  }

  /// Returns whether an object matches the predicate.
  ///
  /// The object can be a managed object, a dictionary, a value, a collection, or an instance of any class, whose stored properties the
  /// predicate can use. Values of different types are unequal. A predicate that cannot be evaluated does not match.
  public func evaluate(with object: Any?) -> Bool { evaluate(with: object, substitutionVariables: nil) }

  /// Returns a store's result for a managed object; nil if no store can evaluate the predicate.
  private func answer(about object: ManagedObject, _ bindings: [String: Any]) -> Bool? {
    do {
      let condition = try bindings.isEmpty ? outcome.get() : withSubstitutionVariables(bindings).outcome.get()
      return try condition.evaluate(with: object)
    } catch is FetchPredicateError { return nil } catch { return false }
  }

  /// The predicate's format.
  public override var description: String { predicateFormat }
  /// Returns whether both predicates are the same.
  public override func isEqual(_ object: Any?) -> Bool { (object as? NSPredicate)?.predicate == predicate }
  /// A hash of the predicate.
  public override var hash: Int { predicate.hashValue }
}

/// A predicate that combines other predicates.
public final class NSCompoundPredicate: NSPredicate, @unchecked Sendable {  // immutable
  /// The logical operator.
  public enum LogicalType: UInt, Sendable {
    /// The subpredicate does not match.
    case not
    /// All subpredicates match.
    case and
    /// At least one subpredicate matches.
    case or
  }

  /// The logical operator.
  public let compoundPredicateType: LogicalType
  /// The subpredicates.
  public let subpredicates: [Any]

  /// Creates a combination of predicates.
  public init(type: LogicalType, subpredicates: [NSPredicate]) {
    compoundPredicateType = type
    self.subpredicates = subpredicates
    super.init(
      Result {
        let parts = try subpredicates.map { try $0.outcome.get() }
        return switch type {
        case .and: .and(parts)
        case .or: .or(parts)
        case .not: .not(parts.first ?? .constant(true))
        }
      })
  }

  /// Creates a predicate that matches if all subpredicates match.
  public convenience init(andPredicateWithSubpredicates subpredicates: [NSPredicate]) {
    self.init(type: .and, subpredicates: subpredicates)
  }
  /// Creates a predicate that matches if at least one subpredicate matches.
  public convenience init(orPredicateWithSubpredicates subpredicates: [NSPredicate]) { self.init(type: .or, subpredicates: subpredicates) }
  /// Creates a predicate that matches if the given predicate does not match.
  public convenience init(notPredicateWithSubpredicate predicate: NSPredicate) { self.init(type: .not, subpredicates: [predicate]) }
}

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
