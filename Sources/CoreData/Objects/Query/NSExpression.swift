public import Foundation
import ObjectContext
import ObjectModel
package import ObjectQuery

/// An expression: a constant, a property, or a function of other expressions.
///
/// If an expression is invalid, such as one with a syntax error, the request that uses it reports the error.
public final class NSExpression: NSObject, @unchecked Sendable {  // immutable
  /// The kinds of expressions.
  public enum ExpressionType: UInt, Sendable {
    /// A constant.
    case constantValue = 0
    /// The evaluated object itself.
    case evaluatedObject
    /// A variable.
    case variable
    /// A property or a key path.
    case keyPath
    /// A function.
    case function
    /// The union of two sets.
    case unionSet
    /// The intersection of two sets.
    case intersectSet
    /// The difference of two sets.
    case minusSet
    /// The members of a collection that match a predicate.
    case subquery = 13
    /// A list of expressions.
    case aggregate = 14
    /// Any key.
    case anyKey = 15
    /// A closure.
    case block = 19
    /// A choice between two expressions.
    case conditional = 20
  }

  package let outcome: Result<FetchExpression, any Error>

  package init(_ outcome: Result<FetchExpression, any Error>) { self.outcome = outcome }
  convenience init(_ expression: FetchExpression) { self.init(.success(expression)) }

  // MARK: Creating expressions

  /// Creates an expression from a format such as `"price * %@"`.
  public convenience init(format: String, _ arguments: Any?...) { self.init(format: format, argumentArray: arguments.map { $0 as Any }) }

  /// Creates an expression from a format and an array of arguments.
  public convenience init(format: String, argumentArray: [Any]) {
    self.init(Result { try FetchExpression(format: format, arguments: argumentArray.map(PredicateArgument.expression)) })
  }

  /// Creates a constant.
  public convenience init(forConstantValue value: Any?) { self.init(Result { .constant(try PredicateArgument.constant(value)) }) }
  /// Creates an expression for a key path.
  public convenience init(forKeyPath keyPath: String) { self.init(.keyPath(keyPath)) }
  /// Creates an expression for a key path.
  public convenience init<Root, Value>(forKeyPath keyPath: KeyPath<Root, Value>) {
    self.init(Result { .keyPath(try ManagedKeyPaths.name(of: keyPath)) })
  }
  /// Creates an expression for a variable, named without `$`.
  public convenience init(forVariable string: String) { self.init(.variable(string)) }
  /// Creates an aggregate of expressions.
  public convenience init(forAggregate subexpressions: [Any]) { self.init(Result { .aggregate(try subexpressions.map(Self.expression)) }) }

  /// Creates a function by its name in the predicate format, such as `"count:"` or `"add:to:"`.
  public convenience init(forFunction name: String, arguments parameters: [Any]) {
    self.init(Result { .function(name, try parameters.map(Self.expression)) })
  }

  /// Creates a function of the migration manager or an entity migration policy, for the expression of a property mapping.
  ///
  /// - Parameters:
  ///   - target: The variable ``NSMigrationManagerKey`` or ``NSMigrationEntityPolicyKey``.
  ///   - name: The function's name.
  ///   - parameters: The arguments.
  public convenience init(forFunction target: NSExpression, selectorName name: String, arguments parameters: [Any]?) {
    self.init(Result { .function(name, [try target.outcome.get()] + (try (parameters ?? []).map(Self.expression))) })
  }

  /// Creates a subquery: the members of a collection that match a predicate.
  ///
  /// - Parameters:
  ///   - expression: The collection.
  ///   - variable: The iterator variable, without `$`.
  ///   - predicate: An ``NSPredicate``.
  public convenience init(forSubquery expression: NSExpression, usingIteratorVariable variable: String, predicate: Any) {
    self.init(
      Result {
        let condition = try Self.predicate(predicate)
        return .subquery(collection: try expression.outcome.get(), variable: variable, predicate: condition)
      })
  }

