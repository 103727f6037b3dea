// NSExpression: expressions as objects.
public import Foundation
import ObjectContext
import ObjectModel
package import ObjectQuery

/// A value that is computed: a constant, a property, a function of others.
///
/// One that cannot be, such as a text that is no expression, is told by what is asked with it.
public final class NSExpression: NSObject, @unchecked Sendable {  // it never changes
  /// The kinds of expressions.
  public enum ExpressionType: UInt, Sendable {
    /// A constant.
    case constantValue = 0
    /// The object itself.
    case evaluatedObject
    /// A variable.
    case variable
    /// A property, or what a path leads to.
    case keyPath
    /// A function.
    case function
    /// The members of either of two sets.
    case unionSet
    /// The members of both of two sets.
    case intersectSet
    /// The members of one set that are not those of another.
    case minusSet
    /// The members of a collection that meet a condition.
    case subquery = 13
    /// Several values.
    case aggregate = 14
    /// Any key.
    case anyKey = 15
    /// A closure.
    case block = 19
    /// One of two expressions.
    case conditional = 20
  }

  package let outcome: Result<FetchExpression, any Error>

  package init(_ outcome: Result<FetchExpression, any Error>) { self.outcome = outcome }
  convenience init(_ expression: FetchExpression) { self.init(.success(expression)) }

  // MARK: Making

  /// Reads an expression, such as `"price * %@"`.
  public convenience init(format: String, _ arguments: Any?...) { self.init(format: format, argumentArray: arguments.map { $0 as Any }) }

  /// Reads an expression with its arguments in an array.
  public convenience init(format: String, argumentArray: [Any]) {
    self.init(Result { try FetchExpression(format: format, arguments: argumentArray.map(PredicateArgument.expression)) })
  }

  /// A constant.
  public convenience init(forConstantValue value: Any?) { self.init(Result { .constant(try PredicateArgument.constant(value)) }) }
  /// A property, or what a path leads to.
  public convenience init(forKeyPath keyPath: String) { self.init(.keyPath(keyPath)) }
  /// A property, or what a path leads to.
  public convenience init<Root, Value>(forKeyPath keyPath: KeyPath<Root, Value>) {
    self.init(Result { .keyPath(try ManagedKeyPaths.name(of: keyPath)) })
  }
  /// A variable, without `$`.
  public convenience init(forVariable string: String) { self.init(.variable(string)) }
  /// Several values.
  public convenience init(forAggregate subexpressions: [Any]) { self.init(Result { .aggregate(try subexpressions.map(Self.expression)) }) }

  /// A function by its name in format language, such as `"count:"` or `"add:to:"`.
  public convenience init(forFunction name: String, arguments parameters: [Any]) {
    self.init(Result { .function(name, try parameters.map(Self.expression)) })
  }

  /// A function of the migration manager or of an entity's policy, in the expression of a property mapping.
  ///
  /// - Parameters:
  ///   - target: The variable ``NSMigrationManagerKey`` or ``NSMigrationEntityPolicyKey``.
  ///   - name: The function's name.
  ///   - parameters: What it is given.
  public convenience init(forFunction target: NSExpression, selectorName name: String, arguments parameters: [Any]?) {
    self.init(Result { .function(name, [try target.outcome.get()] + (try (parameters ?? []).map(Self.expression))) })
  }

  /// The members of a collection that meet a condition on a variable.
  ///
  /// - Parameters:
  ///   - expression: The collection.
  ///   - variable: The variable, without `$`.
  ///   - predicate: An ``NSPredicate``.
  public convenience init(forSubquery expression: NSExpression, usingIteratorVariable variable: String, predicate: Any) {
    self.init(
      Result {
        let condition = try Self.predicate(predicate)
        return .subquery(collection: try expression.outcome.get(), variable: variable, predicate: condition)
      })
  }

  /// One of two expressions, as a condition decides.
  ///
  /// - Parameters:
  ///   - predicate: An ``NSPredicate``.
  ///   - trueExpression: What it is where the condition is met.
  ///   - falseExpression: What it is elsewhere.
  public convenience init(forConditional predicate: Any, trueExpression: NSExpression, falseExpression: NSExpression) {
    self.init(
      Result { .conditional(try Self.predicate(predicate), try trueExpression.outcome.get(), try falseExpression.outcome.get()) })
  }

  /// The object itself.
  public class func expressionForEvaluatedObject() -> NSExpression { NSExpression(.evaluatedObject) }

  private static func expression(_ value: Any) throws -> FetchExpression {
    if let expression = value as? NSExpression { return try expression.outcome.get() }
    return .constant(try PredicateArgument.constant(value))
  }

  private static func predicate(_ value: Any) throws -> FetchPredicate {
    guard let predicate = value as? NSPredicate else { throw PredicateArgumentError(type: "\(type(of: value))") }
    return try predicate.outcome.get()
  }

  // MARK: What it is

  private var value: FetchExpression? { try? outcome.get() }

  /// Its kind.
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
  /// The path; empty for other kinds.
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
  /// The values of an aggregate, or the collection of a subquery; nil for other kinds.
  public var collection: Any? {
    switch value {
    case .aggregate(let values): values.map(NSExpression.init)
    case .subquery(let collection, _, _): NSExpression(collection)
    default: nil
    }
  }

  // MARK: Computing

  /// The value of a constant, a property, a path, a variable or the object itself for a managed object, a dictionary or a plain value. Nil where there is none, and for functions, which stores
  /// compute.
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

  /// The expression as text.
  public override var description: String { value.map { "\($0)" } ?? "" }
  /// Expressions are equal where they compute the same in the same way.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSExpression, let mine = value else { return object as? NSExpression === self }
    return other.value == mine
  }
  /// The hash of the expression.
  public override var hash: Int { value?.hashValue ?? 0 }
}
