// AbsentQueries: expressions, comparisons and transformers that are not there, with what to do instead.
public import Foundation

extension NSComparisonPredicate {
  /// Absent: selectors of the application cannot be called.
  ///
  /// - Parameters:
  ///   - lhs: The one side.
  ///   - rhs: The other one.
  ///   - selector: What compares them.
  @available(*, unavailable, message: "there are no selectors to call; use another operator, or NSPredicate(block:) over what was fetched")
  public convenience init(
    leftExpression lhs: NSExpression, rightExpression rhs: NSExpression,
    customSelector selector: Selector
  ) {
    self.init(leftExpression: lhs, rightExpression: rhs, modifier: .direct, type: .equalTo)
  }
  /// Absent: selectors of the application cannot be called.
  @available(*, unavailable, message: "there are no selectors to call")
  public var customSelector: Selector? { nil }
}

extension NSExpression {
  /// Absent: sets are not computed with.
  @available(*, unavailable, message: "write the condition by a format, with IN and OR")
  public convenience init(forUnionSet left: NSExpression, with right: NSExpression) {
    self.init(forConstantValue: nil)
  }
  /// Absent: sets are not computed with.
  @available(*, unavailable, message: "write the condition by a format, with IN and AND")
  public convenience init(forIntersectSet left: NSExpression, with right: NSExpression) {
    self.init(forConstantValue: nil)
  }
  /// Absent: sets are not computed with.
  @available(*, unavailable, message: "write the condition by a format, with IN and NOT")
  public convenience init(forMinusSet left: NSExpression, with right: NSExpression) {
    self.init(forConstantValue: nil)
  }
  /// Absent: there is no Spotlight.
  @available(*, unavailable, message: "there is no Spotlight; name the keys")
  public class func expressionForAnyKey() -> NSExpression { NSExpression(forConstantValue: nil) }
  /// Absent: stores run no code of the application.
  ///
  /// - Parameters:
  ///   - block: What would compute the value.
  ///   - arguments: Of what.
  @available(*, unavailable, message: "compute the value of what was fetched")
  public convenience init(
    forBlock block: @escaping (Any?, [Any], NSMutableDictionary?) -> Any, arguments: [NSExpression]?
  ) {
    self.init(forConstantValue: nil)
  }
  /// Absent: functions have no objects that they are methods of.
  @available(*, unavailable, message: "functions are those of stores; their arguments are arguments")
  public var operand: NSExpression { self }
  /// Absent: sets are not computed with.
  @available(*, unavailable, message: "there are no expressions of sets")
  public var left: NSExpression { self }
  /// Absent: sets are not computed with.
  @available(*, unavailable, message: "there are no expressions of sets")
  public var right: NSExpression { self }
  /// Absent: an expression is read as a text.
  @available(*, unavailable, message: "read the expression's description")
  public var predicate: NSPredicate { NSPredicate(value: false) }
  /// Absent: an expression is read as a text.
  @available(*, unavailable, message: "read the expression's description")
  public var `true`: NSExpression { self }
  /// Absent: an expression is read as a text.
  @available(*, unavailable, message: "read the expression's description")
  public var `false`: NSExpression { self }
  /// Absent: stores run no code of the application.
  @available(*, unavailable, message: "compute the value of what was fetched")
  public var expressionBlock: (Any?, [Any], NSMutableDictionary?) -> Any { { _, _, _ in NSNull() } }
  /// Absent: expressions are not archived.
  @available(*, unavailable, message: "expressions are not archived here, so that all may be evaluated; leave the call out")
  public func allowEvaluation() {}
}

extension NSExpression.ExpressionType {
  /// Absent with `NSFetchRequestExpression`.
  @available(*, unavailable, message: "fetch first, and give what was fetched to the predicate")
  public static var fetchRequest: NSExpression.ExpressionType { .subquery }
}

/// Absent with `NSFetchRequestExpression`.
@available(*, unavailable, message: "fetch first, and give what was fetched to the predicate")
public var NSFetchRequestExpressionType: NSExpression.ExpressionType { .subquery }

extension NSValueTransformerName {
  /// Absent: bindings of user interfaces use it.
  @available(*, unavailable, message: "bindings of AppKit use it; register a transformer of the application's own")
  public static var negateBooleanTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSNegateBoolean")
  }
  /// Absent: bindings of user interfaces use it.
  @available(*, unavailable, message: "bindings of AppKit use it; register a transformer of the application's own")
  public static var isNilTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSIsNil")
  }
  /// Absent: bindings of user interfaces use it.
  @available(*, unavailable, message: "bindings of AppKit use it; register a transformer of the application's own")
  public static var isNotNilTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSIsNotNil")
  }
  /// Absent: it decodes objects of any class.
  @available(*, unavailable, message: "it decodes objects of any class; use secureUnarchiveFromDataTransformerName")
  public static var unarchiveFromDataTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSUnarchiveFromData")
  }
  /// Absent: it decodes objects of any class.
  @available(*, unavailable, message: "it decodes objects of any class; use secureUnarchiveFromDataTransformerName")
  public static var keyedUnarchiveFromDataTransformerName: NSValueTransformerName {
    NSValueTransformerName("NSKeyedUnarchiveFromData")
  }
}
