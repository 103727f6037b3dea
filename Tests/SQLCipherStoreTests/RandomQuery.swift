import ObjectModel
import ObjectQuery
import _TestSupport

/// A query over the objects of a random schema, as a request and as SQL. The result is the numbers of objects in an order, or one line for
/// each group.
struct RandomQuery {
  var request: FetchSpecification
  var sql: String
}

extension RandomSchema {
  /// A condition on the object of a table alias.
  private struct Condition {
    var predicate: FetchPredicate
    var sql: String
  }

  mutating func question() -> RandomQuery {
    let entity = Int.random(in: entities.indices, using: &random)
    let condition = condition(depth: pick([0, 1, 2, 3]), entity, alias: "t", path: { .keyPath($0) }, isInner: false)
    var request = FetchSpecification(entityName: entities[entity].name, predicate: condition.predicate)
    var sql = "SELECT t.\"number\" FROM \"\(entities[entity].name)\" t WHERE \(condition.sql) ORDER BY "
    if chance(2) {
      let (attribute, ascending) = (pick(entities[entity].attributes), chance(2))
      request.sortDescriptors.append(FetchSortDescriptor(attribute.name, ascending: ascending))
      sql += "t.\"\(attribute.name)\" \(ascending ? "ASC" : "DESC"), "
    }
    request.sortDescriptors.append(FetchSortDescriptor("number"))
    sql += "t.\"number\""
    if chance(4) {
      (request.fetchLimit, request.fetchOffset) = (Int.random(in: 1...9, using: &random), pick([0, 0, 3]))
      sql += " LIMIT \(request.fetchLimit) OFFSET \(request.fetchOffset)"
    }
    return RandomQuery(request: request, sql: sql)
  }

  /// A grouping query: the number of objects for each value of an attribute, with the minimum, maximum and sum of their numbers.
  mutating func groups() -> RandomQuery {
    let entity = Int.random(in: entities.indices, using: &random)
    let condition = condition(depth: 1, entity, alias: "t", path: { .keyPath($0) }, isInner: false)
    let attribute = pick(entities[entity].attributes.filter { $0.type != .double && $0.type != .date })
    var request = FetchSpecification(entityName: entities[entity].name, predicate: condition.predicate)
    request.resultType = .dictionaries
    request.propertiesToGroupBy = [.keyPath(attribute.name)]
    request.propertiesToFetch = ["count:", "min:", "max:", "sum:"].map { .expression(.function($0, [.keyPath("number")]), as: $0) }
    request.sortDescriptors = [FetchSortDescriptor(attribute.name)]
    let number = "t.\"number\""
    return RandomQuery(
      request: request,
      sql:
        "SELECT count(\(number)), min(\(number)), max(\(number)), sum(\(number)) FROM \"\(entities[entity].name)\" t WHERE \(condition.sql) "
        + "GROUP BY t.\"\(attribute.name)\" ORDER BY t.\"\(attribute.name)\"")
  }

