import ObjectModel
import ObjectQuery
import ObjectStore

extension QueryGenerator {
  func exists(_ exists: ResolvedExists, _ scopes: [QueryScope]) throws -> SQLFragment {
    let collection = exists.collection
    if canBegin(with: exists), scopes.count > 1 || !askedForEach.contains(exists) {
      // Asked the other way round: the few members are found by an index, and they name their owners.
      guard let key = sourceKey(of: collection, scopes),
        let query = try members(of: collection, where: exists.condition, scopes, flattens: true)
      else {
        return "0"
      }
      return "\(key) IN (\(query.text))"
    }
    guard let query = try members(of: collection, where: exists.condition, scopes, flattens: true, select: { _ in "1" }) else {
      return exists.isNegated ? "1" : "0"
    }
    return "\(exists.isNegated ? "NOT " : "")EXISTS (\(query.text))"
  }

  /// Whether the members that meet a condition are found by an index, so that they can be asked first.
  func canBegin(with exists: ResolvedExists) -> Bool {
    let collection = exists.collection
    return !exists.isNegated && collection.position == nil && isSelective(exists.condition, scope: collection.memberScope)
      && !refersOutside(exists.condition, scope: collection.memberScope)
  }

  /// A count of members compared with a constant, asked once for all owners instead of once for each; nil where that would not do.
  ///
  /// Owners without members are in no group: no comparison that 0 meets comes here, see `PredicateResolution`.
  func countedOwners(_ comparison: ResolvedComparison, _ scopes: [QueryScope]) throws -> SQLFragment? {
    guard scopes.count == 1, !hasSelectiveSibling, let (aggregate, number) = countedMembers(comparison) else { return nil }
    let bound: SQLFragment = "\(comparison.op.rawValue) \(SQLFragment(.constant(number)))"
    if let joined = joinedCount, joined.aggregate == aggregate, let count = try countColumn(joined, scopes) {
      return joined.comparison == comparison ? "1" : "\(count) \(bound)"
    }
    guard let key = sourceKey(of: aggregate.collection, scopes),
      let query = try members(of: aggregate.collection, where: aggregate.condition, scopes)
    else { return nil }
    return "\(key) IN (\(query.text) GROUP BY \(groupKey(query, aggregate)) HAVING count(*) \(bound))"
  }

  /// The count of members in a comparison that only those with members meet, and the number of the constant it is compared with.
  func countedMembers(_ comparison: ResolvedComparison) -> (aggregate: ResolvedAggregate, constant: Int)? {
    guard !comparison.isNegated, case .aggregate(let aggregate) = comparison.left, aggregate.function == .count,
      comparison.op == .greater || comparison.op == .greaterOrEqual,
      case .expression(.constant(let number, _)) = comparison.right, comparison.domain == .number, case .placeholders = constants,
      !refersOutside(aggregate.condition, scope: aggregate.collection.memberScope)
    else { return nil }
    return (aggregate, number)
  }

  /// The column of a count that is joined to its owners; nil where nothing of the members is stored.
  private func countColumn(_ count: JoinedCount, _ scopes: [QueryScope]) throws -> String? {
    if let column = count.column { return column }
    let aggregate = count.aggregate
    guard let key = sourceKey(of: aggregate.collection, scopes),
      let query = try members(of: aggregate.collection, where: aggregate.condition, scopes, isCounted: true)
    else { return nil }
    let alias = makeAlias("c")
    let groups: SQLFragment = "\(query.text) GROUP BY \(groupKey(query, aggregate))"
    let bound: SQLFragment = "\(count.comparison.op.rawValue) \(SQLFragment(.constant(count.constant)))"
    scopes[0].join("(\(groups) HAVING count(*) \(bound)) AS \(alias) ON \(alias).owner = \(key)")
    count.column = "\(alias).number"
    return count.column
  }

  /// Grouping through the owner's index would fetch each row on its own; without a condition it reads the index alone.
  private func groupKey(_ query: MemberQuery, _ aggregate: ResolvedAggregate) -> String {
    aggregate.condition == .constant(true) ? query.owner : "+\(query.owner)"
  }

