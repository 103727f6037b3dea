import ObjectModel
import ObjectQuery
import ObjectStore

/// The partial result of an aggregate that each store returns.
enum PartialAggregate {
  /// The column of a count.
  case count(Int)
  /// The columns of a sum of integers and of the number of values summed.
  case sum(Int, count: Int)
  /// The column of the minimum or maximum.
  case extreme(Int)
  /// The column of the values. Each distinct value has a row with the number of objects that have it.
  case values(Int)
  /// A constant value that is the same for all objects.
  case same(Slot)
}

/// A fetch of groups from several stores: the request for each store, and the columns, conditions, and order computed from the answers.
///
/// Stores compute counts, minima, maxima, and sums and averages of integers. Other aggregates cannot be combined from partial results
/// without error: medians, modes, standard deviations, distinct values, and sums of doubles and decimals, which must be rounded only once.
/// For these, the stores return the distinct values and the number of objects with each value. Each store receives one request, so its
/// answer is a consistent snapshot.
struct GroupQuery {
  /// The request for each store.
  private(set) var specification: FetchSpecification
  private(set) var projection: ResolvedProjection
  private(set) var sortKeys: [ResolvedSortKey]
  /// The constants shared by all groups. The constants of an individual group follow them.
  private(set) var constants: [ResolvedConstant]
  private(set) var keyColumns: [Int] = []
  /// The columns that supply the constants of an individual group, in order.
  private(set) var carried: [Int] = []
  private(set) var partials: [PartialAggregate] = []
  /// The column with the number of objects in a row.
  private(set) var countColumn = 0

  private let sources: ResolutionSources
  private var columns: [FetchExpression: Int] = [:]
  private var positions: [FetchExpression: Int] = [:]
  private var truth = 0

  /// Creates the store request of a fetch of groups.
  ///
  /// - Parameter sumsInStores: Whether stores sum integers. Pass false to fetch the individual values after a sum overflowed 64 bits.
  init(_ request: FetchSpecification, model: CompiledModel, sumsInStores: Bool) throws {
    let (fetch, sources) = try FetchResolver(model: model).resolveWithSources(request)
    guard let projection = fetch.projection else { throw Self.inseparable(request) }
    self.sources = sources
    self.projection = projection
    sortKeys = fetch.sortKeys
    constants = fetch.constants
    specification = request
    specification.resultType = .dictionaries
    specification.propertiesToFetch = []
    specification.havingPredicate = nil
    specification.returnsDistinctResults = false
    specification.sortDescriptors = []
    (specification.fetchLimit, specification.fetchOffset) = (0, 0)
    keyColumns = try zip(request.propertiesToGroupBy, projection.groupKeys).map { property, key in
      guard Self.isFetched(key) else { throw Self.inseparable(request) }
      return column(property.expression)
    }
    countColumn = column(.function("count:", [.evaluatedObject]))
    partials = try projection.aggregates.map { try partial($0, sumsInStores: sumsInStores) }
    truth = constants.count
    constants.append(.slot(.int(1)))
    for index in projection.columns.indices {
      self.projection.columns[index].expression = try finished(projection.columns[index].expression)
    }
    for index in sortKeys.indices { sortKeys[index].expression = try finished(sortKeys[index].expression) }
    self.projection.having = try finished(projection.having)
  }

  private static func inseparable(_ request: FetchSpecification) -> StoreError {
    return StoreError(.groupsInSeveralStores(entity: request.entityName), operation: .fetch)
  }

  // MARK: Store request

  /// Returns the column of an expression; adds the column if necessary.
  private mutating func column(_ source: FetchExpression) -> Int {
    if let known = columns[source] { return known }
    let number = specification.propertiesToFetch.count
    specification.propertiesToFetch.append(.expression(source, as: Self.name(number)))
    columns[source] = number
    return number
  }

  /// A generated column name, which cannot clash with a caller's.
  private static func name(_ number: Int) -> String { "\u{0}\(number)" }

  /// Whether stores can return the values of an expression. Object values need an entity, which is known only for paths.
  private static func isFetched(_ expression: ResolvedExpression) -> Bool {
    if case .path = expression { return true }
    return ![.object, .entity, .opaque].contains(expression.type)
  }

  private mutating func partial(_ aggregate: ResolvedGroupAggregate, sumsInStores: Bool) throws -> PartialAggregate {
    guard let value = aggregate.value else { return .count(countColumn) }
    guard value.dependsOnObjects else {
      let evaluator = PredicateEvaluator(predicate: .constant(true), constants: constants, resolver: ManagedObjectResolver())
      return .same(try evaluator.value(of: value, forGroup: nil))
    }
    guard let source = sources[value] else { throw Self.inseparable(specification) }
    switch aggregate.function {
    case .minimum: return .extreme(column(.function("min:", [source])))
    case .maximum: return .extreme(column(.function("max:", [source])))
    case .count where !aggregate.isDistinct: return .count(column(.function("count:", [source])))
    case .sum, .average:
      guard sumsInStores, !aggregate.isDistinct, value.type == .integer || value.type == .boolean, !value.mayOverflow else { break }
      return .sum(column(.function("sum:", [source])), count: column(.function("count:", [source])))
    case .count, .median, .mode, .standardDeviation, .only: break
    }
    guard Self.isFetched(value) else { throw Self.inseparable(specification) }
    let values = column(source)
    let property = FetchProperty.expression(source, as: Self.name(values))
    if !specification.propertiesToGroupBy.contains(where: { $0.expression == source }) {
      specification.propertiesToGroupBy.append(property)
    }
    return .values(values)
  }

