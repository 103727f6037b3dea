// NSExpressionDescription: computed values of dictionary results as objects.
import Foundation
import ObjectModel
import ObjectQuery

/// A computed value of dictionary results, under a name.
public final class NSExpressionDescription: NSPropertyDescription {
  /// What is computed.
  public var expression: NSExpression?
  /// The type of the values; the expression's own where it is ``NSAttributeType/undefinedAttributeType``.
  public var expressionResultType = NSAttributeType.undefinedAttributeType
  /// The type of the values, by its short name.
  public var resultType: NSAttributeDescription.AttributeType {
    get { NSAttributeDescription.AttributeType(rawValue: expressionResultType.rawValue) }
    set { expressionResultType = NSAttributeType(rawValue: newValue.rawValue) ?? .undefinedAttributeType }
  }

  /// A computed value without a name.
  public override init() {}

  /// The value by itself.
  public override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSExpressionDescription()
    (copy.name, copy.expression, copy.expressionResultType) = (name, expression, expressionResultType)
    return copy
  }

  func property() throws -> FetchProperty {
    guard let expression else { throw FetchRequestError.missingExpression(name) }
    return .expression(
      ExpressionDescription(
        name: name, expression: try expression.outcome.get(),
        resultType: expressionResultType == .undefinedAttributeType ? nil : expressionResultType.type))
  }
}
