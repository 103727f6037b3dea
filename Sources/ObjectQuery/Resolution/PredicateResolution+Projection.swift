import ObjectModel

/// The aggregates of groups that expressions have used so far.
struct GroupAggregateTable {
  private(set) var items: [ResolvedGroupAggregate] = []
  /// Whether the argument of an aggregate is being resolved, where aggregates are not allowed.
  var isInside = false

  /// Returns the index of an aggregate. Equal aggregates share one.
  mutating func number(of aggregate: ResolvedGroupAggregate) -> Int {
    if let known = items.firstIndex(of: aggregate) { return known }
    items.append(aggregate)
    return items.count - 1
  }
}

extension PredicateResolution {
  /// Resolves the columns, groups and order of a dictionary fetch.
  mutating func resolveProjection(
    _ specification: FetchSpecification
  ) throws(FetchPredicateError) -> (ResolvedProjection, [ResolvedSortKey]) {
    // Equal expressions must be equal after resolution, including their constants.
    sharesConstants = true
    var groupKeys: [ResolvedExpression] = []
    for property in specification.propertiesToGroupBy { groupKeys.append(try resolveGroupKey(property)) }
    groupAggregates = GroupAggregateTable()
    let properties = properties(of: specification)
    var columns: [ResolvedColumn] = []
    var names: [String: FetchExpression] = [:]
    for property in properties {
      columns.append(try resolveColumn(property))
      guard names.updateValue(property.expression, forKey: property.name) == nil else {
        throw .unsupported(
          part: "A second property named \(property.name)", advice: "Give each property of a dictionary a different name.")
      }
    }
    var having = ResolvedPredicate.constant(true)
    if let predicate = specification.havingPredicate {
      try PredicateDepth.check(predicate)
      let named = predicate.replacing(names)
      try PredicateDepth.check(named)
      having = try resolve(named, isNegated: false)
    }
    var sortKeys: [ResolvedSortKey] = []
    for var descriptor in specification.sortDescriptors {
      guard PredicateDepth.allows(descriptor.expression) else { throw .nestingTooDeep(limit: PredicateDepth.limit) }
      descriptor.expression = descriptor.expression.replacing(names)
      sortKeys.append(try resolve(descriptor))
    }
    let projection = ResolvedProjection(
      columns: columns, groupKeys: groupKeys, aggregates: groupAggregates?.items ?? [], having: having,
      isDistinct: specification.returnsDistinctResults)
    groupAggregates = nil
    if specification.havingPredicate != nil, !projection.isGrouped {
      throw .havingWithoutGroups
    }
    try check(projection, sortKeys)
    return (projection, sortKeys)
  }

  /// Returns the properties to fetch if none are specified: the group keys, or all stored attributes.
  private func properties(of specification: FetchSpecification) -> [FetchProperty] {
    if !specification.propertiesToFetch.isEmpty { return specification.propertiesToFetch }
    if !specification.propertiesToGroupBy.isEmpty { return specification.propertiesToGroupBy }
    return scopes[0].storedAttributeNames.map { .keyPath($0) }
  }

  // MARK: Parts

  private mutating func value(of property: FetchProperty) throws(FetchPredicateError) -> ResolvedExpression {
    let expression = property.expression
    guard PredicateDepth.allows(expression) else { throw .nestingTooDeep(limit: PredicateDepth.limit) }
    switch try operand(expression) {
    case .expression(let expression, _): return expression
    case .constant(let value): return try constantExpression(value)
    case .list: throw .unsupported(part: "The list \(property.name)", advice: "Fetch one value of each object or group.")
    }
  }

  private mutating func resolveGroupKey(_ property: FetchProperty) throws(FetchPredicateError) -> ResolvedExpression {
    let key = try value(of: property)
    guard key.dependsOnObjects else {
      throw .unsupported(
        part: "Grouping by the constant \(property.name)", advice: "Group by what differs between objects, or leave it out.")
    }
    return key
  }

  private mutating func resolveColumn(_ property: FetchProperty) throws(FetchPredicateError) -> ResolvedColumn {
    let expression = try value(of: property)
    var resultType: AttributeType?
    if case .expression(let description) = property { resultType = description.resultType }
    return ResolvedColumn(
      name: property.name, expression: expression, content: try content(of: expression, resultType, name: property.name))
  }

  private func content(
    of expression: ResolvedExpression, _ resultType: AttributeType?, name: String
  ) throws(FetchPredicateError) -> ResolvedColumn.Content {
    let unsupported = FetchPredicateError.unsupported(
      part: "The result \(name)", advice: "Fetch a value, an attribute or a to-one relationship.")
    if resultType == nil, case .path(let path) = expression, case .attribute(let attribute) = path.terminal {
      guard attribute.slot.kind != .none else { throw unsupported }
      return .attribute(attribute)
    }
    switch expression.type {
    case .object, .entity:
      // Only a path determines the entity of an object.
      guard case .path = expression, resultType == nil else { throw unsupported }
      return expression.type == .object ? .object : .entity
    case let type:
      guard let natural = AttributeType(type) else { throw unsupported }
      guard let resultType, resultType != natural else { return .value(natural) }
      guard type.fits(in: resultType) else {
        throw .unsupported(
          part: "The result type \(resultType.rawValue) of \(name), whose values are of type \(type.name),",
          advice: "Leave resultType out, or choose a type that holds every such value.")
      }
      return .value(resultType)
    }
  }

