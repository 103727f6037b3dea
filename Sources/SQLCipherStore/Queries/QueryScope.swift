import ObjectModel
import ObjectQuery

/// An object in a query: the fetched one, or a member of a collection.
final class QueryScope {
  private struct Join {
    let alias: String
    let table: EntityTable
    let text: String
  }

  let table: EntityTable
  let alias: String
  /// The number of the object's entity. The object can also be of a subentity.
  let entityNumber: Int
  let key: String
  /// The SQL of the object's entity number, if it is available without the object's row.
  private let knownEntity: String?
  /// For a member through a join table: the join with its row, which is added if the row is needed.
  private let rowJoin: String?
  private var needsRow = false
  private var joins: [Join] = []
  private var joinedQueries: SQLFragment = ""
  private var joinIndexes: [[ResolvedStep]: Int] = [:]
  /// Paths that must have a destination for the whole condition to be true. They use inner joins, so that SQLite can start with them.
  private let required: Set<[ResolvedStep]>

  init(
    table: EntityTable, alias: String, of entityNumber: Int? = nil, key: String? = nil, knownEntity: String? = nil, rowJoin: String? = nil,
    required: Set<[ResolvedStep]> = []
  ) {
    self.table = table
    self.alias = alias
    self.entityNumber = entityNumber ?? table.root.number
    self.key = key ?? "\(alias).\(table.key)"
    self.knownEntity = knownEntity
    self.rowJoin = rowJoin
    self.required = required
  }

  /// Whether the object is a member through a join table, whose row is joined only if more than its key is needed.
  var isJoinedForRow: Bool { rowJoin != nil }

  /// The join clauses after the scope's own table.
  var joinText: String {
    ((needsRow ? rowJoin.map { [$0] } ?? [] : []) + joins.map(\.text)).joined()
  }

  /// Joins a subquery, including its ON clause.
  func join(_ query: SQLFragment) { joinedQueries.append(" JOIN \(query)") }

  /// Returns a query of values of the object's rows, with all tables joined so far.
  ///
  /// - Parameters:
  ///   - selected: The values.
  ///   - source: The source that replaces the scope's own table.
  ///   - hint: The text after the source and its alias.
  ///   - condition: The condition, or `nil` for all rows.
  func query(_ selected: SQLFragment, from source: SQLFragment? = nil, hint: String = "", where condition: SQLFragment?) -> SQLFragment {
    var query: SQLFragment = "SELECT \(selected) FROM \(source ?? SQLFragment(table.name)) AS \(alias)\(hint)\(joinText)\(joinedQueries)"
    if let condition { query.append(" WHERE \(condition)") }
    return query
  }

  var joinCount: Int { joins.count + (needsRow && rowJoin != nil ? 1 : 0) }

  /// Returns the alias and table of the destination of to-one relationships, or `nil` if its table is not in the store.
  func row(_ steps: [ResolvedStep], in generator: QueryGenerator) -> (alias: String, table: EntityTable)? {
    guard let last = steps.last else {
      needsRow = true
      return (alias, table)
    }
    if let index = joinIndexes[steps] { return (joins[index].alias, joins[index].table) }
    guard let previous = row(Array(steps.dropLast()), in: generator),
      let column = previous.table.column(entity: last.relationship.sourceEntity, slot: last.relationship.index),
      let target = generator.schema.tableIfStored(last.relationship.destinationEntity)
    else { return nil }
    let alias = generator.makeAlias("t")
    let kind = required.contains(steps) ? " JOIN " : " LEFT JOIN "
    let text = "\(kind)\(target.name) AS \(alias) ON \(alias).\(target.key) = \(previous.alias).\(column.name)"
    joinIndexes[steps] = joins.count
    joins.append(Join(alias: alias, table: target, text: text))
    return (alias, target)
  }

  /// Returns a column of the destination of to-one relationships, or `nil` if nothing is stored.
  func column(_ steps: [ResolvedStep], entity: Int, slot: Int, in generator: QueryGenerator) -> String? {
    guard let row = row(steps, in: generator), let column = row.table.column(entity: entity, slot: slot) else { return nil }
    return "\(row.alias).\(column.name)"
  }

  /// Returns the key of the destination of to-one relationships: the column of the last relationship.
  func key(_ steps: [ResolvedStep], in generator: QueryGenerator) -> String? {
    guard let last = steps.last else { return key }
    return column(Array(steps.dropLast()), entity: last.relationship.sourceEntity, slot: last.relationship.index, in: generator)
  }

  /// Returns the entity number of the destination in the model.
  func entity(_ steps: [ResolvedStep], in generator: QueryGenerator) -> String? {
    guard let last = steps.last else {
      if let knownEntity { return knownEntity }
      guard let entity = table.entity else { return String(table.root.number) }
      needsRow = true
      return "(\(alias).\(entity) + \(table.entityOffset))"
    }
    guard let previous = row(Array(steps.dropLast()), in: generator),
      let column = previous.table.column(entity: last.relationship.sourceEntity, slot: last.relationship.index)
    else { return nil }
    switch column.destination {
    case .fixed(let number): return "(CASE WHEN \(previous.alias).\(column.name) IS NOT NULL THEN \(number) END)"
    case .stored(let offset, _): return column.entityColumn.map { "(\(previous.alias).\($0) + \(offset))" }
    case .none: return nil
    }
  }
}
