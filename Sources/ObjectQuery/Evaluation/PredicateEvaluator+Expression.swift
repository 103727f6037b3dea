import Foundation
import ObjectModel

extension PredicateEvaluator {
  /// Returns the value of an expression that is not an object. Recursion follows the resolved tree.
  func value(of expression: ResolvedExpression, _ scopes: inout [Resolver.Object]) throws -> Slot {
    switch expression {
    case .constant(let number, _):
      guard case .slot(let slot) = constants[number] else { return .null }
      return slot
    case .path(let path):
      guard let object = try follow(path.steps, from: scopes[path.scope]) else { return .null }
      switch path.terminal {
      case .attribute(let attribute): return try resolver.value(of: object, slot: attribute.slot.index)
      case .entity: return .int(Int64(resolver.entity(of: object).number))
      case .object: return .int(resolver.objectID(of: object).key)
      }
    case .groupAggregate(let number, _): return groupValues.indices.contains(number) ? groupValues[number] : .null
    case .aggregate(let aggregate): return try value(of: aggregate, &scopes)
    case .function(let function, let arguments, let type):
      var values: [Slot] = []
      for argument in arguments {
        let value = try value(of: argument, &scopes)
        if SlotComparison.isMissing(value) {
          guard function.takesMissingValues else { return .null }
        } else if function == .coalesce {
          return value
        }
        values.append(value)
      }
      return ExpressionFunctions.apply(function, values, type)
    case .conditional(let condition, let first, let second):
      return try evaluate(condition, &scopes) ? value(of: first, &scopes) : value(of: second, &scopes)
    }
  }

  private func value(of aggregate: ResolvedAggregate, _ scopes: inout [Resolver.Object]) throws -> Slot {
    let members = try members(of: aggregate.collection, &scopes)
    if case .constant(true) = aggregate.condition, aggregate.function == .count { return .int(Int64(members.count)) }
    var statistic = Statistic(aggregate.function)
    for member in members {
      scopes.append(member)
      defer { scopes.removeLast() }
      guard try evaluate(aggregate.condition, &scopes) else { continue }
      // A member counts regardless of its values.
      statistic.add(try aggregate.value.map { try value(of: $0, &scopes) } ?? .int(1))
    }
    return statistic.isEmpty ? aggregate.function.emptyResult(of: aggregate.value?.type ?? .integer) : statistic.result
  }
}
