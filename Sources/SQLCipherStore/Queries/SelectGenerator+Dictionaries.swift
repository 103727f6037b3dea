import ObjectModel
import ObjectQuery
import ObjectStore

extension SelectGenerator {
  /// What is selected for the columns, and how it is read.
  func dictionaries(
    _ projection: ResolvedProjection, _ scope: QueryScope, _ generator: QueryGenerator
  ) throws -> (selected: SQLFragment, output: SelectPlan.Output) {
    // They are known where groups are made of parts.
    if generator.groupAggregates.isEmpty {
      generator.groupAggregates = try projection.aggregates.map { try generator.groupAggregate($0, [scope]) }
    }
    var pieces: [SQLFragment] = []
    var columns: [SelectPlan.DictionaryColumn] = []
    for column in projection.columns {
      let index = Int32(pieces.count)
      var destination = EntityEncoding.none
      pieces.append(try generator.value(column.expression, [scope]))
      if column.content == .object, case .path(let path) = column.expression {
        pieces.append(SQLFragment(scope.entity(path.steps, in: generator) ?? "NULL"))
        destination = .stored(offset: 0, within: schema.model.entities.indices)
      }
      columns.append(
        SelectPlan.DictionaryColumn(
          column: DictionaryRows.Column(column), conversion: column.isConverted ? column : nil, kind: kind(of: column),
          destination: destination, index: index))
    }
    var condition: Int32?
    if projection.isSingleRow, let test = try singleRowCondition(projection, scope, generator) {
      condition = Int32(pieces.count)
      pieces.append(test)
    }
    if pieces.isEmpty { pieces = ["NULL"] }
    // One row equals no other.
    let isDistinct = projection.isDistinct && !projection.isSingleRow
    return ("\(isDistinct ? "DISTINCT " : "")\(SQLFragment.joined(pieces, by: ", "))", .dictionaries(columns, condition: condition))
  }

  /// What is selected to count the rows: a row for each of them; or, of a single one, whether there is one.
  func countedRows(_ projection: ResolvedProjection, _ scope: QueryScope, _ generator: QueryGenerator) throws -> SQLFragment {
    let selected = try dictionaries(projection, scope, generator).selected
    guard projection.isSingleRow else { return selected }
    return try singleRowCondition(projection, scope, generator) ?? "\(Self.always)"
  }

  /// A condition that selects an aggregate, whatever the others do: without one there would be a row an object.
  private static let always = "count(*) >= 0"

  /// Whether the only group is left; nil where it is and some column is an aggregate. It is selected beside the columns: SQLite before 3.39 takes no
  /// HAVING without GROUP BY, and some versions crash on a condition around such a query.
  private func singleRowCondition(
    _ projection: ResolvedProjection, _ scope: QueryScope, _ generator: QueryGenerator
  ) throws -> SQLFragment? {
    if projection.having == .constant(true) {
      let hasAggregate = projection.columns.contains { if case .groupAggregate = $0.expression { true } else { false } }
      return hasAggregate ? nil : "\(Self.always)"
    }
    return "(\(try generator.condition(projection.having, [scope]))) AND \(Self.always)"
  }

  /// How objects are put together, and which groups are left; to be written after the columns.
  func grouping(_ projection: ResolvedProjection, _ scope: QueryScope, _ generator: QueryGenerator) throws -> SQLFragment {
    guard !projection.groupKeys.isEmpty else { return "" }
    let keys = try projection.groupKeys.map { term(try generator.value($0, [scope])) }
    let groups: SQLFragment = " GROUP BY \(SQLFragment.joined(keys, by: ", "))"
    if case .constant(true) = projection.having { return groups }
    return "\(groups) HAVING \(try generator.condition(projection.having, [scope]))"
  }

  /// The number, from 1, of a selected column that is computed, as the number of members: SQLite orders by what it has computed then, and does not
  /// run the query again. Nil for what is not selected, is no more than read, or is an aggregate, which it computes once anyway.
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

  /// An expression to order or group by: SQLite takes a bare number for a column's place.
  func term(_ fragment: SQLFragment) -> SQLFragment {
    fragment.text.allSatisfy { $0.isNumber } ? "(\(fragment) + 0)" : fragment
  }

  private func kind(of column: ResolvedColumn) -> SlotKind {
    switch column.expression.type {
    case .integer, .boolean, .entity: .int
    case .real, .date: .real
    case .text, .uri: .text
    case .decimal, .uuid, .binary, .opaque: .bytes
    case .object: .reference
    }
  }
}
