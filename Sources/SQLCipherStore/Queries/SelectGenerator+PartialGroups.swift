import ObjectModel
import ObjectQuery
import ObjectStore

extension SelectGenerator {
  /// Partial groups: one for the objects with the same destination. Those whose destinations have equal values are combined later.
  ///
  /// There are few destinations, and their keys are in the objects' own rows. So objects are neither joined with destinations nor sorted by
  /// their texts.
  struct PartialGroups {
    /// The columns of each partial group.
    let selected: SQLFragment
    /// The grouping key of the objects.
    let key: SQLFragment
    /// The partial groups as rows. Paths to the destinations' values start from them as from the objects.
    let scope: QueryScope
  }

  /// Returns the partial groups of a fetch, or `nil` if it cannot use them. Sets the generator's aggregates to those computed from partial
  /// groups.
  func groupParts(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ scope: QueryScope, _ generator: QueryGenerator
  ) throws -> PartialGroups? {
    guard specification.resultType == .dictionaries, let projection = fetch.projection, projection.having == .constant(true),
      let step = commonStep(of: projection, fetch),
      let column = scope.table.column(entity: step.relationship.sourceEntity, slot: step.relationship.index)
    else { return nil }
    let alias = generator.makeAlias("g")
    var fragments: [SQLFragment] = ["\(scope.alias).\(column.name) AS \(column.name)"]
    var combined: [SQLFragment] = []
    for aggregate in projection.aggregates {
      let first = fragments.count
      guard let parts = try generator.groupParts(aggregate, [scope]) else { return nil }
      fragments += parts.enumerated().map { "\($0.element) AS p\(first + $0.offset)" }
      combined.append(generator.groupAggregate(aggregate, ofParts: parts.indices.map { "\(alias).p\(first + $0)" }))
    }
    generator.groupAggregates = combined
    // The unary plus disables the index, which would be used for a lookup of every row.
    return PartialGroups(
      selected: .joined(fragments, by: ", "), key: "+\(scope.alias).\(column.name)",
      scope: QueryScope(table: scope.table, alias: alias, of: fetch.entity.number))
  }

  /// Returns the to-one relationship through which all non-aggregates are read, if many objects share a destination.
  private func commonStep(of projection: ResolvedProjection, _ fetch: ResolvedFetch) -> ResolvedStep? {
    guard !projection.aggregates.isEmpty, let first = projection.groupKeys.first, let step = Self.firstStep(of: first),
      schema.model.inverse(of: step.relationship)?.isToMany ?? false
    else { return nil }
    let others = projection.groupKeys.dropFirst() + projection.columns.map(\.expression) + fetch.sortKeys.map(\.expression)
    let isCommon = others.allSatisfy { expression in
      if case .groupAggregate = expression { return true }
      return Self.firstStep(of: expression) == step
    }
    return isCommon ? step : nil
  }

  private static func firstStep(of expression: ResolvedExpression) -> ResolvedStep? {
    guard case .path(let path) = expression, path.scope == 0, case .attribute = path.terminal else { return nil }
    return path.steps.first
  }
}

extension QueryGenerator {
  /// Returns the columns of a partial group from which a group's aggregate is computed, or `nil` if it needs the objects.
  fileprivate func groupParts(_ aggregate: ResolvedGroupAggregate, _ scopes: [QueryScope]) throws -> [SQLFragment]? {
    guard !aggregate.isDistinct else { return nil }
    guard let expression = aggregate.value else { return ["count(*)"] }
    guard case .path = expression else { return nil }
    return SQLFunctions.parts(of: aggregate.function, try value(expression, scopes), expression.type, sums)
  }

  /// Returns a group's aggregate, computed from those of its partial groups.
  fileprivate func groupAggregate(_ aggregate: ResolvedGroupAggregate, ofParts parts: [SQLFragment]) -> SQLFragment {
    let result = SQLFunctions.aggregate(aggregate.function, ofParts: parts, sums)
    let empty = aggregate.emptyResult
    return aggregate.function == .count || empty.isNull ? result : "coalesce(\(result), \(SQLLiteral.text(empty)))"
  }
}

extension SQLFunctions {
  /// Returns the partial aggregates from which an aggregate of a column is computed, or `nil` if it needs the rows.
  fileprivate static func parts(
    of function: ResolvedAggregate.Function, _ value: SQLFragment, _ type: ResolvedType, _ sums: IntegerSums
  ) -> [SQLFragment]? {
    switch function {
    case .count: return ["count(\(value))"]
    case .minimum: return ["min(\(value))"]
    case .maximum: return ["max(\(value))"]
    case .sum, .average: return type == .integer || type == .boolean ? integerParts(function, value, sums) : nil
    case .median, .mode, .standardDeviation, .only: return nil
    }
  }

  fileprivate static func aggregate(
    _ function: ResolvedAggregate.Function, ofParts parts: [SQLFragment], _ sums: IntegerSums
  ) -> SQLFragment {
    switch function {
    case .minimum: "min(\(parts[0]))"
    case .maximum: "max(\(parts[0]))"
    case .count: "sum(\(parts[0]))"
    default: integerAggregate(function, parts.map { "sum(\($0))" }, sums)
    }
  }
}
