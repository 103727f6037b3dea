import Foundation
import ObjectModel
import ObjectQuery

/// The result of converting a node of a Foundation predicate.
enum ConvertedNode {
  /// A condition.
  case predicate(FetchPredicate)
  /// A condition on an optional value. It is undefined unless the second condition holds.
  case optional(FetchPredicate, where: FetchPredicate)
  /// A value, an object, or a collection.
  case expression(FetchExpression)
  /// The members of a collection that match a condition.
  case members(FetchExpression, variable: String, FetchPredicate)
  /// The bounds of a range; `nil` for an open end.
  case range(low: FetchExpression?, high: FetchExpression?, isClosed: Bool)
}

/// A node of a Foundation predicate that can be converted.
protocol ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode
}

/// A converter of Foundation predicates, with the current bindings of variables.
struct FoundationPredicateConverter {
  private var variables: [PredicateExpressions.VariableID: FetchExpression] = [:]
  private var depth = 0

  /// Returns a converter for a closure on a member, and the name of the member's variable in the SUBQUERY.
  func entering<Element>(
    _ variable: PredicateExpressions.Variable<Element>
  ) -> (inner: FoundationPredicateConverter, name: String) {
    var inner = self
    inner.depth += 1
    let name = "x\(inner.depth)"
    inner.variables[variable.key] = .variable(name)
    return (inner, name)
  }

  /// Returns a converter in which a variable is bound to an expression.
  func binding<Element>(
    _ variable: PredicateExpressions.Variable<Element>, to expression: FetchExpression
  ) -> FoundationPredicateConverter {
    var inner = self
    inner.variables[variable.key] = expression
    return inner
  }

  /// Returns the expression that a variable is bound to.
  func value<Element>(of variable: PredicateExpressions.Variable<Element>) throws -> FetchExpression {
    guard let expression = variables[variable.key] else {
      throw FetchPredicateError.unsupported(part: "A variable of another #Predicate", advice: "Use the closure's own parameters.")
    }
    return expression
  }

  // MARK: Nodes

  func node<Node: PredicateExpression>(_ node: Node) throws -> ConvertedNode {
    guard let convertible = node as? any ConvertibleNode else { throw FoundationPredicateConverter.unsupported(Node.self) }
    return try convertible.convert(self)
  }

  /// Converts a node to a condition.
  func predicate<Node: PredicateExpression>(_ node: Node) throws -> FetchPredicate {
    switch try self.node(node) {
    case .predicate(let predicate): return predicate
    case .optional(let predicate, let presence): return presence && predicate
    case .expression(.constant(.bool(let value))): return .constant(value)
    case .expression(let expression): return FetchPredicate(expression, .equal, .constant(.bool(true)))
    case .members, .range: throw FoundationPredicateConverter.unsupported(Node.self)
    }
  }

  /// Converts a node to a value.
  func expression<Node: PredicateExpression>(_ node: Node) throws -> FetchExpression {
    switch try self.node(node) {
    case .expression(let expression): return expression
    case .predicate(let predicate): return .conditional(predicate, .constant(.bool(true)), .constant(.bool(false)))
    case .optional(let predicate, let presence):
      return .conditional(
        presence, .conditional(predicate, .constant(.bool(true)), .constant(.bool(false))), .constant(.null))
    case .members, .range: throw FoundationPredicateConverter.unsupported(Node.self)
    }
  }

  /// Returns the error for a node that cannot be converted.
  static func unsupported<Node>(_ type: Node.Type, advice: String? = nil) -> FetchPredicateError {
    // The type name without generic arguments, which are the nested nodes.
    let name = "\(type)".prefix { $0 != "<" }
    return .unsupported(
      part: "The node \(name) of a #Predicate", advice: advice ?? "Write the condition as a typed closure or in the format language.")
  }
}

extension FetchExpression {
  /// The constants of a constant list; `nil` for other expressions.
  var constants: [FetchConstant]? {
    if case .constant(.list(let items)) = self { return items }
    return nil
  }
}
