import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// Generates the plans of fetches: columns, joins, condition, order and limit.
struct SelectGenerator {
  let schema: StoreSchema
  /// Whether the first rows of an order are found without SQLite's sorter.
  var findsTopRows = !LibraryVersion.prunesOrderByLimit
  /// How integers are added: as whole numbers, until a sum overflows.
  var sums = SQLFunctions.IntegerSums.whole

  func plan(_ fetch: ResolvedFetch, _ specification: FetchSpecification, _ shape: FetchShape, number: Int?) throws -> SelectPlan {
    let direct = try planWithChoice(fetch, specification, shape, number: number)
    if direct.binders.count <= Self.maximumBinderCount { return direct }
    // Too many placeholders: put each list into one; if that is not enough, put all values into one.
    let onePerList = shape.listCapacities.map { $0 == 0 ? 0 : -1 }
    for constants: QueryGenerator.Constants in [.placeholders(listCapacities: onePerList), .packed] {
      let plan = try plan(fetch, specification, shape, constants, number: number)
      if plan.binders.count <= Self.maximumBinderCount { return plan }
    }
    throw StoreError(.tooManyPlaceholders, operation: .fetch)
  }

  /// The maximum number of placeholders, slightly below the limit of 999 in SQLCipher 3.4.1.
  static let maximumBinderCount = 990

  /// Returns the plan of a fetch, with alternatives if it can start in several ways.
  private func planWithChoice(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ shape: FetchShape, number: Int?
  ) throws -> SelectPlan {
    let constants = QueryGenerator.Constants.placeholders(listCapacities: shape.listCapacities)
    func plan(_ driving: DrivingCondition?, number: Int?) throws -> SelectPlan {
      try self.plan(fetch, specification, shape, constants, number: number, driving: driving)
    }
    let conditions = QueryGenerator(schema: schema, constants: constants).drivingConditions(of: fetch.predicate, entity: fetch.entity)
    if let unique = conditions.first(where: \.findsOne) { return try plan(unique, number: number) }
    let first = try plan(nil, number: number)
    // Counts over a long list need a lookup for each member, which costs more than a better plan saves.
    let isCountable = first.binders.count <= Self.maximumBinderCount && !first.binders.contains(where: \.isList)
    guard !conditions.isEmpty, isCountable else { return first }
    let table = try schema.table(of: fetch.entity.number)
    var probes: [SelectivityProbe] = []
    for condition in conditions {
      let generator = QueryGenerator(schema: schema, constants: constants)
      let scope = QueryScope(table: table, alias: generator.makeAlias("t"), of: fetch.entity.number)
      guard let probe = try generator.probe(condition, scope) else { return first }
      probes.append(probe)
    }
    return first.with(PlanAlternatives(probes: probes, plans: try conditions.map { try plan($0, number: nil) }))
  }

  /// Returns the plan of a fetch.
  ///
  /// - Parameters:
  ///   - constants: How constants are written.
  ///   - driving: The condition that SQLite must start with, or `nil` if SQLite chooses.
  func plan(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ shape: FetchShape, _ constants: QueryGenerator.Constants, number: Int?,
    driving: DrivingCondition? = nil
  ) throws -> SelectPlan {
    let table = try schema.table(of: fetch.entity.number)
    let generator = QueryGenerator(schema: schema, constants: constants)
    generator.sums = sums
    generator.correlatedConditions = driving?.correlated(of: fetch.predicate) ?? []
    if case .destination(let comparison) = driving { generator.driving = comparison }
    let scope = QueryScope(
      table: table, alias: generator.makeAlias("t"), of: fetch.entity.number,
      required: QueryGenerator.requiredSteps(of: fetch.predicate, scope: 0))
    if driving == nil { generator.joinedCount = joinedCount(fetch, specification, generator) }
    let source = driving == nil ? generator.begin(withListIn: fetch.predicate, of: table) : nil
    let condition = try generator.condition(of: fetch, scope)
    let top = try topSelection(fetch, specification, shape, scope, generator)
    let parts = try groupParts(fetch, specification, scope, generator)
    let selectionScope = parts?.scope ?? scope
    var (selected, output) = try top ?? selection(fetch, specification, selectionScope, generator)
    let groups = try fetch.projection.map { try grouping($0, selectionScope, generator) }
    let rowOrder = rowOrder(fetch, specification, isSearched: driving != nil, generator)
    if case .rows = output { output = .rows(order: rowOrder) }
    var order = top == nil && rowOrder.isEmpty ? try order(fetch, specification, selectionScope, generator) : ""
    var hint = ""
    switch driving {
    // Rows are looked up by key, without another index.
    case .members: hint = " NOT INDEXED"
    // Sorting a few rows is fast. An index with their order would have to be scanned completely.
    case .own where order.text.hasPrefix(" ORDER BY "), .destination where order.text.hasPrefix(" ORDER BY "):
      let terms = order.text.dropFirst(" ORDER BY ".count)
      // A column number with a plus would become an expression.
      if terms.first?.isNumber != true { order.text = " ORDER BY +" + terms }
    case .own, .destination, nil: break
    }

    var statement = scope.query(parts?.selected ?? selected, from: source, hint: hint, where: condition)
    if let parts { statement = selectionScope.query(selected, from: "(\(statement) GROUP BY \(parts.key))", where: nil) }
    if let groups { statement.append(groups) }
    statement.append(order)
    var limited = top == nil ? try limited(statement, fetch, specification, output) : statement
    if case .packed = constants { limited.binders.insert(.packedConstants, at: 0) }
    return SelectPlan(
      sql: limited.text, backwardSQL: top == nil ? nil : limited.text + " ORDER BY \(scope.key) DESC", binders: limited.binders,
      output: output,
      table: table, number: number)
  }

