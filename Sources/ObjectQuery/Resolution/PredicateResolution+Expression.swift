import Foundation
import ObjectModel

/// A side of a comparison before the other side has determined its type.
indirect enum Operand {
  /// A value whose type the other side determines.
  case constant(FetchConstant)
  /// An expression with its name in errors.
  case expression(ResolvedExpression, name: String)
  /// A list, for IN and BETWEEN.
  case list([Operand])

  var name: String {
    switch self {
    case .constant(let value): value.typeName
    case .expression(_, let name): name
    case .list: "a list"
    }
  }

  var isText: Bool {
    switch self {
    case .constant(.string): true
    case .expression(let expression, _): expression.type == .text || expression.type == .uri
    default: false
    }
  }
}

extension PredicateResolution {
  /// Returns the operand for an expression. ``PredicateDepth`` bounds the recursion.
  mutating func operand(_ expression: FetchExpression) throws(FetchPredicateError) -> Operand {
    let operand = try makeOperand(of: expression)
    if scopes.count == 1, case .expression(let resolved, _) = operand { sources?.record(resolved, expression) }
    return operand
  }

  private mutating func makeOperand(of expression: FetchExpression) throws(FetchPredicateError) -> Operand {
    switch expression {
    case .constant(.list(let items)):
      for case .inMemory(let value) in items { throw .inMemoryValue(type: value.typeName) }
      return .list(items.map { .constant($0) })
    case .constant(.inMemory(let value)): throw .inMemoryValue(type: value.typeName)
    case .constant(let value): return .constant(value)
    case .aggregate(let items):
      var operands: [Operand] = []
      for item in items { operands.append(try operand(item)) }
      return .list(operands)
    case .function(let name, let arguments): return try function(name, arguments)
    case .conditional(let condition, let first, let second): return try conditional(condition, first, second)
    case .subquery:
      throw .unsupported(part: "A SUBQUERY by itself", advice: "Compare its .@count, as in SUBQUERY(...).@count > 0.")
    case .path(.subquery(let collection, let variable, let condition), let names):
      return try subquery(collection, variable, condition, names)
    case .element(.subquery(let collection, let variable, let condition), .size):
      return try subquery(collection, variable, condition, ["@count"])
    case .variable(let name) where variables[name] == nil: throw .unsubstitutedVariable(name: name)
    case .evaluatedObject, .keyPath, .variable, .path, .element:
      guard let (parts, scope) = base(of: expression) else {
        if let name = unboundVariable(in: expression) { throw .unsubstitutedVariable(name: name) }
        throw .unsupported(
          part: "A key path or an index after \(describe(startOf: expression))",
          advice: "Start the path at the object or at a SUBQUERY's variable.")
      }
      return .expression(try resolvePath(parts, scope: scope, allowsToMany: false).value, name: describe(expression))
    }
  }

  private func unboundVariable(in expression: FetchExpression) -> String? {
    switch expression {
    case .variable(let name): variables[name] == nil ? name : nil
    case .path(let inner, _), .element(let inner, _): unboundVariable(in: inner)
    default: nil
    }
  }

  /// Returns the name in errors of the start of a path.
  private func describe(startOf expression: FetchExpression) -> String {
    switch expression {
    case .path(let inner, _), .element(let inner, _): describe(startOf: inner)
    default: describe(expression)
    }
  }

  private mutating func subquery(
    _ collection: FetchExpression, _ variable: String, _ condition: FetchPredicate, _ names: [String]
  ) throws(FetchPredicateError) -> Operand {
    guard let name = names.first, let function = PredicateResolution.collectionOperators[name.lowercased()] else {
      throw .unsupported(part: "A key after SUBQUERY", advice: "Use @count, or @sum, @avg, @min or @max with a key.")
    }
    let value = try overCollection(collection) { resolution, collection throws(FetchPredicateError) in
      let outer = resolution.variables[variable]
      resolution.variables[variable] = collection.memberScope
      defer { resolution.variables[variable] = outer }
      let resolved = try resolution.resolve(condition, isNegated: false)
      // The aggregate opens the member's scope itself.
      let entity = resolution.scopes.removeLast()
      defer { resolution.scopes.append(entity) }
      return try resolution.aggregate(
        function, names: Array(names.dropFirst()), of: collection, condition: resolved, keyPath: names.joined(separator: "."))
    }
    return .expression(value, name: "SUBQUERY(...)." + names.joined(separator: "."))
  }

  private mutating func conditional(
    _ condition: FetchPredicate, _ first: FetchExpression, _ second: FetchExpression
  ) throws(FetchPredicateError) -> Operand {
    let condition = try resolve(condition, isNegated: false)
    let (sides, _) = try unified([try operand(first), try operand(second)], of: "TERNARY")
    return .expression(.conditional(condition, sides[0], sides[1]), name: "TERNARY")
  }

  /// Returns the name of an expression in errors: its keys, never a value.
  func describe(_ expression: FetchExpression) -> String {
    switch expression {
    case .constant(let value): value.typeName
    case .evaluatedObject: "SELF"
    case .keyPath(let names): names.joined(separator: ".")
    case .variable(let name): "$\(name)"
    case .path(let base, let names): ([describe(base)] + names).joined(separator: ".")
    case .aggregate: "a list"
    case .function(let name, _): "the function \(name)"
    case .subquery: "SUBQUERY(...)"
    case .conditional: "TERNARY"
    case .element(let base, let index): describe(base) + PredicatePrinter.text(of: index)
    }
  }
}
