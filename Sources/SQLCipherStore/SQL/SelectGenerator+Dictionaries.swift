// SelectGenerator+Dictionaries: the columns and groups of dictionary results in SQL.
import ObjectModel
import ObjectQuery
import ObjectStore

extension SelectGenerator {
  /// What is selected for the columns, and how it is read.
  func dictionaries(
    _ projection: ResolvedProjection, _ scope: QueryScope, _ generator: QueryGenerator
  ) throws -> (selected: SQLFragment, columns: [FetchPlan.DictionaryColumn]) {
    generator.groupAggregates = try projection.aggregates.map { try generator.groupAggregate($0, [scope]) }
    var pieces: [SQLFragment] = []
    var columns: [FetchPlan.DictionaryColumn] = []
    for column in projection.columns {
      let index = Int32(pieces.count)
      var destination = EntityNumbering.none
      pieces.append(try generator.value(column.expression, [scope]))
      if column.content == .object, case .path(let path) = column.expression {
        pieces.append(SQLFragment(scope.entity(path.steps, in: generator) ?? "NULL"))
        destination = .stored(offset: 0)
      }
      columns.append(
        FetchPlan.DictionaryColumn(
          column: DictionaryRows.Column(column), resolved: column, kind: kind(of: column), destination: destination, index: index))
    }
    if hasSingleRowCondition(projection) {
      // Named, for the statement around.
      pieces = pieces.enumerated().map { "\($1) AS \(Self.alias($0))" }
      pieces.append("(\(try generator.condition(projection.having, [scope]))) AS \(Self.condition)")
    }
    if pieces.isEmpty { pieces = ["NULL"] }
    // One row equals no other.
    let isDistinct = projection.isDistinct && !(projection.isGrouped && projection.groupKeys.isEmpty)
    return ("\(isDistinct ? "DISTINCT " : "")\(SQLFragment.joined(pieces, by: ", "))", columns)
  }

  /// How objects are put together, and which groups are left; to be written after the columns.
  func grouping(_ projection: ResolvedProjection, _ scope: QueryScope, _ generator: QueryGenerator) throws -> SQLFragment {
    guard !projection.groupKeys.isEmpty else { return "" }
    let keys = try projection.groupKeys.map { term(try generator.value($0, [scope])) }
    let groups: SQLFragment = " GROUP BY \(SQLFragment.joined(keys, by: ", "))"
    if case .constant(true) = projection.having { return groups }
    return "\(groups) HAVING \(try generator.condition(projection.having, [scope]))"
  }

  /// Whether there is a condition on the only group: SQLite before 3.39 takes no HAVING without GROUP BY.
  func hasSingleRowCondition(_ projection: ResolvedProjection) -> Bool {
    projection.isGrouped && projection.groupKeys.isEmpty && projection.having != .constant(true)
  }

  /// The only group, if it meets its condition.
  func filteringSingleRow(_ statement: SQLFragment, of projection: ResolvedProjection) -> SQLFragment {
    let names = projection.columns.indices.map(Self.alias).joined(separator: ", ")
    return "SELECT \(names) FROM (\(statement)) WHERE \(Self.condition)"
  }

  private static func alias(_ column: Int) -> String { "c\(column)" }
  private static let condition = "h"

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