  // MARK: Parts

  /// Returns the member count that every object must exceed or reach, if it is also selected or sorted by.
  private func joinedCount(_ fetch: ResolvedFetch, _ specification: FetchSpecification, _ generator: QueryGenerator) -> JoinedCount? {
    guard specification.resultType != .count, fetch.projection?.isGrouped != true, fetch.projection?.isSingleRow != true else { return nil }
    let read = fetch.sortKeys.map(\.expression) + (fetch.projection?.columns.map(\.expression) ?? [])
    for case .comparison(let comparison) in fetch.predicate.conjuncts {
      // A joined subquery cannot refer to the object, so it cannot select a member by its position.
      guard let (aggregate, constant) = generator.countedMembers(comparison), aggregate.collection.position == nil,
        read.contains(.aggregate(aggregate))
      else { continue }
      return JoinedCount(aggregate, in: comparison, constant: constant)
    }
    return nil
  }

  /// Returns the selection that finds the first rows of an order without sorting all rows, or `nil` if SQLite would not sort or an index
  /// has the order.
  private func topSelection(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ shape: FetchShape, _ scope: QueryScope, _ generator: QueryGenerator
  ) throws -> (SQLFragment, SelectPlan.Output)? {
    guard findsTopRows, specification.resultType == .objects, specification.includesPropertyValues, shape.expectsFewRows,
      !fetch.sortKeys.isEmpty
    else { return nil }
    var keys: [TopRows.SortKey] = []
    var fragments: [SQLFragment] = [SQLFragment(scope.key)]
    for key in fetch.sortKeys {
      guard key.order == .binary, let kind = sortKind(key.expression, isFirst: keys.isEmpty, generator) else { return nil }
      keys.append(TopRows.SortKey(kind: kind, isAscending: key.isAscending))
      fragments.append(try generator.value(key.expression, [scope]))
    }
    return (.joined(fragments, by: ", "), .topRows(keys))
  }

  private func sortKind(_ expression: ResolvedExpression, isFirst: Bool, _ generator: QueryGenerator) -> TopRows.SortKey.Kind? {
    if case .function(.relevance, _, _) = expression { return .real }
    guard case .path(let path) = expression, case .attribute(let attribute) = path.terminal else { return nil }
    if isFirst, path.steps.isEmpty, schema.indexed.begins(with: attribute.slot, folding: []) { return nil }
    switch attribute.slot.kind {
    case .int: return .int
    case .real: return .real
    case .text: return .text
    case .bytes: return .bytes
    case .reference, .none: return nil
    }
  }

  /// Returns the order in which the rows are sorted in memory after reading; empty if SQLite has to sort.
  ///
  /// This applies to fetches without limit and offset that sort by own attributes without a suitable index. Sorting rows in memory is
  /// faster than SQLite's sorter, which writes and reads each row.
  ///
  /// - Parameter isSearched: Whether the query starts with few objects, so that SQLite would sort them despite an index.
  private func rowOrder(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, isSearched: Bool, _ generator: QueryGenerator
  ) -> [RowSortKey] {
    guard specification.resultType == .objects, specification.includesPropertyValues, specification.fetchLimit <= 0,
      specification.fetchOffset <= 0
    else { return [] }
    let isSearched =
      isSearched
      || fetch.predicate.conjuncts.contains { if case .exists(let exists) = $0 { generator.canBegin(with: exists) } else { false } }
    var keys: [RowSortKey] = []
    for key in fetch.sortKeys {
      guard key.order == .binary, case .path(let path) = key.expression, path.steps.isEmpty,
        case .attribute(let attribute) = path.terminal
      else { return [] }
      if keys.isEmpty, !isSearched, schema.indexed.containsPlain(attribute.slot) { return [] }
      let kind: RowSortKey.Kind
      switch attribute.slot.kind {
      case .int: kind = .int
      case .real: kind = .real
      case .text: kind = .text
      case .bytes, .reference, .none: return []
      }
      keys.append(RowSortKey(slot: attribute.slot.index, kind: kind, isAscending: key.isAscending))
    }
    return keys
  }