  private func sourceKey(of collection: ResolvedCollection, _ scopes: [QueryScope]) -> String? {
    scopes[collection.scope].key(collection.steps, in: self)
  }

  /// A query of the members of a collection; nil where nothing of it is stored.
  ///
  /// - Parameters:
  ///   - flattens: Whether members that have members are asked about by one join, where rows may come several times.
  ///   - isCounted: Whether the owners are selected with the number of their members, to be grouped by who asks.
  ///   - select: What is selected of the members of the collection's owner; without it the owners of all members are.
  func members(
    of collection: ResolvedCollection, where condition: ResolvedPredicate, _ scopes: [QueryScope], required: Set<[ResolvedStep]> = [],
    flattens: Bool = false, isCounted: Bool = false, select: (([QueryScope]) throws -> SQLFragment)? = nil
  ) throws -> MemberQuery? {
    var inner = scopes
    guard let source = sourceKey(of: collection, scopes), let first = try memberSource(of: collection, condition, required, &inner) else {
      return nil
    }
    // Written first: it finds out which joins are needed.
    let selected = try select?(inner) ?? SQLFragment(isCounted ? "\(first.owner) AS owner, count(*) AS number" : first.owner)
    // A group of members without an owner is joined to none.
    var conditions: [SQLFragment] = isCounted ? [] : select == nil ? ["\(first.owner) IS NOT NULL"] : ["\(first.owner) = \(source)"]
    var sources = [first]
    var link = (collection: collection, source: source, condition: condition)
    while true {
      if let position = link.collection.position {
        let place = try self.place(position, in: link.collection.relationship.relationship, of: link.source, inner)
        conditions.append("\(sources[sources.count - 1].scope.key) = (\(place))")
      }
      let (rest, next) = flattens && sources.count < Self.longestChain ? Self.link(of: link.condition) : (link.condition, nil)
      switch rest {
      case .constant(true): break
      case .or: conditions.append(try self.condition(rest, inner).parenthesized)
      case .comparison(let comparison):
        // Asked for each owner, the one member that can have the value is found once.
        let found = select == nil ? nil : try self.found(comparison, inner)
        conditions.append(try found ?? self.condition(rest, inner))
      default: conditions.append(try self.condition(rest, inner))
      }
      guard let next else { break }
      guard let key = sourceKey(of: next.collection, inner), let source = try memberSource(of: next.collection, next.condition, [], &inner)
      else {
        return nil
      }
      conditions.append("\(source.owner) = \(key)")
      sources.append(source)
      link = (next.collection, key, next.condition)
    }
    let tables = sources.map(\.table).joined(separator: " JOIN ") + sources.map(\.scope.joinText).joined()
    var query: SQLFragment = "SELECT \(selected) FROM \(tables)"
    if !conditions.isEmpty { query.append(" WHERE \(SQLFragment.joined(conditions, by: " AND "))") }
    return MemberQuery(text: query, owner: first.owner)
  }

  /// A comparison with a unique attribute of a member whose key is known without its row, as a condition on the key. The query in it depends on
  /// nothing outside, so that SQLite runs it once.
  private func found(_ comparison: ResolvedComparison, _ scopes: [QueryScope]) throws -> SQLFragment? {
    guard let member = scopes.last, member.isJoinedForRow, isUnique(comparison), case .path(let path) = comparison.left,
      path.scope == scopes.count - 1
    else { return nil }
    let other = QueryScope(table: member.table, alias: makeAlias("t"), of: member.entityNumber)
    let condition = try self.condition(.comparison(comparison), scopes.dropLast() + [other])
    return "\(member.key) IN (\(other.query(SQLFragment(other.key), where: condition)))"
  }

  /// The tables of one join. SQLite takes 64, and looks for their best order in a time that grows with the square of their number.
  private static let longestChain = 20