  /// Throws if a part may have several values in a group, or among duplicate rows.
  private func check(_ projection: ResolvedProjection, _ sortKeys: [ResolvedSortKey]) throws(FetchPredicateError) {
    if projection.isGrouped {
      let groups = GroupCoverage(projection.groupKeys, coversAggregates: true)
      for column in projection.columns {
        if let path = groups.firstUncovered(column.expression) { throw .notGrouped(keyPath: path, clause: .propertiesToFetch) }
      }
      if let path = groups.firstUncovered(projection.having) { throw .notGrouped(keyPath: path, clause: .havingPredicate) }
      for key in sortKeys {
        if let path = groups.firstUncovered(key.expression) { throw .notGrouped(keyPath: path, clause: .sortDescriptors) }
      }
    }
    guard projection.isDistinct else { return }
    let rows = GroupCoverage(projection.columns.map(\.expression), coversAggregates: projection.isSingleRow)
    for key in sortKeys {
      guard let path = rows.firstUncovered(key.expression) else { continue }
      throw .orderedByAnother(name: path)
    }
  }

  // MARK: Aggregates

  /// Resolves `sum(price * quantity)` and similar: an aggregate of a group over a value of each object.
  mutating func groupAggregate(
    _ function: ResolvedAggregate.Function, of argument: FetchExpression, name: String
  ) throws(FetchPredicateError) -> ResolvedExpression {
    guard let table = groupAggregates else {
      throw .unsupported(
        part: "The function \(name) of \(describe(argument))",
        advice: """
          Give it a path through one to-many relationship, or a list in braces; or fetch dictionaries, and use it in propertiesToFetch, havingPredicate \
          or the order.
          """)
    }
    guard !table.isInside else {
      throw .unsupported(
        part: "The aggregate \(name) inside of an aggregate",
        advice: "Aggregate one value of each object, such as sum(price) or sum(books.@count).")
    }
    guard scopes.count == 1 else {
      throw .unsupported(
        part: "The aggregate \(name) inside of a SUBQUERY, ANY, ALL or NONE", advice: "Compare it outside of the collection.")
    }
    groupAggregates?.isInside = true
    defer { groupAggregates?.isInside = false }
    var (isDistinct, argument) = (false, argument)
    if case .function("distinct:", let inner) = argument, inner.count == 1 { (isDistinct, argument) = (true, inner[0]) }
    let value: ResolvedExpression
    switch try operand(argument) {
    case .expression(let expression, _): value = expression
    case .constant(let constant): value = try constantExpression(constant)
    case .list: throw .unsupported(part: "The function \(name) of a list", advice: "Aggregate one value of each object.")
    }
    guard ResolvedGroupAggregate.accepts(value.type, in: function) else {
      throw .operatorNotSupported(op: name, expression: describe(argument), type: value.type.name)
    }
    var aggregate = ResolvedGroupAggregate(function: function, value: value, isDistinct: isDistinct)
    if function == .minimum || function == .maximum { aggregate.isDistinct = false }
    // Every object exists, so objects are counted without reading them.
    if function == .count, case .path(let path) = value, path.steps.isEmpty, path.terminal == .object {
      aggregate = ResolvedGroupAggregate(function: .count, value: nil, isDistinct: false)
    }
    return .groupAggregate(groupAggregates?.number(of: aggregate) ?? 0, function.type(of: value.type))
  }
}

extension ResolvedType {
  /// Returns whether values can be converted to an attribute type. A number that is too large for an integer type is an error at fetch
  /// time. Fractional numbers, such as averages, are truncated for integer types.
  fileprivate func fits(in type: AttributeType) -> Bool {
    isNumeric && type.isNumeric || self == .uri && type.traits.resolvedType == .text || AttributeType(self) == type
  }
}

// MARK: - Names of dictionary columns

extension FetchPredicate {
  /// Returns the predicate with expressions substituted for the names of dictionary columns, both `n` and `$n`. Arguments of aggregates
  /// refer to objects, so a name there is a property.
  func replacing(_ names: [String: FetchExpression]) -> FetchPredicate {
    switch self {
    case .constant, .block: return self
    case .and(let items): return .and(items.map { $0.replacing(names) })
    case .or(let items): return .or(items.map { $0.replacing(names) })
    case .not(let item): return .not(item.replacing(names))
    case .comparison(var comparison):
      comparison.left = comparison.left.replacing(names)
      comparison.right = comparison.right.replacing(names)
      return .comparison(comparison)
    }
  }
}

extension FetchExpression {
  /// Returns the expression with expressions substituted for names.
  func replacing(_ names: [String: FetchExpression]) -> FetchExpression {
    switch self {
    case .constant, .evaluatedObject: return self
    case .keyPath(let keys): return names[keys.joined(separator: ".")] ?? self
    case .variable(let name): return names[name] ?? self
    case .path(let base, let keys): return .path(base.replacing(names), keys)
    case .aggregate(let items): return .aggregate(items.map { $0.replacing(names) })
    case .function(let name, let arguments):
      if arguments.count == 1, !arguments[0].isList, ResolvedFunction(name: name)?.listFunction != nil { return self }
      return .function(name, arguments.map { $0.replacing(names) })
    case .subquery(let collection, let variable, let predicate):
      var inner = names
      inner[variable] = nil
      return .subquery(collection: collection, variable: variable, predicate: predicate.replacing(inner))
    case .conditional(let condition, let first, let second):
      return .conditional(condition.replacing(names), first.replacing(names), second.replacing(names))
    case .element(let base, let index): return .element(base.replacing(names), index)
    }
  }

  var isList: Bool {
    switch self {
    case .constant(.list), .aggregate: true
    default: false
    }
  }
}
