// QueryGenerator+Values: expressions as SQL values.
import ObjectModel
import ObjectQuery
import ObjectStore

extension QueryGenerator {
  /// The value of an expression; NULL where there is none. An object is its key.
  func value(_ expression: ResolvedExpression, _ scopes: [QueryScope]) throws -> SQLFragment {
    switch expression {
    case .constant(let number, _):
      switch constants {
      case .placeholders: return SQLFragment(.constant(number))
      case .literals(let values):
        if case .slot(let slot) = values[number] { return SQLFragment(SQLLiteral.text(slot)) }
        return "NULL"
      }
    case .path(let path): return SQLFragment(text(of: path, scopes[path.scope]) ?? "NULL")
    case .groupAggregate(let number, _): return groupAggregates[number]
    case .aggregate(let aggregate): return try self.aggregate(aggregate, scopes)
    case .function(let function, let arguments, let type):
      let values = SQLFragment.joined(try arguments.map { try value($0, scopes) }, by: ", ")
      switch function {
      // No index is on a value with a sign.
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

  private func text(of path: ResolvedPath, _ scope: QueryScope) -> String? {
    switch path.terminal {
    case .attribute(let attribute):
      scope.column(path.steps, entity: attribute.slot.declaringEntity, slot: attribute.slot.index, in: self)
    case .object: scope.key(path.steps, in: self)
    case .entity: scope.entity(path.steps, in: self)
    }
  }

  /// The root entity of what an object expression leads to; nil for what is no path.
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
    guard aggregate.value != nil, !empty.isNull else { return "(\(query.text))" }
    return "coalesce((\(query.text)), \(SQLLiteral.text(empty)))"
  }

  /// An aggregate of the objects of a group.
  func groupAggregate(_ aggregate: ResolvedGroupAggregate, _ scopes: [QueryScope]) throws -> SQLFragment {
    guard let expression = aggregate.value else { return "count(*)" }
    let result = try self.aggregate(aggregate.function, of: expression, isDistinct: aggregate.isDistinct, scopes)
    let empty = aggregate.emptyResult
    return aggregate.function == .count || empty.isNull ? result : "coalesce(\(result), \(SQLLiteral.text(empty)))"
  }

  private func aggregate(
    _ function: ResolvedAggregate.Function, of expression: ResolvedExpression, isDistinct: Bool = false, _ scopes: [QueryScope]
  ) throws -> SQLFragment {
    let isColumn: Bool
    if case .path = expression { isColumn = true } else { isColumn = false }
    let value = try self.value(expression, scopes)
    return SQLFunctions.aggregate(function, value, expression.type, isColumn: isColumn, isDistinct: isDistinct)
  }

  // MARK: Collections

  func exists(_ exists: ResolvedExists, _ scopes: [QueryScope]) throws -> SQLFragment {
    let collection = exists.collection
    if !exists.isNegated, collection.position == nil, isSelective(exists.condition, scope: collection.memberScope),
      !refersOutside(exists.condition, scope: collection.memberScope)
    {
      // Asked the other way round: the few members are found by an index, and they name their owners.
      guard let key = sourceKey(of: collection, scopes), let query = try members(of: collection, where: exists.condition, scopes) else {
        return "0"
      }
      return "\(key) IN (\(query.text))"
    }
    guard let query = try members(of: collection, where: exists.condition, scopes, select: { _ in "1" }) else {
      return exists.isNegated ? "1" : "0"
    }
    return "\(exists.isNegated ? "NOT " : "")EXISTS (\(query.text))"
  }

  /// A count of members compared with a constant, asked once for all owners instead of once for each; nil where that would not do.
  ///
  /// Owners without members are in no group: they meet the comparison where 0 does.
  func countedOwners(_ comparison: ResolvedComparison, _ scopes: [QueryScope]) throws -> SQLFragment? {
    guard case .aggregate(let aggregate) = comparison.left, aggregate.function == .count,
      comparison.op == .greater || comparison.op == .greaterOrEqual,
      case .expression(.constant(let number, _)) = comparison.right, comparison.domain == .number, case .placeholders = constants,
      scopes.count == 1, !hasSelectiveSibling, !refersOutside(aggregate.condition, scope: aggregate.collection.memberScope),
      let key = sourceKey(of: aggregate.collection, scopes),
      let query = try members(of: aggregate.collection, where: aggregate.condition, scopes)
    else { return nil }
    let bound: SQLFragment = "\(comparison.op.rawValue) \(SQLFragment(.constant(number)))"
    // Grouping through the owner's index would fetch each row on its own; without a condition it reads the index alone.
    let owner = aggregate.condition == .constant(true) ? query.owner : "+\(query.owner)"
    return "(0 \(bound) OR \(key) IN (\(query.text) GROUP BY \(owner) HAVING count(*) \(bound)))"
  }

  private func sourceKey(of collection: ResolvedCollection, _ scopes: [QueryScope]) -> String? {
    scopes[collection.scope].key(collection.steps, in: self)
  }

  /// A query of the members of a collection; nil where nothing of it is stored.
  ///
  /// - Parameter select: What is selected of the members of the collection's owner; without it the owners of all members are.
  private func members(
    of collection: ResolvedCollection, where condition: ResolvedPredicate, _ scopes: [QueryScope], required: Set<[ResolvedStep]> = [],
    select: (([QueryScope]) throws -> SQLFragment)? = nil
  ) throws -> MemberQuery? {
    let relationship = collection.relationship.relationship
    guard let table = schema.tableIfHeld(relationship.destinationEntity), let source = sourceKey(of: collection, scopes) else { return nil }
    let required = required.union(Self.requiredSteps(of: condition, scope: collection.memberScope))
    let from: String
    let owner: String
    let member: QueryScope
    switch schema.relationships[relationship.id] {
    case .inverse(let side):
      let alias = makeAlias("t")
      from = "\(table.name) AS \(alias)"
      owner = "\(alias).\(side.column.name)"
      member = QueryScope(table: table, alias: alias, required: required)
    case .join(let side):
      let (link, alias) = (makeAlias("j"), makeAlias("t"))
      from = "\(side.table) AS \(link)"
      owner = "\(link).\(side.near)"
      let entity: String? =
        switch side.farNumbering {
        case .fixed(let number): String(number)
        case .stored(let offset): side.farEntity.map { "(\(link).\($0) + \(offset))" }
        case .none: nil
        }
      member = QueryScope(
        table: table, alias: alias, key: "\(link).\(side.far)", knownEntity: entity,
        rowJoin: " JOIN \(table.name) AS \(alias) ON \(alias).\(table.key) = \(link).\(side.far)", required: required)
    case .column, .none: return nil
    }
    var inner = scopes
    while inner.count < collection.memberScope { inner.append(member) }
    inner.append(member)
    // Written first: it finds out which joins are needed.
    let selected = try select?(inner) ?? SQLFragment(owner)
    var conditions: [SQLFragment] = select == nil ? ["\(owner) IS NOT NULL"] : ["\(owner) = \(source)"]
    if let position = collection.position {
      let place = try self.place(position, in: relationship, of: source, scopes)
      conditions.append("\(member.key) = (\(place))")
    }
    switch condition {
    case .constant(true): break
    case .or: conditions.append(try self.condition(condition, inner).parenthesized)
    default: conditions.append(try self.condition(condition, inner))
    }
    let query: SQLFragment = "SELECT \(selected) FROM \(from)\(member.joinText) WHERE \(SQLFragment.joined(conditions, by: " AND "))"
    return MemberQuery(text: query, owner: owner)
  }

  /// A query of the key of the member at a place of an ordered relationship.
  private func place(
    _ position: ResolvedCollection.Position, in relationship: CompiledRelationship, of source: String, _ scopes: [QueryScope]
  ) throws -> SQLFragment {
    let alias = makeAlias("p")
    let (table, owner, key, order): (String, String, String, String?)
    switch schema.relationships[relationship.id] {
    case .inverse(let side):
      let members = schema.tables[side.table]
      (table, owner, key, order) = (members.name, side.column.name, members.key, side.order)
    case .join(let side): (table, owner, key, order) = (side.table, side.near, side.far, side.farOrder)
    case .column, .none: return "NULL"
    }
    let direction = position == .last ? " DESC" : ""
    let sorted = ((order.map { [$0] } ?? []) + [key]).map { "\(alias).\($0)\(direction)" }.joined(separator: ", ")
    var query: SQLFragment =
      "SELECT \(alias).\(key) FROM \(table) AS \(alias) WHERE \(alias).\(owner) = \(source) ORDER BY \(sorted) LIMIT 1"
    if case .at(let number) = position { query.append(" OFFSET \(try value(.constant(number, .integer), scopes))") }
    return query
  }
}

/// A query of members.
struct MemberQuery {
  let text: SQLFragment
  /// The column that names a member's owner.
  let owner: String
}
