import Foundation
import ObjectModel
import ObjectQuery

// MARK: Ranges

/// A range that a predicate captures as a constant.
protocol ConvertibleRange {
  var converted: ConvertedNode { get }
}

extension ClosedRange: ConvertibleRange where Bound: FetchOperand {
  var converted: ConvertedNode { .range(low: lowerBound.fetchExpression, high: upperBound.fetchExpression, isClosed: true) }
}
extension Range: ConvertibleRange where Bound: FetchOperand {
  var converted: ConvertedNode { .range(low: lowerBound.fetchExpression, high: upperBound.fetchExpression, isClosed: false) }
}
extension PartialRangeFrom: ConvertibleRange where Bound: FetchOperand {
  var converted: ConvertedNode { .range(low: lowerBound.fetchExpression, high: nil, isClosed: true) }
}
extension PartialRangeThrough: ConvertibleRange where Bound: FetchOperand {
  var converted: ConvertedNode { .range(low: nil, high: upperBound.fetchExpression, isClosed: true) }
}
extension PartialRangeUpTo: ConvertibleRange where Bound: FetchOperand {
  var converted: ConvertedNode { .range(low: nil, high: upperBound.fetchExpression, isClosed: false) }
}

extension PredicateExpressions.ClosedRange: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .range(low: try converter.expression(lower), high: try converter.expression(upper), isClosed: true)
  }
}

extension PredicateExpressions.Range: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .range(low: try converter.expression(lower), high: try converter.expression(upper), isClosed: false)
  }
}

extension PredicateExpressions.RangeExpressionContains: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    guard case .range(let low, let high, let isClosed) = try converter.node(range) else {
      throw FoundationPredicateConverter.unsupported(Self.self)
    }
    let element = try converter.expression(element)
    if let low, let high, isClosed { return .predicate(FetchPredicate(element, .between, .list([low, high]))) }
    let bounds = [
      low.map { FetchPredicate(element, .greaterOrEqual, $0) }, high.map { FetchPredicate(element, isClosed ? .lessOrEqual : .less, $0) },
    ].compactMap(\.self)
    return .predicate(bounds.count == 1 ? bounds[0] : .and(bounds))
  }
}

// MARK: Members

extension PredicateExpressions.SequenceContains: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let (sequence, element) = (try converter.node(sequence), try converter.expression(element))
    switch sequence {
    case .expression(let text) where LHS.Output.self == String.self: return .predicate(FetchPredicate(text, .contains, element))
    case .expression(let list): return .predicate(FetchPredicate(element, .in, list))
    case .members(let collection, let variable, let condition):
      return .predicate(
        .count(collection, variable, condition && FetchPredicate(.variable(variable), .equal, element), .greater))
    default: throw FoundationPredicateConverter.unsupported(Self.self)
    }
  }
}

extension PredicateExpressions.SequenceContainsWhere: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let sequence = try converter.node(sequence)
    if case .expression(let list) = sequence, let items = list.constants {
      return .predicate(.or(try items.map { try converter.binding(variable, to: .constant($0)).predicate(test) }))
    }
    let (collection, name, condition) = try converter.members(of: sequence, variable, test)
    return .predicate(.count(collection, name, condition, .greater))
  }
}

extension PredicateExpressions.SequenceAllSatisfy: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let sequence = try converter.node(sequence)
    if case .expression(let list) = sequence, let items = list.constants {
      return .predicate(.and(try items.map { try converter.binding(variable, to: .constant($0)).predicate(test) }))
    }
    let (collection, name, condition) = try converter.members(of: sequence, variable, test, isNegated: true)
    return .predicate(.count(collection, name, condition, .equal))
  }
}

extension PredicateExpressions.Filter: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let (collection, name, condition) = try converter.members(of: try converter.node(sequence), variable, filter)
    return .members(collection, variable: name, condition)
  }
}

extension PredicateExpressions.SequenceMinimum: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .expression(.function("min:", [try converter.expression(elements)]))
  }
}

extension PredicateExpressions.SequenceMaximum: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .expression(.function("max:", [try converter.expression(elements)]))
  }
}

extension PredicateExpressions.CollectionIndexSubscript: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    guard case .constant(.int(let position)) = try converter.expression(index) else {
      throw FoundationPredicateConverter.unsupported(Self.self)
    }
    return .expression(.element(try converter.expression(wrapped), .at(Int(position))))
  }
}

extension FoundationPredicateConverter {
  /// Returns the members of a collection that match a condition, in addition to the condition that the collection already has.
  fileprivate func members<Element, Test: PredicateExpression>(
    of sequence: ConvertedNode, _ variable: PredicateExpressions.Variable<Element>, _ test: Test, isNegated: Bool = false
  ) throws -> (collection: FetchExpression, variable: String, condition: FetchPredicate) {
    let (inner, name) = entering(variable)
    switch sequence {
    case .expression(let collection):
      let condition = try inner.predicate(test)
      return (collection, name, isNegated ? !condition : condition)
    case .members(let collection, let other, let known):
      // Both conditions use the same variable.
      let condition = try binding(variable, to: .variable(other)).predicate(test)
      return (collection, other, known && (isNegated ? !condition : condition))
    default: throw FoundationPredicateConverter.unsupported(Test.self)
    }
  }
}

extension FetchPredicate {
  /// Returns a comparison of the number of members that match a condition with 0.
  fileprivate static func count(
    _ collection: FetchExpression, _ variable: String, _ condition: FetchPredicate, _ op: ComparisonOperator
  ) -> FetchPredicate {
    FetchPredicate(
      .path(.subquery(collection: collection, variable: variable, predicate: condition), ["@count"]), op, .constant(.int(0)))
  }
}
