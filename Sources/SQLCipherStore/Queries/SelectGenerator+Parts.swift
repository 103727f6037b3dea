import ObjectModel
import ObjectQuery
import ObjectStore

extension SelectGenerator {
  /// What is taken of the objects that have one destination, before those whose destinations have equal values are put together.
  ///
  /// There are few destinations, and their keys are in the objects' own rows: so no object is joined to a destination, and none is sorted by its texts.
  struct GroupParts {
    /// What is selected of each part.
    let selected: SQLFragment
    /// What the objects of a part have in common.
    let key: SQLFragment
    /// The parts as rows, from which the destinations' values are reached as they are from the objects.
    let scope: QueryScope
  }

  /// The parts of a fetch's groups; nil where it has no such groups. The generator knows the aggregates by the parts then.
  func groupParts(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ scope: QueryScope, _ generator: QueryGenerator
  ) throws -> GroupParts? {
    guard specification.resultType == .dictionaries, let projection = fetch.projection, projection.having == .constant(true),
      let step = commonStep(of: projection, fetch),
      let column = scope.table.column(entity: step.relationship.sourceEntity, slot: step.relationship.index)
    else { return nil }
    let alias = generator.makeAlias("g")
    var pieces: [SQLFragment] = ["\(scope.alias).\(column.name) AS \(column.name)"]
    var wholes: [SQLFragment] = []
    for aggregate in projection.aggregates {
      let first = pieces.count
      guard let parts = try generator.groupParts(aggregate, [scope]) else { return nil }
      pieces += parts.enumerated().map { "\($0.element) AS p\(first + $0.offset)" }
      wholes.append(generator.groupAggregate(aggregate, ofParts: parts.indices.map { "\(alias).p\(first + $0)" }))
    }
    generator.groupAggregates = wholes
    // Without an index, which would be gone through for every row.
    return GroupParts(
      selected: .joined(pieces, by: ", "), key: "+\(scope.alias).\(column.name)",
      scope: QueryScope(table: scope.table, alias: alias, of: fetch.entity.number))
  }

  /// The to-one relationship through which all that is no aggregate is read, where many objects have one destination.
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

  /// The first relationship on the way to an attribute of another object.
  private static func firstStep(of expression: ResolvedExpression) -> ResolvedStep? {
    guard case .path(let path) = expression, path.scope == 0, case .attribute = path.terminal else { return nil }
    return path.steps.first
  }
}

extension QueryGenerator {
  /// What an aggregate of a group needs of each part of it; nil where it needs the objects.
  fileprivate func groupParts(_ aggregate: ResolvedGroupAggregate, _ scopes: [QueryScope]) throws -> [SQLFragment]? {
    guard !aggregate.isDistinct else { return nil }
    guard let expression = aggregate.value else { return ["count(*)"] }
    guard case .path = expression else { return nil }
    return SQLFunctions.parts(of: aggregate.function, try value(expression, scopes), expression.type, sums)
  }

  /// An aggregate of a group by those of its parts.
  fileprivate func groupAggregate(_ aggregate: ResolvedGroupAggregate, ofParts parts: [SQLFragment]) -> SQLFragment {
    let result = SQLFunctions.aggregate(aggregate.function, ofParts: parts, sums)
    let empty = aggregate.emptyResult
    return aggregate.function == .count || empty.isNull ? result : "coalesce(\(result), \(SQLLiteral.text(empty)))"
  }
}

extension SQLFunctions {
  /// What an aggregate of a column needs of each part of the rows; nil where it needs the rows.
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

  /// The aggregate of all rows by its parts.
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
