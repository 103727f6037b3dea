import ObjectModel
import ObjectQuery
import ObjectStore

extension SelectGenerator {
  /// Returns the selected columns, and how to read them.
  func dictionaries(
    _ projection: ResolvedProjection, _ scope: QueryScope, _ generator: QueryGenerator
  ) throws -> (selected: SQLFragment, output: SelectPlan.Output) {
    // If groups are combined from partial groups, the aggregates are already set.
    if generator.groupAggregates.isEmpty {
      generator.groupAggregates = try projection.aggregates.map { try generator.groupAggregate($0, [scope]) }
    }
    var fragments: [SQLFragment] = []
    var columns: [SelectPlan.DictionaryColumn] = []
    for column in projection.columns {
      let index = Int32(fragments.count)
      var destination = EntityEncoding.none
      fragments.append(try generator.value(column.expression, [scope]))
      if column.content == .object, case .path(let path) = column.expression {
        fragments.append(SQLFragment(scope.entity(path.steps, in: generator) ?? "NULL"))
        destination = .stored(offset: 0, within: schema.model.entities.indices)
      }
      columns.append(
        SelectPlan.DictionaryColumn(
          column: DictionaryRows.Column(column), conversion: column.isConverted ? column : nil, kind: column.expression.type.slotKind,
          destination: destination, index: index))
    }
    var condition: Int32?
    if projection.isSingleRow, let test = try singleRowCondition(projection, scope, generator) {
      condition = Int32(fragments.count)
      fragments.append(test)
    }
    if fragments.isEmpty { fragments = ["NULL"] }
    // A single row has no duplicates.
    let isDistinct = projection.isDistinct && !projection.isSingleRow
    return ("\(isDistinct ? "DISTINCT " : "")\(SQLFragment.joined(fragments, by: ", "))", .dictionaries(columns, condition: condition))
  }

  /// Returns what to select for a count of rows: one row for each of them, or whether there is one for a single-row projection.
  func countedRows(_ projection: ResolvedProjection, _ scope: QueryScope, _ generator: QueryGenerator) throws -> SQLFragment {
    let selected = try dictionaries(projection, scope, generator).selected
    guard projection.isSingleRow else { return selected }
    return try singleRowCondition(projection, scope, generator) ?? "\(Self.always)"
  }

  /// A true condition that contains an aggregate. Without an aggregate, the query would return a row for each object.
  private static let always = "count(*) >= 0"

  /// Returns the condition under which the only group is part of the result, or `nil` if it always is and some column is an aggregate.
  ///
  /// The condition is selected as a column: SQLite before 3.39 does not accept HAVING without GROUP BY, and some versions crash on a
  /// condition around such a query.
  private func singleRowCondition(
    _ projection: ResolvedProjection, _ scope: QueryScope, _ generator: QueryGenerator
  ) throws -> SQLFragment? {
    if projection.having == .constant(true) {
      let hasAggregate = projection.columns.contains { if case .groupAggregate = $0.expression { true } else { false } }
      return hasAggregate ? nil : "\(Self.always)"
    }
    return "(\(try generator.condition(projection.having, [scope]))) AND \(Self.always)"
  }

  /// Returns the GROUP BY and HAVING clauses. They must be generated after the columns.
  func grouping(_ projection: ResolvedProjection, _ scope: QueryScope, _ generator: QueryGenerator) throws -> SQLFragment {
    guard !projection.groupKeys.isEmpty else { return "" }
    let keys = try projection.groupKeys.map { term(try generator.value($0, [scope])) }
    let groups: SQLFragment = " GROUP BY \(SQLFragment.joined(keys, by: ", "))"
    if case .constant(true) = projection.having { return groups }
    return "\(groups) HAVING \(try generator.condition(projection.having, [scope]))"
  }

  /// Returns the 1-based number of a selected column with a computed value, such as a number of members. SQLite then sorts by the computed
  /// value and does not evaluate the expression again.
  ///
  /// Returns `nil` if the expression is not selected, is a stored value, or is an aggregate, which SQLite computes only once anyway.
  func place(ofComputed expression: ResolvedExpression, in projection: ResolvedProjection) -> Int? {
    switch expression {
    case .path, .groupAggregate: return nil
    default: break
    }
    var place = 1
    for column in projection.columns {
      if column.expression == expression { return place }
      if column.content == .object, case .path = column.expression { place += 1 }
      place += 1
    }
    return nil
  }

  /// Returns an expression for ORDER BY or GROUP BY. SQLite would treat a bare number as the number of a column.
  func term(_ fragment: SQLFragment) -> SQLFragment {
    fragment.text.allSatisfy { $0.isNumber } ? "(\(fragment) + 0)" : fragment
  }
}
