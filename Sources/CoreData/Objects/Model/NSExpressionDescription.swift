import Foundation
import ObjectModel
import ObjectQuery

/// A named computed value in dictionary results.
public final class NSExpressionDescription: NSPropertyDescription {
  /// The expression to evaluate.
  public var expression: NSExpression?
  /// The type of the values; ``NSAttributeType/undefinedAttributeType`` for the expression's own type.
  public var expressionResultType = NSAttributeType.undefinedAttributeType
  /// The type of the values, by its short name.
  public var resultType: NSAttributeDescription.AttributeType {
    get { NSAttributeDescription.AttributeType(rawValue: expressionResultType.rawValue) }
    set { expressionResultType = NSAttributeType(rawValue: newValue.rawValue) ?? .undefinedAttributeType }
  }

  /// Creates a description without a name.
  public override init() {}

  /// Returns a copy that belongs to no entity.
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
