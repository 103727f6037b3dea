import ObjectModel
import ObjectQuery
import ObjectStore

extension QueryGenerator {
  /// Returns the value of an expression; NULL if it has none. The value of an object is its key.
  func value(_ expression: ResolvedExpression, _ scopes: [QueryScope]) throws -> SQLFragment {
    switch expression {
    case .constant(let number, _):
      switch constants {
      case .placeholders: return SQLFragment(.constant(number))
      // In a subquery: SQLite compares each call with constant arguments with all previous ones, which takes quadratic time.
      case .packed: return "(SELECT \(PackedConstants.function)(?1, \(number)))"
      case .literals(let values):
        if case .slot(let slot) = values[number] { return SQLFragment(SQLLiteral.text(slot)) }
        return "NULL"
      }
    case .path(let path):
      guard let text = text(of: path, scopes[path.scope]) else { return "NULL" }
      return SQLFragment(isLarge(path) ? "\(SQLFunctions.data)(\(text))" : text)
    case .groupAggregate(let number, _): return groupAggregates[number]
    case .aggregate(let aggregate):
      if let joinedCount, joinedCount.aggregate == aggregate, let column = joinedCount.column { return SQLFragment(column) }
      return try self.aggregate(aggregate, scopes)
    case .function where isIndexed(expression): return try indexedValue(expression, scopes)
    case .function(let function, let arguments, let type):
      let values = SQLFragment.joined(try arguments.map { try value($0, scopes) }, by: ", ")
      switch function {
      // The unary plus prevents the use of an index.
      case .noIndex: return "+\(values)"
      case .coalesce: return "coalesce(\(values))"
      case .random, .randomBelow: return "\(SQLFunctions.random)(\(values))"
      default: return "\(SQLFunctions.applyCall(function, type))\(values))"
      }
    case .conditional(let condition, let first, let second):
      let (first, second) = (try value(first, scopes), try value(second, scopes))
      return "(CASE WHEN \(try self.condition(condition, scopes)) THEN \(first) ELSE \(second) END)"
    }
  }

  /// Returns whether an index contains an expression.
  func isIndexed(_ expression: ResolvedExpression) -> Bool {
    if case .literals = constants { return false }
    return schema.indexedExpressions.contain(expression)
  }

  /// Returns an expression exactly as its index contains it.
  func indexedValue(_ expression: ResolvedExpression, _ scopes: [QueryScope]) throws -> SQLFragment {
    guard case .function(let function, let arguments, let type) = expression else { return try value(expression, scopes) }
    let values = SQLFragment.joined(try arguments.map { try indexedValue($0, scopes) }, by: ", ")
    return function == .coalesce ? "coalesce(\(values))" : "\(SQLFunctions.indexedCall(function, type))\(values))"
  }

  /// Returns a value that is only tested for NULL. Values in files are not read for that.
  func presence(_ expression: ResolvedExpression, _ scopes: [QueryScope]) throws -> SQLFragment {
    guard case .path(let path) = expression else { return try value(expression, scopes) }
    return SQLFragment(text(of: path, scopes[path.scope]) ?? "NULL")
  }

  private func isLarge(_ path: ResolvedPath) -> Bool {
    guard schema.hasExternalValues, case .attribute(let attribute) = path.terminal else { return false }
    return attribute.slot.canBeLarge
  }

  private func text(of path: ResolvedPath, _ scope: QueryScope) -> String? {
    switch path.terminal {
    case .attribute(let attribute):
      scope.column(path.steps, entity: attribute.slot.declaringEntity, slot: attribute.slot.index, in: self)
    case .object: scope.key(path.steps, in: self)
    case .entity: scope.entity(path.steps, in: self)
    }
  }

  /// Returns the root entity of an object expression, or `nil` if the expression is not a path.
  func root(of expression: ResolvedExpression, _ scopes: [QueryScope]) -> Int? {
    switch expression {
    case .path(let path):
      guard let last = path.steps.last else { return scopes[path.scope].table.root.number }
      return schema.model.entities[last.relationship.destinationEntity].root
    case .conditional(_, let first, let second): return root(of: first, scopes) ?? root(of: second, scopes)
    case .function(_, let arguments, _): return arguments.lazy.compactMap { self.root(of: $0, scopes) }.first
    case .aggregate(let aggregate):
      guard let value = aggregate.value else { return nil }
      if case .path(let path) = value, path.steps.isEmpty, path.scope == aggregate.collection.memberScope {
        return schema.model.entities[aggregate.collection.relationship.relationship.destinationEntity].root
      }
      return root(of: value, scopes)
    case .constant, .groupAggregate: return nil
    }
  }

  private func aggregate(_ aggregate: ResolvedAggregate, _ scopes: [QueryScope]) throws -> SQLFragment {
    let collection = aggregate.collection
    let required = aggregate.value.map { Self.requiredSteps(of: $0, scope: collection.memberScope) } ?? []
    let query = try members(
      of: collection, where: aggregate.condition, scopes, required: required,
      select: { inner in
        guard let expression = aggregate.value else { return "count(*)" }
        guard aggregate.function != .only else { return try self.value(expression, inner) }
        return try self.aggregate(aggregate.function, of: expression, inner)
      })
    let empty = aggregate.function.emptyResult(of: aggregate.value?.type ?? .integer)
    guard let query else { return SQLFragment(SQLLiteral.text(empty)) }
    guard let value = aggregate.value, !empty.isNull, !SQLFunctions.returnsEmptyResult(aggregate.function, value.type) else {
      return "(\(query.text))"
    }
    return "coalesce((\(query.text)), \(SQLLiteral.text(empty)))"
  }

  /// Returns an aggregate over the objects of a group.
  func groupAggregate(_ aggregate: ResolvedGroupAggregate, _ scopes: [QueryScope]) throws -> SQLFragment {
    guard let expression = aggregate.value else { return "count(*)" }
    let result = try self.aggregate(aggregate.function, of: expression, isDistinct: aggregate.isDistinct, scopes)
    let empty = aggregate.emptyResult
    let isWhole = aggregate.function == .count || SQLFunctions.returnsEmptyResult(aggregate.function, expression.type)
    return isWhole || empty.isNull ? result : "coalesce(\(result), \(SQLLiteral.text(empty)))"
  }

  private func aggregate(
    _ function: ResolvedAggregate.Function, of expression: ResolvedExpression, isDistinct: Bool = false, _ scopes: [QueryScope]
  ) throws -> SQLFragment {
    let isColumn: Bool
    if case .path = expression { isColumn = true } else { isColumn = false }
    let value = try self.value(expression, scopes)
    return SQLFunctions.aggregate(function, value, expression.type, isColumn: isColumn, isDistinct: isDistinct, sums: sums)
  }
}
