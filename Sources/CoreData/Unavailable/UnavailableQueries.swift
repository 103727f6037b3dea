// Unavailable expressions, comparisons and transformers, with their replacements.
public import Foundation

extension NSComparisonPredicate {
  /// Unavailable: predicates cannot call selectors.
  ///
  /// - Parameters:
  ///   - lhs: The left-hand side.
  ///   - rhs: The right-hand side.
  ///   - selector: The method that compares them.
  @available(*, unavailable, message: "selectors cannot be called; use another operator, or NSPredicate(block:) on the fetched objects")
  public convenience init(
    leftExpression lhs: NSExpression, rightExpression rhs: NSExpression,
    customSelector selector: Selector
  ) {
    self.init(leftExpression: lhs, rightExpression: rhs, modifier: .direct, type: .equalTo)
  }
  /// Unavailable: predicates cannot call selectors.
  @available(*, unavailable, message: "selectors cannot be called")
  public var customSelector: Selector? { nil }
}

extension NSExpression {
  /// Unavailable: set expressions are not supported.
  @available(*, unavailable, message: "use a format string with IN and OR")
  public convenience init(forUnionSet left: NSExpression, with right: NSExpression) {
    self.init(forConstantValue: nil)
  }
  /// Unavailable: set expressions are not supported.
  @available(*, unavailable, message: "use a format string with IN and AND")
  public convenience init(forIntersectSet left: NSExpression, with right: NSExpression) {
    self.init(forConstantValue: nil)
  }
  /// Unavailable: set expressions are not supported.
  @available(*, unavailable, message: "use a format string with IN and NOT")
  public convenience init(forMinusSet left: NSExpression, with right: NSExpression) {
    self.init(forConstantValue: nil)
  }
  /// Unavailable: Spotlight is not supported.
  @available(*, unavailable, message: "there is no Spotlight; name the keys")
  public class func expressionForAnyKey() -> NSExpression { NSExpression(forConstantValue: nil) }
  /// Unavailable: stores cannot run application code.
  ///
  /// - Parameters:
  ///   - block: The block that computes the value.
  ///   - arguments: The arguments.
  @available(*, unavailable, message: "compute the value from the fetched objects")
  public convenience init(
    forBlock block: @escaping (Any?, [Any], NSMutableDictionary?) -> Any, arguments: [NSExpression]?
  ) {
    self.init(forConstantValue: nil)
  }
  /// Unavailable: functions are not methods of an object.
  @available(*, unavailable, message: "functions have no operand; use the arguments")
  public var operand: NSExpression { self }
  /// Unavailable: set expressions are not supported.
  @available(*, unavailable, message: "set expressions are not supported")
  public var left: NSExpression { self }
  /// Unavailable: set expressions are not supported.
  @available(*, unavailable, message: "set expressions are not supported")
  public var right: NSExpression { self }
  /// Unavailable: use the expression's description.
  @available(*, unavailable, message: "read the expression's description")
  public var predicate: NSPredicate { NSPredicate(value: false) }
  /// Unavailable: use the expression's description.
  @available(*, unavailable, message: "read the expression's description")
  public var `true`: NSExpression { self }
  /// Unavailable: use the expression's description.
  @available(*, unavailable, message: "read the expression's description")
  public var `false`: NSExpression { self }
  /// Unavailable: stores cannot run application code.
  @available(*, unavailable, message: "compute the value from the fetched objects")
  public var expressionBlock: (Any?, [Any], NSMutableDictionary?) -> Any { { _, _, _ in NSNull() } }
  /// Unavailable: expressions cannot be archived.
  @available(*, unavailable, message: "expressions are not archived, so all can be evaluated; remove the call")
  public func allowEvaluation() {}
}

extension NSExpression.ExpressionType {
  /// Unavailable, as `NSFetchRequestExpression` is.
  @available(*, unavailable, message: "fetch first, and use the result in the predicate")
  public static var fetchRequest: NSExpression.ExpressionType { .subquery }
}

/// Unavailable, as `NSFetchRequestExpression` is.
@available(*, unavailable, message: "fetch first, and use the result in the predicate")
public var NSFetchRequestExpressionType: NSExpression.ExpressionType { .subquery }

extension NSValueTransformerName {
  /// Unavailable: only user interface bindings use it.
  @available(*, unavailable, message: "only AppKit bindings use it; register your own transformer")
  public static var negateBooleanTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSNegateBoolean")
  }
  /// Unavailable: only user interface bindings use it.
  @available(*, unavailable, message: "only AppKit bindings use it; register your own transformer")
  public static var isNilTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSIsNil")
  }
  /// Unavailable: only user interface bindings use it.
  @available(*, unavailable, message: "only AppKit bindings use it; register your own transformer")
  public static var isNotNilTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSIsNotNil")
  }
  /// Unavailable: it decodes objects of arbitrary classes, which is insecure.
  @available(*, unavailable, message: "it decodes objects of any class; use secureUnarchiveFromDataTransformerName")
  public static var unarchiveFromDataTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSUnarchiveFromData")
  }
  /// Unavailable: it decodes objects of arbitrary classes, which is insecure.
  @available(*, unavailable, message: "it decodes objects of any class; use secureUnarchiveFromDataTransformerName")
  public static var keyedUnarchiveFromDataTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSKeyedUnarchiveFromData")
  }
}