  // MARK: Computation

  /// Replaces the parts of an expression that stores compute with constants of the group. The predicate's nesting limit bounds the
  /// recursion.
  private mutating func finished(_ expression: ResolvedExpression) throws -> ResolvedExpression {
    switch expression {
    case .constant, .groupAggregate: return expression
    case _ where !expression.hasGroupAggregate && expression.dependsOnObjects && sources[expression] != nil:
      return .constant(carry(sources[expression] ?? .evaluatedObject), expression.type)
    case .path, .aggregate: throw Self.inseparable(specification)
    case .function(let function, let arguments, let type):
      return .function(function, try arguments.map { try finished($0) }, type)
    case .conditional(let condition, let first, let second):
      return .conditional(try finished(condition), try finished(first), try finished(second))
    }
  }

  private mutating func finished(_ predicate: ResolvedPredicate) throws -> ResolvedPredicate {
    switch predicate {
    case .constant: return predicate
    case .and(let items): return .and(try items.map { try finished($0) })
    case .or(let items): return .or(try items.map { try finished($0) })
    case .isNull(let expression, let isNegated): return .isNull(try finished(expression), isNegated: isNegated)
    case .comparison(var comparison):
      comparison.left = try finished(comparison.left)
      switch comparison.right {
      case .expression(let right): comparison.right = .expression(try finished(right))
      case .range(let low, let high): comparison.right = .range(try finished(low), try finished(high))
      case .list: break
      }
      return .comparison(comparison)
    case .exists, .block:
      guard let source = sources[predicate] else { throw Self.inseparable(specification) }
      let number = carry(.conditional(source, .constant(.int(1)), .constant(.int(0))))
      return .comparison(
        ResolvedComparison(
          left: .constant(number, .integer), op: .equal, right: .expression(.constant(truth, .integer)), domain: .number))
    }
  }

  /// Returns the index of the group constant that holds the value of an expression.
  private mutating func carry(_ source: FetchExpression) -> Int {
    if let known = positions[source] { return known }
    let number = constants.count + carried.count
    carried.append(column(source))
    positions[source] = number
    return number
  }
}

extension StoreError.Reason {
  static func groupsInSeveralStores(entity: String) -> Self {
    Self(
      .invalidRequest,
      "The groups of “\(entity)” are in several stores, and part of the request cannot be evaluated in each store separately. Name one store in affectedStores, or use a property to fetch for that part.",
      entity: entity)
  }
}

/// The sum of a store overflowed 64 bits. The individual values have to be fetched instead.
struct SumOverflow: Error {}

/// Merges the groups of several stores: groups with equal keys become one. Groups by object are never merged across stores, because an
/// object belongs to one store.
struct GroupMerger {
  private let query: GroupQuery
  private var groups: [Group] = []
  private var numbers: [[Slot]: Int] = [:]

  private struct Group {
    let space: UInt32
    /// The values that order groups with equal sort keys.
    let tie: [Slot]
    let constants: [ResolvedConstant]
    var statistics: [Statistic]
    /// The distinct values seen by each distinct aggregate.
    var seen: [Set<[Slot]>]
  }

  private struct Row {
    let space: UInt32
    let values: [Slot]
    let order: [Slot]
    let tie: [Slot]
  }

  init(_ query: GroupQuery) { self.query = query }

  // MARK: Input

  /// Adds the answer of a store.
  ///
  /// - Throws: ``SumOverflow``.
  mutating func add(_ answer: DictionaryRows, space: UInt32) throws {
    for row in answer.rows {
      let key = query.keyColumns.flatMap { identity(row[$0], answer.columns[$0], space) }
      let number = numbers[key] ?? addGroup(key, row, answer, space)
      guard case .int(let count) = row[query.countColumn] else { continue }
      for (index, partial) in query.partials.enumerated() {
        try take(row, partial, at: index, of: number, count: count, answer, space)
      }
    }
  }

  /// The key that identifies a value. For an object, it includes the store's ID space.
  private func identity(_ value: Slot, _ column: DictionaryRows.Column, _ space: UInt32) -> [Slot] {
    guard case .object = column.content, !value.isNull else { return [value, .null] }
    return [value, .int(Int64(space))]
  }