  private func selection(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ scope: QueryScope, _ generator: QueryGenerator
  ) throws -> (SQLFragment, SelectPlan.Output) {
    switch specification.resultType {
    case .count:
      guard let projection = fetch.projection else { return ("count(*)", .count) }
      return (try countedRows(projection, scope, generator), .count)
    case .objects where specification.includesPropertyValues:
      return (SQLFragment(scope.table.readColumns(alias: scope.alias)), .rows(order: []))
    case .objects, .objectIDs:
      guard let entity = scope.table.entity, fetch.entity.subtree.count > 1, fetch.includesSubentities else {
        return (SQLFragment(scope.key), .identifiers(.fixed(fetch.entity.number)))
      }
      return (
        "\(scope.key), \(scope.alias).\(entity)", .identifiers(.stored(offset: scope.table.entityOffset, within: scope.table.root.subtree))
      )
    case .dictionaries:
      guard let projection = fetch.projection else {
        throw StoreError(.dictionariesNotResolved, operation: .fetch)
      }
      return try dictionaries(projection, scope, generator)
    }
  }

  private func order(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ scope: QueryScope, _ generator: QueryGenerator
  ) throws -> SQLFragment {
    let isBounded = specification.fetchLimit > 0 || specification.fetchOffset > 0
    guard specification.resultType != .count, !fetch.sortKeys.isEmpty || isBounded, fetch.projection?.isSingleRow != true else { return "" }
    var fragments: [SQLFragment] = []
    for key in fetch.sortKeys {
      let direction = key.isAscending ? "" : " DESC"
      if key.order == .binary, let place = fetch.projection.flatMap({ place(ofComputed: key.expression, in: $0) }) {
        fragments.append("\(place)\(direction)")
        continue
      }
      let value = try generator.value(key.expression, [scope])
      if key.order == .caseInsensitive, generator.hasFoldedIndex(key.expression, .caseInsensitive) {
        // The order of the collation, written as the index contains it.
        fragments.append("\(generator.folded(value, key.expression, .caseInsensitive))\(direction)")
        fragments.append("\(value)\(direction)")
        continue
      }
      let collation = TextCollation.name(of: key.order).map { " COLLATE \($0)" } ?? ""
      fragments.append("\(term(value))\(collation)\(direction)")
    }
    // Ties are ordered by key, so that pages of a result neither overlap nor leave gaps.
    if let projection = fetch.projection, projection.isGrouped || projection.isDistinct {
      let ties = projection.isDistinct ? projection.columns.map(\.expression) : projection.groupKeys
      // Sort keys have no ties left. Repeating them would prevent SQLite from using an index for the order.
      let ordered = Set(fetch.sortKeys.map(\.expression))
      fragments += try ties.filter { !ordered.contains($0) }.map { term(try generator.value($0, [scope])) }
    } else {
      fragments.append(SQLFragment(scope.key))
    }
    return fragments.isEmpty ? "" : " ORDER BY \(SQLFragment.joined(fragments, by: ", "))"
  }

  private func limited(
    _ statement: SQLFragment, _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ output: SelectPlan.Output
  ) throws -> SQLFragment {
    let isBounded = specification.fetchLimit > 0 || specification.fetchOffset > 0
    guard isBounded || (specification.resultType == .count && fetch.projection != nil) else { return statement }
    let limit = specification.fetchLimit > 0 ? SQLFragment(.limit) : "-1"
    let offset: SQLFragment = specification.fetchOffset > 0 ? " OFFSET \(SQLFragment(.offset))" : ""
    let bound: SQLFragment = isBounded ? " LIMIT \(limit)\(offset)" : ""
    guard case .count = output, fetch.projection?.isSingleRow != true else { return "\(statement)\(bound)" }
    // The count applies to the limited result.
    var inner = statement
    if fetch.projection == nil { inner.text = inner.text.replacing("SELECT count(*)", with: "SELECT 1", maxReplacements: 1) }
    return "SELECT count(*) FROM (\(inner)\(bound))"
  }
}

