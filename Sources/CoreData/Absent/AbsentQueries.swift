// Unavailable expressions, comparisons and transformers, with their replacements.
public import Foundation

extension NSComparisonPredicate {
  /// Unavailable: predicates cannot call selectors.
  ///
  /// - Parameters:
  ///   - lhs: The left-hand side.
  ///   - rhs: The right-hand side.
  ///   - selector: The method that compares them.
  @available(*, unavailable, message: "there are no selectors to call; use another operator, or NSPredicate(block:) over what was fetched")
  public convenience init(
    leftExpression lhs: NSExpression, rightExpression rhs: NSExpression,
    customSelector selector: Selector
  ) {
    self.init(leftExpression: lhs, rightExpression: rhs, modifier: .direct, type: .equalTo)
  }
  /// Unavailable: predicates cannot call selectors.
  @available(*, unavailable, message: "there are no selectors to call")
  public var customSelector: Selector? { nil }
}

extension NSExpression {
  /// Unavailable: set expressions are not supported.
  @available(*, unavailable, message: "write the condition by a format, with IN and OR")
  public convenience init(forUnionSet left: NSExpression, with right: NSExpression) {
    self.init(forConstantValue: nil)
  }
  /// Unavailable: set expressions are not supported.
  @available(*, unavailable, message: "write the condition by a format, with IN and AND")
  public convenience init(forIntersectSet left: NSExpression, with right: NSExpression) {
    self.init(forConstantValue: nil)
  }
  /// Unavailable: set expressions are not supported.
  @available(*, unavailable, message: "write the condition by a format, with IN and NOT")
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
  @available(*, unavailable, message: "compute the value of what was fetched")
  public convenience init(
    forBlock block: @escaping (Any?, [Any], NSMutableDictionary?) -> Any, arguments: [NSExpression]?
  ) {
    self.init(forConstantValue: nil)
  }
  /// Unavailable: functions are not methods of an object.
  @available(*, unavailable, message: "functions are those of stores; their arguments are arguments")
  public var operand: NSExpression { self }
  /// Unavailable: set expressions are not supported.
  @available(*, unavailable, message: "there are no expressions of sets")
  public var left: NSExpression { self }
  /// Unavailable: set expressions are not supported.
  @available(*, unavailable, message: "there are no expressions of sets")
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
  @available(*, unavailable, message: "compute the value of what was fetched")
  public var expressionBlock: (Any?, [Any], NSMutableDictionary?) -> Any { { _, _, _ in NSNull() } }
  /// Unavailable: expressions cannot be archived.
  @available(*, unavailable, message: "expressions are not archived here, so that all may be evaluated; leave the call out")
  public func allowEvaluation() {}
}

extension NSExpression.ExpressionType {
  /// Unavailable, as `NSFetchRequestExpression` is.
  @available(*, unavailable, message: "fetch first, and give what was fetched to the predicate")
  public static var fetchRequest: NSExpression.ExpressionType { .subquery }
}

/// Unavailable, as `NSFetchRequestExpression` is.
@available(*, unavailable, message: "fetch first, and give what was fetched to the predicate")
public var NSFetchRequestExpressionType: NSExpression.ExpressionType { .subquery }

extension NSValueTransformerName {
  /// Unavailable: only user interface bindings use it.
  @available(*, unavailable, message: "bindings of AppKit use it; register a transformer of the application's own")
  public static var negateBooleanTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSNegateBoolean")
  }
  /// Unavailable: only user interface bindings use it.
  @available(*, unavailable, message: "bindings of AppKit use it; register a transformer of the application's own")
  public static var isNilTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSIsNil")
  }
  /// Unavailable: only user interface bindings use it.
  @available(*, unavailable, message: "bindings of AppKit use it; register a transformer of the application's own")
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
