import Foundation
import ObjectModel
@_spi(Generated) import ObjectQuery

extension PredicateExpressions.Variable: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode { .expression(try converter.value(of: self)) }
}

extension PredicateExpressions.Value: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    switch value {
    case let operand as any FetchOperand: return .expression(operand.fetchExpression)
    case let constant as any FetchConstantConvertible: return .expression(.constant(constant.fetchConstant))
    case let range as any ConvertibleRange: return range.converted
    case let value as any RawRepresentable: return .expression(try rawExpression(of: value))
    case let text as Substring: return .expression(.constant(.string(String(text))))
    case let character as Character: return .expression(.constant(.string(String(character))))
    case let regex as PredicateExpressions.PredicateRegex: return .expression(.constant(.string(regex.stringRepresentation)))
    default:
      throw FetchPredicateError.unsupported(
        part: "A constant of the type \(Output.self) in a #Predicate",
        advice: "Use the types that attributes have, and an object's objectID.")
    }
  }

  /// Returns the raw value of an enumeration as an expression.
  private func rawExpression(of value: some RawRepresentable) throws -> FetchExpression {
    guard let operand = value.rawValue as? any FetchOperand else {
      throw FetchPredicateError.unsupported(
        part: "A constant of the type \(Output.self) in a #Predicate", advice: "Its raw values must be of a type that attributes have.")
    }
    return operand.fetchExpression
  }
}

extension PredicateExpressions.KeyPath: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let root = try converter.node(root)
    if let kind { return try convert(kind, of: root) }
    guard case .expression(let base) = root else { throw unknown }
    let classes =
      (Root.Output.self as? any TypedManagedObject.Type)?.classTable ?? (Root.Output.self as? any CompositeValue.Type)?.classTable
    guard let keys = classes?.keys(of: keyPath) else { throw unknown }
    // In expressions, the object represents its ID.
    return .expression(keys == ["objectID"] ? base : base.appending(keys))
  }

  private func convert(_ kind: CommonKeyPathKind, of root: ConvertedNode) throws -> ConvertedNode {
    let isText = Root.Output.self == String.self
    switch (kind, root) {
    case (.collectionCount, .expression(let base)) where isText: return .expression(.function("length:", [base]))
    case (.collectionIsEmpty, .expression(let base)) where isText: return .predicate(FetchPredicate(base, .equal, .constant(.string(""))))
    case (.collectionCount, _): return .expression(try collection(root).appending(["@count"]))
    case (.collectionIsEmpty, _):
      return .predicate(FetchPredicate(try collection(root).appending(["@count"]), .equal, .constant(.int(0))))
    case (.collectionFirst, .expression(let base)) where !isText: return .expression(.element(base, .first))
    case (.bidirectionalCollectionLast, .expression(let base)) where !isText: return .expression(.element(base, .last))
    default: throw FoundationPredicateConverter.unsupported(Self.self)
    }
  }

  private func collection(_ node: ConvertedNode) throws -> FetchExpression {
    switch node {
    case .expression(let expression): return expression
    case .members(let collection, let variable, let predicate):
      return .subquery(collection: collection, variable: variable, predicate: predicate)
    default: throw FoundationPredicateConverter.unsupported(Self.self)
    }
  }

  private var unknown: FetchPredicateError {
    .unsupported(
      part: "The key path \(keyPath.debugDescription) of a #Predicate",
      advice: "Use the properties that were generated from the model; filter by others in memory.")
  }
}

// MARK: Arithmetic

extension PredicateExpressions.Arithmetic: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    let name: String =
      switch op {
      case .add: "add:to:"
      case .subtract: "from:subtract:"
      case .multiply: "multiply:by:"
      @unknown default: throw FoundationPredicateConverter.unsupported(Self.self)
      }
    return .expression(.function(name, [try converter.expression(lhs), try converter.expression(rhs)]))
  }
}

extension PredicateExpressions.FloatDivision: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .expression(.function("divide:by:", [try converter.expression(lhs), try converter.expression(rhs)]))
  }
}

extension PredicateExpressions.IntDivision: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .expression(.function("divide:by:", [try converter.expression(lhs), try converter.expression(rhs)]))
  }
}

extension PredicateExpressions.IntRemainder: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .expression(.function("modulus:by:", [try converter.expression(lhs), try converter.expression(rhs)]))
  }
}

extension PredicateExpressions.UnaryMinus: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    .expression(.function("from:subtract:", [.constant(.int(0)), try converter.expression(wrapped)]))
  }
}

// MARK: Text

extension PredicateExpressions.CollectionContainsCollection: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    guard Base.Output.Element.self == Character.self else { throw FoundationPredicateConverter.unsupported(Self.self) }
    return .predicate(FetchPredicate(try converter.expression(base), .contains, try converter.expression(other)))
  }
}

extension PredicateExpressions.SequenceStartsWith: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    guard Base.Output.Element.self == Character.self else { throw FoundationPredicateConverter.unsupported(Self.self) }
    return .predicate(FetchPredicate(try converter.expression(base), .beginsWith, try converter.expression(prefix)))
  }
}

extension PredicateExpressions.StringContainsRegex: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    // MATCHES compares the whole text.
    guard case .constant(.string(let pattern)) = try converter.expression(regex) else {
      throw FoundationPredicateConverter.unsupported(Self.self)
    }
    return .predicate(FetchPredicate(try converter.expression(subject), .matches, .constant(.string("(?s:.*)(?:\(pattern))(?s:.*)"))))
  }
}

// MARK: Classes

extension PredicateExpressions.TypeCheck: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    guard let type = Desired.self as? any TypedManagedObject.Type else { throw FoundationPredicateConverter.unsupported(Self.self) }
    return .predicate(type.isEntity(of: try converter.expression(input)))
  }
}

extension PredicateExpressions.ConditionalCast: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    throw FoundationPredicateConverter.unsupported(Self.self, advice: "Fetch the subentity; a key of its own needs that.")
  }
}

extension PredicateExpressions.ForceCast: ConvertibleNode {
  func convert(_ converter: FoundationPredicateConverter) throws -> ConvertedNode {
    throw FoundationPredicateConverter.unsupported(Self.self, advice: "Fetch the subentity; a key of its own needs that.")
  }
}

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