  /// A condition without one of its conditions on members of the member, and that one; members of which only the existence is asked can be joined.
  private static func link(of condition: ResolvedPredicate) -> (rest: ResolvedPredicate, next: ResolvedExists?) {
    switch condition {
    case .exists(let exists) where !exists.isNegated: return (.constant(true), exists)
    case .and(let items):
      // Another one is asked for each member by itself: joined too, its members would be gone through for each of the first's.
      let position = items.firstIndex { if case .exists(let exists) = $0 { !exists.isNegated } else { false } }
      guard let position, case .exists(let exists) = items[position] else { return (condition, nil) }
      var rest = items
      rest.remove(at: position)
      return (rest.count == 1 ? rest[0] : .and(rest), exists)
    default: return (condition, nil)
    }
  }

  /// The table that a collection's members are read from, and the column that names their owner; nil where nothing is stored.
  private struct MemberSource {
    let table: String
    let owner: String
    let scope: QueryScope
  }

  private func memberSource(
    of collection: ResolvedCollection, _ condition: ResolvedPredicate, _ required: Set<[ResolvedStep]>, _ scopes: inout [QueryScope]
  ) throws -> MemberSource? {
    let relationship = collection.relationship.relationship
    guard let table = schema.tableIfHeld(relationship.destinationEntity) else { return nil }
    let required = required.union(Self.requiredSteps(of: condition, scope: collection.memberScope))
    let result: MemberSource
    switch schema.relationships[relationship.id] {
    case .inverse(let side):
      let alias = makeAlias("t")
      result = MemberSource(
        table: "\(table.name) AS \(alias)", owner: "\(alias).\(side.column.name)",
        scope: QueryScope(table: table, alias: alias, of: relationship.destinationEntity, required: required))
    case .join(let side):
      let (link, alias) = (makeAlias("j"), makeAlias("t"))
      result = MemberSource(
        table: side.source(link), owner: side.nearKey(link),
        scope: QueryScope(
          table: table, alias: alias, of: relationship.destinationEntity, key: side.farKey(link), knownEntity: side.farEntityNumber(link),
          rowJoin: " JOIN \(table.name) AS \(alias) ON \(alias).\(table.key) = \(side.farKey(link))", required: required))
    case .column, .none: return nil
    }
    while scopes.count < collection.memberScope { scopes.append(result.scope) }
    scopes.append(result.scope)
    return result
  }

  /// A query of the key of the member at a place of an ordered relationship.
  private func place(
    _ position: ResolvedCollection.Position, in relationship: CompiledRelationship, of source: String, _ scopes: [QueryScope]
  ) throws -> SQLFragment {
    let alias = makeAlias("p")
    let (table, owner, order): (String, String, [String])
    switch schema.relationships[relationship.id] {
    case .inverse(let side):
      let members = schema.tables[side.table]
      (table, owner) = ("\(members.name) AS \(alias)", "\(alias).\(side.column.name)")
      order = [side.order, members.key].compactMap { $0 }.map { "\(alias).\($0)" }
    case .join(let side): (table, owner, order) = (side.source(alias), side.nearKey(alias), side.farOrder(alias))
    case .column, .none: return "NULL"
    }
    let sorted = order.map { position == .last ? $0 + " DESC" : $0 }.joined(separator: ", ")
    // Equal ones are in the order of their keys.
    var query: SQLFragment = "SELECT \(order[order.count - 1]) FROM \(table) WHERE \(owner) = \(source) ORDER BY \(sorted) LIMIT 1"
    if case .at(let number) = position { query.append(" OFFSET \(try value(.constant(number, .integer), scopes))") }
    return query
  }
}

/// A count of members that is both asked about and shown or ordered by: counted once for all owners, and joined to them.
final class JoinedCount {
  let aggregate: ResolvedAggregate
  /// What all owners meet that are found: those that are joined.
  let comparison: ResolvedComparison
  /// The constant in the comparison.
  let constant: Int
  /// Where it stands, once it is joined.
  fileprivate(set) var column: String?

  init(_ aggregate: ResolvedAggregate, in comparison: ResolvedComparison, constant: Int) {
    self.aggregate = aggregate
    self.comparison = comparison
    self.constant = constant
  }
}

/// A query of members.
struct MemberQuery {
  let text: SQLFragment
  /// The column that names a member's owner.
  let owner: String
}