  private mutating func addGroup(_ key: [Slot], _ row: [Slot], _ answer: DictionaryRows, _ space: UInt32) -> Int {
    let constants = query.carried.map { column -> ResolvedConstant in
      guard case .object = answer.columns[column].content, case .int(let word) = row[column] else { return .slot(row[column]) }
      let reference = ObjectReference(rawValue: word)
      return .object(ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key))
    }
    let tie = query.keyColumns.map { column -> Slot in
      guard case .object = answer.columns[column].content, case .int(let word) = row[column] else { return row[column] }
      return .int(ObjectReference(rawValue: word).key)
    }
    return addGroup(key, space: space, tie: tie, constants: constants)
  }

  private mutating func addGroup(_ key: [Slot], space: UInt32, tie: [Slot], constants: [ResolvedConstant]) -> Int {
    let aggregates = query.projection.aggregates
    groups.append(
      Group(
        space: space, tie: tie, constants: constants, statistics: aggregates.map { Statistic($0.function) },
        seen: aggregates.map { _ in [] }))
    numbers[key] = groups.count - 1
    return groups.count - 1
  }

  private mutating func take(
    _ row: [Slot], _ partial: PartialAggregate, at index: Int, of group: Int, count: Int64, _ answer: DictionaryRows, _ space: UInt32
  ) throws {
    switch partial {
    case .count(let column):
      if case .int(let number) = row[column] { groups[group].statistics[index].add(sum: 0, ofValues: number) }
    case .sum(let column, let countColumn):
      guard case .int(let number) = row[countColumn], number > 0 else { return }
      guard case .int(let sum) = row[column] else { throw SumOverflow() }
      groups[group].statistics[index].add(sum: sum, ofValues: number)
    case .extreme(let column): groups[group].statistics[index].add(row[column])
    case .values(let column): take(row[column], identity(row[column], answer.columns[column], space), at: index, of: group, count: count)
    case .same(let value): take(value, [value], at: index, of: group, count: count)
    }
  }

  /// Adds a value that `count` objects have.
  private mutating func take(_ value: Slot, _ identity: [Slot], at index: Int, of group: Int, count: Int64) {
    if SlotComparison.isMissing(value) { return }
    if query.projection.aggregates[index].isDistinct {
      if count > 0, groups[group].seen[index].insert(identity).inserted { groups[group].statistics[index].add(value) }
    } else {
      for _ in 0..<count { groups[group].statistics[index].add(value) }
    }
  }

  // MARK: Output

  /// Returns the rows of the groups that match the having predicate, in order.
  mutating func rows() throws -> [DictionaryResults.Row] {
    let projection = query.projection
    // Without group keys, all objects form one group, even if there are no objects.
    if projection.groupKeys.isEmpty, groups.isEmpty {
      _ = addGroup([], space: 0, tie: [], constants: query.carried.map { _ in .slot(.null) })
    }
    var rows: [Row] = []
    for group in groups {
      if let row = try row(of: group) { rows.append(row) }
    }
    if projection.isDistinct {
      let hasObjects = projection.columns.contains { $0.content == .object }
      var seen: Set<[Slot]> = []
      rows = rows.filter { seen.insert($0.values + (hasObjects ? [.int(Int64($0.space))] : [])).inserted }
    }
    rows = rows.enumerated().sorted { left, right in
      for (index, key) in query.sortKeys.enumerated() {
        let order = SlotOrder.compare(left.element.order[index], right.element.order[index], by: key.order)
        if order != 0 { return key.isAscending ? order < 0 : order > 0 }
      }
      for (first, second) in zip(left.element.tie, right.element.tie) {
        let order = SlotOrder.compare(first, second)
        if order != 0 { return order < 0 }
      }
      return left.offset < right.offset
    }.map(\.element)
    return try rows.map { row in
      DictionaryResults.Row(space: row.space, values: try zip(projection.columns, row.values).map { try $0.converted($1) })
    }
  }

  private func row(of group: Group) throws -> Row? {
    let projection = query.projection
    let constants = query.constants + group.constants
    var evaluator = PredicateEvaluator(predicate: projection.having, constants: constants, resolver: ManagedObjectResolver())
    evaluator.groupValues = zip(projection.aggregates, group.statistics).map { $1.isEmpty ? $0.emptyResult : $1.result }
    guard try evaluator.matches(group: nil) else { return nil }
    func object(_ expression: ResolvedExpression) -> ManagedObjectID? {
      guard case .constant(let number, _) = expression, case .object(let id) = constants[number] else { return nil }
      return id
    }
    func present(_ value: Slot) -> Slot { SlotComparison.isMissing(value) ? .null : value }
    let values = try projection.columns.map { column in
      if let id = object(column.expression) { return Slot.int(id.reference.rawValue) }
      return present(try evaluator.value(of: column.expression, forGroup: nil))
    }
    let order = try query.sortKeys.map { key in
      if let id = object(key.expression) { return Slot.int(id.key) }
      return try evaluator.value(of: key.expression, forGroup: nil)
    }
    guard projection.isDistinct else { return Row(space: group.space, values: values, order: order, tie: group.tie) }
    let tie = zip(projection.columns, values).map { column, value in object(column.expression).map { .int($0.key) } ?? value }
    return Row(space: group.space, values: values, order: order, tie: tie)
  }
}
