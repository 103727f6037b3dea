/// The limit of nesting, which keeps recursion over predicates from exhausting the stack.
package enum PredicateDepth {
  /// The maximum number of levels in a predicate, including its expressions.
  package static let limit = 100

  private enum Node {
    case predicate(FetchPredicate)
    case expression(FetchExpression)
    case constant(FetchConstant)
  }

  /// Throws ``FetchPredicateError/nestingTooDeep(limit:)`` if a predicate is nested too deep. Uses no recursion.
  package static func check(_ predicate: FetchPredicate) throws(FetchPredicateError) {
    guard depth(of: .predicate(predicate)) <= limit else { throw .nestingTooDeep(limit: limit) }
  }

  /// Returns whether an expression is nested within the limit.
  package static func allows(_ expression: FetchExpression) -> Bool { depth(of: expression) <= limit }

  /// Returns the number of levels in an expression; more than ``limit`` if it is nested too deep.
  static func depth(of expression: FetchExpression) -> Int { depth(of: .expression(expression)) }

  private static func depth(of root: Node) -> Int {
    var stack = [(node: root, depth: 1)]
    var maximum = 1
    while let (node, depth) = stack.popLast() {
      maximum = max(maximum, depth)
      guard depth <= limit else { return depth }
      func push(_ node: Node) { stack.append((node, depth + 1)) }
      func pushLists(_ items: [FetchConstant]) {
        for case .list(let inner) in items { push(.constant(.list(inner))) }
      }
      switch node {
      case .constant(.list(let items)): pushLists(items)
      case .constant: break
      case .predicate(.constant), .predicate(.block): break
      case .predicate(.and(let items)), .predicate(.or(let items)): items.forEach { push(.predicate($0)) }
      case .predicate(.not(let item)): push(.predicate(item))
      case .predicate(.comparison(let comparison)):
        push(.expression(comparison.left))
        push(.expression(comparison.right))
      case .expression(let expression):
        switch expression {
        case .constant(.list(let items)): pushLists(items)
        case .constant: break
        case .evaluatedObject, .keyPath, .variable: break
        case .path(let base, _), .element(let base, _): push(.expression(base))
        case .aggregate(let items), .function(_, let items): items.forEach { push(.expression($0)) }
        case .subquery(let collection, _, let condition):
          push(.expression(collection))
          push(.predicate(condition))
        case .conditional(let condition, let first, let second):
          push(.predicate(condition))
          push(.expression(first))
          push(.expression(second))
        }
      }
    }
    return maximum
  }
}
