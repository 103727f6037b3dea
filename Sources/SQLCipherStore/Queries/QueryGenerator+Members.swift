import ObjectModel
import ObjectQuery
import ObjectStore

extension QueryGenerator {
  func exists(_ exists: ResolvedExists, _ scopes: [QueryScope]) throws -> SQLFragment {
    let collection = exists.collection
    if canBegin(with: exists), scopes.count > 1 || !correlatedConditions.contains(exists) {
      // Reversed: an index finds the few members, and their rows refer to their owners.
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

  /// Returns whether an index finds the members that meet a condition, so that the query can start with them.
  func canBegin(with exists: ResolvedExists) -> Bool {
    let collection = exists.collection
    return !exists.isNegated && collection.position == nil && isSelective(exists.condition, scope: collection.memberScope)
      && !refersOutside(exists.condition, scope: collection.memberScope)
  }

  /// Returns a comparison of a member count with a constant as one subquery for all owners instead of one for each, or `nil` if that is not
  /// possible.
  ///
  /// Owners without members are in no group. Comparisons that 0 meets are resolved differently, see `PredicateResolution`.
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

  /// Returns the member count in a comparison that only owners with members can meet, and the index of the constant.
  func countedMembers(_ comparison: ResolvedComparison) -> (aggregate: ResolvedAggregate, constant: Int)? {
    guard !comparison.isNegated, case .aggregate(let aggregate) = comparison.left, aggregate.function == .count,
      comparison.op == .greater || comparison.op == .greaterOrEqual,
      case .expression(.constant(let number, _)) = comparison.right, comparison.domain == .number, case .placeholders = constants,
      !refersOutside(aggregate.condition, scope: aggregate.collection.memberScope)
    else { return nil }
    return (aggregate, number)
  }

  /// Returns the column of a count that is joined to its owners, or `nil` if the members are not stored.
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

  /// Grouping by the owner's index would read each row individually, so the unary plus disables the index. Without a condition, the index
  /// alone is read.
  private func groupKey(_ query: MemberQuery, _ aggregate: ResolvedAggregate) -> String {
    aggregate.condition == .constant(true) ? query.owner : "+\(query.owner)"
  }

  private func sourceKey(of collection: ResolvedCollection, _ scopes: [QueryScope]) -> String? {
    scopes[collection.scope].key(collection.steps, in: self)
  }

  /// Returns a query of the members of a collection, or `nil` if they are not stored.
  ///
  /// - Parameters:
  ///   - flattens: Whether nested conditions on members become one join, whose rows can contain duplicates.
  ///   - isCounted: Whether to select the owners with the number of their members. The caller adds the grouping.
  ///   - select: Returns what to select from the members of one owner. With `nil`, the owners of all members are selected.
  func members(
    of collection: ResolvedCollection, where condition: ResolvedPredicate, _ scopes: [QueryScope], required: Set<[ResolvedStep]> = [],
    flattens: Bool = false, isCounted: Bool = false, select: (([QueryScope]) throws -> SQLFragment)? = nil
  ) throws -> MemberQuery? {
    var inner = scopes
    guard let source = sourceKey(of: collection, scopes), let first = try memberSource(of: collection, condition, required, &inner) else {
      return nil
    }
    // The selection is generated first, since it determines which joins are needed.
    let selected = try select?(inner) ?? SQLFragment(isCounted ? "\(first.owner) AS owner, count(*) AS number" : first.owner)
    // A count needs no condition on the owner: the group of members without an owner joins with no object.
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
        // In a subquery per owner, the one member that can have the value is looked up once.
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

  /// Returns a comparison with a unique attribute of a member as a condition on its key, if the key is available without the member's row.
  /// The subquery does not depend on outer rows, so SQLite runs it once.
  private func found(_ comparison: ResolvedComparison, _ scopes: [QueryScope]) throws -> SQLFragment? {
    guard let member = scopes.last, member.isJoinedForRow, isUnique(comparison), case .path(let path) = comparison.left,
      path.scope == scopes.count - 1
    else { return nil }
    let other = QueryScope(table: member.table, alias: makeAlias("t"), of: member.entityNumber)
    let condition = try self.condition(.comparison(comparison), scopes.dropLast() + [other])
    return "\(member.key) IN (\(other.query(SQLFragment(other.key), where: condition)))"
  }

  /// The maximum number of tables in one join. SQLite allows 64, and the time of its join-order search is quadratic in their number.
  private static let longestChain = 20

  /// Separates one condition on the member's own members from a condition. Members that only need to exist can be joined.
  private static func link(of condition: ResolvedPredicate) -> (rest: ResolvedPredicate, next: ResolvedExists?) {
    switch condition {
    case .exists(let exists) where !exists.isNegated: return (.constant(true), exists)
    case .and(let items):
      // Only one is joined. Joining a second would multiply its members with those of the first, so it becomes a subquery.
      let position = items.firstIndex { if case .exists(let exists) = $0 { !exists.isNegated } else { false } }
      guard let position, case .exists(let exists) = items[position] else { return (condition, nil) }
      var rest = items
      rest.remove(at: position)
      return (rest.count == 1 ? rest[0] : .and(rest), exists)
    default: return (condition, nil)
    }
  }

  /// The table that contains a collection's members, and the column of their owner.
  private struct MemberSource {
    let table: String
    let owner: String
    let scope: QueryScope
  }

  private func memberSource(
    of collection: ResolvedCollection, _ condition: ResolvedPredicate, _ required: Set<[ResolvedStep]>, _ scopes: inout [QueryScope]
  ) throws -> MemberSource? {
    let relationship = collection.relationship.relationship
    guard let table = schema.tableIfStored(relationship.destinationEntity) else { return nil }
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

  /// Returns a query of the key of the member at a position of an ordered relationship.
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
    // Members with equal positions are ordered by key.
    var query: SQLFragment = "SELECT \(order[order.count - 1]) FROM \(table) WHERE \(owner) = \(source) ORDER BY \(sorted) LIMIT 1"
    if case .at(let number) = position { query.append(" OFFSET \(try value(.constant(number, .integer), scopes))") }
    return query
  }
}

/// A member count that a predicate compares and that is also selected or sorted by. It is counted once for all owners and joined to them.
final class JoinedCount {
  let aggregate: ResolvedAggregate
  /// The comparison that all found owners meet. The join contains only these.
  let comparison: ResolvedComparison
  /// The index of the constant in the comparison.
  let constant: Int
  /// The column of the count, once it is joined.
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
  /// The column of the member's owner.
  let owner: String
}
