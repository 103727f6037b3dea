// PredicateResolution+Function: the functions of expressions and their types.
import Foundation
import ObjectModel

extension PredicateResolution {
  /// A function of arguments as an operand.
  mutating func function(_ name: String, _ arguments: [FetchExpression]) throws(FetchPredicateError) -> Operand {
    let described = "the function \(name)"
    if name == "now" || name == "now:" { return .constant(.date(now)) }
    if name == "noindex:", arguments.count == 1 { return try operand(arguments[0]) }
    if let aggregate = PredicateResolution.aggregateFunctions[name], arguments.count == 1 {
      return .expression(try collectionFunction(aggregate, of: arguments[0], name: name), name: described)
    }
    guard let function = ResolvedFunction(rawValue: name) else {
      throw .unsupported(
        part: described, advice: "Use arithmetic, abs, sqrt, uppercase, lowercase, length and the like, or filter in memory.")
    }
    guard arguments.count == function.argumentCount else {
      throw .unsupported(part: "\(arguments.count) arguments of \(described)", advice: "It takes \(function.argumentCount).")
    }
    var operands: [Operand] = []
    for argument in arguments { operands.append(try operand(argument)) }
    // A constant follows the type of the expression beside it.
    let model = operands.lazy.compactMap { if case .expression(let expression, _) = $0 { expression } else { nil } }.first
    var resolved: [ResolvedExpression] = []
    for operand in operands {
      switch operand {
      case .expression(let expression, _): resolved.append(expression)
      case .constant(let value):
        if let model, model.type == .decimal, value.isNumber {
          resolved.append(try constantExpression(value, like: model, name: described))
        } else {
          resolved.append(try constantExpression(value))
        }
      case .list: throw .unsupported(part: "A list as argument of \(described)", advice: "Give it single values.")
      }
    }
    guard let type = function.type(of: resolved.map(\.type)) else {
      let types = resolved.map(\.type.name).joined(separator: " and ")
      throw .operatorNotSupported(op: name, expression: operands.map(\.name).joined(separator: " and "), type: types)
    }
    return .expression(.function(function, resolved, type), name: described)
  }

  private static let aggregateFunctions: [String: ResolvedAggregate.Function] = [
    "count:": .count, "sum:": .sum, "average:": .average, "min:": .minimum, "max:": .maximum,
  ]

  /// `sum(books.price)` and its like: an aggregate of a path through one to-many relationship.
  private mutating func collectionFunction(
    _ function: ResolvedAggregate.Function, of expression: FetchExpression, name: String
  ) throws(FetchPredicateError) -> ResolvedExpression {
    guard let (names, scope) = base(of: expression) else {
      throw .unsupported(part: "The function \(name) of such an expression", advice: "Give it a path through a to-many relationship.")
    }
    let scopeCount = scopes.count
    let path = try resolvePath(names, scope: scope, allowsToMany: true)
    scopes.removeSubrange(scopeCount...)
    guard path.collections.count == 1 else {
      throw .unsupported(
        part: "The function \(name) of \(describe(expression))", advice: "Give it a path through one to-many relationship.")
    }
    if function == .count { return .aggregate(ResolvedAggregate(function: .count, collection: path.collections[0])) }
    guard path.value.type.isNumeric || ((function == .minimum || function == .maximum) && [.text, .uri, .date].contains(path.value.type))
    else { throw .operatorNotSupported(op: name, expression: describe(expression), type: path.value.type.name) }
    return .aggregate(ResolvedAggregate(function: function, collection: path.collections[0], value: path.value))
  }
}

extension ResolvedFunction {
  /// How many arguments it takes.
  package var argumentCount: Int {
    switch self {
    case .add, .subtract, .multiply, .divide, .modulus, .power, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift: 2
    default: 1
    }
  }

  /// The type of its result for arguments of types; nil when it does not take them.
  func type(of types: [ResolvedType]) -> ResolvedType? {
    switch self {
    case .add, .subtract, .multiply, .divide:
      if types[0] == .date, self == .subtract, types[1] == .date { return .real }
      if types[0] == .date, self == .add || self == .subtract, types[1].isNumeric, types[1] != .decimal { return .date }
      guard types.allSatisfy(\.isNumeric) else { return nil }
      if types.contains(.real) { return .real }
      return types.contains(.decimal) ? .decimal : .integer
    case .modulus, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement:
      return types.allSatisfy { $0 == .integer || $0 == .boolean } ? .integer : nil
    case .power, .squareRoot, .naturalLogarithm, .commonLogarithm, .exponential:
      return types.allSatisfy(\.isNumeric) ? .real : nil
    case .absolute, .ceiling, .floor, .truncate:
      guard types[0].isNumeric else { return nil }
      return types[0] == .boolean ? .integer : types[0]
    case .uppercase, .lowercase, .canonical: return types[0] == .text || types[0] == .uri ? .text : nil
    case .length: return types[0] == .text || types[0] == .uri ? .integer : nil
    }
  }
}