extension QueryGenerator {
  /// Returns the condition of a fetch's entity and predicate, or `nil` if all rows match.
  func condition(of fetch: ResolvedFetch, _ scope: QueryScope) throws -> SQLFragment? {
    var conditions: [SQLFragment] = []
    if let ofEntity = scope.table.entityCondition(
      fetch.entity.number, includesSubentities: fetch.includesSubentities, model: schema.model, alias: scope.alias)
    {
      conditions.append(SQLFragment(ofEntity))
    }
    switch fetch.predicate {
    case .constant(true): break
    case .or: conditions.append(try condition(fetch.predicate, [scope]).parenthesized)
    default: conditions.append(try condition(fetch.predicate, [scope]))
    }
    return conditions.isEmpty ? nil : .joined(conditions, by: " AND ")
  }
}

// MARK: - Selecting dictionaries

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

// MARK: - Partial groups

extension SelectGenerator {
  /// Partial groups: one for the objects with the same destination. Those whose destinations have equal values are combined later.
  ///
  /// There are few destinations, and their keys are in the objects' own rows. So objects are neither joined with destinations nor sorted by
  /// their texts.
  struct PartialGroups {
    /// The columns of each partial group.
    let selected: SQLFragment
    /// The grouping key of the objects.
    let key: SQLFragment
    /// The partial groups as rows. Paths to the destinations' values start from them as from the objects.
    let scope: QueryScope
  }

  /// Returns the partial groups of a fetch, or `nil` if it cannot use them. Sets the generator's aggregates to those computed from partial
  /// groups.
  func groupParts(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ scope: QueryScope, _ generator: QueryGenerator
  ) throws -> PartialGroups? {
    guard specification.resultType == .dictionaries, let projection = fetch.projection, projection.having == .constant(true),
      let step = commonStep(of: projection, fetch),
      let column = scope.table.column(entity: step.relationship.sourceEntity, slot: step.relationship.index)
    else { return nil }
    let alias = generator.makeAlias("g")
    var fragments: [SQLFragment] = ["\(scope.alias).\(column.name) AS \(column.name)"]
    var combined: [SQLFragment] = []
    for aggregate in projection.aggregates {
      let first = fragments.count
      guard let parts = try generator.groupParts(aggregate, [scope]) else { return nil }
      fragments += parts.enumerated().map { "\($0.element) AS p\(first + $0.offset)" }
      combined.append(generator.groupAggregate(aggregate, ofParts: parts.indices.map { "\(alias).p\(first + $0)" }))
    }
    generator.groupAggregates = combined
    // The unary plus disables the index, which would be used for a lookup of every row.
    return PartialGroups(
      selected: .joined(fragments, by: ", "), key: "+\(scope.alias).\(column.name)",
      scope: QueryScope(table: scope.table, alias: alias, of: fetch.entity.number))
  }

  /// Returns the to-one relationship through which all non-aggregates are read, if many objects share a destination.
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

  private static func firstStep(of expression: ResolvedExpression) -> ResolvedStep? {
    guard case .path(let path) = expression, path.scope == 0, case .attribute = path.terminal else { return nil }
    return path.steps.first
  }
}

extension QueryGenerator {
  /// Returns the columns of a partial group from which a group's aggregate is computed, or `nil` if it needs the objects.
  fileprivate func groupParts(_ aggregate: ResolvedGroupAggregate, _ scopes: [QueryScope]) throws -> [SQLFragment]? {
    guard !aggregate.isDistinct else { return nil }
    guard let expression = aggregate.value else { return ["count(*)"] }
    guard case .path = expression else { return nil }
    return SQLFunctions.parts(of: aggregate.function, try value(expression, scopes), expression.type, sums)
  }

  /// Returns a group's aggregate, computed from those of its partial groups.
  fileprivate func groupAggregate(_ aggregate: ResolvedGroupAggregate, ofParts parts: [SQLFragment]) -> SQLFragment {
    let result = SQLFunctions.aggregate(aggregate.function, ofParts: parts, sums)
    let empty = aggregate.emptyResult
    return aggregate.function == .count || empty.isNull ? result : "coalesce(\(result), \(SQLLiteral.text(empty)))"
  }
}

extension SQLFunctions {
  /// Returns the partial aggregates from which an aggregate of a column is computed, or `nil` if it needs the rows.
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