  private mutating func condition(
    depth: Int, _ entity: Int, alias: String, path: (String) -> FetchExpression, isInner: Bool
  ) -> Condition {
    if depth > 0, !chance(4) {
      let parts = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        condition(depth: depth - 1, entity, alias: alias, path: path, isInner: isInner)
      }
      let predicates = parts.map(\.predicate)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: return Condition(predicate: .and(predicates), sql: "(" + parts.map(\.sql).joined(separator: " AND ") + ")")
      case 1: return Condition(predicate: .or(predicates), sql: "(" + parts.map(\.sql).joined(separator: " OR ") + ")")
      default: return Condition(predicate: .not(parts[0].predicate), sql: "NOT (\(parts[0].sql))")
      }
    }
    if !isInner, let members = members(of: entity, alias: alias), chance(3) { return self.members(members, depth: depth) }
    return leaf(entity, alias: alias, path: path)
  }

  /// A comparison of an attribute of the object or of a related object.
  private mutating func leaf(_ entity: Int, alias: String, path: (String) -> FetchExpression) -> Condition {
    var attribute = pick(entities[entity].attributes)
    var (name, column) = (attribute.name, "\(alias).\"\(attribute.name)\"")
    if !entities[entity].references.isEmpty, chance(3) {
      let reference = pick(entities[entity].references)
      if chance(4) {
        let isPresent = chance(2)
        return Condition(
          predicate: .comparison(FetchComparison(left: path(reference.name), op: isPresent ? .notEqual : .equal, right: .constant(.null))),
          sql: "\(alias).\"\(reference.name)\" IS \(isPresent ? "NOT NULL" : "NULL")")
      }
      attribute = pick(entities[reference.target].attributes)
      name = "\(reference.name).\(attribute.name)"
      column = "(SELECT r.\"\(attribute.name)\" FROM \"\(entities[reference.target].name)\" r WHERE r._pk = \(alias).\"\(reference.name)\")"
    }
    let left = path(name)
    func compare(_ op: ComparisonOperator, _ constant: FetchConstant, _ sql: String) -> Condition {
      Condition(predicate: .comparison(FetchComparison(left: left, op: op, right: .constant(constant))), sql: sql)
    }
    let value = value(attribute.type)
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return compare(.equal, .null, "\(column) IS NULL")
    case 1: return compare(.notEqual, value.constant, "\(column) IS NOT \(value.sql)")
    case 2:
      let values = (0..<Int.random(in: 1...4, using: &random)).map { _ in self.value(attribute.type) }
      return compare(
        .in, .list(values.map(\.constant)), "ifnull(\(column) IN (\(values.map(\.sql).joined(separator: ", "))), 0)")
    case 3 where attribute.type == .string:
      return compare(.contains, value.constant, "ifnull(instr(\(column), \(value.sql)) > 0, 0)")
    case 4 where attribute.type == .string:
      return compare(.beginsWith, value.constant, "ifnull(substr(\(column), 1, length(\(value.sql))) = \(value.sql), 0)")
    case 3, 4, 5:
      let (op, sign): (ComparisonOperator, String) = pick([(.less, "<"), (.lessOrEqual, "<="), (.greater, ">"), (.greaterOrEqual, ">=")])
      if attribute.type == .boolean { break }
      return compare(op, value.constant, "ifnull(\(column) \(sign) \(value.sql), 0)")
    default: break
    }
    return compare(.equal, value.constant, "\(column) IS \(value.sql)")
  }

  /// The members of a to-many relationship, under the alias `m`.
  private struct Members {
    var name: String
    var entity: Int
    var rows: String
  }

  private mutating func members(of entity: Int, alias: String) -> Members? {
    var all: [Members] = []
    for (index, source) in entities.enumerated() {
      for reference in source.references where reference.target == entity {
        all.append(
          Members(
            name: inverse(index, reference.name), entity: index,
            rows: "FROM \"\(source.name)\" m WHERE m.\"\(reference.name)\" = \(alias)._pk"))
      }
    }
    let pairs = "\"\(entities[0].name)_pairs\""
    if entity == 0 {
      all.append(
        Members(
          name: "pairs", entity: 1,
          rows: "FROM \"\(entities[1].name)\" m WHERE m._pk IN (SELECT target FROM \(pairs) WHERE source = \(alias)._pk)"))
    }
    if entity == 1 {
      all.append(
        Members(
          name: "pairedBy", entity: 0,
          rows: "FROM \"\(entities[0].name)\" m WHERE m._pk IN (SELECT source FROM \(pairs) WHERE target = \(alias)._pk)"))
    }
    return all.isEmpty ? nil : pick(all)
  }

  /// A condition on the members: how many match, whether one matches, or how many there are.
  private mutating func members(_ members: Members, depth: Int) -> Condition {
    let (count, sign): (Int64, String) = (Int64.random(in: 0...3, using: &random), pick([">", "=", "<"]))
    let op: ComparisonOperator = sign == ">" ? .greater : sign == "=" ? .equal : .less
    if chance(3) {
      return Condition(predicate: .compare(members.name + ".@count", op, count), sql: "(SELECT count(*) \(members.rows)) \(sign) \(count)")
    }
    let inner = condition(
      depth: min(depth, 1), members.entity, alias: "m", path: { .path(.variable("m"), $0.split(separator: ".").map(String.init)) },
      isInner: true)
    let found = FetchExpression.subquery(collection: .keyPath(members.name), variable: "m", predicate: inner.predicate)
    return Condition(
      predicate: .comparison(FetchComparison(left: .path(found, ["@count"]), op: op, right: .constant(.int(count)))),
      sql: "(SELECT count(*) \(members.rows) AND \(inner.sql)) \(sign) \(count)")
  }
}