  /// Creates a conditional expression.
  ///
  /// - Parameters:
  ///   - predicate: An ``NSPredicate``.
  ///   - trueExpression: The expression used if the predicate matches.
  ///   - falseExpression: The expression used otherwise.
  public convenience init(forConditional predicate: Any, trueExpression: NSExpression, falseExpression: NSExpression) {
    self.init(
      Result { .conditional(try Self.predicate(predicate), try trueExpression.outcome.get(), try falseExpression.outcome.get()) })
  }

  /// Returns an expression for the evaluated object.
  public class func expressionForEvaluatedObject() -> NSExpression { NSExpression(.evaluatedObject) }

  private static func expression(_ value: Any) throws -> FetchExpression {
    if let expression = value as? NSExpression { return try expression.outcome.get() }
    return .constant(try PredicateArgument.constant(value))
  }

  private static func predicate(_ value: Any) throws -> FetchPredicate {
    guard let predicate = value as? NSPredicate else { throw PredicateArgumentError(type: "\(type(of: value))") }
    return try predicate.outcome.get()
  }

  // MARK: Properties

  private var value: FetchExpression? { try? outcome.get() }

  /// The kind of expression.
  public var expressionType: ExpressionType {
    switch value {
    case .constant, nil: .constantValue
    case .evaluatedObject: .evaluatedObject
    case .variable: .variable
    case .keyPath, .path: .keyPath
    case .aggregate: .aggregate
    case .function, .element: .function
    case .subquery: .subquery
    case .conditional: .conditional
    }
  }

  /// The value of a constant; nil for other kinds.
  public var constantValue: Any? {
    guard case .constant(let constant) = value else { return nil }
    return constant.anyValue
  }
  /// The key path; empty for other kinds.
  public var keyPath: String {
    switch value {
    case .keyPath(let names), .path(_, let names): names.joined(separator: ".")
    default: ""
    }
  }
  /// The name of a function; empty for other kinds.
  public var function: String {
    guard case .function(let name, _) = value else { return "" }
    return name
  }
  /// The name of a variable; empty for other kinds.
  public var variable: String {
    switch value {
    case .variable(let name), .subquery(_, let name, _): name
    default: ""
    }
  }
  /// The arguments of a function; nil for other kinds.
  public var arguments: [NSExpression]? {
    guard case .function(_, let arguments) = value else { return nil }
    return arguments.map(NSExpression.init)
  }
  /// The elements of an aggregate, or the collection of a subquery; nil for other kinds.
  public var collection: Any? {
    switch value {
    case .aggregate(let values): values.map(NSExpression.init)
    case .subquery(let collection, _, _): NSExpression(collection)
    default: nil
    }
  }

  // MARK: Evaluating

  /// Evaluates a constant, a key path, a variable or the evaluated object for a managed object, a dictionary or a plain value.
  ///
  /// The result is nil if there is no value, and for functions, which only stores evaluate.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - context: The values of variables.
  public func expressionValue(with object: Any?, context: NSMutableDictionary?) -> Any? {
    switch value {
    case .constant: constantValue
    case .evaluatedObject: object
    case .keyPath(let names): KeyedValue.of(names.joined(separator: "."), in: object)
    case .variable(let name): context?[name]
    case .path(.variable(let name), let names): KeyedValue.of(names.joined(separator: "."), in: context?[name])
    case .path(.evaluatedObject, let names): KeyedValue.of(names.joined(separator: "."), in: object)
    default: nil
    }
  }

  /// The expression in the predicate format.
  public override var description: String { value.map { "\($0)" } ?? "" }
  /// Returns whether both expressions have the same structure.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSExpression, let mine = value else { return object as? NSExpression === self }
    return other.value == mine
  }
  /// A hash of the expression.
  public override var hash: Int { value?.hashValue ?? 0 }
}
