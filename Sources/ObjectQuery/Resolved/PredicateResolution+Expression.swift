// PredicateResolution+Expression: makes operands of expressions.
import Foundation
import ObjectModel

/// A side of a comparison before the other side has decided its type.
indirect enum Operand {
  /// A value whose type the other side decides.
  case constant(FetchConstant)
  /// An expression, with what to call it in errors.
  case expression(ResolvedExpression, name: String)
  /// A list, for IN and BETWEEN.
  case list([Operand])

  /// What to call it in errors.
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
  /// The operand that an expression is. Recursion is bounded by ``PredicateDepth``.
  mutating func operand(_ expression: FetchExpression) throws(FetchPredicateError) -> Operand {
    switch expression {
    case .constant(.list(let items)): return .list(items.map { .constant($0) })
    case .constant(let value): return .constant(value)
    case .aggregate(let items):
      var operands: [Operand] = []
      for item in items { operands.append(try operand(item)) }
      return .list(operands)
    case .function(let name, let arguments): return try function(name, arguments)
    case .conditional(let condition, let first, let second): return try conditional(condition, first, second)
    case .element(let collection, .size):
      return .expression(
        .aggregate(ResolvedAggregate(function: .count, collection: try resolveCollection(collection))), name: describe(expression))
    case .element:
      throw .unsupported(part: "An index into a collection", advice: "Use ANY or a SUBQUERY on the collection.")
    case .subquery:
      throw .unsupported(part: "A SUBQUERY by itself", advice: "Compare its .@count, as in SUBQUERY(...).@count > 0.")
    case .path(.subquery(let collection, let variable, let condition), let names):
      return try subquery(collection, variable, condition, names)
    case .variable(let name) where variables[name] == nil: throw .unsubstitutedVariable(name: name)
    case .evaluatedObject, .keyPath, .variable, .path:
      guard let (names, scope) = base(of: expression) else {
        if let name = unboundVariable(in: expression) { throw .unsubstitutedVariable(name: name) }
        throw .unsupported(part: "A key path from such an expression", advice: "Start the path at the object or at a SUBQUERY's variable.")
      }
      return .expression(try resolvePath(names, scope: scope, allowsToMany: false).value, name: describe(expression))
    }
  }

  private func unboundVariable(in expression: FetchExpression) -> String? {
    switch expression {
    case .variable(let name): variables[name] == nil ? name : nil
    case .path(let inner, _): unboundVariable(in: inner)
    default: nil
    }
  }

  private mutating func subquery(
    _ collection: FetchExpression, _ variable: String, _ condition: FetchPredicate, _ names: [String]
  ) throws(FetchPredicateError) -> Operand {
    let collection = try resolveCollection(collection)
    let outer = variables[variable]
    scopes.append(model.entities[collection.relationship.relationship.destinationEntity])
    variables[variable] = collection.memberScope
    defer {
      scopes.removeLast()
      variables[variable] = outer
    }
    let resolved = try resolve(condition, isNegated: false)
    guard let name = names.first, let function = PredicateResolution.collectionOperators[name.lowercased()] else {
      throw .unsupported(part: "A key behind SUBQUERY", advice: "Use @count, or @sum, @avg, @min or @max with a key.")
    }
    // The aggregate opens the member's scope itself.
    let entity = scopes.removeLast()
    defer { scopes.append(entity) }
    let value = try aggregate(
      function, names: Array(names.dropFirst()), of: collection, condition: resolved, keyPath: names.joined(separator: "."))
    return .expression(value, name: "SUBQUERY(...)." + names.joined(separator: "."))
  }

  private mutating func conditional(
    _ condition: FetchPredicate, _ first: FetchExpression, _ second: FetchExpression
  ) throws(FetchPredicateError) -> Operand {
    let condition = try resolve(condition, isNegated: false)
    let (first, second) = (try operand(first), try operand(second))
    let name = "TERNARY"
    var (left, right): (ResolvedExpression, ResolvedExpression)
    switch (first, second) {
    case (.expression(let one, _), .expression(let two, _)): (left, right) = (one, two)
    case (.expression(let one, _), .constant(let value)): (left, right) = (one, try constantExpression(value, like: one, name: name))
    case (.constant(let value), .expression(let two, _)): (left, right) = (try constantExpression(value, like: two, name: name), two)
    case (.constant(let one), .constant(let two)):
      if one.isNull {
        right = try constantExpression(two)
        left = try constantExpression(one, like: right, name: name)
      } else {
        left = try constantExpression(one)
        right = try constantExpression(two, like: left, name: name)
      }
    default: throw .unsupported(part: "A list in TERNARY", advice: "Choose between single values.")
    }
    guard left.type == right.type else {
      throw .typeMismatch(expression: "A side of TERNARY", type: left.type.name, other: "the other, which is of type \(right.type.name)")
    }
    return .expression(.conditional(condition, left, right), name: name)
  }

  /// What to call an expression in errors: its keys, never a value.
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
    case .element(let base, _): describe(base) + "[...]"
    }
  }
}
